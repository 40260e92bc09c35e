package wasm

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

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
	lists  [][]column // with the times in front

	// Working memory of a call.
	cut   firingCut
	times []stream.Columns // each list with its times in front
}

var _ udf.Process = (*process)(nil)

// Info implements udf.Process.
func (p *process) Info() udf.ProcessInfo { return p.info }

func (p *process) bind(d *abi.Process, with *job.Process, kinds []stream.Kind, lists [][]stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no process function")
	}
	p.info = udf.ProcessInfo{Outputs: fields(d.Outputs), KeyState: d.KeyState, WindowState: d.WindowState}
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
		p.lists = append(p.lists, append([]column{{abi.Timestamp, true}}, layout...))
	}
	for _, s := range d.Side {
		p.info.Side = append(p.info.Side, udf.SideOutput{Name: s.Name, Outputs: fields(s.Outputs)})
	}
	p.times = make([]stream.Columns, len(p.lists))
	p.params, err = newParams(d.Params, with.Args)
	return err
}

// Call implements udf.Process. Firings go in as many frames as their size asks for, one
// after the other: states that one frame answers are in the next.
func (p *process) Call(in *udf.Firings, out []udf.Emitted) error {
	if _, err := p.arena(); err != nil {
		return err
	}
	for s := range p.lists {
		p.withTimes(s, &in.Lists[s])
	}
	most := math.MaxInt // firings that a frame may carry
	for base, n := 0, len(in.Window); base < n; {
		arena := p.inst.Arena()
		k := p.take(in, base, min(n-base, most), len(arena))
		if p.cut.bytes+abi.MinOutput > len(arena) {
			return p.tooLarge(base, "the firing")
		}
		f := p.frame(arena)
		full, err := p.call(guest.Process, &f)
		took := k
		if err == nil && full {
			took, err = p.done(k)
		}
		var answer []byte
		if err == nil {
			answer, err = p.output(&f)
		}
		if err != nil {
			return at(err, k, from(base))
		}
		if firing, err := p.cut.answer(p, in, base, took, answer, out); err != nil {
			err = p.lie("%v", err)
			return at(err, math.MaxInt, func(uint32) int { return base + firing })
		}
		for i := range out {
			if uint64(len(out[i].Blob)) > math.MaxUint32 {
				return fault.As(fault.ErrGuest, fmt.Errorf("plug-in %s: the text of the rows of %d firings exceeds 4 GiB", p.name, n))
			}
		}
		switch {
		case took > 0:
			base += took
			most = math.MaxInt
		case k > 1:
			most = k / 2
		default:
			return p.tooLarge(base, "what the firing answers")
		}
	}
	return nil
}

// withTimes makes the columns of a list as the guest gets them.
func (p *process) withTimes(s int, l *udf.FiringList) {
	t := &p.times[s]
	if t.Cols == nil {
		t.Cols = make([]stream.Column, 1+len(l.Cols))
	}
	t.Cols[0].Reset(stream.Timestamp)
	for _, at := range l.Time {
		if at == stream.MinTime {
			t.Cols[0].AppendNull()
		} else {
			t.Cols[0].AppendInt(int64(at))
		}
	}
	copy(t.Cols[1:], l.Cols)
	t.N, t.Blob = l.N, l.Blob
}

