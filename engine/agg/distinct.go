package agg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// distinct counts the different values of a column, exactly. Accumulator, of
// varying size: the number of values as uint64, then the values in ascending order
// of their bytes, each a uint32 length and its bytes. Two of them merge in one pass.
type distinct struct {
	stateless
	kind stream.Kind

	// Scratch of one Add, reused: the values of the batch and where they go.
	vals  []byte
	items []distinctItem
}

type distinctItem struct {
	group    uint32
	off, len uint32 // in vals
}

func newDistinct(k stream.Kind) *distinct { return &distinct{kind: k} }

func (d *distinct) Info() udf.Info {
	return udf.Info{Inputs: input(d.kind), Outputs: output("distinct", stream.Int64), OrderInsensitive: true, Exact: true, Schema: 1}
}

func (d *distinct) Create(dst *udf.Accs, n int) error {
	dst.Reset(0)
	for range n {
		dst.Append(make([]byte, 8))
	}
	return nil
}

func (d *distinct) Add(accs *udf.Accs, rows *udf.Rows) error {
	c := &rows.Batch.Cols[rows.Cols[0]]
	d.vals, d.items = d.vals[:0], d.items[:0]
	for i, r := range rows.Sel {
		off := len(d.vals)
		d.vals = appendValue(d.vals, c, int(r), rows.Batch.Blob)
		d.items = append(d.items, distinctItem{rows.Group[i], uint32(off), uint32(len(d.vals) - off)})
	}
	slices.SortFunc(d.items, func(a, b distinctItem) int {
		if a.group != b.group {
			return int(a.group) - int(b.group)
		}
		return bytes.Compare(d.val(a), d.val(b))
	})
	accs.Reset(0)
	next := 0
	for g := range rows.Groups {
		head := len(accs.Data)
		accs.Data = binary.LittleEndian.AppendUint64(accs.Data, 0)
		n := uint64(0)
		for ; next < len(d.items) && d.items[next].group == uint32(g); next++ {
			it := d.items[next]
			if n > 0 && bytes.Equal(d.val(d.items[next-1]), d.val(it)) {
				continue
			}
			accs.Data = appendItem(accs.Data, d.val(it))
			n++
		}
		setWord(accs.Data[head:], n)
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

func (d *distinct) val(it distinctItem) []byte { return d.vals[it.off : it.off+it.len] }

func (d *distinct) Merge(into, from *udf.Accs) error {
	var out udf.Accs
	out.Reset(0)
	for i := range into.N() {
		a, b := into.At(i)[8:], from.At(i)[8:]
		head := len(out.Data)
		out.Data = binary.LittleEndian.AppendUint64(out.Data, 0)
		n := uint64(0)
		for len(a) > 0 || len(b) > 0 {
			x, y := firstItem(a), firstItem(b)
			order := bytes.Compare(x, y)
			if len(a) == 0 {
				order = 1
			} else if len(b) == 0 {
				order = -1
			}
			if order <= 0 {
				out.Data = appendItem(out.Data, x)
				a = a[4+len(x):]
			} else {
				out.Data = appendItem(out.Data, y)
			}
			if order >= 0 {
				b = b[4+len(y):]
			}
			n++
		}
		setWord(out.Data[head:], n)
		out.Off = append(out.Off, uint32(len(out.Data)))
	}
	*into = out
	return nil
}

func (d *distinct) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		out.Cols[0].AppendInt(int64(word(accs.At(i))))
	}
	return nil
}

func appendItem(dst, v []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
	return append(dst, v...)
}

func firstItem(items []byte) []byte {
	if len(items) == 0 {
		return nil
	}
	return items[4 : 4+binary.LittleEndian.Uint32(items)]
}

// appendValue appends the bytes that stand for a value that is not null: equal
// bytes exactly for equal values.
func appendValue(dst []byte, c *stream.Column, row int, blob []byte) []byte {
	switch c.Kind {
	case stream.Int64, stream.Timestamp:
		return binary.LittleEndian.AppendUint64(dst, uint64(c.Ints[row]))
	case stream.Float64:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.Floats[row]+0)) // -0 + 0 is 0
	case stream.Bool:
		if c.Bools[row] {
			return append(dst, 1)
		}
		return append(dst, 0)
	case stream.String:
		return append(dst, c.Strs[row].Bytes(blob)...)
	}
	panic(fmt.Sprintf("BUG: distinct over %s", c.Kind))
}

var _ udf.Aggregate = (*distinct)(nil)
