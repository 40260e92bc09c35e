//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package env

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// lock takes the lock with the descriptor, so that the system lets go of it when the
// process ends, however it ends.
func lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		_ = f.Close() // nothing was written to it
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}
