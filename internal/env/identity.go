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

// FileNumber is the number that its file system has for a file, whatever it is called; 0: it
// is not known. No other file there has it until this one is deleted. Information that does
// not come from the os package answers by a method Number.
func FileNumber(info fs.FileInfo) uint64 {
	if i, ok := info.(interface{ Number() uint64 }); ok {
		return i.Number()
	}
	return fileNumber(info)
}
