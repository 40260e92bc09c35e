package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// asWritten is a vector as it stands: a frame for each call.
var asWritten = &variant{name: "as written"}

// variants are the ways that must not make a difference, beside cuts at each place.
var variants = []*variant{
	{name: "each item in a frame of its own", pieces: func(n int) []int { return slices.Repeat([]int{1}, n) }},
	{name: "a fresh instance for each frame", amnesia: true},
	{name: "each item on a fresh instance", amnesia: true, pieces: func(n int) []int { return slices.Repeat([]int{1}, n) }},
	{name: "an output area of 4,096 bytes", layout: layout{room: abi.MinOutput}},
	{name: "an output area of 4,101 bytes", layout: layout{room: abi.MinOutput + 5}},
	{name: "areas in the opposite order, with gaps, and bitmaps everywhere", layout: layout{backwards: true, bitmaps: true}},
	{name: "all of the arena", layout: layout{room: wholeArena}},
}

// maxCuts is at how many places a call is cut in two, one after the other.
const maxCuts = 8

// maxAlone is of how many items a call is shown one by one: each takes an instance or two.
const maxAlone = 300

// vector runs a vector as it is written, and if that is well, in its variants.
func (k *checked) vector(v *vector) error {
	k.report.Vectors++
	fuel, good, err := k.run(v, asWritten)
	if err != nil || !good || v.once {
		return err
	}
	k.good[v] = true
	again, good, err := k.run(v, asWritten)
	if err != nil {
		return err
	}
	if good && !slices.Equal(fuel, again) {
		k.fail(v.at(v.calls[0]), v.name+", twice on a fresh instance", fmt.Sprintf("the same fuel: %v", fuel), fmt.Sprint(again))
	}
	longest := 0
	for _, s := range v.calls {
		longest = max(longest, s.items())
	}
	for _, how := range variants {
		if how.pieces != nil && (longest < 2 || longest > maxAlone) {
			continue
		}
		if _, _, err := k.run(v, how); err != nil {
			return err
		}
	}
	for i := range min(maxCuts, longest-1) {
		at := 1 + i*(longest-1)/min(maxCuts, longest-1)
		cut := func(n int) []int {
			if at >= n {
				return []int{n}
			}
			return []int{at, n - at}
		}
		if _, _, err := k.run(v, &variant{name: fmt.Sprintf("cut at %d", at), pieces: cut}); err != nil {
			return err
		}
	}
	return k.filled(v)
}

func (v *vector) at(s *step) string { return fmt.Sprintf("%s:%d", v.file, s.line) }

// run makes the calls of a vector, and compares. It returns the fuel of each frame.
func (k *checked) run(v *vector, how *variant) (fuel []int64, good bool, err error) {
	s := &session{ctx: k.ctx, module: k.module, shape: k.shape, configure: v.calls[0].call}
	defer func() { s.close(); k.report.Frames += s.frames }()
	if err := s.renew(); err != nil {
		return nil, false, k.judge(v, v.calls[0], how, nil, err)
	}
	good = true
	for i, st := range v.calls {
		if i > 0 && (s.inst == nil || s.inst.Broken()) { // after a trap
			if err := s.fresh(); err != nil {
				return nil, false, k.judge(v, st, how, nil, err)
			}
		}
		got, err := s.perform(st.call, how)
		if errors.Is(err, errNoRoom) && how != asWritten {
			continue // the call is too large for this way
		}
		before := len(k.report.Failures)
		if err := k.judge(v, st, how, got, err); err != nil {
			return nil, false, err
		}
		if len(k.report.Failures) > before {
			return nil, false, nil // what follows may follow from this
		}
	}
	return s.fuel, good, nil
}

// judge compares what came of a step with what it says. It returns errors that are not
// the guest's.
func (k *checked) judge(v *vector, st *step, how *variant, got *outcome, err error) error {
	what := fmt.Sprintf("%s: %s, %s", v.name, st.fn, how.name)
	want := st.want.lines(st)
	if err != nil {
		if k.ctx.Err() != nil {
			return context.Cause(k.ctx)
		}
		k.fail(v.at(st), what, some(want), err.Error())
		return nil
	}
	came := got.lines(st)
	if st.want.status == trapped && got.status == trapped && strings.Contains(got.text, st.want.text) {
		came = answer{status: trapped, op: got.op, text: st.want.text}.lines(st)
	}
	if st.want.any && st.want.status == refused && got.status == refused {
		came = answer{status: refused, op: got.op}.lines(st)
	}
	if !slices.Equal(want, came) {
		w, g := difference(want, came)
		k.fail(v.at(st), what, w, g)
	}
	return nil
}

// lines is an answer, a thing a line.
func (a answer) lines(st *step) []string {
	head := a.status
	if a.status == refused || a.status == trapped {
		if st.fn != guest.Configure {
			head += fmt.Sprintf(" op=%d", a.op)
		}
		head += " " + showText(a.text)
	}
	out := []string{head}
	for _, x := range settle(a.said) {
		out = append(out, fmt.Sprintf("%d: %s", x.item, x.text))
	}
	return out
}

// fills is for how many vectors a kind of call fills the arena: it takes a second.
const fills = 1

// manyGroups is how many accumulators of varying size a frame has at most: SPEC section 4 asks
// for any number of records, and a guest holds all groups of a frame at once in its memory.
const manyGroups = 10_000

