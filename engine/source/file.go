package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Stdin is the path, and the ID, of standard input: one bounded split that cannot be
// read twice.
const Stdin = "-"

const (
	// maxFiles bounds the splits of a pattern: each is a line in every report.
	maxFiles = 10_000
	// maxFollowed bounds the files of a followed pattern that are there: each stays
	// open, and 1,024 descriptors a process are a common limit.
	maxFollowed = 900
	// otherFiles is how many descriptors of the process are left to others: outputs,
	// plug-ins, the catalogue of a host, connections.
	otherFiles = 64
)

// moreRoom is what to do about a lack of descriptors.
const moreRoom = "let the process open more files (ulimit -n, or LimitNOFILE of a service), or split the job"

// crowded reports whether something cannot be opened because too much is open.
func crowded(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// File reads files: each is a split. Bounded ones may be compressed with gzip or
// zstd, whatever they are called; any number of them can be read by turns, whatever
// the process may open. Followed ones stay open and are read on as they grow; a file
// that is rotated away is read to its end, and its successor under the same name
// from the start. A split of a followed pattern ends some time after its file was
// deleted.
type File struct {
	spec  job.FileSource
	env   env.Env
	stdin io.Reader

	kept atomic.Int64 // bounded only: see parked

	mu    sync.Mutex
	taken bool       // standard input has been opened
	known identities // followed only
}

var _ Source = (*File)(nil)

// NewFile returns the source. stdin is for the path Stdin, and may be nil otherwise.
func NewFile(spec job.FileSource, e env.Env, stdin io.Reader) (*File, error) {
	if spec.Path == Stdin {
		switch {
		case stdin == nil:
			return nil, fault.Userf("there is no standard input here")
		case spec.Follow:
			return nil, fault.Userf("standard input cannot be followed: it ends when its writer does")
		}
	}
	if spec.Glob {
		if _, err := filepath.Match(spec.Path, ""); err != nil {
			return nil, fault.Userf("%s is no valid pattern: %w", spec.Path, err)
		}
	}
	return &File{spec: spec, env: e, stdin: stdin, known: identities{}}, nil
}

// found is a file as a listing shows it.
type found struct {
	path string
	info fs.FileInfo
}

// Splits implements Source.
func (f *File) Splits(ctx context.Context) ([]Split, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.spec.Path == Stdin {
		return []Split{{ID: Stdin, Path: Stdin, ModTime: stream.MinTime, Size: -1}}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	files, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	there, limit := len(files), maxFiles
	if f.spec.Follow {
		files, there = f.known.update(files)
		limit = maxFollowed
	}
	if there > limit {
		return nil, fault.Userf("%s names %d files, at most %d are possible", f.spec.Path, there, limit)
	}
	if most := f.room(); f.spec.Follow && len(files) > most {
		deleted := ""
		if n := len(files) - there; n > 0 {
			deleted = fmt.Sprintf(", and %d are deleted and not yet given up", n)
		}
		return nil, fault.Userf("%s names %d files that stay open%s; this process may have %d files open, and %d of them for these: %s",
			f.spec.Path, there, deleted, f.env.OpenFiles, most, moreRoom)
	}
	splits := make([]Split, len(files))
	for i, file := range files {
		splits[i] = Split{ID: f.shown(file.path), Path: file.path, ModTime: stream.Time(file.info.ModTime().UnixMilli()), Size: file.info.Size()}
	}
	slices.SortFunc(splits, func(a, b Split) int { return cmp.Compare(a.ID, b.ID) })
	return splits, nil
}

// room is how many files may stay open.
func (f *File) room() int {
	n := f.env.OpenFiles
	if n == 0 {
		return math.MaxInt
	}
	return max(n-otherFiles, n/2)
}

// list returns the files that the path names now.
func (f *File) list(ctx context.Context) ([]found, error) {
	if !f.spec.Glob {
		info, err := f.env.FS.Stat(f.spec.Path)
		if errors.Is(err, fs.ErrNotExist) && len(f.known.splits) > 0 {
			return nil, nil // followed: moved away, and the successor is not there yet
		}
		if err == nil {
			err = notDirectory(f.spec.Path, info)
		}
		if err != nil {
			return nil, unusable(f.spec.Path, err)
		}
		return []found{{f.spec.Path, info}}, nil
	}
	paths, err := f.env.FS.Glob(f.spec.Path)
	if err != nil {
		return nil, fault.Userf("pattern %s: %w", f.spec.Path, err)
	}
	var files []found
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := f.env.FS.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since, or a link to nothing
		}
		if err != nil {
			return nil, unusable(p, err)
		}
		if !info.IsDir() { // a pattern for files may well match a directory
			files = append(files, found{p, info})
		}
	}
	if len(files) == 0 && !f.spec.Follow {
		return nil, fault.Userf("no file matches %s", f.spec.Path)
	}
	return files, nil
}

// shown is a path as people see it: relative to the job, with slashes.
func (f *File) shown(path string) string {
	if rel, err := filepath.Rel(f.spec.Base, path); err == nil && f.spec.Base != "" {
		path = rel
	}
	return filepath.ToSlash(path)
}

// Open implements Source.
func (f *File) Open(ctx context.Context, s Split, offset int64) (Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Path == Stdin {
		return f.openStdin(offset)
	}
	file, err := f.env.FS.Open(cmp.Or(s.Moved, s.Path))
	if err != nil {
		return nil, unusable(cmp.Or(s.Moved, s.Path), err)
	}
	r, err := f.open(ctx, s, file, offset)
	if err != nil {
		_ = file.Close() // nothing was written to it
		return nil, unusable(s.Path, err)
	}
	return r, nil
}

func (f *File) open(ctx context.Context, s Split, file env.File, offset int64) (Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := notDirectory(s.Path, info); err != nil {
		return nil, err
	}
	switch {
	case f.spec.Follow && !info.Mode().IsRegular():
		return nil, fault.Userf("%s is no regular file and cannot be followed", s.Path)
	case f.spec.Follow:
		return f.follow(s, file, info, offset)
	case !info.Mode().IsRegular(): // a pipe: reading may wait
		if offset != 0 {
			return nil, fault.Userf("%s cannot be read a second time", s.Path)
		}
		return newPump(s.Path, file, file.Close), nil
	}
	return f.bounded(ctx, s.Path, file, info, offset)
}

func (f *File) openStdin(offset int64) (Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if offset != 0 || f.taken {
		return nil, fault.Userf("standard input cannot be read a second time")
	}
	f.taken = true
	return newPump("standard input", f.stdin, nil), nil
}

func notDirectory(path string, info fs.FileInfo) error {
	if info.IsDir() {
		return fault.Userf("%s is a directory, name files or a pattern such as %s", path, filepath.Join(path, "*.jsonl"))
	}
	return nil
}

// unusable gives an error about a file that the job names its class.
func unusable(path string, err error) error {
	switch {
	case errors.Is(err, fault.ErrUser), errors.Is(err, fault.ErrExternal), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.Userf("%s does not exist", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fault.Userf("%s does not exist: a part of the path is a file", path)
	case crowded(err):
		return fault.Externalf("%s: %w: %s", path, err, moreRoom)
	case errors.Is(err, fs.ErrPermission):
		return fault.Userf("%s may not be read: %w", path, err)
	}
	return fault.As(fault.ErrExternal, fmt.Errorf("%s: %w", path, err))
}
