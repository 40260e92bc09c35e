package conformance

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// reply is what a frame holds after a call with status OK or OUTPUT_FULL: of the items, or
// accumulators, that are done.
type reply struct {
	said []said
	accs [][]byte // in place, or answered
	// states are the answered ones, in order.
	states []stateOf
}

type stateOf struct {
	item   int
	window bool
	bytes  []byte
}

// read reads the answer of a frame of which so many items, or accumulators, are done, as
// strictly as a host may (SPEC sections 3 and 5). An error is a breach of them.
func read(c *call, s *shape, f *frame, arena []byte, done int) (*reply, error) {
	used := int(binary.LittleEndian.Uint32(arena[abi.AtOutUsed:]))
	if used > int(f.header.OutBytes) {
		return nil, fmt.Errorf("out_used is %d, the output area has %d bytes", used, f.header.OutBytes)
	}
	out := arena[f.header.Out:][:used]
	r := &reply{}
	switch {
	case c.fn == guest.Configure:
		return r, nil
	case c.fn == guest.Apply:
		return r, r.agenda(c, s, f, arena, out, done)
	case c.fn == guest.Upgrade:
		return r, r.upgraded(c, s, out, done)
	case c.inPlace(s):
		for g := range c.groups {
			r.acc(g, arena[f.accs.at+g*s.width:][:s.width])
		}
		return r, nil
	case c.answersAccs(s):
		return r, r.accumulators(out, done)
	case c.fn == guest.Result:
		return r, r.rows(c, s, f, arena, out, done)
	}
	return r, r.entries(c, s, out, done)
}

func (r *reply) acc(group int, b []byte) {
	b = append([]byte(nil), b...)
	r.accs = append(r.accs, b)
	r.said = append(r.said, sayAcc(group, b))
}

// accumulators reads those of varying size.
func (r *reply) accumulators(out []byte, n int) error {
	for i := range n {
		if len(out) < 4 {
			return fmt.Errorf("accumulator %d of %d is missing", i, n)
		}
		size := int(binary.LittleEndian.Uint32(out))
		padded := (size + 3) &^ 3
		if size > abi.MaxAccumulator || padded > len(out)-4 {
			return fmt.Errorf("accumulator %d has %d bytes, %d are left of out_used", i, size, len(out)-4)
		}
		if !zero(out[4+size : 4+padded]) {
			return fmt.Errorf("accumulator %d is not padded with zeros: %x", i, out[4+size:4+padded])
		}
		r.acc(i, out[4:4+size])
		out = out[4+padded:]
	}
	if len(out) > 0 {
		return fmt.Errorf("%d bytes are left over behind %d accumulators", len(out), n)
	}
	return nil
}

func zero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// rows reads result rows.
func (r *reply) rows(c *call, s *shape, f *frame, arena, out []byte, n int) error {
	texts := 0
	for i := range n {
		var cells []cell
		for k, o := range f.outs {
			data := arena[o.datas.at:]
			v := cell{null: arena[o.validity.at+i/8]>>(i%8)&1 == 0}
			switch {
			case v.null:
			case o.kind == abi.Bool:
				if v.word = uint64(data[i]); v.word > 1 {
					return fmt.Errorf("row %d, column %d holds %d for a bool", i, k, v.word)
				}
			case o.kind == abi.String:
				off, size := int(binary.LittleEndian.Uint32(data[8*i:])), int(binary.LittleEndian.Uint32(data[8*i+4:]))
				if off > len(out) || size > len(out)-off {
					return fmt.Errorf("row %d, column %d has a text of %d bytes at %d, out_used is %d", i, k, size, off, len(out))
				}
				if texts += size; texts > len(out) {
					return fmt.Errorf("row %d, column %d shares its text with another", i, k)
				}
				if v.text = string(out[off : off+size]); !utf8.ValidString(v.text) {
					return fmt.Errorf("row %d, column %d is not UTF-8: %q", i, k, v.text)
				}
			default:
				v.word = binary.LittleEndian.Uint64(data[8*i:])
			}
			cells = append(cells, v)
		}
		r.said = append(r.said, sayRow(s, c.fn, i, 0, cells))
	}
	return nil
}

