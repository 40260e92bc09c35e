package wasm

import (
	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// mapper is a guest's function of single records (SPEC section 3, frames of tm_map).
type mapper struct {
	worker
	info    udf.MapInfo
	outputs [][]stream.Field
	shown   singles
}

var _ udf.Map = (*mapper)(nil)

// Info implements udf.Map.
func (m *mapper) Info() udf.MapInfo { return m.info }

func (m *mapper) bind(d *abi.Map, with *job.Map, kinds []stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no function of single records")
	}
	if m.info.Inputs, err = m.shown.bind(d.Inputs, kinds); err != nil {
		return err
	}
	m.info.Outputs = fields(d.Outputs)
	m.outputs = [][]stream.Field{m.info.Outputs}
	m.params, err = newParams(d.Params, with.Args)
	return err
}

// Call implements udf.Map. Records go in as many frames as their size asks for.
func (m *mapper) Call(rows *udf.Rows, out *udf.Emitted) error {
	m.shown.choose(m.info.Inputs, rows)
	e := entries{outputs: m.outputs}
	emitted := []udf.Emitted{*out}
	first := len(out.Of)
	defer func() { *out = emitted[0] }()
	err := m.each(m.shown.call(guest.Map, rows, "the record", "what the record gives", func(base, n int, answer []byte) (int, error) {
		return e.take(base, n, answer, emitted)
	}))
	if err != nil {
		return err
	}
	for i, of := range emitted[0].Of[first:] {
		emitted[0].Of[first+i] = m.shown.indexes[of]
	}
	return nil
}
