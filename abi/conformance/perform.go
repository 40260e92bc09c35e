package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// variant says how the calls of a vector reach the guest. Whatever it is, the answers are
// the same.
type variant struct {
	name   string
	layout layout
	// pieces gives the sizes of the frames that a call of n items is cut into; nil: one.
	pieces func(n int) []int
	// amnesia: each frame meets a fresh instance.
	amnesia bool
}

// session is an instance on which the calls of a vector are made, one after the other.
type session struct {
	ctx       context.Context
	module    *guest.Module
	shape     *shape
	configure *call
	inst      *guest.Instance
	fuel      []int64 // of each frame
	frames    int
}

// outcome is what came of a call, in however many frames. Items count from the call's first.
type outcome struct {
	answer
	accs [][]byte
}

// breach is an answer that contradicts SPEC.md, whatever was asked.
type breach struct{ error }

// usualRoom is the output area of frames for which a variant does not say another one: what
// they answer fits, but for large texts, and the rest of the arena can be watched.
const usualRoom = 64 << 10

// guarded is how much behind a frame is watched: a guest does not write there.
const guarded = 4 << 10

// fresh replaces the instance by a new one that is configured as the vector says.
func (s *session) fresh() error {
	if err := s.renew(); err != nil {
		return err
	}
	got, err := s.frame(s.configure, layout{})
	if err == nil && got.status != ok {
		err = fmt.Errorf("tm_configure answers %s, on another instance it was OK", got.status)
	}
	return err
}

// renew replaces the instance by one that is not configured.
func (s *session) renew() (err error) {
	s.close()
	s.inst, err = s.module.Instantiate(s.ctx)
	return err
}

func (s *session) close() {
	if s.inst != nil {
		s.inst.Close()
		s.inst = nil
	}
}

// framed is what came of one frame.
type framed struct {
	status string
	op     int
	text   string
	done   int // items, or accumulators, that are answered
	*reply
}

// errNoRoom: the frame does not fit into the arena as the layout asks for it.
var errNoRoom = errors.New("the frame does not fit into the arena")

// frame makes one call with one frame.
func (s *session) frame(c *call, l layout) (*framed, error) {
	f := newFrame(c, s.shape, l)
	arena := s.inst.Arena()
	room := l.room
	if room == 0 {
		room = min(usualRoom, len(arena)-f.end)
	}
	if room == wholeArena {
		room = 0
	}
	size := f.write(arena, room)
	if size == 0 {
		return nil, errNoRoom
	}
	before := slices.Clone(arena[:min(size+guarded, len(arena))])
	status, err := s.inst.Try(c.fn)
	s.frames++
	s.fuel = append(s.fuel, s.inst.Usage().Fuel)
	if err != nil {
		if s.ctx.Err() != nil {
			return nil, context.Cause(s.ctx)
		}
		trap, isTrap := errors.AsType[*guest.Trap](err)
		if !isTrap {
			return nil, err
		}
		return &framed{status: trapped, op: opOf(trap.Op), text: trap.Message}, nil
	}
	arena = s.inst.Arena()
	if at := f.overwritten(before, arena); at >= 0 {
		return nil, breach{fmt.Errorf("writes to byte %d of the frame of %d bytes, which is not the guest's", at, size)}
	}
	got := &framed{op: opOf(s.inst.Op())}
	switch status {
	case abi.OK, abi.OutputFull:
		return got, s.good(c, f, arena, status, got)
	case abi.Refused:
		got.status = refused
		used := int64(s.inst.OutUsed())
		if used > abi.MaxMessage || used > int64(f.header.OutBytes) {
			return nil, breach{fmt.Errorf("refuses with a message of %d bytes", used)}
		}
		if got.text = string(arena[f.header.Out:][:used]); !utf8.ValidString(got.text) {
			return nil, breach{fmt.Errorf("refuses with a message that is not UTF-8: %q", got.text)}
		}
		return got, nil
	case abi.BadFrame:
		got.status = badFrame
		return got, nil
	}
	return nil, breach{fmt.Errorf("answers status %d, which does not exist", uint32(status))}
}

// wholeArena is the room of a layout that gives the answer all that there is.
const wholeArena = math.MaxInt

func opOf(op uint32) int {
	if op == abi.NoOp {
		return -1
	}
	return int(op)
}

// good reads what a frame holds that was answered, or answered in part.
func (s *session) good(c *call, f *frame, arena []byte, status abi.Status, got *framed) (err error) {
	got.status, got.done = ok, answers(c)
	n := c.items()
	if status == abi.OutputFull {
		got.done = int(s.inst.Done())
		switch {
		case !c.mayFill(s.shape):
			return breach{fmt.Errorf("answers OUTPUT_FULL, though nothing is answered in the output area")}
		case got.done >= answers(c):
			return breach{fmt.Errorf("answers OUTPUT_FULL with done = %d of %d", got.done, answers(c))}
		}
		got.status = "OUTPUT_FULL"
	} else if last := n - 1; n > 0 && c.fn != guest.Configure && c.fn != guest.Create {
		if c.fn == guest.Add && c.answersAccs(s.shape) {
			last = n
		}
		if got.op != last && !(c.fn == guest.Apply && opEnds(c.agenda, got.op)) {
			return breach{fmt.Errorf("op is %d after %d items, it must be %d", got.op, n, last)}
		}
	}
	if got.reply, err = read(c, s.shape, f, arena, got.done); err != nil {
		return breach{err}
	}
	return nil
}

