package wasmtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxCompiled bounds how many modules stay, which change with the sources.
const maxCompiled = 300

// MachineCode makes a directory for the machine code of guests below root, that of the
// repository, which the tests of several packages share. It stays: under the race detector, a
// module of 2 MB takes ten seconds to compile, and is there already if the tests have run
// without it. The runtime does not know its own version in a test, so that the directory has
// the digest of what names it.
func MachineCode(root string) (string, error) {
	versions, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", fmt.Sprintf("machine-code-%x", sha256.Sum256(versions)))
	if kept, err := filepath.Glob(filepath.Join(dir, "*", "*")); err == nil && len(kept) > maxCompiled {
		// Files alone, and each for itself: the tests of another package may be using the
		// directory, and compile anew what they do not find.
		for _, file := range kept {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
	}
	return dir, os.MkdirAll(dir, 0o700)
}
