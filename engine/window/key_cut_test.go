package window

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// Two general operators take the same input. Of one, each cut is read at once; of the other
// it is read while it goes on, group by group between batches, or in goroutines, several
// cuts at a time and some of them not to their end. The cuts must be the same to the last
// bit. Inputs are random; a failure prints the seed that it came from.

// keyCutJobs are one of each shape of what a key has.
func keyCutJobs() []rescaled {
	var jobs []rescaled
	for _, j := range rescaledJobs() {
		switch j.name { // those that the general operator does
		case "tumbling", "tumbling, states of keys that expire", "sliding panes", "sliding panes that share slices", "the last n", "sessions", "sessions with a trigger",
			"sessions of lists", "lists that a process function looks at", "one window, by number", "an assigner of a user", "a trigger of a user":
			jobs = append(jobs, j)
		}
	}
	session := func(t *testing.T, s *shape) Assigner {
		a, err := NewSession(max(s.size/4, 1), false)
		return mustAssigner(t, a, err)
	}
	calm := func(s *shape) { s.origin, s.lateness = 0, min(s.lateness, 60) }
	return append(jobs,
		rescaled{name: "sessions under a trigger of a user", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			calm(s)
			return stepOf(s, session(t, s), trigger.NewUser(&fickle{merges: true}, []int{2}), numbers(t))
		}},
		rescaled{name: "a timeout by the clock", spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
			calm(s)
			s.slide = max(s.slide, s.size/4)
			a, err := NewSliding(s.size, s.slide, s.offset, false)
			return stepOf(s, mustAssigner(t, a, err), trigger.NewProcessingTimeout(trigger.NewCount(4), 5, r.IntN(2) == 0, false), append(numbers(t), builtin(t, "last", 1)))
		}},
		rescaled{name: "a join", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			calm(s)
			p := stepOf(s, tiles(s.size, 0), trigger.NewPurging(trigger.NewCount(3)), numbers(t))
			p.Join = true
			return p
		}})
}

// generalOf makes the general operator of a job, whatever a plan would choose.
func generalOf(t *testing.T, job rescaled, seed uint64, onDisk int64) *General {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 41))
	s := randomShape(r)
	p := job.spec(t, r, &s)
	if onDisk >= 0 {
		p.Spill = &Spill{Memory: onDisk, Open: func() state.Backing { return state.NewRAM() }}
	}
	open := func(out Output) (*General, error) { return NewGeneral(p.GeneralConfig, out) }
	if p.sharesSlices() {
		open = func(out Output) (*General, error) { return newSharing(p, out) }
	}
	o, err := open(&sinkhole{})
	if err != nil {
		t.Fatalf("%s, seed %d: %v", job.name, seed, err)
	}
	return o
}

// sharesSlices reports whether a job is one of overlapping windows that can share slices.
func (s *Spec) sharesSlices() bool {
	g, _ := s.Assigner.(*grid)
	return g != nil && g.slide >= minSlicedSlide && s.shares()
}

// openCut is a cut that is being read.
type openCut struct {
	cut  state.Cut
	keys *keyCut
	want state.Pieces
	got  state.Pieces
	next func() (state.GroupCut, error, bool)
	stop func()
}

// step reads another group, and reports whether there was one.
func (c *openCut) step() bool {
	g, err, ok := c.next()
	if !ok || err != nil {
		return false
	}
	g.State = slices.Clone(g.State)
	c.got.Groups = append(c.got.Groups, g)
	return true
}

// waiting counts the keys that were written because they changed, in groups that were not
// read.
func (c *openCut) waiting() (n int) {
	for _, g := range c.keys.saved {
		n += len(g.spans)
	}
	return n
}

func samePieces(t *testing.T, what string, got, want state.Pieces) {
	t.Helper()
	if !bytes.Equal(got.Task, want.Task) || len(got.Groups) != len(want.Groups) {
		t.Fatalf("%s: %d groups, want %d; the task's piece is the same: %v", what, len(got.Groups), len(want.Groups), bytes.Equal(got.Task, want.Task))
	}
	for i, g := range got.Groups {
		if w := want.Groups[i]; g.Group != w.Group || g.Floor != w.Floor || !bytes.Equal(g.State, w.State) {
			t.Fatalf("%s: group %d at %d, want %d at %d:\n%x\nwant\n%x", what, g.Group, g.Floor, w.Group, w.Floor, g.State, w.State)
		}
	}
}

// twins are two operators of a job, and their input.
type twins struct {
	op, still *General
	rows      []row
	clock     stream.Time
}