// answers is how many things a call answers: items, or accumulators.
func answers(c *call) int {
	if c.fn == guest.Add {
		return c.groups
	}
	return c.items()
}

// perform makes a call as a variant says, in as many frames as that takes.
func (s *session) perform(c *call, v *variant) (*outcome, error) {
	n := c.items()
	sizes := []int{n}
	if v.pieces != nil && c.fn != guest.Configure {
		sizes = v.pieces(n)
	}
	whole := *c // with the states, and the accumulators in place, that the frames so far have left
	whole.keys, whole.windows = slices.Clone(c.keys), slices.Clone(c.windows)
	out := &outcome{answer: answer{status: ok, op: -1}}
	at := 0
	for _, size := range sizes {
		for end := at + size; ; {
			part := whole.part(at, end)
			var got *framed
			var err error
			if c.fn == guest.Add && c.answersAccs(s.shape) {
				got, err = s.add(part, v, out)
			} else {
				got, err = s.try(part, v)
			}
			if err != nil {
				return nil, err
			}
			if got.reply == nil { // refused, trapped, or not read
				out.answer = answer{status: got.status, op: got.op, text: got.text}
				if got.op >= 0 {
					out.op += at
				}
				return out, nil
			}
			took := got.done
			switch c.fn {
			case guest.Add:
				took = size
				whole.accs, out.accs = got.accs, got.accs
			case guest.Apply:
				whole.accs, out.accs = got.accs, nil
				out.take(&whole, at, got.reply)
			default:
				out.take(&whole, at, got.reply)
			}
			if at += took; at >= end {
				break
			}
		}
	}
	if c.fn == guest.Add || c.fn == guest.Apply {
		out.said = append(out.said, sayAccs(out.accs)...)
	}
	out.said = settle(out.said)
	return out, nil
}

// try makes a call with one frame; where nothing of it could be answered in the room of the
// variant, it gets all that there is.
func (s *session) try(c *call, v *variant) (*framed, error) {
	l := v.layout
	for {
		if v.amnesia && c.fn != guest.Configure {
			if err := s.fresh(); err != nil {
				return nil, err
			}
		}
		got, err := s.frame(c, l)
		switch {
		case err != nil || got.status != "OUTPUT_FULL" || got.done > 0:
			return got, err
		case l.room == wholeArena:
			return nil, breach{fmt.Errorf("answers OUTPUT_FULL with nothing done, and all of the arena free")}
		}
		l.room = wholeArena
	}
}

// take adds what a frame answered, whose first item is number at of the call.
func (o *outcome) take(whole *call, at int, r *reply) {
	o.accs = append(o.accs, r.accs...)
	for _, x := range r.said {
		x.item += at
		o.said = append(o.said, x)
	}
	for _, st := range r.states {
		state := whole.state(at+st.item, st.window)
		if len(*state) > 0 || len(st.bytes) > 0 { // to remove what is not there is to do nothing
			o.said = append(o.said, sayState(at+st.item, st.window, st.bytes))
		}
		*state = st.bytes
	}
}

// state is where the state of an item is kept.
func (c *call) state(item int, window bool) *[]byte {
	if window {
		return &c.windows[c.slot(item, window)]
	}
	return &c.keys[c.slot(item, window)]
}

// slot is the number of the state of an item.
func (c *call) slot(item int, window bool) uint32 {
	switch {
	case c.fn == guest.Process && window:
		return c.firings[item].Window
	case c.fn == guest.Process:
		return c.firings[item].Key
	case c.fn == guest.Trigger:
		return c.ops[item].Slot
	}
	return 0 // of a split
}

// add makes a call of tm_aggregate_add that answers accumulators, and merges them with what
// the parts before have made. Where not all of them fit, the rest is asked for again, with the
// records of theirs.
func (s *session) add(c *call, v *variant, before *outcome) (*framed, error) {
	all := &framed{status: ok, done: c.groups, reply: &reply{}}
	for first := 0; ; {
		part, rows := c.ofGroups(first)
		got, err := s.try(part, v)
		if err != nil || got.reply == nil {
			if got != nil && got.op >= 0 && got.op < len(rows) {
				got.op = rows[got.op]
			}
			return got, err
		}
		all.accs = append(all.accs, got.accs...)
		if first += got.done; first >= c.groups {
			break
		}
	}
	if before.accs == nil {
		return all, nil
	}
	merge := &call{fn: guest.Merge, groups: c.groups, accs: before.accs, from: all.accs}
	m, err := s.perform(merge, v)
	if err != nil {
		return nil, err
	}
	if m.status != ok {
		return nil, fmt.Errorf("tm_aggregate_merge of two parts: %s %q", m.status, m.text)
	}
	all.accs = m.accs
	return all, nil
}

// ofGroups is a call with the groups from first on, and their records only, whose numbers it
// tells.
func (c *call) ofGroups(first int) (*call, []int) {
	p := *c
	p.groups = c.groups - first
	p.group = nil
	var rows []int
	for i, g := range c.group {
		if int(g) >= first {
			rows = append(rows, i)
			p.group = append(p.group, g-uint32(first))
		}
	}
	p.inputs = c.inputs.pick(rows)
	return &p, rows
}
