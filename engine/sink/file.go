package sink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// FileOptions says how a file sink shows its rows.
type FileOptions struct {
	// PerEpoch makes one file for each epoch with rows, seen as soon as it is decided about
	// it. Else there is one file, seen when the last epoch is.
	PerEpoch bool
}

// OpenFile opens a file sink, making the directories above it. Its rows are seen exactly
// once: no name that a reader looks at ever stands for a part of a file, or for rows that
// are not decided.
//
// Errors are of class fault.ErrUser where the path cannot be written, or the checkpoint is
// of another sink; fault.ErrCorrupt where rows are missing; else fault.ErrExternal.
//
// A fresh start overwrites what an earlier run has left in progress. One file is replaced
// by the new one when that is complete; files of epochs are never overwritten: where
// there are some, a fresh start is an error of class fault.ErrUser.
//
// What is no regular file, such as /dev/null or a named pipe, cannot be renamed into
// place. It is written to as it stands, at least once.
func OpenFile(fsys env.FS, path string, o FileOptions, from Restored) (Sink, error) {
	info, err := fsys.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fault.Userf("cannot write %s: it is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		return openDevice(fsys, path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, cannot(path, err)
	}
	if err := makeDir(fsys, filepath.Dir(path)); err != nil {
		return nil, cannot(path, err)
	}
	if len(from.Pending) == 0 { // new, or something without a past until now
		if o.PerEpoch {
			return newFiles(fsys, path, from.Epoch)
		}
		return newFile(fsys, path)
	}
	if o.PerEpoch {
		return restoreFiles(fsys, path, from)
	}
	return restoreFile(fsys, path, from)
}

// cannot is the error of an opening. Where the place is wrong, trying again does not help.
func cannot(path string, err error) error {
	class := fault.ErrExternal
	for _, wrong := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, syscall.EROFS, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP} {
		if errors.Is(err, wrong) {
			class = fault.ErrUser
		}
	}
	return fault.As(class, fmt.Errorf("cannot write %s: %w", path, reason(err)))
}

// makeDir makes a directory and those above it, each durable before the next. So where a
// process was killed, only the deepest of them may not be durable: the name of one that is
// there already is synced, too.
func makeDir(fsys env.FS, dir string) error {
	above := filepath.Dir(dir)
	if above == dir {
		return nil
	}
	_, err := fsys.Stat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		if err := makeDir(fsys, above); err != nil {
			return err
		}
		err = fsys.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	err = fsys.SyncDir(above)
	if !missing && errors.Is(err, fs.ErrPermission) {
		return nil // no process of ours has made anything there
	}
	return err
}

// publish gives a durable file of so many bytes its final name; syncing the directory is
// left to the caller. gone: it has no file under the name from, so that it was published
// before, or lost.
func publish(fsys env.FS, from, to string, bytes int64) (gone bool, err error) {
	info, err := fsys.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fault.Externalf("publish %s: %w", to, reason(err))
	case info.Size() != bytes:
		return false, damaged(from, info.Size(), bytes)
	}
	if err := fsys.Rename(from, to); err != nil {
		return false, fault.Externalf("publish %s: %w", to, err)
	}
	return false, nil
}

// damaged says that a file does not have the length that was made durable.
func damaged(name string, is, want int64) error {
	return fault.Corruptf("%s has %d bytes, and %d were written when the checkpoint was taken: it was damaged or replaced since; restore an older checkpoint, or start anew", name, is, want)
}

// file is one file, path, which is complete at the end. Its rows are in path.inprogress
// until then. On a restart that is cut back to what was decided.
type file struct {
	fs       env.FS
	path     string
	out      output
	named    bool // the name of the file in progress is durable
	complete bool // the last epoch is prepared
}

var _ Sink = (*file)(nil)
var _ InFile = (*file)(nil)

