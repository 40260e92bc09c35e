package window

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/state/disk"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// What a process function keeps may be on disk. The operator that has all in memory is what
// one with little of it is measured by: the same rows, and the same states in cuts, in the
// same order. Those that have expired may be there or not: they go when something fires.
// Inputs are random; a failure prints the seed that it came from.

// stateJobs are steps with process functions, of the operators that keep state on disk.
func stateJobs() []rescaled {
	var jobs []rescaled
	for _, j := range rescaledJobs() {
		if j.name == "tumbling, states of keys that expire" || j.name == "lists that a process function looks at" {
			jobs = append(jobs, j)
		}
	}
	step := func(name string, assigner func(s *shape) (Assigner, error), tr func() trigger.Trigger) rescaled {
		return rescaled{name: name, spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
			s.origin, s.lateness = 0, min(s.lateness, 60)
			a, err := assigner(s)
			p := stepOf(s, mustAssigner(t, a, err), tr(), []Function{builtin(t, "count", 0)})
			p.Process = &Process{Fn: &visits{states: pick(r, "key", "window", "key window")}, Inputs: []ProcessInput{{Value: 0, Col: 0}}, TTL: pick(r, 0, s.size, 5*s.size)}
			return p
		}}
	}
	return append(jobs,
		step("sliding, early and late", func(s *shape) (Assigner, error) { return NewSliding(s.size, max(s.slide, s.size/4), 0, false) },
			func() trigger.Trigger { return trigger.NewCountOrTimeout(3, 7, trigger.EventTime) }),
		step("windows of a user", func(*shape) (Assigner, error) { return NewUserAssigner(&strides{}, []int{1}), nil }, trigger.NewEventTime))
}

// processorOf returns what an operator has of a process function.
func processorOf(op Operator) *processor { return op.(*staggered).content().process }