// take cuts out firings from base on, n or as many as leave half of the arena to the
// answer, and at least one. It returns their number.
func (p *process) take(in *udf.Firings, base, n, arena int) int {
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
	block, at := f.place(abi.ProcessBytes)
	f.h.Process = at
	var b abi.ProcessBlock
	var firings, descriptors []byte
	firings, b.Firings = f.place(c.n * abi.FiringBytes)
	for i := range c.firings {
		c.firings[i].Put(firings[i*abi.FiringBytes:])
	}
	descriptors, f.h.Cols = f.place(len(p.inputs) * abi.DescriptorBytes)
	f.columns(descriptors, &c.inputs, p.inputs)
	for s := range p.lists {
		l := &b.Lists[s]
		l.Rows, l.NumCols = uint32(len(c.records[s].sel)), uint32(len(p.lists[s]))
		descriptors, l.Cols = f.place(len(p.lists[s]) * abi.DescriptorBytes)
		f.columns(descriptors, &c.records[s], p.lists[s])
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
	records       [2]part
	keys, windows slotCut
	bytes         int // of the frame, without its answer
}

// slotCut is the states that firings of a frame find, with slots of their own.
type slotCut struct {
	table udf.Accs
	taken []uint32 // slots of the call, by those of the frame
	place []uint32 // by slot of the call: 1 + that of the frame, 0 if it is not in it
}

func (c *slotCut) reset(s *udf.States) {
	for _, of := range c.taken {
		c.place[of] = 0
	}
	c.taken = c.taken[:0]
	c.place = append(c.place, make([]uint32, max(0, len(s.Data)-len(c.place)))...)
	c.table.Reset(0)
}

// slot returns the frame's slot of a state of the call.
func (c *slotCut) slot(s *udf.States, firing int) uint32 {
	of := s.Slot[firing]
	if c.place[of] == 0 {
		c.taken = append(c.taken, of)
		c.table.Append(s.Data[of])
		c.place[of] = uint32(len(c.taken))
	}
	return c.place[of] - 1
}

// take cuts out the firings from lo to hi.
func (c *firingCut) take(p *process, in *udf.Firings, lo, hi int) {
	c.n, c.firings = hi-lo, c.firings[:0]
	c.inputs = part{batch: &in.Inputs, cols: upTo(c.inputs.cols, 0, len(p.inputs)), sel: rowsUpTo(c.inputs.sel, lo, hi)}
	c.bytes = abi.HeaderBytes + abi.ProcessBytes + c.n*abi.FiringBytes + c.inputs.columnBytes(p.inputs)
	var first [2]uint32
	for s := range p.lists {
		off := in.Lists[s].Off
		first[s] = off[lo]
		r := &c.records[s]
		*r = part{batch: &p.times[s], cols: upTo(r.cols, 0, len(p.lists[s])), sel: rowsUpTo(r.sel, int(off[lo]), int(off[hi]))}
		c.bytes += r.columnBytes(p.lists[s])
	}
	c.keys.reset(&in.Keys)
	c.windows.reset(&in.Windows)
	for i := lo; i < hi; i++ {
		f := abi.Firing{Start: int64(in.Window[i].Start), End: int64(in.Window[i].End), Watermark: int64(in.Watermark[i]), Now: int64(in.Now[i]),
			Key: abi.NoSlot, Window: abi.NoSlot, Revision: in.Revision[i]}
		for s := range p.lists {
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

func upTo(dst []int, lo, hi int) []int {
	dst = dst[:0]
	for i := lo; i < hi; i++ {
		dst = append(dst, i)
	}
	return dst
}

func rowsUpTo(dst []uint32, lo, hi int) []uint32 {
	dst = dst[:0]
	for i := lo; i < hi; i++ {
		dst = append(dst, uint32(i))
	}
	return dst
}

// answer takes the entries of the first n firings of the frame, whose first is number
// base of the call. An error says what is wrong with the answer, and at which firing.
func (c *firingCut) answer(p *process, in *udf.Firings, base, n int, entries []byte, out []udf.Emitted) (firing int, err error) {
	for len(entries) > 0 {
		if len(entries) < abi.EntryBytes {
			return firing, fmt.Errorf("%d bytes of output follow the last entry", len(entries))
		}
		of, what, size := binary.LittleEndian.Uint32(entries), binary.LittleEndian.Uint32(entries[4:]), int64(binary.LittleEndian.Uint32(entries[8:]))
		if int64(of) >= int64(n) || int(of) < firing {
			return firing, fmt.Errorf("an entry is of firing %d behind one of firing %d, with %d complete", of, firing, n)
		}
		firing = int(of)
		entries = entries[abi.EntryBytes:]
		padded := (size + 7) &^ 7
		if padded > int64(len(entries)) {
			return firing, fmt.Errorf("an entry of %d bytes ends outside the used output", size)
		}
		body := entries[:size:size]
		entries = entries[padded:]
		switch {
		case what == abi.KeyState && p.info.KeyState:
			err = put(&in.Keys, base+firing, body)
		case what == abi.WindowState && p.info.WindowState:
			err = put(&in.Windows, base+firing, body)
		case int64(what) < int64(len(out)):
			err = p.row(&out[what], int(what), uint32(base+firing), body)
		default:
			err = fmt.Errorf("an entry is of kind %#x, which the manifest does not have", what)
		}
		if err != nil {
			return firing, err
		}
	}
	return 0, nil
}

// put keeps a state that the guest answered.
func put(s *udf.States, firing int, body []byte) error {
	if len(body) > abi.MaxState {
		return fmt.Errorf("a state has %d bytes, at most %d are allowed", len(body), abi.MaxState)
	}
	s.Set(firing, slices.Clone(body))
	return nil
}

// row appends a row to an output: 0 are the results.
func (p *process) row(dst *udf.Emitted, output int, firing uint32, body []byte) error {
	outputs := p.info.Outputs
	if output > 0 {
		outputs = p.info.Side[output-1].Outputs
	}
	texts := 8 + 8*len(outputs)
	if len(body) < texts {
		return fmt.Errorf("a row of output %d has %d bytes, %d columns need %d", output, len(body), len(outputs), texts)
	}
	bits := binary.LittleEndian.Uint64(body)
	left := len(body) - texts // of text: columns may not share it
	if left > abi.MaxRowText {
		return fmt.Errorf("a row of output %d has texts of %d bytes, at most %d are allowed", output, left, abi.MaxRowText)
	}
	for i, o := range outputs {
		c, cell := &dst.Cols[i], body[8+8*i:]
		word := binary.LittleEndian.Uint64(cell)
		switch {
		case bits>>i&1 == 0:
			c.AppendNull()
		case o.Kind == stream.Int64 || o.Kind == stream.Timestamp:
			c.AppendInt(int64(word))
		case o.Kind == stream.Float64:
			c.AppendFloat(math.Float64frombits(word))
		case o.Kind == stream.Bool:
			if word > 1 {
				return fmt.Errorf("output %d, column %s holds %d for a bool", output, o.Name, word)
			}
			c.AppendBool(word == 1)
		default:
			off, size := int64(uint32(word)), int64(word>>32)
			if off < int64(texts) || off+size > int64(len(body)) {
				return fmt.Errorf("output %d, column %s has text outside of its row, %d bytes at %d of %d", output, o.Name, size, off, len(body))
			}
			if left -= int(size); left < 0 {
				return fmt.Errorf("output %d, column %s has text that overlaps with other text", output, o.Name)
			}
			text := body[off : off+size]
			if !utf8.Valid(text) {
				return fmt.Errorf("output %d, column %s has text that is not UTF-8", output, o.Name)
			}
			c.AppendStr(stream.Str{Off: uint32(len(dst.Blob)), Len: uint32(size)})
			dst.Blob = append(dst.Blob, text...)
		}
	}
	dst.Of = append(dst.Of, firing)
	return nil
}
