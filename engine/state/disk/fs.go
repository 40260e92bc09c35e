package disk

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// watchedFS notices when the disk fails. Pebble would try again for ever, and end the
// process where its manifest is concerned. So a write that has failed fails the store, and
// does not come back until that is closed; and then it says that all is well, to a database
// that is about to be removed.
type watchedFS struct {
	vfs.FS
	store *Store
	open  atomic.Bool // before, errors are those of opening the store
}

// failed waits for the end of a store that err has failed.
func (fs *watchedFS) failed(err error) {
	fs.store.fail(err)
	<-fs.store.closing
}

// file watches a file that could be made; in place of one that could not comes one in
// memory.
func (fs *watchedFS) file(f vfs.File, err error) (vfs.File, error) {
	if err == nil {
		return &watchedFile{f, fs}, nil
	}
	if !fs.open.Load() {
		return nil, err
	}
	fs.failed(err)
	return vfs.NewMem().Create("lost", vfs.WriteCategoryUnspecified)
}

func (fs *watchedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.file(fs.FS.Create(name, c))
}

func (fs *watchedFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return fs.file(fs.FS.OpenReadWrite(name, c, opts...))
}

func (fs *watchedFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.file(fs.FS.ReuseForWrite(from, to, c))
}

func (fs *watchedFS) OpenDir(name string) (vfs.File, error) { return fs.file(fs.FS.OpenDir(name)) }

func (fs *watchedFS) Unwrap() vfs.FS { return fs.FS }

type watchedFile struct {
	vfs.File
	fs *watchedFS
}

// told is what pebble hears of an error.
func (f *watchedFile) told(err error) error {
	if err == nil || !f.fs.open.Load() {
		return err
	}
	f.fs.failed(err)
	return nil
}

func (f *watchedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil && f.told(err) == nil {
		return len(p), nil
	}
	return n, err
}

func (f *watchedFile) Preallocate(offset, length int64) error {
	return f.told(f.File.Preallocate(offset, length))
}

func (f *watchedFile) Close() error { return f.told(f.File.Close()) }

// Sync, SyncData and SyncTo do nothing: nothing here outlives the process.
func (f *watchedFile) Sync() error                { return nil }
func (f *watchedFile) SyncData() error            { return nil }
func (f *watchedFile) SyncTo(int64) (bool, error) { return false, nil }

// quiet is pebble's logger: what matters comes as errors.
type quiet struct{ store *Store }

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf is called where pebble finds itself at odds with itself: that is a bug, unless the
// disk has failed before.
func (q quiet) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if q.store.failure() == nil {
		panic("BUG: pebble: " + err.Error())
	}
	runtime.Goexit() // it must not return
}
