package wasm

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"tidemark/abi"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// part is the share of an Add that one call carries. The whole of it is the most
// common part, and is made without copying.
type part struct {
	batch  *stream.Columns
	cols   []int
	sel    []uint32
	group  []uint32
	groups int

	origin []uint32 // index in Rows.Sel of each of sel; nil: first, first+1, …
	first  int
}

// record maps the number of a record in the call to its index in Rows.Sel; -1 for a
// number that the guest made up.
func (p *part) record(op uint32) int {
	switch {
	case int64(op) >= int64(len(p.sel)):
		return -1
	case p.origin != nil:
		return int(p.origin[op])
	}
	return p.first + int(op)
}

// rows cuts out the records from lo to hi.
func (p *part) rows(lo, hi int) part {
	q := *p
	q.sel, q.group = p.sel[lo:hi], p.group[lo:hi]
	if p.origin != nil {
		q.origin = p.origin[lo:hi]
	} else {
		q.first = p.first + lo
	}
	return q
}

// only cuts out the records of the groups from lo to hi, which become 0 to hi-lo. It
// allocates: called only when a batch does not fit into an arena.
func (p *part) only(lo, hi int) part {
	q := *p
	q.sel, q.group, q.origin, q.first = nil, nil, []uint32{}, 0
	q.groups = hi - lo
	for i, g := range p.group {
		if int(g) >= lo && int(g) < hi {
			q.sel = append(q.sel, p.sel[i])
			q.group = append(q.group, g-uint32(lo))
			q.origin = append(q.origin, uint32(p.record(uint32(i))))
		}
	}
	return q
}

// column says how a column is laid out in a frame.
type column struct {
	kind     abi.Kind
	nullable bool
}

// bytes returns the size of p's descriptors, groups and columns in a frame.
func (p *part) bytes(layout []column) int {
	return abi.Align(4*len(p.sel)) + p.columnBytes(layout)
}

// columnBytes returns the size of descriptors and columns.
func (p *part) columnBytes(layout []column) int {
	n := len(p.sel)
	size := len(layout) * abi.DescriptorBytes
	for i, l := range layout {
		c := &p.batch.Cols[p.cols[i]]
		if l.nullable && c.Valid != nil {
			size += abi.ValidityBytes(n)
		}
		switch l.kind {
		case abi.Bool:
			size += abi.Align(n)
		case abi.String:
			text := 0
			for _, r := range p.sel {
				text += int(c.Strs[r].Len)
			}
			size += abi.Align(4*(n+1)) + abi.Align(text)
		default:
			size += 8 * n
		}
	}
	return size
}

// frame builds a frame from its start; at is the end of what is there. That all fits
// was computed before.
type frame struct {
	buf []byte
	h   abi.Header
	at  int
}

func newFrame(arena []byte, groups int) frame {
	return frame{buf: arena, h: abi.Header{Groups: uint32(groups)}, at: abi.HeaderBytes}
}

// place reserves n bytes and returns them with their offset.
func (f *frame) place(n int) ([]byte, uint32) {
	at := f.at
	f.at += abi.Align(n)
	return f.buf[at : at+n : at+n], uint32(at)
}

// finish gives the rest of the arena, or at most most bytes of it, to the output and
// writes the header.
func (f *frame) finish(most int) {
	f.h.Out = uint32(f.at)
	f.h.OutBytes = uint32(min(len(f.buf)-f.at, most))
	f.h.Size = f.h.Out + f.h.OutBytes
	f.h.Put(f.buf)
}

// rows writes the records of p: descriptors, groups, columns.
func (f *frame) rows(p *part, layout []column) {
	n := len(p.sel)
	f.h.Rows, f.h.NumCols = uint32(n), uint32(len(layout))
	var descriptors, group []byte
	descriptors, f.h.Cols = f.place(len(layout) * abi.DescriptorBytes)
	group, f.h.Group = f.place(4 * n)
	put32(group, p.group)
	f.columns(descriptors, p, layout)
}