// filled repeats each kind of call, side by side, until the arena is full: the frame has as
// many items as it can, and the least room for its answer.
func (k *checked) filled(v *vector) error {
	s := &session{ctx: k.ctx, module: k.module, shape: k.shape, configure: v.calls[0].call}
	defer func() { s.close(); k.report.Frames += s.frames }()
	for _, st := range v.calls[1:] {
		if k.full[st.fn] == fills || st.want.status != ok || st.items() == 0 || st.fn == guest.Watermark || st.fn == guest.Tick {
			continue
		}
		if s.inst == nil {
			if err := s.fresh(); err != nil {
				return k.judge(v, st, asWritten, nil, err)
			}
		}
		many, times := fill(st.call, k.shape, len(s.inst.Arena()))
		if times < 2 {
			continue
		}
		k.full[st.fn]++
		how := &variant{name: fmt.Sprintf("%d times side by side, which fills the arena", times), layout: layout{room: wholeArena}}
		got, err := s.frame(many, how.layout)
		if err != nil {
			if err := k.judge(v, st, how, nil, err); err != nil {
				return err
			}
			return nil
		}
		want, came := answer{status: ok, op: -1}, answer{status: got.status, op: got.op, text: got.text}
		if got.status == "OUTPUT_FULL" && many.mayFill(k.shape) {
			came.status = ok // as far as there was room
		}
		for i := range times {
			for _, x := range st.want.said {
				n, done := answers(st.call), got.done
				if st.fn == guest.Apply && x.class == saidAcc {
					n, done = st.groups, many.groups
					if got.done < many.items() {
						done = 0 // they are on the way
					}
				}
				if x.item += i * n; x.item < done {
					want.said = append(want.said, x)
				}
			}
		}
		if got.reply != nil {
			o := &outcome{}
			o.take(many.clone(), 0, got.reply)
			came.said = o.said
			if st.fn == guest.Apply && got.done == many.items() {
				came.said = append(came.said, sayAccs(got.accs)...)
			}
		}
		if w, g := want.lines(st), came.lines(st); !slices.Equal(w, g) {
			w, g := difference(w, g)
			k.fail(v.at(st), fmt.Sprintf("%s: %s, %s", v.name, st.fn, how.name), w, g)
		}
		if s.inst.Broken() {
			return nil
		}
	}
	return nil
}

// clone is a call whose states can be changed.
func (c *call) clone() *call {
	d := *c
	d.keys, d.windows = slices.Clone(c.keys), slices.Clone(c.windows)
	return &d
}

// fill is so many of a call side by side that hardly one more would fit into an arena.
func fill(c *call, s *shape, arena int) (many *call, times int) {
	most := arena // copies; a frame that carries nothing of them would never be full
	if c.answersAccs(s) {
		most = manyGroups / c.groups
	}
	end := func(c *call) int { return newFrame(c, s, layout{}).end }
	room := arena - abi.MinOutput
	powers, ends := []*call{c}, []int{end(c)}
	if ends[0] > room {
		return nil, 0
	}
	for {
		last := powers[len(powers)-1]
		next := last.beside(last)
		at := end(next)
		if at > room || 1<<len(powers) > most {
			break
		}
		powers, ends = append(powers, next), append(ends, at)
	}
	// The rest comes from the sizes of the largest two, less something for padding.
	top := len(powers) - 1
	many, times = powers[top], 1<<top
	if top == 0 {
		return many, times
	}
	const padding = 4 << 10
	each := (ends[top]-ends[top-1])/(1<<(top-1)) + 1
	more := min(max(0, room-padding-ends[top])/each, most-times)
	for i, p := range powers[:top] {
		if more>>i&1 == 1 {
			many, times = many.beside(p), times+1<<i
		}
	}
	return many, times
}

// unreadable shows the guest frames that it cannot read, made of vectors that it can, and asks for BAD_FRAME (SPEC section
// 5) and for an instance that goes on.
func (k *checked) unreadable(vectors []*vector) error {
	seen := map[guest.Func]bool{}
	for _, v := range vectors {
		for _, st := range v.calls {
			if seen[st.fn] || st.want.status != ok || st.items() == 0 || !k.good[v] {
				continue
			}
			seen[st.fn] = true
			if err := k.damaged(v, st); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *checked) damaged(v *vector, st *step) error {
	s := &session{ctx: k.ctx, module: k.module, shape: k.shape, configure: v.calls[0].call}
	defer func() { s.close(); k.report.Frames += s.frames }()
	for _, d := range damages(st.call, k.shape) {
		if s.inst == nil || s.inst.Broken() || st.fn == guest.Configure {
			open := s.fresh
			if st.fn == guest.Configure {
				open = s.renew
			}
			if err := open(); err != nil {
				return k.judge(v, st, asWritten, nil, err)
			}
		}
		f := newFrame(st.call, k.shape, layout{})
		arena := s.inst.Arena()
		f.write(arena, abi.MinOutput)
		d.to(arena, f)
		before := slices.Clone(arena[:min(f.end+abi.MinOutput+guarded, len(arena))])
		status, err := s.inst.Try(st.fn)
		s.frames++
		if k.ctx.Err() != nil {
			return context.Cause(k.ctx)
		}
		what := fmt.Sprintf("%s of %q, with %s", st.fn, v.name, d.name)
		switch {
		case err != nil:
			k.fail("a frame that cannot be read", what, badFrame, "TRAP "+err.Error())
			continue
		case status != abi.BadFrame:
			k.fail("a frame that cannot be read", what, badFrame, fmt.Sprintf("status %d", status))
			continue
		}
		for _, a := range f.areas {
			a.open = false // nothing is to be answered
		}
		if at := f.overwritten(before, s.inst.Arena()); at >= 0 {
			k.fail("a frame that cannot be read", what, badFrame+", and nothing changed", fmt.Sprintf("another byte %d", at))
			continue
		}
		if st.fn == guest.Configure {
			continue
		}
		how := &variant{name: "after a frame with " + d.name}
		got, err := s.perform(st.call, how)
		if err := k.judge(v, st, how, got, err); err != nil {
			return err
		}
	}
	return nil
}
