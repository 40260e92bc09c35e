package agg

import (
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// list gives all values in order of arrival, as a JSON list. Accumulator, of varying
// size: the values as they will be written, parted by commas. Times are RFC 3339, also
// where a sink writes others as integers: a list is written as it stands.
//
// It is not OrderInsensitive. Accumulators of merging windows are merged in order of the
// windows, not of arrival (M1), so there Whole takes its place.
type list struct {
	stateless
	kind   stream.Kind
	groups grouping
	merging
}

func newList(k stream.Kind) udf.Aggregate { return &list{kind: k} }

func (l *list) Info() udf.Info {
	return udf.Info{Inputs: input(l.kind), Outputs: output("list", stream.JSON), Exact: true, Schema: 1}
}

func (*list) Create(dst *udf.Accs, n int) error { createEmpty(dst, n); return nil }

func (l *list) Add(accs *udf.Accs, rows *udf.Rows) error {
	c := &rows.Batch.Cols[rows.Cols[0]]
	l.groups.sort(rows.Group, rows.Groups)
	accs.Reset(0)
	for g := range rows.Groups {
		for n, i := range l.groups.of(g) {
			if n > 0 {
				accs.Data = append(accs.Data, ',')
			}
			accs.Data = result.AppendValue(accs.Data, c, int(rows.Sel[i]), rows.Batch.Blob, result.RFC3339)
		}
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

func (l *list) Merge(into, from *udf.Accs) error {
	return l.each(into, from, func(sums, a, b []byte) ([]byte, error) {
		sums = append(sums, a...)
		if len(a) > 0 && len(b) > 0 {
			sums = append(sums, ',')
		}
		return append(sums, b...), nil
	})
}

func (*list) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		off := len(out.Blob)
		out.Blob = append(out.Blob, '[')
		out.Blob = append(out.Blob, accs.At(i)...)
		closeList(out, off)
	}
	return nil
}

// closeList ends the list that begins at off in the blob and makes it a row.
func closeList(out *stream.Columns, off int) {
	out.Blob = append(out.Blob, ']')
	out.Cols[0].AppendStr(stream.Str{Off: uint32(off), Len: uint32(len(out.Blob) - off)})
}

// Whole returns the form of a built-in that sees the records of a pane themselves. Only
// list has one, for merging windows; everywhere else, and for all others, the form that
// New gives is the right one. Cols of the Records has the one column of the function.
func Whole(name string) (udf.Whole, bool) {
	if name == "list" {
		return wholeList{}, true
	}
	return nil, false
}

// wholeList is list over the records of a pane.
type wholeList struct{}

func (wholeList) Outputs() []stream.Field { return output("list", stream.JSON) }

func (wholeList) Result(r udf.Records, out *stream.Columns) error {
	off := len(out.Blob)
	out.Blob = append(out.Blob, '[')
	for i := range r.Len() {
		_, cols, row := r.At(i)
		c := &cols.Cols[r.Cols[0]]
		if c.Null(row) {
			continue
		}
		if len(out.Blob) > off+1 {
			out.Blob = append(out.Blob, ',')
		}
		out.Blob = result.AppendValue(out.Blob, c, row, cols.Blob, result.RFC3339)
	}
	closeList(out, off)
	return nil
}

var (
	_ udf.Aggregate = (*list)(nil)
	_ udf.Whole     = wholeList{}
)
