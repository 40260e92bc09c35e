package env

import (
	"io/fs"
	"os"
)

// SameFile reports whether a and b, as Stat has given them, are of one file, by whatever
// names. Information that does not come from the os package answers by a method SameFile.
func SameFile(a, b fs.FileInfo) bool {
	if a, ok := a.(interface{ SameFile(fs.FileInfo) bool }); ok {
		return a.SameFile(b)
	}
	return os.SameFile(a, b)
}
