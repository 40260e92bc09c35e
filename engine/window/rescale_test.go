package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/engine/breaker"
	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// A step is run by four subtasks, stopped where each of them stands at a place of its own
// in the order of a replay, and goes on from their cuts as one, two, three, four or seven;
// then that happens once more, perhaps while key groups still stand ahead. The rows, the
// late records, what is refused and the ledger must be those of a run without.

const rescaleGroups = 16

// rescaled is a job of such a test.
type rescaled struct {
	name string
	// spec makes a job from a random shape, which it may change before records are made of it.
	spec func(t *testing.T, r *rand.Rand, s *shape) Spec
}

// numbers are functions of fixed and varying size; the sums of floats have their bits from
// the order of their records.
func numbers(t *testing.T) []Function {
	return []Function{builtin(t, "count", 0), builtin(t, "sum", 2), builtin(t, "max", 1), builtin(t, "distinct", 1)}
}

func stepOf(s *shape, a Assigner, tr trigger.Trigger, fns []Function) Spec {
	return Spec{GeneralConfig: GeneralConfig{Assigner: a, Trigger: tr, Lateness: s.lateness, Key: sliceKeyFields, DropNullKey: s.dropNull,
		Groups: rescaleGroups, Functions: fns, GapCol: -1, ValueCol: 1, Fine: true}}
}

func rescaledJobs() []rescaled {
	tumblingOf := func(s *shape) Assigner { return tiles(s.size, 0) }
	slidingOf := func(t *testing.T, s *shape) Assigner {
		a, err := NewSliding(s.size, s.slide, s.offset, false)
		return mustAssigner(t, a, err)
	}
	sessionOf := func(t *testing.T, s *shape) Assigner {
		a, err := NewSession(max(s.size/4, 1), false)
		return mustAssigner(t, a, err)
	}
	near := func(s *shape) { // sums of times stay far from the ends of time
		if s.origin < -1000 || s.origin > 1<<60 {
			s.origin, s.lateness = 0, min(s.lateness, 60)
		}
	}
	return []rescaled{
		{name: "tumbling", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			return stepOf(s, tumblingOf(s), trigger.NewEventTime(), numbers(t))
		}},
		{name: "tumbling, states of keys that expire", spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
			near(s)
			p := stepOf(s, tumblingOf(s), trigger.NewEventTime(), []Function{builtin(t, "count", 0)})
			p.Process = &Process{Fn: &visits{states: "key window"}, Inputs: []ProcessInput{{Value: 0, Col: 0}}, TTL: pick(r, 0, s.size, 5*s.size)}
			return p
		}},
		{name: "tumbling, a plug-in that is disabled", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			near(s)
			bad := moody{refuse: 0, trap: -1, result: 3}
			p := stepOf(s, tumblingOf(s), trigger.NewEventTime(), []Function{{"moody", &blaming{moody: &bad}, []int{2}}})
			p.SetAside = true
			p.Guard = &Guard{Breaker: breaker.New(breaker.Limit{Failures: 3, Within: 400}), Groups: rescaleGroups, Adds: []string{"moody"}, Fires: []string{"moody"}}
			return p
		}},
		{name: "sliding", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			s.slide = max(s.slide, minSlicedSlide)
			s.size += s.slide
			s.disorder = s.bound + 2*s.size + min(s.lateness, 60)
			return stepOf(s, slidingOf(t, s), trigger.NewEventTime(), numbers(t))
		}},
		{name: "sliding panes", spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
			near(s)
			s.slide = max(s.slide, s.size/4)
			return stepOf(s, slidingOf(t, s), trigger.NewCountOrTimeout(3, 7, trigger.EventTime), append(numbers(t), builtin(t, "last", 1)))
		}},
		{name: "sliding panes that share slices", spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
			near(s)
			s.slide, s.offset = minSlicedSlide, 0
			s.size = s.slide * stream.Time(manyWindows+r.IntN(4))
			p := stepOf(s, slidingOf(t, s), trigger.NewContinuous(trigger.EventTime, 60), numbers(t))
			p.SetAside = r.IntN(2) == 0
			return p
		}},
		{name: "the last n", spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
			p := stepOf(s, NewGlobal(), trigger.NewCount(int64(1+r.IntN(4))), append(fractions(t), builtin(t, "last", 1)))
			p.Evictor = &Evictor{Count: 1 + r.IntN(9)}
			return p
		}},
		{name: "sessions", spec: func(t *testing.T, r *rand.Rand, s *shape) Spec {
			p := stepOf(s, sessionOf(t, s), trigger.NewEventTime(), append(numbers(t), builtin(t, "last", 1)))
			p.SetAside = r.IntN(2) == 0
			return p
		}},
		{name: "sessions with a trigger", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			near(s)
			return stepOf(s, sessionOf(t, s), trigger.NewCount(2), numbers(t))
		}},
		{name: "sessions of lists", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			near(s)
			p := stepOf(s, sessionOf(t, s), trigger.NewEventTime(), []Function{builtin(t, "sum", 2), builtin(t, "first", 1), builtin(t, "last", 1)})
			p.Evictor = &Evictor{Count: 4}
			return p
		}},
		{name: "lists that a process function looks at", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			near(s)
			p := stepOf(s, tumblingOf(s), trigger.NewPurging(trigger.NewContinuous(trigger.EventTime, 5)), nil)
			p.Process = &Process{Fn: &visits{list: true, states: "key"}, Lists: [][]int{{2}}}
			return p
		}},
		{name: "one window, by number", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			return stepOf(s, NewGlobal(), trigger.NewPurging(trigger.NewCount(3)), numbers(t))
		}},
		{name: "an assigner of a user", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			near(s)
			return stepOf(s, NewUserAssigner(&strides{}, []int{1}), trigger.NewEventTime(), numbers(t))
		}},
		{name: "a trigger of a user", spec: func(t *testing.T, _ *rand.Rand, s *shape) Spec {
			near(s)
			return stepOf(s, tumblingOf(s), trigger.NewUser(&fickle{merges: true}, []int{2}), numbers(t))
		}},
	}
}