func newFile(fsys env.FS, path string) (Sink, error) {
	s, err := openOne(fsys, path, os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openOne(fsys env.FS, path string, flag int) (*file, error) {
	s := &file{fs: fsys, path: path, out: output{target: path, name: path + InProgress}}
	var err error
	if s.out.f, err = fsys.Create(s.out.name, os.O_WRONLY|flag|os.O_CREATE, 0o644); err != nil {
		return nil, cannot(path, err)
	}
	return s, nil
}

func restoreFile(fsys env.FS, path string, from Restored) (Sink, error) {
	p, err := decodePending(from.Pending, oneFile, path)
	if err != nil {
		return nil, err
	}
	inProgress := path + InProgress
	tail, err := known(fsys, inProgress, p)
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.Last:
		if tail, err = known(fsys, path, p); errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Corruptf("%s is gone, and so is %s: it was complete, with %d bytes, when the checkpoint was taken; restore it, or start anew", path, inProgress, p.Bytes)
		}
	case errors.Is(err, fs.ErrNotExist) && p.Bytes == 0:
		err = nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Corruptf("%s is gone, and %d bytes were in it when the checkpoint was taken: restore it, or start anew; where the job has been complete since, its first %d bytes are those of %s", inProgress, p.Bytes, p.Bytes, path)
	}
	if err != nil {
		return nil, err
	}
	if p.Last {
		s := &file{fs: fsys, path: path, complete: true, out: output{target: path, name: inProgress, length: p.Bytes, tail: tail}}
		if err := s.Commit(from.Pending); err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := openOne(fsys, path, 0)
	if err != nil {
		return nil, err
	}
	if err := s.cut(p.Bytes); err != nil {
		_ = s.out.close()
		return nil, cannot(path, err)
	}
	s.out.tail = tail
	return s, nil
}

// known makes sure that a file begins with the rows that were written when the checkpoint
// was taken, as far as their number and the last of them tell, and returns these.
func known(fsys env.FS, name string, p pending) (tail []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, cannot(name, err)
	}
	defer f.Close() // only read from: nothing can be lost
	info, err := f.Stat()
	if err != nil {
		return nil, cannot(name, err)
	}
	if info.Size() < p.Bytes {
		return nil, damaged(name, info.Size(), p.Bytes)
	}
	tail = make([]byte, tailOf(p.Bytes))
	if _, err = f.Seek(p.Bytes-int64(len(tail)), io.SeekStart); err == nil {
		_, err = io.ReadFull(f, tail)
	}
	if err != nil {
		return nil, cannot(name, err)
	}
	if sum(tail) != p.Tail {
		return nil, fault.Corruptf("%s is not the file that was written when the checkpoint was taken: what stands before its byte %d differs; put that one back, or start anew", name, p.Bytes)
	}
	return tail, nil
}

// cut takes back what was written behind the last decided epoch.
func (s *file) cut(length int64) error {
	if err := s.out.f.Truncate(length); err != nil {
		return err
	}
	s.out.length = length
	_, err := s.out.f.Seek(length, io.SeekStart)
	return err
}

func (s *file) InProgress() string { return s.out.name }
func (s *file) Target() string     { return s.path }

func (s *file) Write(lines []byte) error {
	if s.complete && len(lines) > 0 {
		return s.out.failed("write", fault.Userf("it was complete when the checkpoint was taken, so that no row can follow: start anew"))
	}
	return s.out.write(lines)
}

func (s *file) Flush() error { return s.out.flush() }

// Prepare makes the rows durable and notes how long the file is.
func (s *file) Prepare(epoch uint64, last bool) ([]byte, error) {
	if !s.complete {
		if err := s.out.sync(s.fs); err != nil {
			return nil, err
		}
	}
	if !s.complete && !s.named {
		if err := s.fs.SyncDir(filepath.Dir(s.path)); err != nil {
			return nil, s.out.failed("sync", err)
		}
		s.named = true
	}
	p := pending{Kind: oneFile, File: filepath.Base(s.path), Epoch: epoch, Last: last || s.complete, Bytes: s.out.length, Tail: sum(s.out.tail)}
	if p.Last {
		s.complete = true
		if err := s.out.close(); err != nil {
			return nil, err
		}
	}
	return p.encode(), nil
}

// Commit gives the file its name if the epoch is the last one.
func (s *file) Commit(stored []byte) error {
	p, err := decodePending(stored, oneFile, s.path)
	if err != nil || !p.Last {
		return err
	}
	gone, err := publish(s.fs, s.out.name, s.path, p.Bytes)
	if err != nil {
		return err
	}
	if gone {
		info, err := s.fs.Stat(s.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fault.Corruptf("%s is gone, and so is %s: it was complete, with %d bytes, when the checkpoint was taken; restore it, or start anew", s.path, s.out.name, p.Bytes)
		case err != nil:
			return fault.Externalf("publish %s: %w", s.path, reason(err))
		case info.Size() != p.Bytes:
			return damaged(s.path, info.Size(), p.Bytes)
		}
	}
	// Also if another process has renamed it: that one may not have come so far.
	if err := s.fs.SyncDir(filepath.Dir(s.path)); err != nil {
		return fault.Externalf("publish %s: %w", s.path, err)
	}
	return nil
}

// Abort writes what it has, so that it can be looked at, and leaves it in progress.
func (s *file) Abort() error { return s.out.abort() }
