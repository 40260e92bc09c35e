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

// pair is a guest's pair function (SPEC section 3, frames of tm_pair).
type pair struct {
	worker
	info    udf.PairInfo
	outputs [][]stream.Field

	// Working memory: the pairs of a frame, and the records that they are of.
	pairs []abi.PairRow
	sides [2]sideCut
	bytes int
}

// sideCut is the records of a side that a frame carries, each once.
type sideCut struct {
	selection
	records
}

var _ udf.Pair = (*pair)(nil)

// Info implements udf.Pair.
func (p *pair) Info() udf.PairInfo { return p.info }

func (p *pair) bind(d *abi.Pair, with *job.Apply, left, right []stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no pair function")
	}
	if p.info.Left, p.sides[0].layout, err = bindColumns(d.Left, left); err != nil {
		return err
	}
	if p.info.Right, p.sides[1].layout, err = bindColumns(d.Right, right); err != nil {
		return err
	}
	p.info.Outputs = fields(d.Outputs)
	p.outputs = [][]stream.Field{p.info.Outputs}
	p.params, err = newParams(d.Params, with.Args)
	return err
}

// Call implements udf.Pair. Pairs go in as many frames as their size asks for.
func (p *pair) Call(in *udf.Pairs, out *udf.Emitted) error {
	e := entries{outputs: p.outputs}
	rows := []udf.Emitted{*out}
	defer func() { *out = rows[0] }()
	return p.each(&itemCall{
		fn: guest.Pair, n: in.N(), number: plain, item: "the pair", answers: "what the pair answers",
		fill:  func(base, n, arena int) (int, int) { return p.fill(in, base, n, arena), p.bytes },
		frame: func(_ int, arena []byte) frame { return p.frame(arena) },
		take:  func(base, n int, answer []byte) (int, error) { return e.take(base, n, answer, rows) },
	})
}

// fill cuts out pairs from base on, n or as many as leave half of the arena to the answer,
// and at least one. It returns their number.
func (p *pair) fill(in *udf.Pairs, base, n, arena int) int {
	for {
		if p.cut(in, base, base+n); n == 1 || p.bytes <= arena/2 {
			return n
		}
		n /= 2
	}
}

// cut cuts out the pairs from lo to hi.
func (p *pair) cut(in *udf.Pairs, lo, hi int) {
	p.pairs = p.pairs[:0]
	sides := [2]*udf.PairSide{&in.Left, &in.Right}
	for s := range p.sides {
		p.sides[s].reset(sides[s].N)
	}
	for i := lo; i < hi; i++ {
		l, _ := p.sides[0].selection.take(in.L[i])
		r, _ := p.sides[1].selection.take(in.R[i])
		p.pairs = append(p.pairs, abi.PairRow{Left: l, Right: r, Time: int64(in.Time[i])})
	}
	p.bytes = abi.HeaderBytes + abi.BlockBytes + len(p.pairs)*abi.PairBytes
	for s := range p.sides {
		c := &p.sides[s]
		c.records.take(sides[s].Columns, sides[s].Time, append(c.records.sel[:0], c.taken...))
		p.bytes += c.records.bytes()
	}
}

// frame writes the pairs of the cut.
func (p *pair) frame(arena []byte) frame {
	f := newFrame(arena, 0)
	f.h.Rows = uint32(len(p.pairs))
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	var b abi.Block
	var pairs []byte
	pairs, b.Items = f.place(len(p.pairs) * abi.PairBytes)
	for i := range p.pairs {
		p.pairs[i].Put(pairs[i*abi.PairBytes:])
	}
	for s := range p.sides {
		b.Lists[s] = p.sides[s].records.put(&f)
	}
	f.finish(math.MaxInt)
	b.Put(block)
	return f
}