// strides is user code that gives a record windows of its value and of twice that.
type strides struct{}

func (strides) Info() udf.AssignerInfo {
	return udf.AssignerInfo{Name: "strides", Inputs: []udf.Input{{Name: "n", Kind: stream.Int64}}}
}

func (strides) Assign(rows *udf.Rows, out *udf.Assigned) error {
	for i, row := range rows.Sel {
		if c := &rows.Batch.Cols[rows.Cols[0]]; !c.Null(int(row)) {
			for _, size := range []stream.Time{1 + stream.Time(c.Ints[row]), 2 + 2*stream.Time(c.Ints[row])} {
				start := stream.GridStart(rows.Batch.Time[row], 0, size)
				out.Windows, out.Of = append(out.Windows, stream.Window{Start: start, End: start + size}), append(out.Of, uint32(i))
			}
		}
	}
	return nil
}

func (strides) Close() error { return nil }

// subtasks is a step at some parallelism.
type subtasks struct {
	ops []Operator
	out heard
}

// heard writes down what operators say, with the watermark before each row.
type heard struct {
	timely
	processed processed
}

func openSubtasks(t *testing.T, job rescaled, seed uint64, n int) *subtasks {
	s := &subtasks{}
	for range n {
		r := rand.New(rand.NewPCG(seed, 31))
		sh := randomShape(r)
		var out Output = &s.out
		p := job.spec(t, r, &sh)
		if p.Process != nil {
			out = &telling{&s.out}
		}
		op, err := New(p, out)
		s.ops = append(s.ops, opened(t, op, err))
	}
	return s
}

// telling writes down the rows of a process function.
type telling struct{ *heard }

func (o *telling) Rows(r *result.Rows) error {
	err := o.processed.Rows(r)
	o.lines = append(o.lines, o.processed.lines...)
	o.processed.lines = nil
	return err
}

// feedTo gives a subtask rows in batches, and then a watermark.
func feedTo(t *testing.T, op Operator, rows []row, size int, trailing stream.Time) {
	t.Helper()
	for {
		n := min(size, len(rows))
		b := batchOf(rows[:n])
		if rows = rows[n:]; len(rows) == 0 {
			b.Trailing = trailing
		}
		for i := range b.N {
			b.Pos[i] = 0 // it hangs on how batches are cut
		}
		b.SetKeys([]int{0})
		if err := op.Process(b); err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return
		}
	}
}

func groupOfRow(x row) int {
	b := batchOf([]row{x})
	b.SetKeys([]int{0})
	return stream.KeyGroup(b.Hash[0], rescaleGroups)
}

func totals(ops []Operator) (l Ledger) {
	for _, op := range ops {
		m := op.Ledger()
		l.add(&m)
	}
	return l
}

