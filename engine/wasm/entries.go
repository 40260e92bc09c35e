package wasm

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// What functions have in common that answer any number of rows, for firings or for pairs:
// both are items of a frame (SPEC section 3, the answer of tm_process).

// entries reads answers.
type entries struct {
	outputs       [][]stream.Field
	keys, windows *udf.States // nil: none are kept
}

// take takes the entries of the first n items of a frame, whose first is number base of
// the call. An error says what is wrong with the answer, and at which item of the frame.
func (e *entries) take(base, n int, bytes []byte, out []udf.Emitted) (item int, err error) {
	return eachEntry(n, bytes, func(item int, what uint32, body []byte) error {
		switch {
		case what == abi.KeyState && e.keys != nil:
			return put(e.keys, base+item, body)
		case what == abi.WindowState && e.windows != nil:
			return put(e.windows, base+item, body)
		case int64(what) < int64(len(e.outputs)):
			return e.row(&out[what], int(what), uint32(base+item), body)
		}
		return fmt.Errorf("an entry is of kind %#x, which the manifest does not have", what)
	})
}

// eachEntry hands out the entries of the first n items of a frame, in order.
func eachEntry(n int, bytes []byte, each func(item int, what uint32, body []byte) error) (item int, err error) {
	for len(bytes) > 0 {
		if len(bytes) < abi.EntryBytes {
			return item, fmt.Errorf("%d bytes of output follow the last entry", len(bytes))
		}
		of, what, size := binary.LittleEndian.Uint32(bytes), binary.LittleEndian.Uint32(bytes[4:]), int64(binary.LittleEndian.Uint32(bytes[8:]))
		if int64(of) >= int64(n) || int(of) < item {
			return item, fmt.Errorf("an entry is of item %d behind one of item %d, with %d complete", of, item, n)
		}
		item = int(of)
		bytes = bytes[abi.EntryBytes:]
		padded := (size + 7) &^ 7
		if padded > int64(len(bytes)) {
			return item, fmt.Errorf("an entry of %d bytes ends outside the used output", size)
		}
		body := bytes[:size:size]
		bytes = bytes[padded:]
		if err := each(item, what, body); err != nil {
			return item, err
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
func (e *entries) row(dst *udf.Emitted, output int, item uint32, body []byte) error {
	outputs := e.outputs[output]
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
	dst.Of = append(dst.Of, item)
	return nil
}

// wrong treats an answer that contradicts SPEC.md like a trap at an item of the call.
func (a *worker) wrong(err error, item int) error {
	return at(a.lie("%v", err), math.MaxInt, func(uint32) int { return item })
}

// itemCall is a call about items of which a frame carries as many as their size asks for:
// pairs, firings, operations or records.
type itemCall struct {
	fn guest.Func
	n  int // items
	// fill cuts out items from base on, n or fewer and at least one, and returns their
	// number and the bytes of the frame without its answer.
	fill  func(base, n, arena int) (k, bytes int)
	frame func(k int, arena []byte) frame
	// take takes the answers of the first n items from base on; an error says at which item
	// from there they contradict SPEC.md.
	take func(base, n int, answer []byte) (item int, err error)
	// number is what the caller counts an item as.
	number        func(item int) int
	item, answers string // what is too large, in words
}

// plain is the number of an item that the caller counts as the frames do.
func plain(item int) int { return item }

// each makes a call, in frames one after the other.
func (a *worker) each(c *itemCall) error {
	most := math.MaxInt // items that a frame may carry
	answered := 0
	for base := 0; base < c.n; {
		arena, err := a.arena()
		if err != nil {
			return err
		}
		k, bytes := c.fill(base, min(c.n-base, most), len(arena))
		if bytes+abi.MinOutput > len(arena) {
			return a.tooLarge(c.number(base), c.item)
		}
		f := c.frame(k, arena)
		took, answer, err := a.complete(c.fn, &f, k)
		if err != nil {
			return at(err, k, func(op uint32) int { return c.number(base + int(op)) })
		}
		if i, err := c.take(base, took, answer); err != nil {
			return a.wrong(err, c.number(base+i))
		}
		answered += len(answer)
		if err := a.bounded(answered, c.n); err != nil {
			return err
		}
		switch {
		case took > 0:
			base += took
			most = math.MaxInt
		case k > 1:
			most = k / 2
		default:
			return a.tooLarge(c.number(base), c.answers)
		}
	}
	return nil
}

// maxAnswer bounds what a call answers over all of its frames: a frame has a few MiB, and
// a call may have a thousand.
const maxAnswer = 64 << 20

// bounded ends a call of several items that has answered so many bytes, which is nobody's
// fault: the caller tries with fewer of them.
func (a *worker) bounded(answered, items int) error {
	if answered <= maxAnswer || items == 1 {
		return nil
	}
	return &udf.Failure{Op: -1, Module: a.name, Message: fmt.Sprintf("one call has answered more than %d MiB", maxAnswer>>20)}
}

// records are those of one list or side that go into a frame, with their times in front.
type records struct {
	part
	layout []column
	times  stream.Columns
	all    []uint32 // the rows of times
}

// timesLayout is the layout of the column in front.
var timesLayout = []column{{abi.Timestamp, true}}

// take takes the rows of sel, which are its own from here on.
func (r *records) take(src *stream.Columns, times []stream.Time, sel []uint32) {
	r.batch, r.sel = src, sel
	if r.cols == nil {
		r.cols, r.times.Cols = upTo(len(r.layout)), make([]stream.Column, 1)
	}
	r.times.Cols[0].Reset(stream.Timestamp)
	r.all = r.all[:0]
	for i, row := range sel {
		if at := times[row]; at == stream.MinTime {
			r.times.Cols[0].AppendNull()
		} else {
			r.times.Cols[0].AppendInt(int64(at))
		}
		r.all = append(r.all, uint32(i))
	}
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func (r *records) timesPart() part { return part{batch: &r.times, cols: []int{0}, sel: r.all} }

func (r *records) bytes() int {
	times := r.timesPart()
	return times.columnBytes(timesLayout) + r.columnBytes(r.layout)
}

// put writes the records.
func (r *records) put(f *frame) abi.List {
	l := abi.List{Rows: uint32(len(r.sel)), NumCols: uint32(1 + len(r.layout))}
	var descriptors []byte
	descriptors, l.Cols = f.place(int(l.NumCols) * abi.DescriptorBytes)
	times := r.timesPart()
	f.columns(descriptors, &times, timesLayout)
	f.columns(descriptors[abi.DescriptorBytes:], &r.part, r.layout)
	return l
}

// selection numbers those of many things that a frame carries, in order of their first use.
type selection struct {
	taken []uint32 // by number in the frame
	place []uint32 // of each thing: 1 + its number in the frame, 0 if it is not in it
}

// reset begins a frame over n things.
func (s *selection) reset(n int) {
	for _, of := range s.taken {
		s.place[of] = 0
	}
	s.taken = s.taken[:0]
	s.place = append(s.place, make([]uint32, max(0, n-len(s.place)))...)
}

// take returns the number of a thing, and whether it is in the frame only from now on.
func (s *selection) take(of uint32) (n uint32, first bool) {
	if s.place[of] > 0 {
		return s.place[of] - 1, false
	}
	s.taken = append(s.taken, of)
	s.place[of] = uint32(len(s.taken))
	return s.place[of] - 1, true
}
