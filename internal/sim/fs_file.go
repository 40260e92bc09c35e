package sim

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"tidemark/internal/env"
)

// file is an open file. All of it is guarded by the mutex of its file system.
type file struct {
	fs     *FS
	node   *node
	name   string
	flag   int
	pos    int64
	closed bool
}

func newFile(f *FS, n *node, name string, flag int) *file {
	return &file{fs: f, node: n, name: name, flag: flag}
}

var _ env.File = (*file)(nil)

// Name implements env.File.
func (f *file) Name() string { return f.name }

// call is a call of the file system on this file, which must be open.
func (f *file) call(op Op, size int, act func(size int) error) error {
	return f.fs.call(op, f.name, size, func(size int) error {
		if f.closed {
			return fs.ErrClosed
		}
		return act(size)
	})
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (n int, err error) {
	end := false
	err = f.call(OpRead, len(p), func(size int) error {
		switch {
		case len(p) == 0: // the system is not asked
		case f.flag&os.O_WRONLY != 0:
			return syscall.EBADF
		case f.node.isDir():
			return syscall.EISDIR
		case f.pos < int64(len(f.node.data)):
			n = copy(p[:size], f.node.data[f.pos:])
			f.pos += int64(n)
		default:
			end = true
		}
		return nil
	})
	if err == nil && end {
		return 0, io.EOF
	}
	return n, err
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (n int, err error) {
	err = f.call(OpWrite, len(p), func(size int) error {
		if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
			return syscall.EBADF
		}
		if f.flag&os.O_APPEND != 0 {
			f.pos = int64(len(f.node.data))
		}
		// Space is taken by what lies behind the end of the file, a gap too.
		have := int64(len(f.node.data))
		more := max(0, f.pos+int64(size)-have)
		missing := more - f.fs.room(more)
		n = max(0, size-int(missing))
		f.node.write(f.pos, p[:n])
		f.pos += int64(n)
		f.fs.used += int64(len(f.node.data)) - have
		f.node.changed = f.fs.clock.Now()
		if missing > 0 {
			return syscall.ENOSPC
		}
		if f.flag&os.O_SYNC != 0 {
			f.node.sync()
		}
		return nil
	})
	return n, err
}

// Seek implements io.Seeker.
func (f *file) Seek(offset int64, whence int) (pos int64, err error) {
	err = f.call(OpSeek, 0, func(int) error {
		switch whence {
		case io.SeekCurrent:
			offset += f.pos
		case io.SeekEnd:
			offset += int64(len(f.node.data))
		}
		if offset < 0 {
			return syscall.EINVAL
		}
		f.pos, pos = offset, offset
		return nil
	})
	return pos, err
}

// Stat implements env.File.
func (f *file) Stat() (info fs.FileInfo, err error) {
	err = f.call(OpFileStat, 0, func(int) error {
		info = f.fs.info(f.node, path.Base(filepath.ToSlash(f.name)))
		return nil
	})
	return info, err
}

// Sync implements env.File.
func (f *file) Sync() error {
	synced := false
	err := f.call(OpSync, 0, func(int) error {
		synced = true
		f.node.sync()
		return nil
	})
	if err != nil && !synced {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		f.node.syncFailed()
	}
	return err
}

// Truncate implements env.File.
func (f *file) Truncate(size int64) error {
	return f.call(OpTruncate, 0, func(int) error {
		if size < 0 || f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
			return syscall.EINVAL
		}
		if more := size - int64(len(f.node.data)); more > f.fs.room(max(0, more)) {
			return syscall.ENOSPC
		}
		f.fs.truncate(f.node, size)
		return nil
	})
}

// Close implements io.Closer. A file whose closing fails is closed.
func (f *file) Close() error {
	err := f.call(OpClose, 0, func(int) error { return nil })
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.letGo()
	return err
}

// release closes a file that nobody has got.
func (f *file) release() {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.letGo()
}

func (f *file) letGo() {
	if !f.closed {
		f.closed = true
		f.node.opens--
		f.fs.free(f.node)
	}
}
