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

// process is a guest's process function (SPEC section 3, frames of tm_process).
type process struct {
	worker
	info   udf.ProcessInfo
	inputs []column
	// outputs are the columns of the results and then of the side outputs.
	outputs [][]stream.Field

	cut firingCut // working memory
}

var _ udf.Process = (*process)(nil)

// Info implements udf.Process.
func (p *process) Info() udf.ProcessInfo { return p.info }

func (p *process) bind(d *abi.Process, with *job.Process, kinds []stream.Kind, lists [][]stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no process function")
	}
	p.outputs = append(p.outputs, fields(d.Outputs))
	p.info = udf.ProcessInfo{Outputs: p.outputs[0], KeyState: d.KeyState, WindowState: d.WindowState}
	if p.info.Inputs, p.inputs, err = bindColumns(d.Inputs, kinds); err != nil {
		return err
	}
	if len(lists) != len(d.Lists) {
		return fault.Userf("looks at %d lists of records, %d are bound", len(d.Lists), len(lists))
	}
	for i, l := range d.Lists {
		inputs, layout, err := bindColumns(l, lists[i])
		if err != nil {
			return err
		}
		p.info.Lists = append(p.info.Lists, inputs)
		p.cut.records = append(p.cut.records, records{layout: layout})
	}
	for _, s := range d.Side {
		p.outputs = append(p.outputs, fields(s.Outputs))
		p.info.Side = append(p.info.Side, udf.SideOutput{Name: s.Name, Outputs: p.outputs[len(p.outputs)-1]})
	}
	p.params, err = newParams(d.Params, with.Args)
	return err
}

// Call implements udf.Process. Firings go in as many frames as their size asks for, one
// after the other: states that one frame answers are in the next.
func (p *process) Call(in *udf.Firings, out []udf.Emitted) error {
	return p.each(&itemCall{
		fn: guest.Process, n: len(in.Window), number: plain, item: "the firing", answers: "what the firing answers",
		fill:  func(base, n, arena int) (int, int) { return p.fill(in, base, n, arena), p.cut.bytes },
		frame: func(_ int, arena []byte) frame { return p.frame(arena) },
		take:  func(base, n int, answer []byte) (int, error) { return p.take(in, base, n, answer, out) },
	})
}

// take takes the entries of the first n firings of a frame.
func (p *process) take(in *udf.Firings, base, n int, bytes []byte, out []udf.Emitted) (firing int, err error) {
	e := entries{outputs: p.outputs}
	if p.info.KeyState {
		e.keys = &in.Keys
	}
	if p.info.WindowState {
		e.windows = &in.Windows
	}
	return e.take(base, n, bytes, out)
}

// fill cuts out firings from base on, n or as many as leave half of the arena to the
// answer, and at least one. It returns their number.
func (p *process) fill(in *udf.Firings, base, n, arena int) int {
	for {
		if p.cut.take(p, in, base, base+n); n == 1 || p.cut.bytes <= arena/2 {
			return n
		}
		n /= 2
	}
}

// frame writes the firings of the cut.
func (p *process) frame(arena []byte) frame {
	c := &p.cut
	f := newFrame(arena, 0)
	f.h.Rows, f.h.NumCols = uint32(c.n), uint32(len(p.inputs))
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	var b abi.Block
	var firings, descriptors []byte
	firings, b.Items = f.place(c.n * abi.FiringBytes)
	for i := range c.firings {
		c.firings[i].Put(firings[i*abi.FiringBytes:])
	}
	descriptors, f.h.Cols = f.place(len(p.inputs) * abi.DescriptorBytes)
	f.columns(descriptors, &c.inputs, p.inputs)
	for s := range c.records {
		b.Lists[s] = c.records[s].put(&f)
	}
	if p.info.KeyState {
		b.Keys, b.NumKeys = f.accs(&c.keys.table, 0, c.keys.table.N()), uint32(c.keys.table.N())
	}
	if p.info.WindowState {
		b.Windows, b.NumWindows = f.accs(&c.windows.table, 0, c.windows.table.N()), uint32(c.windows.table.N())
	}
	f.finish(math.MaxInt)
	b.Put(block)
	return f
}

// firingCut is the firings of one frame.
type firingCut struct {
	n             int
	firings       []abi.Firing
	inputs        part
	records       []records
	keys, windows slotCut
	bytes         int // of the frame, without its answer
}

// slotCut is the states that firings of a frame find, with slots of their own.
type slotCut struct {
	selection
	table udf.Accs
}

// slot returns the frame's slot of a state of the call.
func (c *slotCut) slot(s *udf.States, firing int) uint32 {
	n, taken := c.take(s.Slot[firing])
	if taken {
		c.table.Append(s.Data[s.Slot[firing]])
	}
	return n
}

// take cuts out the firings from lo to hi.
func (c *firingCut) take(p *process, in *udf.Firings, lo, hi int) {
	c.n, c.firings = hi-lo, c.firings[:0]
	if c.inputs.cols == nil {
		c.inputs.cols = upTo(len(p.inputs))
	}
	c.inputs.batch, c.inputs.sel = &in.Inputs, rowsFrom(c.inputs.sel, lo, hi)
	c.bytes = abi.HeaderBytes + abi.BlockBytes + c.n*abi.FiringBytes + c.inputs.columnBytes(p.inputs)
	var first [2]uint32
	for s := range c.records {
		l := &in.Lists[s]
		first[s] = l.Off[lo]
		c.records[s].take(&l.Columns, l.Time, rowsFrom(c.records[s].sel, int(l.Off[lo]), int(l.Off[hi])))
		c.bytes += c.records[s].bytes()
	}
	c.keys.reset(len(in.Keys.Data))
	c.windows.reset(len(in.Windows.Data))
	c.keys.table.Reset(0)
	c.windows.table.Reset(0)
	for i := lo; i < hi; i++ {
		f := abi.Firing{Start: int64(in.Window[i].Start), End: int64(in.Window[i].End), Watermark: int64(in.Watermark[i]), Now: int64(in.Now[i]),
			Key: abi.NoSlot, Window: abi.NoSlot, Revision: in.Revision[i]}
		for s := range c.records {
			off := in.Lists[s].Off
			f.From[s], f.To[s] = off[i]-first[s], off[i+1]-first[s]
		}
		if p.info.KeyState {
			f.Key = c.keys.slot(&in.Keys, i)
		}
		if p.info.WindowState {
			f.Window = c.windows.slot(&in.Windows, i)
		}
		c.firings = append(c.firings, f)
	}
	if p.info.KeyState {
		c.bytes += accsBytes(&c.keys.table, 0, c.keys.table.N())
	}
	if p.info.WindowState {
		c.bytes += accsBytes(&c.windows.table, 0, c.windows.table.N())
	}
}

// rowsFrom lists the rows from lo to hi in the memory of dst.
func rowsFrom(dst []uint32, lo, hi int) []uint32 {
	dst = dst[:0]
	for i := lo; i < hi; i++ {
		dst = append(dst, uint32(i))
	}
	return dst
}