// accounted compares what is counted of states with what there is.
func (p *processor) accounted(t *testing.T, what string) {
	t.Helper()
	c := p.cold
	memory, both, stored, ages, size := 0, int64(0), int64(0), 0, int64(0)
	in := func(k *keptState) {
		memory++
		size += k.bytes()
		if k.stored {
			both++
		}
	}
	for _, k := range p.keys.byKey {
		in(k)
	}
	for _, keys := range p.windows.of {
		for _, k := range keys {
			in(k)
		}
	}
	linked, wantAges, want := 0, 0, SpilledState{}
	for range c.asked.All() {
		linked++
	}
	age := func(written stream.Time) bool { return p.TTL > 0 && written != stream.MinTime }
	err := c.to.Scan(nil, []byte{0xff}, func(name, value []byte) (bool, error) {
		known := false
		switch name[0] {
		case ageName:
			ages++
			return true, nil
		case windowName:
			w, key, _ := windowIn(name)
			known = p.windows.of[w][string(key)] != nil
		case stateName:
			key, written := string(name[3:]), stream.Time(state.NewReader(value).I64())
			known = p.keys.byKey[key] != nil
			if age(written) {
				wantAges++
				if !known {
					want.Bytes += int64(len(c.ageOf(written, []byte(key))) + 4)
				}
			}
		}
		if stored++; !known {
			want.Pieces++
			want.Bytes += int64(len(name) + len(value))
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.SpilledState != want || c.stored != stored || stored-both != want.Pieces || linked != memory || ages != wantAges || size != p.bytes() || c.batch.Size() > 16 {
		t.Fatalf("%s: %+v on disk of %+v, %d stored of %d of which %d are in memory, %d states linked of %d, %d ages of %d, %d bytes of %d, %d not written",
			what, c.SpilledState, want, c.stored, stored, both, linked, memory, ages, wantAges, p.bytes(), size, c.batch.Size())
	}
}

// frozenLines reads what a processor froze: all that has not expired at a watermark.
func (p *processor) frozenLines(t *testing.T, f frozen, wm stream.Time) (lines []string) {
	t.Helper()
	write := f.open()
	for g := range rescaleGroups {
		var w state.Writer
		some := write(g, &w)
		r := state.NewReader(w.Buf)
		before := len(w.Buf)
		for range r.Len() {
			key, data, written := string(r.Bytes()), r.Bytes(), stream.Time(r.I64())
			if !p.keys.expired(written, wm) {
				lines = append(lines, fmt.Sprintf("group %d: key %q: %x at %d", g, key, data, written))
			}
		}
		for range r.Len() {
			lines = append(lines, fmt.Sprintf("group %d: window %d of key %q: %x", g, readWindow(r), r.Bytes(), r.Bytes()))
		}
		if err := errors.Join(w.Err(), r.Err()); err != nil || some != (before > 8) {
			t.Fatalf("group %d of %d bytes, %v: %v", g, before, some, err)
		}
	}
	if f.close != nil {
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

func TestStatesOfProcessFunctionsOnDiskChangeNothing(t *testing.T) {
	store, err := disk.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, job := range stateJobs() {
		t.Run(job.name, func(t *testing.T) {
			most, rows, cuts, states, restores := SpilledState{}, 0, 0, 0, 0
			for seed := range few(60) {
				r := rand.New(rand.NewPCG(seed, 51))
				open := func(out *heard, memory int64) Operator {
					r := rand.New(rand.NewPCG(seed, 52))
					s := randomShape(r)
					p := job.spec(t, r, &s)
					if memory >= 0 {
						p.Spill = &Spill{Memory: memory, Open: func() state.Backing { return state.NewRAM() }}
						if seed%8 == 0 {
							p.Spill.Open = func() state.Backing { return store.Backing(job.name) }
						}
					}
					op, err := New(p, &telling{out})
					return opened(t, op, err)
				}
				s := func() shape {
					r := rand.New(rand.NewPCG(seed, 52))
					s := randomShape(r)
					job.spec(t, r, &s)
					s.keys = pick(r, 2, 9, 20)
					return s
				}()
				memory := pick[int64](r, 0, 0, 1500, 5000)
				what := fmt.Sprintf("seed %d: %v, %d bytes of memory", seed, s, memory)
				var got, want, plainly heard
				plain, slow, fast := open(&plainly, -1), open(&want, 1<<40), open(&got, memory)
				in := randomRows(r, s, 200)
				compare := func() {} // a cut is read behind the next batch
				for len(in) > 0 {
					n := min(1+r.IntN(12), len(in))
					wm := in[n-1].wm
					if n == len(in) {
						wm = stream.MaxTime
					}
					for _, op := range []Operator{plain, slow, fast} {
						feedTo(t, op, in[:n], n, wm)
					}
					in = in[n:]
					lines := got.take()
					diff(t, what, lines, want.take())
					diff(t, what, slices.Clone(lines), plainly.take())
					rows += len(lines)
					of := processorOf(fast)
					if of.accounted(t, what); of.canGive() && of.cold.held() > of.cold.Memory {
						t.Fatalf("%s: %d bytes in memory", what, of.cold.held())
					}
					if left := fast.Spilled(); left.Pieces > most.Pieces {
						most = left
					}
					compare()
					if r.IntN(3) > 0 || wm == stream.MaxTime { // then what has expired before is not told from the rest
						continue
					}
					cuts++
					was, wm := processorOf(fast).freeze(rescaleGroups), fast.Watermark()
					wantLines := processorOf(slow).frozenLines(t, processorOf(slow).freeze(rescaleGroups), wm)
					compare = func() {
						inOrder(t, what, of.frozenLines(t, was, wm), wantLines)
						states += len(wantLines)
						compare = func() {}
					}
					if r.IntN(3) == 0 {
						compare()
						cut := cutOf(fast)
						fast = open(&got, pick[int64](r, 0, memory))
						if err := fast.Restore(cut.AsItWas()); err != nil {
							t.Fatalf("%s: %v", what, err)
						}
						restores++
					}
				}
				compare()
			}
			t.Logf("%+v on disk at most, %d rows, %d cuts of %d states, %d restores", most, rows, cuts, states, restores)
			if most.Pieces < 5 || rows < 500 || states < 500 || restores < 30 {
				t.Errorf("%+v on disk at most, %d rows, %d cuts of %d states, %d restores: they show too little", most, rows, cuts, states, restores)
			}
		})
	}
}

// One state after the other is asked for, replaced, dropped, expires, or leaves memory at any
// moment; a map knows what there is.
func TestStatesLeaveMemoryAndComeBack(t *testing.T) {
	type kept struct {
		data    string
		written stream.Time
	}
	loaded, gone := 0, 0
	for seed := range few(800) {
		r := rand.New(rand.NewPCG(seed, 53))
		p := newProcessor(&Process{Fn: &visits{states: "key window"}, TTL: pick[stream.Time](r, 0, 10, 40)}, sliceKeyFields)
		p.spill(&Spill{Open: func() state.Backing { return state.NewRAM() }}, p.bytes, rescaleGroups)
		model := map[owner]kept{}
		wm, closed := pick(r, stream.MinTime, 0), stream.Time(0)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d, at %d: %s", seed, wm, fmt.Sprintf(format, args...))
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for step := range 300 {
			key := string(rune('a' + r.IntN(8)))
			start := closed + stream.Time(r.IntN(3))
			w := stream.Window{Start: start, End: start + 1 + stream.Time(r.IntN(3))}
			of, data := owner{key: key}, []byte(nil)
			if r.IntN(4) > 0 {
				data = fmt.Append(nil, step)
			}
			before := p.cold.Pieces
			switch r.IntN(9) {
			case 0, 1:
				got, err := p.keys.get([]byte(key), wm)
				must(err)
				want := model[of]
				if p.keys.expired(want.written, wm) {
					want = kept{}
				}
				if string(got) != want.data {
					fail("key %s has %q, want %q", key, got, want.data)
				}
				loaded += int(before - p.cold.Pieces)
				if r.IntN(2) == 0 {
					break
				}
				p.keys.put([]byte(key), data, wm)
				if delete(model, of); data != nil {
					model[of] = kept{string(data), wm}
				}
			case 2, 3:
				of.window = w
				got, err := p.windows.get(w, []byte(key))
				must(err)
				if string(got) != model[of].data {
					fail("window %d of key %s has %q, want %q", w, key, got, model[of].data)
				}
				loaded += int(before - p.cold.Pieces)
				if r.IntN(2) == 0 {
					break
				}
				p.windows.put(w, []byte(key), data)
				if delete(model, of); data != nil {
					model[of] = kept{data: string(data)}
				}
			case 4:
				of.window = w
				p.windows.drop(w, []byte(key))
				delete(model, of)
			case 5, 6:
				for range r.IntN(4) {
					if p.canGive() {
						must(p.give())
					}
				}
			case 7:
				if r.IntN(4) > 0 {
					break
				}
				closed += stream.Time(r.IntN(3))
				p.windows.close(closed)
				for of := range model {
					if of.window.End > 0 && of.window.End <= closed {
						delete(model, of)
					}
				}
			case 8:
				wm = max(wm, 0) + stream.Time(r.IntN(6))
				must(p.keys.expire(wm))
				for of, k := range model {
					if of.window == (stream.Window{}) && p.keys.expired(k.written, wm) {
						delete(model, of)
						gone++
					}
				}
				n := len(p.keys.byKey) + int(p.cold.Pieces)
				for _, keys := range p.windows.of {
					n += len(keys)
				}
				if n != len(model) {
					fail("there are %d states, want %d", n, len(model))
				}
				must(p.settle())
				p.accounted(t, fmt.Sprintf("seed %d", seed))
			}
		}
	}
	if loaded < 5000 || gone < 1000 {
		t.Errorf("%d states came back, %d have expired: they show too little", loaded, gone)
	}
}
