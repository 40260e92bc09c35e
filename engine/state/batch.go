package state

import (
	"errors"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Batch writes rows from first on, with all that a row on its way has: records that a
// source has read and not sent, and those that wait in a queue.
//
//	source (2 bytes), input (1), whether the rows are partials (1), which of ties and keys
//	there are (1); columns (see Columns); for each row: split (4), place (8), time, watermark
//	before it, highest time of its split (8 each), raw record, tie and key where there are some
func (w *Writer) Batch(b *stream.Batch, first int) {
	w.U32(uint32(b.Source)<<16 | uint32(b.Input)<<8)
	w.Bool(b.Partial)
	w.Bool(len(b.Tie) > 0)
	w.Bool(len(b.Key) > 0)
	if first == 0 || len(b.Cols) == 0 {
		c := b.Columns
		c.N = b.N - first
		w.Columns(&c)
	} else {
		var rows []uint32
		for i := first; i < b.N; i++ {
			rows = append(rows, uint32(i))
		}
		c := stream.Columns{N: len(rows), Cols: make([]stream.Column, len(b.Cols)), Blob: b.Blob}
		for n := range c.Cols {
			c.Cols[n].Reset(b.Cols[n].Kind)
			c.Cols[n].Gather(&b.Cols[n], rows)
		}
		w.Columns(&c)
	}
	for i := first; i < b.N; i++ {
		w.U32(uint32(b.Split[i]))
		w.I64(b.Pos[i])
		w.I64(int64(b.Time[i]))
		w.I64(int64(b.WM[i]))
		w.I64(int64(b.High[i]))
		w.Bytes(b.Raw[i].Bytes(b.Blob))
		if len(b.Tie) > 0 {
			w.Bytes(b.Tie[i].Bytes(b.Blob))
		}
		if len(b.Key) > 0 {
			w.Bytes(b.Key[i].Bytes(b.Blob))
		}
	}
}

var errBatch = fault.As(fault.ErrCorrupt, errors.New("snapshot has rows with more than 4 GiB of text"))

// Batch reads rows into b, which it empties.
func (r *Reader) Batch(b *stream.Batch) {
	b.Reset(nil)
	from := r.U32()
	b.Source, b.Input = stream.SourceID(from>>16), uint8(from>>8)
	b.Partial = r.Bool()
	tie, key := r.Bool(), r.Bool()
	r.OwnColumns(&b.Columns)
	text := func() stream.Str {
		p := r.take(int(r.U32()))
		if len(b.Blob)+len(p) > MaxText {
			r.Fail(errBatch)
			return stream.Str{}
		}
		s := stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(p))}
		b.Blob = append(b.Blob, p...)
		return s
	}
	for range b.N {
		if r.err != nil {
			b.Reset(nil)
			return
		}
		b.Split = append(b.Split, stream.SplitID(r.U32()))
		b.Pos = append(b.Pos, r.I64())
		b.Time = append(b.Time, stream.Time(r.I64()))
		b.WM = append(b.WM, stream.Time(r.I64()))
		b.High = append(b.High, stream.Time(r.I64()))
		b.Raw = append(b.Raw, text())
		if tie {
			b.Tie = append(b.Tie, text())
		}
		if key {
			b.Key = append(b.Key, text())
			b.Hash = append(b.Hash, stream.KeyHash(b.Key[len(b.Key)-1].Bytes(b.Blob)))
		}
	}
}
