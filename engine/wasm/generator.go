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

// generator is a guest's watermark generator (SPEC section 3, frames of tm_watermark).
type generator struct {
	worker
	info  udf.GeneratorInfo
	ticks bool // the module looks at the clock
	keeps bool // a state of each split
	cut   records
	rows  []uint32 // of the batch: those that are shown

	states udf.States
	answer [1]udf.Emitted
	out    [][]stream.Field
	clock  stream.Columns // no columns: a tick's record has a time only
	now    [1]stream.Time
}

var _ udf.Generator = (*generator)(nil)

// Info implements udf.Generator.
func (g *generator) Info() udf.GeneratorInfo { return g.info }

func (g *generator) bind(d *abi.Generator, with *job.Watermark, kinds []stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no watermark generator")
	}
	if g.info.Inputs, g.cut.layout, err = bindColumns(d.Inputs, kinds); err != nil {
		return err
	}
	g.keeps = d.Schema > 0
	g.cut.times.Cols = make([]stream.Column, 1)
	g.out = [][]stream.Field{{{Name: "watermark", Kind: stream.Timestamp}}}
	g.params, err = newParams(d.Params, with.Args)
	return err
}

// Records implements udf.Generator. Records go in as many frames as their size asks for;
// the state that one frame answers is in the next.
func (g *generator) Records(in *udf.Timed, state []byte, wm []stream.Time) ([]byte, error) {
	g.rows = g.rows[:0]
	for i := range in.Time {
		if !lacks(g.info.Inputs, in.Columns, in.Cols, i) {
			g.rows = append(g.rows, uint32(i))
		}
	}
	most := math.MaxInt // records that a frame may carry
	for base := 0; base < len(g.rows); {
		arena, err := g.arena()
		if err != nil {
			return nil, err
		}
		k := g.fill(in, base, min(len(g.rows)-base, most), state, len(arena))
		if g.bytes(state)+abi.MinOutput > len(arena) {
			return nil, g.tooLarge(int(g.rows[base]), "the record")
		}
		took, next, err := g.show(guest.Watermark, k, arena, state)
		if err != nil {
			return nil, at(err, k, func(op uint32) int { return int(g.rows[base+int(op)]) })
		}
		said := &g.answer[0]
		for n, of := range said.Of {
			if c := &said.Cols[0]; !c.Null(n) {
				wm[g.rows[base+int(of)]] = stream.Time(c.Ints[n])
			}
		}
		switch state = next; {
		case took > 0:
			base, most = base+took, math.MaxInt
		case k > 1:
			most = k / 2
		default:
			return nil, g.tooLarge(int(g.rows[base]), "what the record answers")
		}
	}
	return state, nil
}

// Tick implements udf.Generator.
func (g *generator) Tick(now stream.Time, state []byte) (stream.Time, []byte, error) {
	if !g.ticks {
		return stream.MinTime, state, nil
	}
	arena, err := g.arena()
	if err != nil {
		return 0, nil, err
	}
	g.now[0] = now
	layout := g.cut.layout
	g.cut.layout = nil
	defer func() { g.cut.layout = layout }()
	g.cut.batch, g.cut.cols = &g.clock, nil
	g.cut.take(&g.clock, g.now[:], []uint32{0})
	if g.bytes(state)+abi.MinOutput > len(arena) {
		return 0, nil, g.tooLarge(0, "the state")
	}
	took, state, err := g.show(guest.Tick, 1, arena, state)
	if err == nil && took == 0 {
		err = g.tooLarge(0, "what a tick answers")
	}
	if err != nil {
		return 0, nil, at(err, 0, nil) // no record is to blame
	}
	if c := &g.answer[0].Cols[0]; c.Len() > 0 && !c.Null(c.Len()-1) {
		return stream.Time(c.Ints[c.Len()-1]), state, nil
	}
	return stream.MinTime, state, nil
}

// fill cuts out records from base on, n or as many as leave half of the arena to the
// answer, and at least one. It returns their number.
func (g *generator) fill(in *udf.Timed, base, n int, state []byte, arena int) int {
	g.cut.cols = in.Cols
	for {
		g.cut.take(in.Columns, in.Time, g.rows[base:base+n:base+n])
		if n == 1 || g.bytes(state) <= arena/2 {
			return n
		}
		n /= 2
	}
}

// bytes is the size of the frame of the cut, without its answer.
func (g *generator) bytes(state []byte) int {
	return abi.HeaderBytes + abi.BlockBytes + g.cut.bytes() + abi.Align(8) + abi.Align(len(state))
}

// show makes one call for the k records of the cut, and returns how many it has completed
// and the new state. What was said is in g.answer.
func (g *generator) show(fn guest.Func, k int, arena, state []byte) (took int, next []byte, err error) {
	f := newFrame(arena, 0)
	f.h.Rows = uint32(k)
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	var table udf.Accs
	table.Reset(0)
	table.Append(state)
	b := abi.Block{NumKeys: 1}
	b.Keys = f.accs(&table, 0, 1)
	b.Lists[0] = g.cut.put(&f)
	f.finish(math.MaxInt)
	b.Put(block)
	took, bytes, err := g.complete(fn, &f, k)
	if err != nil {
		return 0, nil, err
	}
	g.states.Reset()
	slot := g.states.Add(state)
	for range k {
		g.states.Slot = append(g.states.Slot, slot)
	}
	g.answer[0].Reset(g.out[0])
	e := entries{outputs: g.out}
	if g.keeps {
		e.keys = &g.states
	}
	if item, err := e.take(0, took, bytes, g.answer[:]); err != nil {
		return 0, nil, g.wrong(err, item)
	}
	return took, g.states.Get(0), nil
}
