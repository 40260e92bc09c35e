package state

import (
	"errors"
	"fmt"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Columns writes a table: the number of rows and columns, then for each column its kind
// (one byte), whether it has nulls (one byte), if so the words of its validity bitmap, and
// one value a row; text as length and bytes.
func (w *Writer) Columns(c *stream.Columns) {
	w.U32(uint32(c.N))
	w.Len(len(c.Cols))
	for n := range c.Cols {
		col := &c.Cols[n]
		w.U8(uint8(col.Kind))
		w.Bool(col.Valid != nil)
		for _, word := range col.Valid {
			w.U64(word)
		}
		for i := range c.N {
			switch col.Kind {
			case stream.Int64, stream.Timestamp:
				w.I64(col.Ints[i])
			case stream.Float64:
				w.F64(col.Floats[i])
			case stream.Bool:
				w.Bool(col.Bools[i])
			default:
				w.Bytes(col.Strs[i].Bytes(c.Blob))
			}
		}
	}
}

var errColumns = fault.As(fault.ErrCorrupt, errors.New("snapshot has a table of other columns"))

// Columns reads a table into c, which has no rows and the columns that the table must
// have. Damaged numbers cannot ask for more memory than the snapshot has bytes.
func (r *Reader) Columns(c *stream.Columns) { r.columns(c, false) }

// OwnColumns reads a table into the empty c, with the columns that the table has.
func (r *Reader) OwnColumns(c *stream.Columns) { r.columns(c, true) }

func (r *Reader) columns(c *stream.Columns, own bool) {
	rows, cols := int64(r.U32()), r.Len()
	if !own && cols != len(c.Cols) {
		r.Fail(errColumns)
		return
	}
	for n := range cols {
		kind := stream.Kind(r.U8())
		if own {
			c.Cols = append(c.Cols, stream.Column{Kind: kind})
		}
		col := &c.Cols[n]
		if known := kind >= stream.Int64 && kind <= stream.JSON || kind == stream.Token; !known || kind != col.Kind {
			r.Fail(errColumns)
		}
		if r.Failed() {
			return
		}
		var valid stream.Bits
		if r.Bool() {
			for range (rows + 63) / 64 {
				if r.err != nil {
					break
				}
				valid = append(valid, r.U64())
			}
		}
		for range rows {
			if r.err != nil {
				return
			}
			switch col.Kind {
			case stream.Int64, stream.Timestamp:
				col.Ints = append(col.Ints, r.I64())
			case stream.Float64:
				col.Floats = append(col.Floats, r.F64())
			case stream.Bool:
				col.Bools = append(col.Bools, r.Bool())
			default:
				p := r.take(int(r.U32()))
				if len(c.Blob)+len(p) > MaxText {
					r.Fail(fault.As(fault.ErrCorrupt, fmt.Errorf("snapshot has a table with more than %d bytes of text", MaxText)))
					return
				}
				col.Strs = append(col.Strs, stream.Str{Off: uint32(len(c.Blob)), Len: uint32(len(p))})
				c.Blob = append(c.Blob, p...)
			}
		}
		col.Valid = valid
	}
	c.N = int(rows)
}

// MaxText bounds the text of one table: a stream.Str has 32-bit offsets.
const MaxText = 1<<32 - 1
