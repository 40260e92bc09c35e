package wasm

import (
	"math"

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

	cut   records
	shown []uint32 // indexes into Sel of the records that are shown
	sel   []uint32 // their rows
}

var _ udf.Map = (*mapper)(nil)

// Info implements udf.Map.
func (m *mapper) Info() udf.MapInfo { return m.info }

func (m *mapper) bind(d *abi.Map, with *job.Map, kinds []stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no function of single records")
	}
	if m.info.Inputs, m.cut.layout, err = bindColumns(d.Inputs, kinds); err != nil {
		return err
	}
	m.cut.times.Cols = make([]stream.Column, 1)
	m.info.Outputs = fields(d.Outputs)
	m.outputs = [][]stream.Field{m.info.Outputs}
	m.params, err = newParams(d.Params, with.Args)
	return err
}

// Call implements udf.Map. Records go in as many frames as their size asks for.
func (m *mapper) Call(rows *udf.Rows, out *udf.Emitted) error {
	m.choose(rows)
	e := entries{outputs: m.outputs}
	emitted := []udf.Emitted{*out}
	first := len(out.Of)
	defer func() { *out = emitted[0] }()
	err := m.each(&itemCall{
		fn: guest.Map, n: len(m.sel), item: "the record", answers: "what the record gives",
		number: func(item int) int { return int(m.shown[item]) },
		fill:   func(base, n, arena int) (int, int) { return m.fill(rows, base, n, arena), m.bytes() },
		frame:  m.frame,
		take:   func(base, n int, answer []byte) (int, error) { return e.take(base, n, answer, emitted) },
	})
	if err != nil {
		return err
	}
	for i, of := range emitted[0].Of[first:] {
		emitted[0].Of[first+i] = m.shown[of]
	}
	return nil
}

// choose leaves out records with a null that the function does not take.
func (m *mapper) choose(rows *udf.Rows) {
	m.shown, m.sel = m.shown[:0], m.sel[:0]
	for i, row := range rows.Sel {
		if !lacks(m.info.Inputs, &rows.Batch.Columns, rows.Cols, int(row)) {
			m.shown, m.sel = append(m.shown, uint32(i)), append(m.sel, row)
		}
	}
	m.cut.cols = rows.Cols
}

// lacks reports whether a row has a null in a column that is not nullable.
func lacks(inputs []udf.Input, c *stream.Columns, cols []int, row int) bool {
	for i, in := range inputs {
		if !in.Nullable && c.Cols[cols[i]].Null(row) {
			return true
		}
	}
	return false
}

// fill cuts out records from base on, n or as many as leave half of the arena to the
// answer, and at least one. It returns their number.
func (m *mapper) fill(rows *udf.Rows, base, n, arena int) int {
	for {
		m.cut.take(&rows.Batch.Columns, rows.Batch.Time, m.sel[base:base+n:base+n])
		if n == 1 || m.bytes() <= arena/2 {
			return n
		}
		n /= 2
	}
}

func (m *mapper) bytes() int { return abi.HeaderBytes + abi.BlockBytes + m.cut.bytes() }

// frame writes the k records of the cut.
func (m *mapper) frame(k int, arena []byte) frame {
	f := newFrame(arena, 0)
	f.h.Rows = uint32(k)
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	var b abi.Block
	b.Lists[0] = m.cut.put(&f)
	f.finish(math.MaxInt)
	b.Put(block)
	return f
}
