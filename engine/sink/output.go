package sink

import (
	"errors"
	"hash/crc32"
	"io/fs"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// bufferSize is what a file sink keeps before it writes: few system calls, and little
// lost from view while a job runs.
const bufferSize = 256 << 10

// output is an open file with a buffer before it. The first error stays: nobody knows
// what the file holds then, and that a second fsync succeeds says nothing of what the
// first one was to write.
type output struct {
	target string // as messages name it
	name   string // path of the file
	f      env.File
	buf    []byte
	length int64  // of the file, without what is in the buffer
	tail   []byte // the last tailBytes of these
	err    error
}

// tailBytes is how many bytes a file is known again by: results have ids, so that no two
// runs have the same rows before the same position.
const tailBytes = 4 << 10

// tailOf is how much of a tail a file of this length has.
func tailOf(length int64) int { return int(min(length, tailBytes)) }

// sum is what is kept of a tail.
func sum(tail []byte) uint32 { return crc32.Checksum(tail, castagnoli) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write adds lines.
func (o *output) write(lines []byte) error {
	if len(o.buf)+len(lines) > bufferSize {
		if err := o.flush(); err != nil {
			return err
		}
	}
	if len(lines) >= bufferSize {
		return o.put(lines)
	}
	o.buf = append(o.buf, lines...)
	return o.err
}

// flush writes what is in the buffer.
func (o *output) flush() error {
	err := o.put(o.buf)
	o.buf = o.buf[:0]
	return err
}

func (o *output) put(p []byte) error {
	if o.err != nil || len(p) == 0 {
		return o.err
	}
	n, err := o.f.Write(p)
	o.length += int64(n)
	o.tail = append(o.tail, p[max(0, n-tailBytes):n]...)
	o.tail = append(o.tail[:0], o.tail[max(0, len(o.tail)-tailBytes):]...)
	return o.failed("write", err)
}

// sync makes all that was written durable. It looks at the file under its name: a process
// that was taken for dead may write to it, or have put another one in its place.
func (o *output) sync(fsys env.FS) error {
	if err := o.flush(); err != nil {
		return err
	}
	info, err := fsys.Stat(o.name)
	if err != nil {
		return o.failed("sync", err)
	}
	if info.Size() != o.length {
		return o.failed("sync", fault.Externalf("%s has %d bytes, and this job has written %d: another process writes it", o.name, info.Size(), o.length))
	}
	return o.failed("sync", o.f.Sync())
}

// close lets go of the file; what is in the buffer is lost.
func (o *output) close() error {
	if o.f == nil {
		return o.err
	}
	err := o.f.Close()
	o.f, o.buf = nil, o.buf[:0]
	return o.failed("close", err)
}

// abort writes what is in the buffer and lets go of the file.
func (o *output) abort() error {
	if o.f == nil {
		return nil
	}
	err := o.flush()
	if cerr := o.close(); err == nil {
		err = cerr
	}
	return err
}

// failed notes an error, with what was to be done.
func (o *output) failed(what string, err error) error {
	if err != nil && o.err == nil {
		o.err = fault.Externalf("%s %s: %w", what, o.target, reason(err))
	}
	return o.err
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
