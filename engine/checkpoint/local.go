package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// local keeps objects as files of a directory. An entry of the log is written under
// another name, synced, and then linked to its own: a link is made once, whole or not at
// all. The directory is synced before (what the entry names is there when it is) and
// after.
type local struct {
	fs  env.FS
	dir string
}

const (
	lockFile = "lock"
	// part stands in the name of an entry that is being written.
	part = ".part"
	// maxParts is how many names are tried for one. Each that is taken is that of a
	// process at work, or of one that has died since the last Lock.
	maxParts = 100
)

// OpenLocal returns the store in a directory, which need not be there: Lock makes it.
func OpenLocal(fsys env.FS, dir string) Store { return &local{fs: fsys, dir: filepath.Clean(dir)} }

func (s *local) Path(name string) string { return filepath.Join(s.dir, name) }

// fail says what could not be done, and with which file.
func (s *local) fail(doing, name string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	if errors.As(err, &p) {
		err = p.Err
	} else if errors.As(err, &l) {
		err = l.Err
	}
	return fault.Externalf("%s checkpoint file %s: %w", doing, s.Path(name), err)
}

func (s *local) Create(ctx context.Context, name string) (Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.fs.Create(s.Path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, s.fail("create", name, err)
	}
	return &localObject{s, name, f}, nil
}

type localObject struct {
	store *local
	name  string
	file  env.File
}

func (o *localObject) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if err != nil {
		err = o.store.fail("write", o.name, err)
	}
	return n, err
}

// Close makes the content durable; the name is so after the next PutIfAbsent.
func (o *localObject) Close() error {
	err := o.file.Sync()
	if cerr := o.file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return o.store.fail("sync", o.name, err)
	}
	return nil
}

func (o *localObject) Abort() { o.file.Close() } // it is about to be deleted

func (s *local) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	temp, err := s.writePart(name, data)
	if err == nil {
		err = s.syncDir()
	}
	if err == nil {
		if err = s.fs.Link(s.Path(temp), s.Path(name)); errors.Is(err, fs.ErrExist) {
			err = ErrExists
		} else if err != nil {
			err = s.fail("publish (the file system must have hard links)", name, err)
		}
	}
	if err == nil {
		err = s.syncDir()
	}
	if temp != "" {
		s.fs.Remove(s.Path(temp)) // if it stays, the next Lock removes it
	}
	return err
}

// writePart writes data durably under a name that nobody reads, and returns the name even
// if that fails after it was created.
func (s *local) writePart(name string, data []byte) (temp string, err error) {
	var f env.File
	for i := 0; ; i++ {
		temp = fmt.Sprintf("%s%s%d", name, part, i)
		f, err = s.fs.Create(s.Path(temp), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || i == maxParts {
			return "", s.fail("create", temp, err)
		}
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return temp, s.fail("write", temp, err)
	}
	return temp, nil
}

func (s *local) syncDir() error {
	if err := s.fs.SyncDir(s.dir); err != nil {
		return fault.Externalf("sync checkpoint directory %s: %w", s.dir, err)
	}
	return nil
}

func (s *local) Open(ctx context.Context, name string) (Blob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.fs.Open(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, s.fail("open", name, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close() // nothing was written
		return nil, s.fail("open", name, err)
	}
	return &localBlob{f, info.Size()}, nil
}

type localBlob struct {
	env.File
	size int64
}

func (b *localBlob) Size() int64 { return b.size }

func (s *local) List(ctx context.Context, prefix string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Externalf("list checkpoint directory %s: %w", s.dir, err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && !strings.Contains(e.Name(), part) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func (s *local) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.fs.Remove(s.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.fail("remove", name, err)
		}
	}
	return s.syncDir()
}

// Lock makes the directory, holds the lock file in it, and removes what a crash has left
// of entries that were being written.
func (s *local) Lock(ctx context.Context) (io.Closer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.makeDir(); err != nil {
		return nil, fault.Externalf("make checkpoint directory %s: %w", s.dir, err)
	}
	lock, err := s.fs.Lock(s.Path(lockFile))
	if errors.Is(err, env.ErrLocked) {
		return nil, fault.Conflictf("a process that still runs holds the checkpoints in %s: end it first, or give this job another directory", s.dir)
	}
	if err != nil {
		return nil, s.fail("lock", lockFile, err)
	}
	if err := s.removeParts(); err != nil {
		lock.Close() // nothing was written
		return nil, err
	}
	return lock, nil
}

func (s *local) removeParts() error {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return fault.Externalf("list checkpoint directory %s: %w", s.dir, err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), part) {
			if err := s.fs.Remove(s.Path(e.Name())); err != nil {
				return s.fail("remove", e.Name(), err)
			}
		}
	}
	return nil
}

// makeDir makes the directory and those above it, durably.
func (s *local) makeDir() error {
	var parents []string // of those that are made
	for dir := s.dir; ; dir = filepath.Dir(dir) {
		_, err := s.fs.Stat(dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return err
		}
		parents = append(parents, filepath.Dir(dir))
	}
	if len(parents) == 0 {
		return nil
	}
	if err := s.fs.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	for _, dir := range slices.Backward(parents) {
		if err := s.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

var _ Store = (*local)(nil)
