package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// InProgress is what a file's name ends in until it is complete. Stored; never change.
const InProgress = ".inprogress"

// bufferSize is what a file sink keeps before it writes: few system calls, and little
// lost from view while a job runs.
const bufferSize = 256 << 10

// File writes a file that readers see only when it is complete: lines go to
// path.inprogress, which is synced by Prepare and renamed by Commit. An aborted file
// stays under that name, for people to look at; the next run starts it anew.
//
// What is no regular file, such as /dev/null or a named pipe, cannot be renamed into
// place and is written to as it stands.
type File struct {
	fs     env.FS
	path   string
	direct bool
	f      env.File
	buf    []byte
}

// OpenFile opens a file sink, making the directories above it.
func OpenFile(fsys env.FS, path string) (*File, error) {
	s := &File{fs: fsys, path: path}
	info, err := fsys.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fault.Userf("cannot write %s: it is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		s.direct = true
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Userf("cannot write %s: %w", path, reason(err))
	}
	if !s.direct {
		if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fault.Userf("cannot write %s: %w", path, reason(err))
		}
	}
	s.f, err = fsys.Create(s.InProgress(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fault.Userf("cannot write %s: %w", path, reason(err))
	}
	return s, nil
}

// reason strips the operation and the path from an error of the file system; the
// caller says both in its own words.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// InProgress is where the lines are until Commit.
func (s *File) InProgress() string {
	if s.direct {
		return s.path
	}
	return s.path + InProgress
}

// Target is the path.
func (s *File) Target() string { return s.path }

// Write adds lines.
func (s *File) Write(lines []byte) error {
	if len(s.buf)+len(lines) > bufferSize {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	if len(lines) >= bufferSize {
		return s.write(lines)
	}
	s.buf = append(s.buf, lines...)
	return nil
}

// Flush writes what is in the buffer.
func (s *File) Flush() error {
	err := s.write(s.buf)
	s.buf = s.buf[:0]
	return err
}

func (s *File) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := s.f.Write(p); err != nil {
		return fault.Externalf("write %s: %w", s.path, reason(err))
	}
	return nil
}

// Prepare makes the lines durable.
func (s *File) Prepare() error {
	if err := s.Flush(); err != nil {
		return err
	}
	if s.direct {
		return nil // nothing to make durable: it is a device or a pipe
	}
	if err := s.f.Sync(); err != nil {
		return fault.Externalf("sync %s: %w", s.path, reason(err))
	}
	return nil
}

// Commit gives the file its name.
func (s *File) Commit() error {
	if err := s.f.Close(); err != nil {
		return fault.Externalf("close %s: %w", s.path, reason(err))
	}
	if s.direct {
		return nil
	}
	if err := s.fs.Rename(s.InProgress(), s.path); err != nil {
		return fault.Externalf("publish %s: %w", s.path, err)
	}
	if err := s.fs.SyncDir(filepath.Dir(s.path)); err != nil {
		return fault.Externalf("publish %s: %w", s.path, err)
	}
	return nil
}

// Abort writes what it has, so that it can be looked at, and leaves it in progress.
func (s *File) Abort() error {
	err := s.Flush()
	if cerr := s.f.Close(); err == nil && cerr != nil {
		err = fault.Externalf("close %s: %w", s.path, reason(cerr))
	}
	return err
}

var _ Sink = (*File)(nil)
