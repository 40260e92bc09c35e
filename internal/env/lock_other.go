//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package env

import (
	"io"
	"os"
)

// lock keeps nobody out on these systems. A file whose mere existence is the lock would
// outlive a process that was killed, and keep out its successor too.
func lock(name string) (io.Closer, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