// columns writes columns with the records of p, and their descriptors to the place that
// was reserved.
func (f *frame) columns(descriptors []byte, p *part, layout []column) {
	n, run := len(p.sel), isRun(p.sel)
	for i, l := range layout {
		c := &p.batch.Cols[p.cols[i]]
		d := abi.Descriptor{Kind: l.kind}
		if l.nullable && c.Valid != nil {
			var bits []byte
			bits, d.Validity = f.place(abi.ValidityBytes(n))
			d.Flags = abi.HasValidity
			gatherBits(bits, c.Valid, p.sel)
		}
		var data []byte
		switch l.kind {
		case abi.Bool:
			data, d.Data = f.place(n)
			for k, r := range p.sel {
				data[k] = 0
				if c.Bools[r] {
					data[k] = 1
				}
			}
		case abi.String:
			data, d.Data = f.place(4 * (n + 1))
			blob, text := f.buf[f.at:], 0
			for k, r := range p.sel {
				binary.LittleEndian.PutUint32(data[4*k:], uint32(text))
				text += copy(blob[text:], c.Strs[r].Bytes(p.batch.Blob))
			}
			binary.LittleEndian.PutUint32(data[4*n:], uint32(text))
			_, d.Blob = f.place(text)
			d.BlobBytes = uint32(text)
		case abi.Float64:
			data, d.Data = f.place(8 * n)
			gather(data, c.Floats, p.sel, run)
		default:
			data, d.Data = f.place(8 * n)
			gather(data, c.Ints, p.sel, run)
		}
		d.Put(descriptors[i*abi.DescriptorBytes:])
	}
}

// accsBytes is the size of accumulators from to to in a frame.
func accsBytes(a *udf.Accs, from, to int) int {
	if a.Width > 0 {
		return (to - from) * a.Width
	}
	return abi.Align(4*(to-from+1)) + abi.Align(int(a.Off[to]-a.Off[from]))
}

// accs writes accumulators from to to and returns their offset.
func (f *frame) accs(a *udf.Accs, from, to int) uint32 {
	if a.Width > 0 {
		dst, at := f.place((to - from) * a.Width)
		copy(dst, a.Data[from*a.Width:to*a.Width])
		return at
	}
	table, at := f.place(4 * (to - from + 1))
	for i := from; i <= to; i++ {
		binary.LittleEndian.PutUint32(table[4*(i-from):], a.Off[i]-a.Off[from])
	}
	data, _ := f.place(int(a.Off[to] - a.Off[from]))
	copy(data, a.Data[a.Off[from]:a.Off[to]])
	return at
}

// outColumn is where the answer of an output column lies.
type outColumn struct{ validity, data int }

// outBytes is the size of output columns for n rows, without text.
func outBytes(outputs []stream.Field, n int) int {
	size := len(outputs) * abi.DescriptorBytes
	for _, o := range outputs {
		size += abi.ValidityBytes(n) + abi.Align(n*outRowBytes(o.Kind))
	}
	return size
}

func outRowBytes(k stream.Kind) int {
	if k == stream.Bool {
		return 1
	}
	return 8 // numbers; offset and length of text
}

// outputs lays out output columns for n rows and finishes the frame.
func (f *frame) outputs(outputs []stream.Field, n int, places []outColumn) []outColumn {
	descriptors, at := f.place(len(outputs) * abi.DescriptorBytes)
	f.h.OutCols, f.h.NumOuts = at, uint32(len(outputs))
	places = places[:0]
	for _, o := range outputs {
		bits, validity := f.place(abi.ValidityBytes(n))
		clear(bits)
		_, data := f.place(n * outRowBytes(o.Kind))
		places = append(places, outColumn{int(validity), int(data)})
	}
	f.finish(math.MaxInt)
	for i, o := range outputs {
		d := abi.Descriptor{Kind: abi.Kind(o.Kind), Flags: abi.HasValidity, Validity: uint32(places[i].validity), Data: uint32(places[i].data)}
		if o.Kind == stream.String {
			d.Blob, d.BlobBytes = f.h.Out, f.h.OutBytes
		}
		d.Put(descriptors[i*abi.DescriptorBytes:])
	}
	return places
}

