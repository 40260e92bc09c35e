package window

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// The same general operator with an accumulator for each pane is what slices under it are
// measured by. Inputs are random; a failure prints the seed that it came from.

// early is a random job of sliding windows with a trigger that cannot purge.
type early struct {
	shape
	trigger  trigger.Trigger
	name     string
	fine     bool
	setAside bool
	clock    []stream.Time // after each batch
}

func (e early) String() string { return e.name + " on " + e.shape.String() }

func randomEarly(r *rand.Rand) early {
	e := early{shape: randomShape(r), fine: r.IntN(2) == 0, setAside: r.IntN(2) == 0}
	e.slide = stream.Time(1 + r.IntN(6))
	e.size = e.slide + 1 + stream.Time(r.IntN(40))
	e.offset = stream.Time(r.IntN(int(2*e.slide-1))) - e.slide + 1
	if e.origin < -1000 || e.origin > 1<<60 {
		e.origin = 0 // slides are too short for the ends of time
	}
	n, every := int64(1+r.IntN(6)), stream.Time(1+r.IntN(12))
	domain, of := trigger.EventTime, "event"
	if r.IntN(2) == 0 {
		domain, of = trigger.ProcessingTime, "processing"
	}
	inner := pick(r, trigger.NewCount(n), trigger.NewEventTime(), trigger.NewNever())
	for name, t := range pick(r,
		map[string]trigger.Trigger{fmt.Sprintf("count(%d)", n): trigger.NewCount(n)},
		map[string]trigger.Trigger{fmt.Sprintf("continuous(%s, %d)", of, every): trigger.NewContinuous(domain, every)},
		map[string]trigger.Trigger{fmt.Sprintf("continuous(event, %d)", every): trigger.NewContinuous(trigger.EventTime, every)},
		map[string]trigger.Trigger{fmt.Sprintf("count_or_timeout(%d, %d, %s)", n, every, of): trigger.NewCountOrTimeout(n, every, domain)},
		map[string]trigger.Trigger{fmt.Sprintf("delta(%d)", n): trigger.NewDelta(float64(n), n%2 == 0)},
		map[string]trigger.Trigger{fmt.Sprintf("processing_timeout(%d)", every): trigger.NewProcessingTimeout(inner, every, n%2 == 0, n%3 == 0)},
		map[string]trigger.Trigger{"processing_time": trigger.NewProcessingTime()},
		map[string]trigger.Trigger{"end_of_stream": trigger.NewEndOfStream()},
	) {
		e.name, e.trigger = name, t
	}
	now := stream.Time(0)
	for range 400 {
		now += stream.Time(r.IntN(4))
		e.clock = append(e.clock, now)
	}
	return e
}

func (e early) spec(t testing.TB, fns []Function) Spec {
	a, err := NewSliding(e.size, e.slide, e.offset, false)
	if err != nil {
		t.Fatal(err)
	}
	return Spec{GeneralConfig: GeneralConfig{Groups: 4, Assigner: a, Trigger: e.trigger, Lateness: e.lateness, Key: sliceKeyFields,
		DropNullKey: e.dropNull, Functions: fns, GapCol: -1, ValueCol: 1, SetAside: e.setAside, Fine: e.fine}}
}

func (e early) sharing(t testing.TB, fns []Function, out Output) Operator {
	op, ok, err := NewSliced(e.spec(t, fns), out)
	if err != nil || !ok {
		t.Fatalf("%v: slices %v, %v", e, ok, err)
	}
	if op.(*General).shared == nil {
		t.Fatalf("%v: the panes have accumulators", e)
	}
	return op
}

