package window

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/state/disk"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/internal/fault"
)

// The operator that has all in memory is what one with little of it is measured by: the
// same rows to the last bit, those of a key in the same order, the same late records, the
// same ledger and the same panes, after each batch. Inputs are random; a failure prints the
// seed that it came from.

// perKey writes rows down, to be compared key by key.
type perKey struct{ whole }

// takeKeys returns the rows since the last time by key, those of each in their order.
func (p *perKey) takeKeys() []string {
	order := make([]int, len(p.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.at[a].key, p.at[b].key) })
	rows := make([]string, len(order))
	for i, n := range order {
		rows[i] = p.rows[n]
	}
	p.rows, p.at = nil, nil
	return rows
}

// spillJob is a random job, and how its operators are fed.
type spillJob struct {
	name  string
	spec  func(fns []Function) Spec
	rows  []row
	fns   func() []Function
	clock []stream.Time
}

// feed is that of the job: it moves the clock after each batch where something goes by it.
func (j *spillJob) feed(t testing.TB, op func() Operator, size int, after func()) {
	clock := j.clock
	if clock != nil {
		op().Stamp(0)
	}
	feed(t, current{of: op}, j.rows, size, func() {
		if clock != nil {
			if err := op().Clock(clock[0]); err != nil {
				t.Fatal(err)
			}
			clock = clock[1:]
		}
		after()
	})
}

// current is the operator that is in use.
type current struct {
	Operator
	of func() Operator
}

func (c current) Process(b *stream.Batch) error { return c.of().Process(b) }

// spillJobs are one of each kind.
func spillJobs(t *testing.T, r *rand.Rand) []spillJob {
	mixed := func() []Function {
		return append(fractions(t), builtin(t, "count", 0), builtin(t, "distinct", 1), builtin(t, "last", 1))
	}
	unordered := func() []Function {
		return append(fractions(t), builtin(t, "count", 0), builtin(t, "distinct", 1), builtin(t, "max", 1))
	}
	var jobs []spillJob

	s := randomShape(r)
	tiles := func(fns []Function) Spec {
		return Spec{GeneralConfig: GeneralConfig{Groups: 4, Assigner: tiles(s.size, s.offset%s.size), Trigger: trigger.NewEventTime(), Lateness: s.lateness,
			Key: sliceKeyFields, DropNullKey: s.dropNull, Functions: fns, GapCol: -1, ValueCol: -1}}
	}
	jobs = append(jobs, spillJob{name: fmt.Sprintf("tumbling, %v", s), spec: tiles, rows: randomRows(r, s, 150), fns: mixed})

	evicted := func(fns []Function) Spec {
		p := tiles(fns)
		p.Evictor = &Evictor{Count: 3, After: true}
		return p
	}
	jobs = append(jobs, spillJob{name: fmt.Sprintf("lists, %v", s), spec: evicted, rows: randomRows(r, s, 100), fns: mixed})

	purging := func(fns []Function) Spec {
		p := tiles(fns)
		p.Trigger = trigger.NewPurging(trigger.NewCount(3))
		return p
	}
	jobs = append(jobs, spillJob{name: fmt.Sprintf("purging every third, %v", s), spec: purging, rows: randomRows(r, s, 100), fns: mixed})

	w := randomShape(r)
	for w.slide < minSlicedSlide {
		w = randomShape(r)
	}
	sliding := func(fns []Function) Spec {
		a, err := NewSliding(w.size, w.slide, w.offset, false)
		if err != nil {
			t.Fatal(err)
		}
		return Spec{GeneralConfig: GeneralConfig{Groups: 4, Assigner: a, Trigger: trigger.NewEventTime(), Lateness: w.lateness,
			Key: sliceKeyFields, DropNullKey: w.dropNull, Functions: fns, GapCol: -1, ValueCol: -1}}
	}
	jobs = append(jobs, spillJob{name: fmt.Sprintf("sliding, %v", w), spec: sliding, rows: randomRows(r, w, 150), fns: unordered})

	e := randomEarly(r)
	jobs = append(jobs, spillJob{name: "early, " + e.String(), spec: func(fns []Function) Spec { return e.spec(t, fns) }, rows: randomRows(r, e.shape, 120), fns: unordered, clock: e.clock})

	g := randomSitting(r)
	jobs = append(jobs, spillJob{name: "sessions, " + g.String(), spec: func(fns []Function) Spec { return g.spec(fns, nil) }, rows: g.rows(r, 150), fns: mixed})

	c := randomTurn(r)
	jobs = append(jobs, spillJob{name: "counts, " + c.String(), rows: randomRows(r, c.stream, 150), fns: func() []Function { return fixed(t) }, spec: func(fns []Function) Spec {
		return Spec{GeneralConfig: c.general(t, fns, &recorder{}).cfg}
	}})
	return jobs
}

