package agg

import (
	"encoding/binary"
	"fmt"
	"math"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// first and last give the value of the record with the lowest or highest event time.
// Among equal times first takes the one that arrived first, and last the one that
// arrived last. Records without a timestamp (S2) all have the same time, the lowest.
//
// They are not OrderInsensitive, since the order of arrival decides ties; they are
// Exact, since merging keeps that order: what is behind into came before.

// edge is first or last over all kinds but text. Accumulator: time, value, 1 if there
// is one.
type edge struct {
	stateless
	kind stream.Kind
	last bool
}

// edgeText is first or last over text. Accumulator, of varying size: nothing, or the
// time and the text.
type edgeText struct {
	stateless
	last bool
	best []int // scratch: for each group the place in Rows.Sel of its record, -1: none
	merging
}

func newEdge(k stream.Kind, last bool) udf.Aggregate {
	if k == stream.String {
		return &edgeText{last: last}
	}
	return edge{kind: k, last: last}
}

// better reports whether a record that arrived later takes the place of an earlier one.
func better(last bool, earlier, later stream.Time) bool {
	if last {
		return later >= earlier
	}
	return later < earlier
}

func edgeInfo(k stream.Kind, last bool, width int) udf.Info {
	name := "first"
	if last {
		name = "last"
	}
	return udf.Info{Inputs: input(k), Outputs: output(name, k), Width: width, Exact: true, Schema: 1}
}

func (e edge) Info() udf.Info { return edgeInfo(e.kind, e.last, 24) }

func (edge) Create(dst *udf.Accs, n int) error { fill(dst, n, 0, 0, 0); return nil }

func (e edge) Add(accs *udf.Accs, rows *udf.Rows) error {
	c := &rows.Batch.Cols[rows.Cols[0]]
	for i, r := range rows.Sel {
		a, t := accs.Data[24*rows.Group[i]:], rows.Batch.Time[r]
		if word(a[16:]) == 0 || better(e.last, stream.Time(word(a)), t) {
			setWord(a, uint64(t))
			setWord(a[8:], scalarWord(c, int(r)))
			setWord(a[16:], 1)
		}
	}
	return nil
}

// scalarWord is a value that is not text as eight bytes.
func scalarWord(c *stream.Column, row int) uint64 {
	switch c.Kind {
	case stream.Int64, stream.Timestamp:
		return uint64(c.Ints[row])
	case stream.Float64:
		return math.Float64bits(c.Floats[row])
	case stream.Bool:
		if c.Bools[row] {
			return 1
		}
		return 0
	}
	panic(fmt.Sprintf("BUG: first or last over %s", c.Kind))
}

func (e edge) Merge(into, from *udf.Accs) error {
	for i := 0; i < len(into.Data); i += 24 {
		a, b := into.Data[i:i+24], from.Data[i:i+24]
		if word(b[16:]) != 0 && (word(a[16:]) == 0 || better(e.last, stream.Time(word(a)), stream.Time(word(b)))) {
			copy(a, b)
		}
	}
	return nil
}

func (e edge) Result(accs *udf.Accs, out *stream.Columns) error {
	c := &out.Cols[0]
	for i := 0; i < len(accs.Data); i += 24 {
		v := word(accs.Data[i+8:])
		switch {
		case word(accs.Data[i+16:]) == 0:
			c.AppendNull()
		case e.kind == stream.Float64:
			c.AppendFloat(math.Float64frombits(v))
		case e.kind == stream.Bool:
			c.AppendBool(v != 0)
		default:
			c.AppendInt(int64(v))
		}
	}
	return nil
}

func (e *edgeText) Info() udf.Info { return edgeInfo(stream.String, e.last, 0) }

func (*edgeText) Create(dst *udf.Accs, n int) error { createEmpty(dst, n); return nil }

// createEmpty makes dst hold n accumulators of no bytes.
func createEmpty(dst *udf.Accs, n int) {
	dst.Reset(0)
	for range n {
		dst.Append(nil)
	}
}

func (e *edgeText) Add(accs *udf.Accs, rows *udf.Rows) error {
	b := rows.Batch
	e.best = e.best[:0]
	for range rows.Groups {
		e.best = append(e.best, -1)
	}
	for i, g := range rows.Group {
		if e.best[g] < 0 || better(e.last, b.Time[rows.Sel[e.best[g]]], b.Time[rows.Sel[i]]) {
			e.best[g] = i
		}
	}
	accs.Reset(0)
	for _, i := range e.best {
		if i >= 0 {
			r := rows.Sel[i]
			accs.Data = binary.LittleEndian.AppendUint64(accs.Data, uint64(b.Time[r]))
			accs.Data = append(accs.Data, b.Cols[rows.Cols[0]].Strs[r].Bytes(b.Blob)...)
		}
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

func (e *edgeText) Merge(into, from *udf.Accs) error {
	return e.each(into, from, func(sums, a, b []byte) ([]byte, error) {
		if len(b) > 0 && (len(a) == 0 || better(e.last, stream.Time(word(a)), stream.Time(word(b)))) {
			a = b
		}
		return append(sums, a...), nil
	})
}

func (*edgeText) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		a := accs.At(i)
		if len(a) == 0 {
			out.Cols[0].AppendNull()
			continue
		}
		appendText(out, a[8:])
	}
	return nil
}

// appendText appends a row of text to the first column of out.
func appendText(out *stream.Columns, text []byte) {
	out.Cols[0].AppendStr(stream.Str{Off: uint32(len(out.Blob)), Len: uint32(len(text))})
	out.Blob = append(out.Blob, text...)
}

var (
	_ udf.Aggregate = edge{}
	_ udf.Aggregate = (*edgeText)(nil)
)