func (e early) panes(t testing.TB, fns []Function, out Output) *General {
	op, err := NewGeneral(e.spec(t, fns).GeneralConfig, out)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// feed gives rows to an operator, moves the clock after each batch, and calls after then.
func (e early) feed(t testing.TB, op Operator, rows []row, size int, after func()) {
	clock := e.clock
	op.Stamp(0)
	feed(t, op, rows, size, func() {
		if err := op.Clock(clock[0]); err != nil {
			t.Fatal(err)
		}
		clock = clock[1:]
		after()
	})
}

func TestPanesThatShareSlicesSayTheSameAsPanes(t *testing.T) {
	rows, firings, late, updates := 0, map[string]int{}, int64(0), int64(0)
	for seed := range few(200) {
		r := rand.New(rand.NewPCG(seed, 21))
		e := randomEarly(r)
		in := randomRows(r, e.shape, 150)
		size := pick(r, 1, 7, 1000)
		var got, want timely
		fast, slow := e.sharing(t, exact(t), &got), e.panes(t, exact(t), &want)
		var answers [][]string
		e.feed(t, slow, in, size, func() { answers = append(answers, want.take(), stateOf(slow)) })
		e.feed(t, fast, in, size, func() {
			what := fmt.Sprintf("seed %d: %v, batches of %d", seed, e, size)
			lines := got.take()
			diff(t, what, lines, answers[0])
			diff(t, what, stateOf(fast), answers[1])
			rows += len(lines)
			kind, _, _ := strings.Cut(e.name, "(")
			firings[kind] += len(lines)
			answers = answers[2:]
		})
		l := fast.Ledger()
		late, updates = late+l.Late, updates+l.LateAccepted
	}
	for _, kind := range []string{"count", "continuous", "count_or_timeout", "delta", "processing_timeout", "processing_time", "end_of_stream"} {
		if firings[kind] == 0 {
			t.Errorf("%s never fired", kind)
		}
	}
	if late == 0 || updates == 0 || rows < 5000 {
		t.Errorf("the streams had %d late records, %d late but allowed, and gave %d rows: they show too little", late, updates, rows)
	}
}

// What a window gives when the watermark reaches its end, and for a late record, has the
// same bits with firings before and without: Slices, which has none, merges in the same
// shape.
func TestEarlyFiringsLeaveNoTraceInFloats(t *testing.T) {
	for seed := range few(80) {
		r := rand.New(rand.NewPCG(seed, 22))
		e := randomEarly(r)
		every := stream.Time(1 + r.IntN(12))
		e.name, e.trigger = fmt.Sprintf("continuous(event, %d)", every), trigger.NewContinuous(trigger.EventTime, every)
		e.fine = true // else what fires before its window's end is on time where the watermark jumps over both
		in := randomRows(r, e.shape, 200)
		var got, want exactly
		e.feed(t, e.sharing(t, fractions(t), &got), in, pick(r, 1, 7, 1000), func() {})
		feed(t, e.slices(t, fractions(t), &want), in, 7, func() {})
		earlier := 0
		last := func(lines []string) (out []string) {
			for _, l := range lines {
				words := strings.Fields(l)
				if words[2] == "early" {
					earlier++
					continue
				}
				out = append(out, strings.Join(append(words[:3:3], words[4:]...), " ")) // without the revision
			}
			slices.Sort(out)
			return out
		}
		diff(t, fmt.Sprintf("seed %d: %v", seed, e), last(got.take()), last(want.take()))
		if seed == 0 && earlier == 0 {
			t.Error("nothing fired early")
		}
	}
}

func TestPanesThatShareSlicesDependOnNothingButTheirRecords(t *testing.T) {
	for seed := range few(80) {
		r := rand.New(rand.NewPCG(seed, 23))
		e := randomEarly(r)
		for strings.Contains(e.name, "processing") { // the clock moves between batches
			e = randomEarly(r)
		}
		in := randomRows(r, e.shape, 150)
		e.fine = true // where a firing falls does not depend on who else sent something (T6)
		what := fmt.Sprintf("seed %d: %v", seed, e)
		var one exactly
		e.feed(t, e.sharing(t, fractions(t), &one), in, 1, func() {})
		want := one.take()
		for _, size := range []int{7, 1000} {
			var got exactly
			e.feed(t, e.sharing(t, fractions(t), &got), in, size, func() {})
			diff(t, fmt.Sprintf("%s, batches of %d", what, size), got.take(), want)
		}
	}
}

func TestPanesThatShareSlicesAreTheSameAfterARestore(t *testing.T) {
	fns := func() []Function { return append(fractions(t), builtin(t, "distinct", 1)) }
	for seed := range few(80) {
		r := rand.New(rand.NewPCG(seed, 24))
		e := randomEarly(r)
		in := randomRows(r, e.shape, 120)
		size := pick(r, 1, 7)
		what := fmt.Sprintf("seed %d: %v, batches of %d", seed, e, size)
		var want, got exactly
		steady := e.sharing(t, fns(), &want)
		var answers [][]string
		var states [][]byte
		e.feed(t, steady, in, size, func() {
			answers = append(answers, want.take(), stateOf(steady))
			states = append(states, saved(steady))
		})
		restless := &reborn{Operator: e.sharing(t, fns(), &got), make: func() Operator { return e.sharing(t, fns(), &got) }}
		e.feed(t, restless, in, size, func() {
			diff(t, what, got.take(), answers[0])
			diff(t, what, stateOf(restless), answers[1])
			if !bytes.Equal(saved(restless), states[0]) {
				t.Fatalf("%s: another state", what)
			}
			answers, states = answers[2:], states[1:]
			restless.restore(t)
		})
	}
}

func TestPanesThatShareSlicesSetAsideWhatFailsAsPanesDo(t *testing.T) {
	failed, refused := int64(0), 0
	for seed := range few(200) {
		r := rand.New(rand.NewPCG(seed, 25))
		e := randomEarly(r)
		e.setAside = true
		in := randomRows(r, e.shape, 120)
		size := pick(r, 1, 7, 1000)
		fns := func() []Function {
			a := moody{varying: seed%2 == 0, refuse: 0, trap: 8./7 + 2e9, result: 3} // the values 0 and 8 as batchOf has them
			b := moody{varying: seed%2 == 1, refuse: -1, trap: -1, result: math.MaxUint64}
			return []Function{{"steady", willing{&b}, []int{2}}, {"moody", willing{&a}, []int{2}}}
		}
		var got, want exactly
		fast, slow := e.sharing(t, fns(), &got), e.panes(t, fns(), &want)
		var answers [][]string
		e.feed(t, slow, in, size, func() { answers = append(answers, want.take(), stateOf(slow)) })
		e.feed(t, fast, in, size, func() {
			what := fmt.Sprintf("seed %d: %v, batches of %d", seed, e, size)
			lines := got.take()
			for _, l := range lines {
				if strings.HasPrefix(l, "refused pane") {
					refused++
				}
			}
			diff(t, what, lines, answers[0])
			diff(t, what, stateOf(fast), answers[1])
			answers = answers[2:]
		})
		failed += fast.Ledger().Failed
	}
	if failed == 0 || refused == 0 {
		t.Errorf("%d records failed and %d results: they show too little", failed, refused)
	}
}

// Windows of six every two that fire with each record; no two sums above ten are merged.
// By hand.
func TestASharedWindowThatCannotBeMergedIsSetAsideAlone(t *testing.T) {
	for _, trap := range []bool{false, true} {
		e := early{shape: shape{size: 6, slide: 2}, trigger: trigger.NewCount(1), name: "count(1)"}
		sum := builtin(t, "sum", 1)
		sum.Agg = total{sum.Agg, 10, trap}
		var out exactly
		op := e.sharing(t, []Function{builtin(t, "count", 0), sum}, &out)
		feed(t, op, []row{{"a", 0, 6, stream.MinTime}, {"a", 4, 5, stream.MinTime}, {"a", 5, 1, stream.MinTime}}, 3, func() {})
		diff(t, fmt.Sprintf("trap %v", trap), out.take(), []string{
			"a [-2,4) early r0 1 6", "a [-4,2) early r0 1 6", "a [0,6) early r0 1 6",
			"a [2,8) early r0 1 5", "a [2,8) early r1 2 6", "a [4,10) early r0 1 5", "a [4,10) early r1 2 6",
			"refused pane a [0,6): merge: too much", "refused pane a [0,6): merge: too much",
		})
	}
}

// With records in every slice a firing of all windows of a key costs two merges each: one
// to extend the sum of the window before, one to join the sums of two blocks.
func TestMergesOfFiringsOfManyWindows(t *testing.T) {
	e := early{shape: shape{size: 60, slide: 1}, trigger: trigger.NewContinuous(trigger.EventTime, 10), name: "continuous"}
	var in []row
	for i := range stream.Time(1000) {
		in = append(in, row{"a", i, 1, i - 3})
	}
	var out exactly
	op := e.sharing(t, exact(t), &out).(*General)
	feed(t, op, in, 100, func() {})
	if n, fired := op.shared.merges, int64(len(out.lines)); n > 2*fired || fired < 6000 {
		t.Errorf("%d merges for %d firings", n, fired)
	}
}

func TestSlicesThatAreGoneAreForgotten(t *testing.T) {
	e := early{shape: shape{size: 10, slide: 3, lateness: 5}, trigger: trigger.NewContinuous(trigger.EventTime, 4), name: "continuous"}
	var out exactly
	op := e.sharing(t, exact(t), &out).(*General)
	for i := range stream.Time(5000) {
		b := batchOf([]row{{fmt.Sprint("k", i), i, 1, i - 2}, {"steady", i, 1, i - 2}})
		b.SetKeys([]int{0})
		if b.Trailing = i - 2; op.Process(b) != nil {
			t.Fatal("failed")
		}
		if len(op.keys) > 30 || op.shared.cells.Len() > 100 || op.shared.sums.Len() > 200 || op.table.Len() > 200 || op.timers[0].entries > 300 {
			t.Fatalf("at %d: %d keys, %d slices, %d sums, %d panes, %d timers", i, len(op.keys), op.shared.cells.Len(), op.shared.sums.Len(), op.table.Len(), op.timers[0].entries)
		}
		out.lines = nil
	}
}

func TestADamagedSnapshotOfSharedSlicesIsRefused(t *testing.T) {
	e := early{shape: shape{size: 10, slide: 3, lateness: 20, keys: 2, bound: 3, disorder: 20, step: 2}, trigger: trigger.NewContinuous(trigger.EventTime, 4), name: "continuous"}
	var out exactly
	op := e.sharing(t, fractions(t), &out)
	b := batchOf(randomRows(rand.New(rand.NewPCG(6, 6)), e.shape, 40))
	b.SetKeys([]int{0})
	if err := op.Process(b); err != nil {
		t.Fatal(err)
	}
	refusesDamage(t, op, func() Operator { return e.sharing(t, fractions(t), &out) }, func(Operator) {})
}