func TestStateOnDiskChangesNothing(t *testing.T) {
	store, err := disk.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	most, rows, restores := map[string]int64{}, 0, 0
	for seed := range uint64(48) {
		r := rand.New(rand.NewPCG(seed, 31))
		for _, j := range spillJobs(t, r) {
			size := pick(r, 1, 7, 1000)
			memory := pick[int64](r, 0, 0, 4000, 40_000)
			restore := r.IntN(3) == 0
			what := fmt.Sprintf("seed %d: %s, batches of %d, %d bytes of memory, restored %v", seed, j.name, size, memory, restore)
			var got, want perKey
			slow, err := New(j.spec(j.fns()), &want)
			slow = opened(t, slow, err)
			open := func() Operator {
				p := j.spec(j.fns())
				p.Spill = &Spill{Memory: memory, Open: func() state.Backing { return state.NewRAM() }}
				if seed%8 == 0 {
					p.Spill.Open = func() state.Backing { return store.Backing(what) }
				}
				op, err := New(p, &got)
				return opened(t, op, err)
			}
			fast := open()
			var answers [][]string
			j.feed(t, func() Operator { return slow }, size, func() { answers = append(answers, want.takeKeys(), want.take(), stateOf(slow)) })
			j.feed(t, func() Operator { return fast }, size, func() {
				noLeaks(t, what, fast)
				if restore {
					cut := cutOf(fast)
					fast = open()
					if err := fast.Restore(state.Restore{Tasks: [][]byte{cut.Task}, Exact: true, Groups: cut.Groups}); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					restores++
				}
				lines := got.takeKeys()
				inOrder(t, what, lines, answers[0])
				diff(t, what, got.take(), answers[1])
				diff(t, what, stateOf(fast), answers[2])
				rows, answers = rows+len(lines), answers[3:]
				kind, _, _ := strings.Cut(j.name, ",")
				most[kind] = max(most[kind], fast.Spilled().Pieces)
			})
			if left := fast.Spilled(); left.Pieces == 0 && left != (SpilledState{}) {
				t.Fatalf("%s: nothing is left on disk, and %+v is counted", what, left)
			}
		}
	}
	for kind, pieces := range most {
		if pieces < 2 {
			t.Errorf("%s had %d pieces of state on disk at most: they show too little", kind, pieces)
		}
	}
	if len(most) != 7 || rows < 8_000 || restores < 1000 {
		t.Errorf("%d kinds of jobs, %d rows, %d restores: they show too little", len(most), rows, restores)
	}
}

// A cut moves between an operator with a disk and one without where both are of one kind;
// another kind says so.
func TestACutMovesBetweenMemoryAndDisk(t *testing.T) {
	moved, refused := map[string]int{}, map[string]int{}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 32))
		for _, j := range spillJobs(t, r) {
			for _, toDisk := range []bool{false, true} {
				open := func(onDisk bool) Operator {
					p := j.spec(j.fns())
					if onDisk {
						p.Spill = &Spill{Memory: 2000, Open: func() state.Backing { return state.NewRAM() }}
					}
					op, err := New(p, &recorder{})
					return opened(t, op, err)
				}
				from, to := open(!toDisk), open(toDisk)
				stop := len(j.rows) / 2
				for _, x := range j.rows[:stop] {
					b := batchOf([]row{x})
					b.SetKeys([]int{0})
					if err := from.Process(b); err != nil {
						t.Fatal(err)
					}
				}
				kind, _, _ := strings.Cut(j.name, ",")
				cut := cutOf(from)
				err := to.Restore(state.Restore{Tasks: [][]byte{cut.Task}, Exact: true, Groups: cut.Groups})
				if errors.Is(err, fault.ErrUser) && strings.Contains(err.Error(), "another kind of step") {
					refused[kind]++
					continue
				}
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, j.name, err)
				}
				moved[kind]++
				diff(t, fmt.Sprintf("seed %d: %s, to disk %v", seed, j.name, toDisk), stateOf(to), stateOf(from))
			}
		}
	}
	for kind, all := range map[string]map[string]int{"tumbling": moved, "lists": moved, "purging every third": moved, "early": moved, "sessions": refused} {
		if all[kind] != 40 {
			t.Errorf("%s: %v moved, %v refused", kind, moved, refused)
		}
	}
}

// noLeaks compares what an operator has in memory with what its keys there have.
func noLeaks(t *testing.T, what string, op Operator) {
	t.Helper()
	if s, ok := op.(*staggered); ok {
		op = s.part
	}
	o, ok := op.(*General)
	if !ok {
		if _, tiled := op.(*Aligned); !tiled {
			t.Fatalf("%s: the plan has chosen %T", what, op)
		}
		return
	}
	slots, slices, sums, listed, timers, linked := 0, 0, 0, int64(0), [2]int{}, 0
	for _, k := range o.keys {
		for _, p := range k.panes {
			listed += p.elements.bytes()
			for d := range p.timers {
				timers[d] += len(p.timers[d])
			}
			if p.slot >= 0 {
				slots++
			}
		}
		if k.slices != nil {
			slices += len(k.slices.cells)
			for _, c := range k.slices.cells {
				if c.prefix != noSum {
					sums++
				}
				if c.suffix != noSum {
					sums++
				}
			}
		}
	}
	for range o.cold.asked.All() {
		linked++
	}
	if o.table.Used() != slots || o.listed != listed || o.live != timers || linked != len(o.keys) {
		t.Fatalf("%s: %d cells of %d panes, %d bytes of lists of %d, timers %d of %d, %d keys linked of %d", what, o.table.Used(), slots, o.listed, listed, o.live, timers, linked, len(o.keys))
	}
	if h := o.shared; h != nil && (h.cells.Used() != slices || h.sums.Used() != sums+1) {
		t.Fatalf("%s: %d slices of %d, %d sums of %d and one", what, h.cells.Used(), slices, h.sums.Used(), sums)
	}
	if o.cold.batch.Size() > 16 {
		t.Fatalf("%s: %d bytes have not been written", what, o.cold.batch.Size())
	}
}
