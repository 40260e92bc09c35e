package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// A followed file may have been rotated while nobody followed it: then another one has its
// name, and it has another name in its directory. Find looks for it there, and a reader that
// is opened where it is now reads the rest of it and then goes on to the one that has the
// name, as it would have done at the time.

// Trace is what is known of a followed file that was read, to know it again by.
type Trace struct {
	Number uint64 // see Numbered; 0: unknown
	Head   []byte // its first bytes, as many as are known
	Offset int64  // how much of it had been passed on
}

// Numbered is a Reader of a file that its file system has given a number.
type Numbered interface {
	Reader
	// Number is that of the file that is being read; 0: there is none, or it is unknown.
	// A file keeps it whatever it is called. A deleted one's may be given to another.
	Number() uint64
}

// Finder is a Source of splits that may lie elsewhere than when they were read.
type Finder interface {
	Source
	// Find returns a split that was read before, by its ID, for Open to go on with. An
	// error of class fault.ErrUser says that it is not what it was, or not there.
	Find(ctx context.Context, id string, was Trace) (Split, error)
	// Spent returns what is known of files that have been read to their end, and may still
	// have a name of the source's.
	Spent() []Trace
	// Skip takes what Spent has said in an earlier run, after the first Splits and before
	// anything is opened: such files are no splits.
	Skip(ctx context.Context, spent []Trace) error
}

var (
	_ Finder   = (*File)(nil)
	_ Numbered = (*followed)(nil)
)

// Number implements Numbered.
func (r *followed) Number() uint64 { return env.FileNumber(r.info) }

// likeness is how much a file is like one that was read.
type likeness struct {
	fits   bool // it may be it: it is long enough, and begins as that did
	number bool // it has its number, too
	info   fs.FileInfo
}

// Find implements Finder, of a source that follows files. The file is the one with the number
// and the beginning that it had, be it called as it was or not. Where none has the number, as
// on another machine, it is the one that has the name, if that begins as it did; else, as
// where rotation copies files, the only one in the directory that does.
func (f *File) Find(ctx context.Context, id string, was Trace) (Split, error) {
	s := Split{ID: id, Path: f.pathOf(id)}
	if !f.names(s.Path) {
		return s, fault.Userf("it is none of the files that %s names, and %d bytes of it had been read", f.spec.Path, was.Offset)
	}
	own, err := f.liken(s.Path, was)
	if err != nil {
		return s, err
	}
	if own.fits && (own.number || was.Number == 0) {
		return s, nil
	}
	dir := filepath.Dir(s.Path)
	entries, err := f.env.FS.ReadDir(dir)
	if err != nil {
		return s, unusable(dir, err)
	}
	var alike []string
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() || path == s.Path {
			continue
		}
		other, err := f.liken(path, was)
		switch {
		case errors.Is(err, fault.ErrUser): // not ours to read
		case err != nil:
			return s, err
		case other.number:
			return f.moved(s, path, other.info, entries)
		case other.fits && len(was.Head) > 0:
			alike = append(alike, path)
		}
	}
	switch {
	case own.fits:
		return s, nil
	case len(alike) == 1:
		info, err := f.env.FS.Stat(alike[0])
		if err != nil {
			return s, unusable(alike[0], err)
		}
		return f.moved(s, alike[0], info, entries)
	case len(alike) > 1:
		return s, fault.Userf("another file has its name now, and several begin as it did: %s", f.list3(alike))
	case own.info == nil:
		return s, fault.Userf("the file is not there any more, nor in its directory by another name, and %d bytes of it had been read", was.Offset)
	}
	return s, fault.Userf("the file does not begin as it did when it was read, or is shorter: it is another one now, and none in its directory is the old one, of which %d bytes had been read", was.Offset)
}

// liken compares a file with one that was read. One that is not there is not like it.
func (f *File) liken(path string, was Trace) (l likeness, err error) {
	file, err := f.env.FS.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, unusable(path, err)
	}
	defer file.Close() // only read from: nothing can be lost
	if l.info, err = file.Stat(); err != nil {
		return l, unusable(path, err)
	}
	if !l.info.Mode().IsRegular() || l.info.Size() < max(was.Offset, int64(len(was.Head))) {
		return l, nil
	}
	head := make([]byte, len(was.Head))
	if _, err := io.ReadFull(file, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return l, readError(path, err)
	}
	l.fits = bytes.Equal(head, was.Head)
	l.number = l.fits && was.Number > 0 && env.FileNumber(l.info) == was.Number
	return l, nil
}

// moved has a split go on with a file that is called at now. It is refused where it cannot be
// told what comes behind that: files that came between it and the one that has its name now.
func (f *File) moved(s Split, at string, info fs.FileInfo, entries []fs.DirEntry) (Split, error) {
	s.Moved = at
	base := filepath.Base(s.Path)
	var between []string
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(s.Path), e.Name())
		if !strings.HasPrefix(e.Name(), base) || e.IsDir() || path == s.Path || path == at || f.spec.Glob && f.names(path) {
			continue // those of the pattern are splits
		}
		other, err := f.env.FS.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, unusable(path, err)
		}
		if other.Mode().IsRegular() && other.Size() > 0 && !other.ModTime().Before(info.ModTime()) {
			between = append(between, path)
		}
	}
	if len(between) > 0 {
		return s, fault.Userf("the file is %s now, and has been rotated more than once: what came between it and %s is not known to be read, %s. Append it to %s in order, and remove it",
			f.shown(at), f.shown(s.Path), f.list3(between), f.shown(at))
	}
	return s, nil
}

// list3 names some files.
func (f *File) list3(paths []string) string {
	const named = 3
	slices.Sort(paths)
	var shown []string
	for _, p := range paths[:min(len(paths), named)] {
		shown = append(shown, f.shown(p))
	}
	text := strings.Join(shown, ", ")
	if n := len(paths) - named; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// names reports whether the source reads what has this path.
func (f *File) names(path string) bool {
	if !f.spec.Glob {
		return path == f.spec.Path
	}
	ok, err := filepath.Match(f.spec.Path, path)
	return ok && err == nil
}

// pathOf is the path of what is shown as id.
func (f *File) pathOf(id string) string {
	path := filepath.FromSlash(id)
	if f.spec.Base != "" && !filepath.IsAbs(path) {
		path = filepath.Join(f.spec.Base, path)
	}
	return path
}
