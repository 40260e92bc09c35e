package source

import (
	"errors"
	"io"
	"io/fs"
	"time"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// rotateQuiet is how long a file that has been rotated away must have brought
// nothing before its successor is read. Writers go on with the old file until they
// are told to reopen it, which log rotation does right after the renaming.
const rotateQuiet = time.Second

// deletedQuiet is how long a deleted file must have brought nothing before its split
// ends. It is longer than any rotation takes to make the successor, which otherwise
// would be another split, and short enough that a directory whose files come and go
// does not fill the process's descriptors.
const deletedQuiet = time.Minute

// followed reads a file that grows. The file is known by its identity, not by its
// name: when another one has its name, it is read to its end, and then the other.
//
// The one file of a source without a pattern is waited for even when it is gone: the
// job names it. A file of a pattern that is to be found by no name any more is given
// up after deletedQuiet.
//
// A file that is truncated is seen to be shorter than what was read. If it has grown
// past that again before anyone looked, nobody can tell.
type followed struct {
	source *File
	path   string
	file   env.File    // nil: the split has ended, or was closed
	info   fs.FileInfo // of file; only its identity counts
	id     *identity   // of file, guarded by source.mu
	pos    int64
	known  bool      // it was looked whether the file is compressed
	since  time.Time // when the end was reached with a successor there; zero: it was not
	gone   time.Time // when the end was reached with the file to be found nowhere; zero: it was not
}

// follow starts to follow a file that was just opened.
func (f *File) follow(s Split, file env.File, info fs.FileInfo, offset int64) (*followed, error) {
	path := s.Path
	if offset > info.Size() {
		return nil, fault.Userf("%s has %d bytes, fewer than the %d that were read before: it is another file now", path, info.Size(), offset)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Moved != "" {
		f.known.move(found{path, info}, s.Moved)
	}
	return &followed{source: f, path: path, file: file, info: info, id: f.known.take(path, info), pos: offset, known: offset > 0}, nil
}

// Read implements Reader.
func (r *followed) Read(p []byte) (int, error) {
	if r.file == nil {
		return 0, io.EOF
	}
	if !r.known {
		if err := r.look(); err != nil {
			return 0, err
		}
	}
	if r.known {
		n, err := r.file.Read(p)
		if n > 0 {
			r.pos += int64(n)
			r.since, r.gone = time.Time{}, time.Time{}
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, readError(r.path, err)
		}
	}
	return 0, r.end()
}

// look refuses a compressed file: its end is no end of a record, and what is behind
// it cannot be read before more has come.
func (r *followed) look() error {
	var head [magicLen]byte
	n, err := io.ReadFull(r.file, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return readError(r.path, err)
	}
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return readError(r.path, err)
	}
	if compressionOf(head[:n]) != plain {
		return fault.Userf("%s is compressed and cannot be followed", r.path)
	}
	r.known = n > 0 && !undecided(head[:n])
	return nil
}

// end decides what the end of the file means.
func (r *followed) end() error {
	info, err := r.source.env.FS.Stat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // moved away; the successor is not there yet
		r.since = time.Time{}
		return r.giveUp()
	case err != nil:
		return readError(r.path, err)
	case env.SameFile(info, r.info):
		r.since, r.gone = time.Time{}, time.Time{}
		if info.Size() >= r.pos {
			return ErrWait
		}
		if _, err := r.file.Seek(0, io.SeekStart); err != nil {
			return readError(r.path, err)
		}
		r.pos, r.known = 0, false
		return ErrRestart
	}
	if !r.known { // nothing more will come that could tell: what there is, is plain
		r.known = true
		return ErrWait
	}
	if !r.quiet(&r.since, rotateQuiet) {
		return ErrWait
	}
	return r.succeed()
}

// quiet reports whether the end was reached d ago, at the time that since notes.
func (r *followed) quiet(since *time.Time, d time.Duration) bool {
	now := r.source.env.Clock.Now()
	if since.IsZero() {
		*since = now
	}
	return now.Sub(*since) >= d
}

// giveUp ends the split if its file has been deleted long enough ago.
func (r *followed) giveUp() error {
	if !r.source.lost(r.id) {
		r.gone = time.Time{}
		return ErrWait
	}
	if !r.quiet(&r.gone, deletedQuiet) {
		return ErrWait
	}
	if !r.known { // a byte or two, which nothing more will come to explain
		r.known = true
		return ErrWait
	}
	r.source.mu.Lock()
	r.source.known.end(r.path, r.id)
	r.source.mu.Unlock()
	_ = r.file.Close() // only read from: nothing can be lost
	r.file = nil
	return io.EOF
}

// lost reports whether the last listing of a pattern shows a file by no name.
func (f *File) lost(id *identity) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spec.Glob && !id.listed
}

// succeed goes on with the file that has the name now.
func (r *followed) succeed() error {
	file, err := r.source.env.FS.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrWait
	}
	if err != nil {
		return readError(r.path, err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return readError(r.path, err)
	}
	next := r.source.replace(r.path, r.id, info)
	if next == nil {
		// Another split reads that file already: it was only renamed.
		_ = file.Close()
		return r.giveUp()
	}
	err = r.left()
	_ = r.file.Close() // only read from: nothing can be lost
	if err != nil {
		_ = file.Close()
		r.file = nil
		return err
	}
	r.file, r.info, r.id, r.pos, r.known = file, info, next, 0, false
	r.since, r.gone = time.Time{}, time.Time{}
	return ErrRestart
}

// replace notes that the reader of path goes on from one file to another, and returns
// that. It is nil if the other is known already, or no file that can be followed.
func (f *File) replace(path string, from *identity, to fs.FileInfo) *identity {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !to.Mode().IsRegular() || f.known.find(to) != nil {
		return nil
	}
	next := f.known.take(path, to) // first, so that the path stays a split
	f.known.release(from)
	return next
}

// Close implements Reader.
func (r *followed) Close() error {
	if r.file == nil {
		return nil
	}
	r.source.mu.Lock()
	r.source.known.release(r.id)
	r.source.mu.Unlock()
	err := r.file.Close()
	r.file = nil
	return err
}
