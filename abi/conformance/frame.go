package conformance

import (
	"bytes"
	"encoding/binary"
	"slices"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// layout says which of the frames that SPEC section 3 allows a picture becomes.
type layout struct {
	// backwards: areas lie in the opposite order, with gaps between them.
	backwards bool
	// bitmaps: nullable columns have a validity bitmap also where no row is null, and bits
	// behind the last row are set.
	bitmaps bool
	// room is the size of the output area; 0: all that is left of the arena.
	room int
}

// area is a piece of a frame, whose offset goes to those that refer to it.
type area struct {
	bytes []byte
	at    int
	refs  []func(at uint32)
	// open: the guest writes here.
	open bool
}

// frame is a frame that is ready to be written to an arena.
type frame struct {
	header abi.Header
	areas  []*area
	accs   *area       // accumulators of a fixed size, which are changed in place
	outs   []outColumn // of result rows
	end    int         // where the output area begins
}

// outColumn is where the guest answers a column.
type outColumn struct {
	kind            abi.Kind
	validity, datas *area
}

func (f *frame) area(bytes []byte, refs ...func(at uint32)) *area {
	a := &area{bytes: bytes, refs: refs}
	f.areas = append(f.areas, a)
	return a
}

// newFrame pictures a call in bytes. The offsets are known once it is laid out.
func newFrame(c *call, s *shape, l layout) *frame {
	f := &frame{}
	h := &f.header
	h.Rows, h.Groups = uint32(c.items()), uint32(c.groups)
	if c.fn == guest.Create || c.fn == guest.Merge || c.fn == guest.Result || c.fn == guest.Upgrade {
		h.Rows = 0
	}
	to := func(dst *uint32) func(uint32) { return func(at uint32) { *dst = at } }
	if c.inputs != nil {
		h.NumCols = uint32(len(c.inputs.cols))
		f.columns(c.inputs, l, to(&h.Cols))
	}
	if c.fn == guest.Add {
		f.area(words(c.group), to(&h.Group))
	}
	switch {
	case c.inPlace(s):
		f.accs = f.area(make([]byte, s.width*c.groups), to(&h.Acc))
		f.accs.open = true
		for i := range f.accs.bytes {
			f.accs.bytes[i] = stale // of which tm_aggregate_create leaves nothing
		}
		for i, a := range c.accs {
			copy(f.accs.bytes[i*s.width:], a)
		}
		if c.fn == guest.Merge {
			f.area(slices.Concat(c.from...), to(&h.From))
		}
	case s.width > 0 && c.fn == guest.Result:
		f.area(slices.Concat(c.accs...), to(&h.Acc))
	case c.fn == guest.Merge || c.fn == guest.Result || c.fn == guest.Upgrade:
		f.area(pieces(c.accs), to(&h.Acc))
		if c.fn == guest.Merge {
			f.area(pieces(c.from), to(&h.From))
		}
	}
	switch c.fn {
	case guest.Result:
		f.outputs(s, c.groups)
	case guest.Apply:
		f.outputs(s, results(c.agenda))
	case guest.Upgrade:
		f.upgradeBlock(c)
	}
	if len(c.lists) > 0 || c.fn == guest.Process {
		f.block(c, s, l)
	}
	f.place(l.backwards)
	return f
}

// columns lays out columns behind their descriptors.
func (f *frame) columns(t *table, l layout, at func(uint32)) {
	descriptors := f.area(make([]byte, abi.DescriptorBytes*len(t.cols)), at)
	for i := range t.cols {
		col := &t.cols[i]
		d := &abi.Descriptor{Kind: col.Kind}
		put := func(dst *uint32) func(uint32) {
			return func(at uint32) { *dst = at; d.Put(descriptors.bytes[i*abi.DescriptorBytes:]) }
		}
		null := slices.ContainsFunc(col.cells, func(c cell) bool { return c.null })
		if col.Nullable && (null || l.bitmaps) {
			bits := make([]byte, abi.ValidityBytes(t.rows))
			for r := range 8 * len(bits) {
				if r >= t.rows && l.bitmaps || r < t.rows && !col.cells[r].null {
					bits[r/8] |= 1 << (r % 8)
				}
			}
			d.Flags = abi.HasValidity
			f.area(bits, put(&d.Validity))
		}
		var data, blob []byte
		for _, c := range col.cells {
			switch col.Kind {
			case abi.Bool:
				data = append(data, byte(c.word))
			case abi.String:
				data = binary.LittleEndian.AppendUint32(data, uint32(len(blob)))
				blob = append(blob, c.text...)
			default:
				data = binary.LittleEndian.AppendUint64(data, c.word)
			}
		}
		if col.Kind == abi.String {
			data = binary.LittleEndian.AppendUint32(data, uint32(len(blob)))
			d.BlobBytes = uint32(len(blob))
			f.area(blob, put(&d.Blob))
		}
		f.area(data, put(&d.Data))
	}
}

// outputs lays out the columns of tm_aggregate_result and tm_aggregate_apply.
func (f *frame) outputs(s *shape, rows int) {
	cols := s.outputs[0]
	f.header.NumOuts = uint32(len(cols))
	descriptors := f.area(make([]byte, abi.DescriptorBytes*len(cols)), func(at uint32) { f.header.OutCols = at })
	for i, col := range cols {
		d := &abi.Descriptor{Kind: col.Kind, Flags: abi.HasValidity}
		put := func(dst *uint32) func(uint32) {
			return func(at uint32) {
				*dst = at
				if d.Kind == abi.String { // known by now: see place
					d.Blob, d.BlobBytes = f.header.Out, f.header.OutBytes
				}
				d.Put(descriptors.bytes[i*abi.DescriptorBytes:])
			}
		}
		size := 8
		if col.Kind == abi.Bool {
			size = 1
		}
		o := outColumn{kind: col.Kind, validity: f.area(make([]byte, abi.ValidityBytes(rows)), put(&d.Validity)), datas: f.area(make([]byte, size*rows), put(&d.Data))}
		for k := range o.datas.bytes {
			o.datas.bytes[k] = stale
		}
		o.validity.open, o.datas.open = true, true
		f.outs = append(f.outs, o)
	}
}

// block lays out what frames of tm_process and its like have beside columns.
func (f *frame) block(c *call, s *shape, l layout) {
	b := &abi.Block{}
	raw := f.area(make([]byte, abi.BlockBytes), func(at uint32) { f.header.Block = at })
	to := func(dst *uint32) func(uint32) { return func(at uint32) { *dst = at; b.Put(raw.bytes) } }
	var items []byte
	room := func(n int) []byte {
		items = append(items, make([]byte, n)...)
		return items[len(items)-n:]
	}
	for i := range c.firings {
		c.firings[i].Put(room(abi.FiringBytes))
	}
	for i := range c.pairs {
		c.pairs[i].Put(room(abi.PairBytes))
	}
	for i := range c.ops {
		c.ops[i].Put(room(abi.PaneOpBytes))
	}
	for i := range c.agenda {
		c.agenda[i].Put(room(abi.ContentOpBytes))
	}
	b.Results = uint32(results(c.agenda))
	if c.fn == guest.Process || c.fn == guest.Pair || c.fn == guest.Trigger || c.fn == guest.Apply {
		f.area(items, to(&b.Items))
	}
	if s.keys {
		b.NumKeys = uint32(len(c.keys))
		f.area(pieces(c.keys), to(&b.Keys))
	}
	if s.windows {
		b.NumWindows = uint32(len(c.windows))
		f.area(pieces(c.windows), to(&b.Windows))
	}
	for i, t := range c.lists {
		b.Lists[i].Rows, b.Lists[i].NumCols = uint32(t.rows), uint32(len(t.cols))
		f.columns(t, l, to(&b.Lists[i].Cols))
	}
}

// words is numbers of 4 bytes.
func words(list []uint32) (b []byte) {
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// pieces is accumulators of varying size, or states: a table of offsets, padded, and the bytes.
func pieces(list [][]byte) []byte {
	var table, all []byte
	for _, b := range list {
		table = binary.LittleEndian.AppendUint32(table, uint32(len(all)))
		all = append(all, b...)
	}
	table = binary.LittleEndian.AppendUint32(table, uint32(len(all)))
	return append(append(table, make([]byte, abi.Align(len(table))-len(table))...), all...)
}

// place gives every area its offset; they are aligned, and with gaps where that is asked for.
func (f *frame) place(backwards bool) {
	order := slices.Clone(f.areas)
	gap := 0
	if backwards {
		slices.Reverse(order)
		gap = 24
	}
	at := abi.HeaderBytes
	for _, a := range order {
		at += gap
		a.at = at
		at += abi.Align(len(a.bytes))
	}
	f.end = at + gap
}

// Filling of an arena before a call: what a guest reads or leaves there shows.
const stale = 0xa5

// write puts the frame into an arena, with an output area of so many bytes, and returns its
// size; 0: it does not fit.
func (f *frame) write(arena []byte, room int) int {
	if room == 0 {
		room = len(arena) - f.end
	}
	if room < abi.MinOutput || f.end+room > len(arena) {
		return 0
	}
	h := &f.header
	h.Out, h.OutBytes = uint32(f.end), uint32(room)
	h.Size = h.Out + h.OutBytes
	size := int(h.Size)
	arena[0] = stale
	for n := 1; n < size; n *= 2 {
		copy(arena[n:size], arena[:n])
	}
	for _, a := range f.areas { // of descriptors after what they refer to, so offsets first
		for _, ref := range a.refs {
			ref(uint32(a.at))
		}
	}
	for _, a := range f.areas {
		copy(arena[a.at:], a.bytes)
	}
	h.Put(arena)
	return size
}

// overwritten tells where a guest has written outside of what is its own: the areas that are
// open, the output area and three fields of the header; -1: nowhere. before is the arena
// as the frame was written, up to where it is compared; it is used up.
func (f *frame) overwritten(before, after []byte) int {
	mine := func(from, to int) { copy(before[from:to], after[from:to]) }
	mine(abi.AtOp, abi.AtOutUsed+4)
	mine(int(f.header.Out), int(f.header.Size))
	for _, a := range f.areas {
		if a.open {
			mine(a.at, a.at+len(a.bytes))
		}
	}
	if bytes.Equal(before, after[:len(before)]) {
		return -1
	}
	at := 0
	for before[at] == after[at] {
		at++
	}
	return at
}