func TestRescale(t *testing.T) {
	for _, job := range rescaledJobs() {
		t.Run(job.name, func(t *testing.T) {
			shown, late, ahead := 0, int64(0), 0
			for seed := range uint64(40) {
				r := rand.New(rand.NewPCG(seed, 31))
				sh := randomShape(r)
				sh.keys = 12
				job.spec(t, r, &sh)
				rows := randomRows(r, sh, 200)
				groups := make([]int, len(rows))
				for i, x := range rows {
					groups[i] = groupOfRow(x)
				}
				of := func(n, subtask, group int) bool { return stream.Subtask(group, n, rescaleGroups) == subtask }

				want := openSubtasks(t, job, seed, 4)
				for j, op := range want.ops {
					var own []row
					for i, x := range rows {
						if of(4, j, groups[i]) {
							own = append(own, x)
						}
					}
					feedTo(t, op, own, 7, stream.MaxTime)
				}
				wantLines, wantLedger := want.out.take(), totals(want.ops)
				plan := []int{4, pick(r, 1, 2, 3, 4, 7), pick(r, 1, 2, 3, 4, 7)}
				what := fmt.Sprintf("seed %d: %v, parallelism %v", seed, sh, plan)
				done := make([]int, rescaleGroups) // rows of each group before it have been taken
				var cuts []state.Pieces
				var got []string
				var ledger Ledger
				for stage, n := range plan {
					s := openSubtasks(t, job, seed, n)
					places := make([]int, n)
					var next []state.Pieces
					for j, op := range s.ops {
						restoreShare(t, op, cuts, stage > 0, j == 0, func(g int) bool { return of(n, j, g) })
						if s, ok := op.(*staggered); ok {
							ahead += len(s.ahead)
						}
						places[j] = len(rows)
						trailing := stream.MaxTime
						if stage < len(plan)-1 {
							places[j] = r.IntN(len(rows))
							trailing = rows[places[j]].wm
						}
						var own, rest []row
						for i, x := range rows {
							if g := groups[i]; of(n, j, g) && i >= done[g] {
								if i < places[j] {
									own = append(own, x)
								} else {
									rest = append(rest, x)
								}
							}
						}
						feedTo(t, op, own, 1+r.IntN(20), trailing)
						if stage < len(plan)-1 {
							lines := s.out.lines
							read, cut := make(chan state.Pieces), op.Freeze()
							go func() {
								p, err := cut.Read()
								if err != nil {
									t.Error(err)
								}
								read <- p
							}()
							feedTo(t, op, rest, 50, stream.MaxTime) // which is not in it
							next = append(next, <-read)
							s.out.lines = lines
						}
					}
					cuts, got = next, append(got, s.out.lines...)
					ledger = totals(s.ops)
					for g := range done {
						done[g] = max(done[g], places[stream.Subtask(g, n, rescaleGroups)])
					}
				}
				slices.Sort(got)
				diff(t, what, got, wantLines)
				if ledger != wantLedger {
					t.Fatalf("%s: ledger %+v, want %+v", what, ledger, wantLedger)
				}
				shown, late = shown+len(got), late+ledger.Late
			}
			if shown < 500 || ahead < 100 {
				t.Errorf("%d rows, %d times that key groups stood ahead: they show too little", shown, ahead)
			}
			t.Logf("%d rows, %d late, ahead %d times", shown, late, ahead)
		})
	}
}

// restoreShare restores the key groups of a subtask from the cuts of others.
func restoreShare(t *testing.T, op Operator, cuts []state.Pieces, restore, counts bool, mine func(group int) bool) {
	t.Helper()
	if !restore {
		return
	}
	r := state.Restore{Counts: counts}
	for _, c := range cuts {
		r.Tasks = append(r.Tasks, c.Task)
		for _, g := range c.Groups {
			if mine(g.Group) {
				r.Groups = append(r.Groups, g)
			}
		}
	}
	if err := op.Restore(r); err != nil {
		t.Fatal(err)
	}
}

// FuzzRestore restores operators of all kinds from bytes that nobody has written. Nothing
// may break; what is taken in can be written again.
func FuzzRestore(f *testing.F) {
	jobs := rescaledJobs()
	t := new(testing.T)
	for n, job := range jobs {
		s := openSubtasks(t, job, 1, 1)
		r := rand.New(rand.NewPCG(1, 31))
		sh := randomShape(r)
		job.spec(t, r, &sh)
		rows := randomRows(r, sh, 40)
		feedTo(t, s.ops[0], rows, 9, rows[39].wm)
		c := cutOf(s.ops[0])
		for _, g := range c.Groups[:min(3, len(c.Groups))] {
			f.Add(uint8(n), c.Task, uint8(g.Group), int64(g.Floor), g.State)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, task []byte, group uint8, floor int64, bytes []byte) {
		op := openSubtasks(t, jobs[int(n)%len(jobs)], 1, 1).ops[0]
		r := state.Restore{Tasks: [][]byte{task}, Exact: true, Groups: []state.GroupCut{{Group: int(group), Floor: stream.Time(floor), State: bytes}}}
		if op.Restore(r) == nil {
			op.Panes()
			cutOf(op)
		}
	})
}
