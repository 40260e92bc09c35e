package source

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// rotateQuiet is how long a file that has been rotated away must have brought
// nothing before its successor is read. Writers go on with the old file until they
// are told to reopen it, which log rotation does right after the renaming.
const rotateQuiet = time.Second

// followed reads a file that grows. The file is known by its identity, not by its
// name: when another one has its name, it is read to its end, and then the other.
//
// A file that is truncated is seen to be shorter than what was read. If it has grown
// past that again before anyone looked, nobody can tell.
type followed struct {
	source *File
	path   string
	file   env.File
	info   fs.FileInfo // of file
	pos    int64
	known  bool      // it was looked whether the file is compressed
	since  time.Time // when the end was reached with a successor there; zero: it was not
}

// follow starts to follow a file that was just opened.
func (f *File) follow(path string, file env.File, info fs.FileInfo, offset int64) (*followed, error) {
	if offset > info.Size() {
		return nil, fault.Userf("%s has %d bytes, fewer than the %d that were read before: it is another file now", path, info.Size(), offset)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known.take(path, info)
	return &followed{source: f, path: path, file: file, info: info, pos: offset, known: offset > 0}, nil
}

// Read implements Reader.
func (r *followed) Read(p []byte) (int, error) {
	if !r.known {
		if err := r.look(); err != nil {
			return 0, err
		}
	}
	if r.known {
		n, err := r.file.Read(p)
		if n > 0 {
			r.pos += int64(n)
			r.since = time.Time{}
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
		return ErrWait
	case err != nil:
		return readError(r.path, err)
	case os.SameFile(info, r.info):
		r.since = time.Time{}
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
	now := r.source.env.Clock.Now()
	if r.since.IsZero() {
		r.since = now
	}
	if now.Sub(r.since) < rotateQuiet {
		return ErrWait
	}
	return r.succeed()
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
	if !info.Mode().IsRegular() || !r.source.replace(r.path, r.info, info) {
		// Another split reads that file already: it was only renamed.
		_ = file.Close()
		return ErrWait
	}
	_ = r.file.Close() // only read from: nothing can be lost
	r.file, r.info, r.pos, r.known, r.since = file, info, 0, false, time.Time{}
	return ErrRestart
}

// replace notes that the reader of path goes on from one file to another. It
// refuses if the other is known already.
func (f *File) replace(path string, from, to fs.FileInfo) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known.find(to) != nil {
		return false
	}
	f.known.release(from)
	f.known.take(path, to)
	return true
}

// Close implements Reader.
func (r *followed) Close() error {
	r.source.mu.Lock()
	r.source.known.release(r.info)
	r.source.mu.Unlock()
	return r.file.Close()
}