func newTwins(t *testing.T, job rescaled, seed uint64, onDisk int64) (*twins, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 41))
	s := randomShape(r)
	job.spec(t, r, &s) // which may change it
	s.keys = 20
	return &twins{op: generalOf(t, job, seed, onDisk), still: generalOf(t, job, seed, onDisk), rows: randomRows(r, s, 300)}, r
}

// work gives both some input.
func (w *twins) work(t *testing.T, r *rand.Rand) {
	n := min(1+r.IntN(8), len(w.rows))
	input := uint8(r.IntN(2))
	for _, op := range []*General{w.op, w.still} {
		b := batchOf(w.rows[:n])
		b.SetKeys([]int{0})
		if op.cfg.Join {
			b.Input = input
		}
		if err := op.Process(b); err != nil {
			t.Fatal(err)
		}
		if err := op.Clock(w.clock); err != nil {
			t.Fatal(err)
		}
	}
	w.rows, w.clock = w.rows[n:], w.clock+stream.Time(r.IntN(4))
}

// freeze takes a cut of both, and reads one.
func (w *twins) freeze(t *testing.T) *openCut {
	want, err := w.still.Freeze().Read()
	if err != nil {
		t.Fatal(err)
	}
	c := &openCut{cut: w.op.Freeze(), want: want}
	c.keys, c.got.Task = w.op.open[len(w.op.open)-1], c.cut.Task
	return c
}

func TestACutIsReadWhileTheOperatorGoesOn(t *testing.T) {
	for _, job := range keyCutJobs() {
		t.Run(job.name, func(t *testing.T) {
			copied, cuts, several, spilled := 0, 0, 0, int64(0)
			for seed := range few(40) {
				onDisk := pick[int64](rand.New(rand.NewPCG(seed, 1)), -1, -1, 0, 3000)
				w, r := newTwins(t, job, seed, onDisk)
				what := fmt.Sprintf("seed %d, %d bytes of memory", seed, onDisk)
				var open []*openCut
				finish := func(i int) {
					c := open[i]
					open = slices.Delete(open, i, i+1)
					c.stop()
					if err := c.cut.Close(); err != nil {
						t.Fatal(err)
					}
				}
				for len(w.rows) > 0 || len(open) > 0 {
					switch at := r.IntN(10); {
					case at < 5 && len(w.rows) > 0:
						before := 0
						for _, c := range open {
							before += c.waiting()
						}
						w.work(t, r)
						for _, c := range open {
							before -= c.waiting()
						}
						copied -= before
						spilled = max(spilled, w.op.Spilled().Pieces)
					case at == 5 && len(open) < 3 && len(w.rows) > 0:
						c := w.freeze(t)
						c.next, c.stop = iter.Pull2(c.cut.Groups)
						open = append(open, c)
						cuts++
						if len(open) > 1 {
							several++
						}
					case at > 5 && len(open) > 0:
						i := r.IntN(len(open))
						if open[i].step() {
							continue
						}
						samePieces(t, what, open[i].got, open[i].want)
						finish(i)
					case len(open) > 0 && r.IntN(20) == 0: // it is given up
						finish(r.IntN(len(open)))
					}
				}
				diff(t, what, stateOf(w.op), stateOf(w.still))
				if w.op.forgetCuts(); len(w.op.open) > 0 || w.op.openDone != 0 {
					t.Fatalf("%s: a cut is open that was let go of", what)
				}
			}
			if copied < 100 || cuts < 100 || several < 20 || spilled < 2 {
				t.Errorf("%d keys were copied before they changed, of %d cuts, %d times several at once, %d keys on disk at most: they show too little", copied, cuts, several, spilled)
			}
		})
	}
}

// The same with readers of their own goroutines.
func TestACutIsReadInAnotherGoroutine(t *testing.T) {
	for _, job := range keyCutJobs() {
		t.Run(job.name, func(t *testing.T) {
			for seed := range few(8) {
				onDisk := pick[int64](rand.New(rand.NewPCG(seed, 1)), -1, 0, 3000)
				w, r := newTwins(t, job, seed, onDisk)
				what := fmt.Sprintf("seed %d, %d bytes of memory", seed, onDisk)
				var all []*openCut
				var readers sync.WaitGroup
				for len(w.rows) > 0 {
					if w.work(t, r); r.IntN(4) > 0 {
						continue
					}
					c := w.freeze(t)
					all = append(all, c)
					readers.Go(func() {
						got, err := c.cut.Read()
						if err != nil {
							t.Error(err)
						}
						c.got = got
					})
				}
				readers.Wait()
				for _, c := range all {
					samePieces(t, what, c.got, c.want)
				}
			}
		})
	}
}
