package harness

import (
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/spec"
)

// The functions of scenarios that look at all records of a window. Their result is one
// text column with the JSON of the value.

var textOutput = []stream.Field{{Name: "value", Kind: stream.String}}

func appendText(out *stream.Columns, v spec.Value) {
	out.Cols[0].AppendStr(stream.Str{Off: uint32(len(out.Blob)), Len: uint32(len(v))})
	out.Blob = append(out.Blob, v...)
}

// list is the functions list and sorted_list.
type list struct{ name string }

func (list) Outputs() []stream.Field { return textOutput }

func (l list) Result(r udf.Records, out *stream.Columns) error {
	var vals []int64
	for i := range r.Len() {
		_, c, row := r.At(i)
		vals = append(vals, c.Cols[valueCol].Ints[row])
	}
	if l.name == "sorted_list" {
		slices.Sort(vals)
	}
	appendText(out, ints(vals))
	return nil
}

func ints(vals []int64) spec.Value {
	vs := make([]spec.Value, len(vals))
	for i, v := range vals {
		vs[i] = spec.Int(v)
	}
	return spec.List(vs...)
}

// bothLists is coGroup with the values of both sides (S116).
type bothLists struct{}

func (bothLists) Outputs() []stream.Field { return textOutput }

func (bothLists) Result(r udf.Records, out *stream.Columns) error {
	var sides [2][]int64
	for i := range r.Len() {
		side, c, row := r.At(i)
		sides[side] = append(sides[side], c.Cols[valueCol].Ints[row])
	}
	appendText(out, spec.List(ints(sides[0]), ints(sides[1])))
	return nil
}
