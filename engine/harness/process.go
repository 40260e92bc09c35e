package harness

import (
	"encoding/binary"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/spec"
)

// inContext is the scenarios' process function: the sum of a firing, its watermark, and how
// often it was called for the window and for the key. It sees the records, or the result
// of an aggregate: the same comes of both (S90).
type inContext struct{ list bool }

func (c inContext) Info() udf.ProcessInfo {
	info := udf.ProcessInfo{Outputs: textOutput, KeyState: true, WindowState: true}
	in := []udf.Input{{Name: "value", Kind: stream.Int64, Nullable: true}}
	if c.list {
		info.Lists = [][]udf.Input{in}
	} else {
		info.Inputs = in
	}
	return info
}

func (c inContext) Call(in *udf.Firings, out []udf.Emitted) error {
	for i := range in.Window {
		sum := int64(0)
		if c.list {
			l := &in.Lists[0]
			for _, v := range l.Cols[0].Ints[l.Off[i]:l.Off[i+1]] {
				sum += v
			}
		} else {
			sum = in.Inputs.Cols[0].Ints[i] // 0 where it is null
		}
		v, err := spec.Canonical([]byte(`{"sum":` + spec.Int(sum).String() +
			`,"watermark":` + spec.Int(int64(in.Watermark[i])).String() +
			`,"window_fires":` + spec.Int(increment(&in.Windows, i)).String() +
			`,"key_fires":` + spec.Int(increment(&in.Keys, i)).String() + "}"))
		if err != nil {
			return err
		}
		appendText(&out[0].Columns, v)
		out[0].Of = append(out[0].Of, uint32(i))
	}
	return nil
}

func (inContext) Close() error { return nil }

// increment counts in the state of firing i.
func increment(s *udf.States, i int) int64 {
	n := uint64(1)
	if data := s.Get(i); len(data) == 8 {
		n += binary.LittleEndian.Uint64(data)
	}
	s.Set(i, binary.LittleEndian.AppendUint64(nil, n))
	return int64(n)
}

var _ udf.Process = inContext{}