// takeRows appends the first n rows of an answer to dst. used is the checked
// out_used. An error says what is wrong with the answer, and at which row.
func takeRows(arena []byte, h *abi.Header, places []outColumn, n, used int, dst *stream.Columns) (row int, err error) {
	text := arena[h.Out : int(h.Out)+used]
	left := used // of text: rows may not share it, or a small answer would be a huge result
	for k := range places {
		c, p := &dst.Cols[k], places[k]
		data := arena[p.data:]
		for i := range n {
			if arena[p.validity+i>>3]>>(i&7)&1 == 0 {
				c.AppendNull()
				continue
			}
			switch c.Kind {
			case stream.Int64, stream.Timestamp:
				c.AppendInt(int64(binary.LittleEndian.Uint64(data[8*i:])))
			case stream.Float64:
				c.AppendFloat(math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:])))
			case stream.Bool:
				if data[i] > 1 {
					return i, fmt.Errorf("output column %d holds %d for a bool", k, data[i])
				}
				c.AppendBool(data[i] == 1)
			default:
				off, size := int(binary.LittleEndian.Uint32(data[8*i:])), int(binary.LittleEndian.Uint32(data[8*i+4:]))
				if off > used || size > used-off {
					return i, fmt.Errorf("output column %d has text outside the used output, %d bytes at %d of %d", k, size, off, used)
				}
				if left -= size; left < 0 {
					return i, fmt.Errorf("output column %d has text that overlaps with other text", k)
				}
				s := text[off : off+size]
				if !utf8.Valid(s) {
					return i, fmt.Errorf("output column %d has text that is not UTF-8", k)
				}
				c.AppendStr(stream.Str{Off: uint32(len(dst.Blob)), Len: uint32(size)})
				dst.Blob = append(dst.Blob, s...)
			}
		}
	}
	return 0, nil
}

// takeAccs appends the n accumulators of an answer to dst.
func takeAccs(out []byte, n int, dst *udf.Accs) error {
	for i := range n {
		if len(out) < 4 {
			return fmt.Errorf("%d accumulators are answered, it must be %d", i, n)
		}
		size := int64(binary.LittleEndian.Uint32(out))
		padded := (size + 3) &^ 3
		switch {
		case size > abi.MaxAccumulator:
			return fmt.Errorf("accumulator %d has %d bytes, at most %d are allowed", i, size, abi.MaxAccumulator)
		case padded > int64(len(out)-4):
			return fmt.Errorf("accumulator %d, %d bytes long, ends outside the used output", i, size)
		}
		dst.Append(out[4 : 4+size])
		out = out[4+padded:]
	}
	if len(out) > 0 {
		return fmt.Errorf("%d bytes of output follow the last accumulator", len(out))
	}
	return nil
}

// isRun reports whether sel is one run of rows: they can be copied in one piece.
func isRun(sel []uint32) bool {
	if len(sel) == 0 {
		return false
	}
	var off uint32
	for i, s := range sel {
		off |= s - sel[0] - uint32(i)
	}
	return off == 0
}

// littleEndian tells whether memory can be copied into frames as it is.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// overlay views b as values of type T, if b is aligned for them and the machine is
// little endian. Writing words in place of bytes halves the cost of a frame.
func overlay[T uint32 | uint64](b []byte) ([]T, bool) {
	var t T
	p := unsafe.Pointer(unsafe.SliceData(b))
	if !littleEndian || uintptr(p)%unsafe.Sizeof(t) != 0 {
		return nil, false
	}
	return unsafe.Slice((*T)(p), len(b)/int(unsafe.Sizeof(t))), true
}

// gather writes src[sel] to dst, 8 bytes a value. Called per batch and column: this
// and the guest's loop are the cost of a record.
func gather[T int64 | float64](dst []byte, src []T, sel []uint32, run bool) {
	words := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(src))), len(src))
	if d, ok := overlay[uint64](dst); ok {
		if run {
			copy(d, words[sel[0]:])
			return
		}
		d = d[:len(sel)]
		for i, r := range sel {
			d[i] = words[r]
		}
		return
	}
	for i, r := range sel {
		binary.LittleEndian.PutUint64(dst[8*i:], words[r])
	}
}

func put32(dst []byte, src []uint32) {
	if d, ok := overlay[uint32](dst); ok {
		copy(d, src)
		return
	}
	for i, v := range src {
		binary.LittleEndian.PutUint32(dst[4*i:], v)
	}
}

func gatherBits(dst []byte, src stream.Bits, sel []uint32) {
	clear(dst)
	for i, r := range sel {
		if src.Get(int(r)) {
			dst[i>>3] |= 1 << (i & 7)
		}
	}
}
