package state

import (
	"encoding/binary"
	"errors"
	"math"

	"tidemark/internal/fault"
)

// Writer builds a snapshot: little-endian words and length-prefixed bytes, in an order
// that the reader knows. Framing, versions and checksums are the checkpoint's.
type Writer struct {
	Buf []byte
	err error
}

// Fail notes why what is being written cannot be complete, unless there is a reason.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Err returns the reason.
func (w *Writer) Err() error { return w.err }

func (w *Writer) U8(v uint8)    { w.Buf = append(w.Buf, v) }
func (w *Writer) U32(v uint32)  { w.Buf = binary.LittleEndian.AppendUint32(w.Buf, v) }
func (w *Writer) U64(v uint64)  { w.Buf = binary.LittleEndian.AppendUint64(w.Buf, v) }
func (w *Writer) I64(v int64)   { w.U64(uint64(v)) }
func (w *Writer) F64(v float64) { w.U64(math.Float64bits(v)) }
func (w *Writer) Bool(v bool) {
	if v {
		w.U8(1)
	} else {
		w.U8(0)
	}
}
func (w *Writer) Bytes(p []byte) {
	w.U32(uint32(len(p)))
	w.Buf = append(w.Buf, p...)
}

// Len writes a number of things that follow.
func (w *Writer) Len(n int) { w.U32(uint32(n)) }

// PatchLen replaces a number that Len has written at a place of Buf.
func (w *Writer) PatchLen(at, n int) { binary.LittleEndian.PutUint32(w.Buf[at:], uint32(n)) }

// Reader reads what a Writer wrote. After the first error every value is zero; Err
// returns it.
type Reader struct {
	buf []byte
	err error
}

// NewReader reads from buf, which it does not change; Bytes are copied out.
func NewReader(buf []byte) *Reader { return &Reader{buf: buf} }

var errShort = fault.As(fault.ErrCorrupt, errors.New("snapshot ends too early"))

func (r *Reader) take(n int) []byte {
	if r.err != nil || n > len(r.buf) {
		r.Fail(errShort)
		return nil
	}
	p := r.buf[:n]
	r.buf = r.buf[n:]
	return p
}

func (r *Reader) U8() uint8 {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *Reader) U32() uint32 {
	if p := r.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (r *Reader) U64() uint64 {
	if p := r.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (r *Reader) I64() int64   { return int64(r.U64()) }
func (r *Reader) F64() float64 { return math.Float64frombits(r.U64()) }
func (r *Reader) Bool() bool   { return r.U8() != 0 }

// Bytes returns a copy; nil for none.
func (r *Reader) Bytes() []byte {
	n := r.U32()
	if n == 0 {
		return nil
	}
	return append([]byte(nil), r.take(int(n))...)
}

// Lent is Bytes without the copy: what it returns is part of the snapshot.
func (r *Reader) Lent() []byte { return r.take(int(r.U32())) }

// Len reads a number of things of which each takes at least one byte, so that a
// damaged number cannot ask for more memory than the snapshot has bytes.
func (r *Reader) Len() int {
	n := r.U32()
	if int64(n) > int64(len(r.buf)) || n > math.MaxInt32 {
		r.Fail(errShort)
		return 0
	}
	return int(n)
}

// Rest returns a copy of what is left.
func (r *Reader) Rest() []byte { return append([]byte(nil), r.take(len(r.buf))...) }

// Left is how many bytes have not been read.
func (r *Reader) Left() int { return len(r.buf) }

// Fail notes an error of the caller's, unless there is one.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Failed reports whether reading has failed.
func (r *Reader) Failed() bool { return r.err != nil }

// Err returns the first error, or one if bytes are left over.
func (r *Reader) Err() error {
	if r.err == nil && len(r.buf) > 0 {
		r.err = fault.As(fault.ErrCorrupt, errors.New("snapshot has bytes left over"))
	}
	return r.err
}

// Done reports whether all has been read, or reading has failed.
func (r *Reader) Done() bool { return r.err != nil || len(r.buf) == 0 }
