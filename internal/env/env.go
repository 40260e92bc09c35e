// Package env is the one seam through which time, files and randomness enter: the
// real ones here, virtual and faulty ones in internal/sim. Code that would call
// time.Now, os.Open or rand asks an Env instead, so that no test sleeps and every
// failure can be replayed.
package env

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Env is what a job sees of the machine. Safe for concurrent use.
type Env struct {
	Clock Clock
	FS    FS
	// Rand gives unpredictable bytes, for tokens and names.
	Rand io.Reader
	// OpenFiles is how many files and connections the process may have open at once;
	// 0 if nobody knows.
	OpenFiles int
	// Cores is how many goroutines can compute at once; 0 if nobody knows: then nothing is
	// done side by side that need not be.
	Cores int
}

// Real returns the machine's own clock and files.
func Real() Env {
	return Env{Clock: realClock{}, FS: realFS{}, Rand: rand.Reader, OpenFiles: openFiles(), Cores: runtime.GOMAXPROCS(0)}
}

// Clock tells processing time.
type Clock interface {
	// Now is the wall clock; only for what leaves the process or is compared with it.
	Now() time.Time
	// Sleep waits for d or until ctx ends, and then returns its error.
	Sleep(ctx context.Context, d time.Duration) error
	// Tick calls f every d, from a goroutine of the clock's own, until stop is called.
	// When stop returns, f is not running and will not run again. f must not block.
	Tick(d time.Duration, f func()) (stop func())
}

// FS is the file system, by path as the os package sees it.
type FS interface {
	Open(name string) (File, error)
	// Create opens for writing; flag as for os.OpenFile.
	Create(name string, flag int, perm fs.FileMode) (File, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Glob(pattern string) ([]string, error)
	MkdirAll(name string, perm fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	// Link gives a file a second name; if that one is taken, the error is fs.ErrExist.
	Link(old, new string) error
	// Lock takes a lock that only one in all processes can have, until it is closed or
	// the process has ended. The file, which is made where it is missing, means nothing
	// by itself and should stay. The error is ErrLocked if another has the lock. Systems
	// without flock(2) keep nobody out.
	Lock(name string) (io.Closer, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
}

// ErrLocked says that somebody else has a lock.
var ErrLocked = errors.New("in use by another process")

// File is an open file.
type File interface {
	io.Reader
	io.Writer
	io.Seeker
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (realClock) Tick(d time.Duration, f func()) func() {
	t := time.NewTicker(d)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-t.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		t.Stop()
		close(quit)
		<-done
	}
}

type realFS struct{}

func (realFS) Open(name string) (File, error) { return os.Open(name) }
func (realFS) Create(name string, flag int, perm fs.FileMode) (File, error) {
	return os.OpenFile(name, flag, perm)
}
func (realFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (realFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (realFS) Glob(pattern string) ([]string, error)        { return filepath.Glob(pattern) }
func (realFS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (realFS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (realFS) Remove(name string) error                     { return os.Remove(name) }
func (realFS) Link(from, to string) error                   { return os.Link(from, to) }
func (realFS) Lock(name string) (io.Closer, error)          { return lock(name) }
func (realFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
