package source

import (
	"errors"
	"io"
	"io/fs"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// maxKept bounds the descriptors that the bounded files of a source keep between two
// reads. An ordered replay needs the next row of each file, so all of them are read by
// turns, and there may be more than a process can have open. Those above this number
// are opened anew for each read, which costs a tenth of decoding what a read brings.
const maxKept = 64

// keptShare is the part of the process's descriptors that a source may keep, where
// that is less than maxKept: a job has several sources, and a host several jobs.
const keptShare = 16

// parked reads a regular file on from a position. It holds a descriptor between two
// reads only while its source has one to spare, and never behind the end.
type parked struct {
	source *File
	path   string
	info   fs.FileInfo // of the file when it was opened first
	pos    int64
	file   env.File // nil: closed
	kept   bool     // file counts among the source's kept
	ended  bool
}

var _ io.Reader = (*parked)(nil)

// park takes over a file that was just opened, to be read from pos on.
func (f *File) park(path string, file env.File, info fs.FileInfo, pos int64) (*parked, error) {
	p := &parked{source: f, path: path, info: info, pos: pos, file: file}
	if _, err := file.Seek(pos, io.SeekStart); err != nil {
		return nil, err
	}
	p.rest()
	return p, nil
}

// Read implements io.Reader. Behind the end it says io.EOF for good: what a file gets
// later is not read.
func (p *parked) Read(b []byte) (int, error) {
	if p.ended {
		return 0, io.EOF
	}
	if p.file == nil {
		if err := p.reopen(); err != nil {
			return 0, err
		}
	}
	n, err := p.file.Read(b)
	p.pos += int64(n)
	if err == io.EOF {
		p.ended = true
		p.close()
		return n, err
	}
	p.rest()
	return n, err
}

// rest lets go of the descriptor, unless the source has one to spare.
func (p *parked) rest() {
	p.kept = p.kept || p.source.keep()
	if !p.kept {
		p.close()
	}
}

// reopen goes on where the last read ended.
func (p *parked) reopen() error {
	file, err := p.source.env.FS.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Externalf("it was removed while it was being read")
	}
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !env.SameFile(info, p.info) {
		err = fault.Externalf("another file has taken its place while it was being read")
	}
	if err == nil {
		_, err = file.Seek(p.pos, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	p.file = file
	return nil
}

// close gives the descriptor back. Reading may go on.
func (p *parked) close() {
	if p.kept {
		p.source.kept.Add(-1)
		p.kept = false
	}
	if p.file != nil {
		_ = p.file.Close() // only read from: nothing can be lost
		p.file = nil
	}
}

// keep reports whether one descriptor more may be kept, and counts it.
func (f *File) keep() bool {
	most := int64(maxKept)
	if f.env.OpenFiles > 0 {
		most = min(most, int64(f.env.OpenFiles/keptShare))
	}
	if f.kept.Add(1) > most {
		f.kept.Add(-1)
		return false
	}
	return true
}
