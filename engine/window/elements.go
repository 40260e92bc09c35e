package window

import (
	"cmp"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// elements is the list of a pane's records: kept where a function needs all of them or
// an evictor stands in front of it (P3, S84), in order of arrival.
type elements struct {
	sides [2]stream.Columns // by input of a join; others use the first
	refs  []element
	size  int64 // bytes of rows and refs, slack left out
}

// element is one record of the list.
type element struct {
	side uint8
	row  uint32 // of sides[side]
	time stream.Time
	seq  uint64 // number of arrival in the subtask: the order after a merge of sessions
}

// add appends row i of a batch.
func (l *elements) add(side uint8, b *stream.Batch, i int, seq uint64) {
	c := &l.sides[side]
	if c.Cols == nil {
		kinds := make([]stream.Kind, len(b.Cols))
		for n := range kinds {
			kinds[n] = b.Cols[n].Kind
		}
		c.Reset(kinds)
	}
	l.refs = append(l.refs, element{side, uint32(c.N), b.Time[i], seq})
	l.appendRow(c, &b.Columns, i)
}

// appendRow copies a row, and counts what it takes.
func (l *elements) appendRow(c, src *stream.Columns, i int) {
	before := len(c.Blob)
	c.AppendRow(src, i)
	l.size += elementBytes + int64(8*len(c.Cols)+len(c.Blob)-before)
}

// elementBytes is what a record of a list takes beside its columns.
const elementBytes = 32

// bytes is what a list holds; nil holds nothing.
func (l *elements) bytes() int64 {
	if l == nil {
		return 0
	}
	return l.size
}

// mergeElements joins lists into a new one, in order of arrival (S48).
func mergeElements(lists []*elements) *elements {
	out := &elements{}
	type from struct {
		element
		list *elements
	}
	var all []from
	for _, l := range lists {
		for _, e := range l.refs {
			all = append(all, from{e, l})
		}
	}
	slices.SortFunc(all, func(a, b from) int { return cmp.Compare(a.seq, b.seq) })
	for _, e := range all {
		out.copyRow(e.list, e.element)
	}
	return out
}

func (l *elements) copyRow(src *elements, e element) {
	c, s := &l.sides[e.side], &src.sides[e.side]
	if c.Cols == nil {
		kinds := make([]stream.Kind, len(s.Cols))
		for n := range kinds {
			kinds[n] = s.Cols[n].Kind
		}
		c.Reset(kinds)
	}
	l.refs = append(l.refs, element{e.side, uint32(c.N), e.time, e.seq})
	l.appendRow(c, s, int(e.row))
}

// keep drops the records for which gone is true. Their rows stay until they are half of
// all, so that evicting does not copy the list each time.
func (l *elements) keep(gone []bool) *elements {
	n := 0
	for i, e := range l.refs {
		if !gone[i] {
			l.refs[n] = e
			n++
		}
	}
	l.refs = l.refs[:n]
	if rows := l.sides[0].N + l.sides[1].N; rows > 64 && 2*n < rows {
		return mergeElements([]*elements{l})
	}
	return l
}

// value returns a column of an element as a number, for delta evictors.
func (l *elements) value(e element, col int) float64 {
	return number(&l.sides[e.side].Cols[col], int(e.row))
}

// number reads a numeric column; null is 0.
func number(c *stream.Column, row int) float64 {
	switch c.Kind {
	case stream.Float64:
		return c.Floats[row]
	case stream.Int64, stream.Timestamp:
		return float64(c.Ints[row])
	}
	return 0
}

// rows returns the list of one side as a batch, which has columns and times, and the
// rows that are still in it.
func (l *elements) rows(side uint8) (*stream.Batch, []uint32) {
	var sel []uint32
	times := make([]stream.Time, l.sides[side].N)
	for _, e := range l.refs {
		if e.side == side {
			sel = append(sel, e.row)
			times[e.row] = e.time
		}
	}
	return &stream.Batch{Columns: l.sides[side], Time: times}, sel
}

// view is the list as it is now, whatever is added to it later.
func (l *elements) view() *elements {
	v := *l
	v.refs = slices.Clip(v.refs)
	return &v
}

// Len is the number of records.
func (l *elements) Len() int { return len(l.refs) }

// At returns the input that record i came from and its row in that input's columns.
func (l *elements) At(i int) (side int, cols *stream.Columns, row int) {
	e := l.refs[i]
	return int(e.side), &l.sides[e.side], int(e.row)
}

// Time is the timestamp of record i.
func (l *elements) Time(i int) stream.Time { return l.refs[i].time }

var _ udf.List = (*elements)(nil)
