package harness

import (
	"encoding/binary"
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

// list is the functions list, sorted_list and context.
type list struct{ name string }

func (list) Outputs() []stream.Field { return textOutput }

func (l list) Result(r udf.Records, out *stream.Columns) error {
	var vals []int64
	for i := range r.Len() {
		_, c, row := r.At(i)
		vals = append(vals, c.Cols[valueCol].Ints[row])
	}
	switch l.name {
	case "sorted_list":
		slices.Sort(vals)
	case "context":
		sum := int64(0)
		for _, v := range vals {
			sum += v
		}
		v, err := spec.Canonical([]byte(`{"sum":` + spec.Int(sum).String() +
			`,"watermark":` + spec.Int(int64(r.Watermark)).String() +
			`,"window_fires":` + spec.Int(increment(r.WindowState)).String() +
			`,"key_fires":` + spec.Int(increment(r.KeyState)).String() + "}"))
		if err != nil {
			return err
		}
		appendText(out, v)
		return nil
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

// increment counts in user state.
func increment(state *[]byte) int64 {
	n := uint64(1)
	if len(*state) == 8 {
		n += binary.LittleEndian.Uint64(*state)
	}
	*state = binary.LittleEndian.AppendUint64(nil, n)
	return int64(n)
}

// lists is coGroup with the values of both sides (S116).
type lists struct{}

func (lists) Outputs() []stream.Field { return textOutput }

func (lists) Result(r udf.Records, out *stream.Columns) error {
	var sides [2][]int64
	for i := range r.Len() {
		side, c, row := r.At(i)
		sides[side] = append(sides[side], c.Cols[valueCol].Ints[row])
	}
	appendText(out, spec.List(ints(sides[0]), ints(sides[1])))
	return nil
}