// entries reads the answer of tm_process and its like.
func (r *reply) entries(c *call, s *shape, out []byte, done int) error {
	last := 0
	for at := 0; at < len(out); {
		rest := out[at:]
		if len(rest) < abi.EntryBytes {
			return fmt.Errorf("%d bytes are left over behind the last entry", len(rest))
		}
		item, what, size := int(binary.LittleEndian.Uint32(rest)), binary.LittleEndian.Uint32(rest[4:]), int(binary.LittleEndian.Uint32(rest[8:]))
		fail := func(format string, args ...any) error {
			return fmt.Errorf("the entry at %d of the output, of item %d, kind %#x: %s", at, item, what, fmt.Sprintf(format, args...))
		}
		switch padded := abi.Align(size); {
		case item >= done:
			return fail("only %d items are done", done)
		case item < last:
			return fail("stands behind one of item %d", last)
		case !zero(rest[12:16]):
			return fail("the fourth word of the head is not 0")
		case padded > len(rest)-abi.EntryBytes:
			return fail("a body of %d bytes ends outside of out_used", size)
		case !zero(rest[abi.EntryBytes+size : abi.EntryBytes+padded]):
			return fail("the body is not padded with zeros: %x", rest[abi.EntryBytes+size:abi.EntryBytes+padded])
		}
		last = item
		if err := r.entry(c, s, item, what, rest[abi.EntryBytes:][:size]); err != nil {
			return fail("%v", err)
		}
		at += abi.EntryBytes + abi.Align(size)
	}
	return nil
}

func (r *reply) entry(c *call, s *shape, item int, what uint32, body []byte) error {
	switch {
	case what == abi.KeyState && s.keys, what == abi.WindowState && s.windows:
		if len(body) > abi.MaxState {
			return fmt.Errorf("a state of %d bytes", len(body))
		}
		st := stateOf{item, what == abi.WindowState, append([]byte(nil), body...)}
		if c.slot(item, st.window) == abi.NoSlot {
			return fmt.Errorf("the item has no slot for a state")
		}
		r.states = append(r.states, st)
		return nil
	case c.fn == guest.Trigger:
		if what > abi.DeleteProcessingTimer || len(body) != 8 {
			return fmt.Errorf("a trigger answers no such thing of %d bytes", len(body))
		}
		word := binary.LittleEndian.Uint64(body)
		if what != abi.Verdict {
			r.said = append(r.said, sayTimer(item, what, int64(word)))
			return nil
		}
		if word > 3 || word > 0 && c.ops[item].What >= merged {
			return fmt.Errorf("verdict %d", word)
		}
		r.said = append(r.said, sayVerdict(item, word))
		return nil
	case c.fn == guest.Assign && what == 0:
		if len(body) != 16 {
			return fmt.Errorf("a window of %d bytes", len(body))
		}
		from, to := int64(binary.LittleEndian.Uint64(body)), int64(binary.LittleEndian.Uint64(body[8:]))
		if from >= to {
			return fmt.Errorf("a window from %d to %d", from, to)
		}
		in := sayIn(item, from, to)
		if n := len(r.said); s.oneWindow && n > 0 && r.said[n-1].item == item && r.said[n-1] != in {
			return fmt.Errorf("a second window, though windows merge")
		}
		r.said = append(r.said, in)
		return nil
	case int(what) < len(s.outputs):
		cells, err := row(s.outputs[what], body)
		if err == nil {
			r.said = append(r.said, sayRow(s, c.fn, item, int(what), cells))
		}
		return err
	}
	return fmt.Errorf("the manifest has no such thing")
}

// row reads the body of a row.
func row(cols []abi.Column, body []byte) ([]cell, error) {
	texts := 8 + 8*len(cols)
	if len(body) < texts {
		return nil, fmt.Errorf("a row of %d columns has %d bytes", len(cols), len(body))
	}
	left := len(body) - texts
	if left > abi.MaxRowText {
		return nil, fmt.Errorf("texts of %d bytes", left)
	}
	bits := binary.LittleEndian.Uint64(body)
	var cells []cell
	for i, col := range cols {
		v := cell{null: bits>>i&1 == 0, word: binary.LittleEndian.Uint64(body[8+8*i:])}
		switch {
		case v.null:
		case col.Kind == abi.Bool && v.word > 1:
			return nil, fmt.Errorf("column %s holds %d for a bool", col.Name, v.word)
		case col.Kind == abi.String:
			off, size := int(uint32(v.word)), int(v.word>>32)
			if off < texts || off > len(body) || size > len(body)-off {
				return nil, fmt.Errorf("column %s has a text of %d bytes at %d, outside of the row's texts", col.Name, size, off)
			}
			if left -= size; left < 0 {
				return nil, fmt.Errorf("column %s shares its text with another", col.Name)
			}
			if v.text = string(body[off : off+size]); !utf8.ValidString(v.text) {
				return nil, fmt.Errorf("column %s is not UTF-8: %q", col.Name, v.text)
			}
		}
		cells = append(cells, v)
	}
	return cells, nil
}
