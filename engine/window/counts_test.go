package window

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/internal/fault"
)

// The general operator keeps the records of a count window and runs the functions over
// them: the ring must say the same of the same stream.

// turn is a random job of sliding count windows.
type turn struct {
	size, slide int64
	stream      shape // of its input
}

func (c turn) String() string { return fmt.Sprintf("the last %d every %d", c.size, c.slide) }

func randomTurn(r *rand.Rand) turn {
	c := turn{slide: int64(1 + r.IntN(9)), stream: randomShape(r)}
	switch r.IntN(4) {
	case 0: // the slide divides the size
		c.size = c.slide * int64(1+r.IntN(9))
	case 1: // gaps
		c.size = 1 + int64(r.IntN(int(c.slide)))
	default:
		c.size = 1 + int64(r.IntN(40))
	}
	return c
}

func (c turn) ring(t testing.TB, fns []Function, out Output) *Counts {
	op, err := NewCounts(CountsConfig{Size: c.size, Slide: c.slide, Key: sliceKeyFields, DropNullKey: c.stream.dropNull, Functions: fns, Groups: 4}, out)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func (c turn) general(t testing.TB, fns []Function, out Output) *General {
	op, err := NewGeneral(GeneralConfig{Assigner: NewGlobal(), Trigger: trigger.NewCount(c.slide), Evictor: &Evictor{Count: int(c.size)},
		Key: sliceKeyFields, DropNullKey: c.stream.dropNull, Functions: fns, GapCol: -1, ValueCol: -1, SetAside: true}, out)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// fixed are functions of fixed size whose results do not depend on how a window was put
// together; the last two mind the order of records.
func fixed(t testing.TB) []Function {
	return []Function{builtin(t, "count", 0), builtin(t, "sum", 1), builtin(t, "max", 1), builtin(t, "min", 2), builtin(t, "first", 2), builtin(t, "last", 1)}
}

func TestCountsSayTheSameAsRecordByRecord(t *testing.T) {
	gaps, uneven, rows := 0, 0, 0
	for seed := range few(300) {
		r := rand.New(rand.NewPCG(seed, 11))
		c := randomTurn(r)
		in := randomRows(r, c.stream, 250)
		size := pick(r, 1, 7, 1000)
		var got, want timely
		fast, slow := c.ring(t, fixed(t), &got), c.general(t, fixed(t), &want)
		var answers [][]string
		feed(t, slow, in, size, func() { answers = append(answers, want.lines, stateOf(slow)); want.lines = nil })
		feed(t, fast, in, size, func() {
			what := fmt.Sprintf("seed %d: %v, batches of %d", seed, c, size)
			diff(t, what, got.lines, answers[0]) // in the same order
			diff(t, what, stateOf(fast), answers[1])
			rows += len(got.lines)
			got.lines, answers = nil, answers[2:]
		})
		if c.slide > c.size {
			gaps++
		} else if c.size%c.slide > 0 {
			uneven++
		}
	}
	if gaps < 30 || uneven < 30 || rows < 1000 {
		t.Errorf("%d jobs with gaps, %d whose slide does not divide the size, %d rows: they show too little", gaps, uneven, rows)
	}
}

// fractions are functions whose bits depend on the shape of the merges.
func fractions(t testing.TB) []Function {
	return []Function{builtin(t, "sum", 2), builtin(t, "mean", 2)}
}

// A float's bits depend on the numbers of a key's records alone: not on batches, not on
// the other keys of the subtask, and not on a restore, wherever it comes.
func TestCountsDependOnNothingButTheirRecords(t *testing.T) {
	for seed := range few(150) {
		r := rand.New(rand.NewPCG(seed, 12))
		c := randomTurn(r)
		in := randomRows(r, c.stream, 250)
		what := fmt.Sprintf("seed %d: %v", seed, c)
		var one exactly
		feed(t, c.ring(t, fractions(t), &one), in, 1, func() {})
		want := one.take()
		for _, size := range []int{7, 1000} {
			var got exactly
			feed(t, c.ring(t, fractions(t), &got), in, size, func() {})
			diff(t, fmt.Sprintf("%s, batches of %d", what, size), got.take(), want)
		}
		var apart exactly
		keys := map[string][]row{}
		for _, x := range in {
			keys[x.key] = append(keys[x.key], x)
		}
		for _, rows := range keys {
			feed(t, c.ring(t, fractions(t), &apart), rows, 13, func() {})
		}
		diff(t, what+", a subtask for each key", apart.take(), want)
	}
}

func TestCountsAreTheSameAfterARestore(t *testing.T) {
	for seed := range few(150) {
		r := rand.New(rand.NewPCG(seed, 13))
		c := randomTurn(r)
		in := randomRows(r, c.stream, 150)
		size := pick(r, 1, 7)
		what := fmt.Sprintf("seed %d: %v, batches of %d", seed, c, size)
		var want, got exactly
		steady := c.ring(t, fractions(t), &want)
		var answers [][]string
		var states [][]byte
		feed(t, steady, in, size, func() {
			answers = append(answers, want.take(), stateOf(steady))
			states = append(states, saved(steady))
		})
		restless := &reborn{Operator: c.ring(t, fractions(t), &got), make: func() Operator { return c.ring(t, fractions(t), &got) }}
		feed(t, restless, in, size, func() {
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

func TestCountsSetAsideWhatFailsAsRecordByRecord(t *testing.T) {
	failed, refused := int64(0), 0
	for seed := range few(200) {
		r := rand.New(rand.NewPCG(seed, 14))
		c := randomTurn(r)
		in := randomRows(r, c.stream, 200)
		size := pick(r, 1, 7, 1000)
		fns := func() []Function {
			a := moody{refuse: 0, trap: 8./7 + 2e9, result: 3} // the values 0 and 8 as batchOf has them
			b := moody{refuse: -1, trap: -1, result: math.MaxUint64}
			return []Function{{"steady", &b, []int{2}}, {"moody", &a, []int{2}}}
		}
		var got, want exactly
		fast, slow := c.ring(t, fns(), &got), c.general(t, fns(), &want)
		var answers [][]string
		feed(t, slow, in, size, func() { answers = append(answers, want.take(), stateOf(slow)) })
		feed(t, fast, in, size, func() {
			what := fmt.Sprintf("seed %d: %v, batches of %d", seed, c, size)
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

// One merge to add a slice to its block, one to add it from the other side, one for a
// window; the first two come twice where a slide has two slices.
func TestMergesOfACountWindow(t *testing.T) {
	for _, c := range []struct {
		size, slide int64
		most        float64
	}{{100, 1, 3}, {1000, 1, 3}, {1000, 10, 3}, {1000, 7, 5}, {60, 60, 0}, {7, 10, 0}} {
		in := make([]row, 5*(c.size+c.slide))
		for i := range in {
			in[i] = row{key: "a", ts: stream.Time(i), value: 1, wm: stream.MinTime}
		}
		var out exactly
		op := turn{size: c.size, slide: c.slide}.ring(t, fixed(t), &out)
		feed(t, op, in, 100, func() {})
		fired := float64(len(out.lines))
		if got := float64(op.Merges()) / fired; fired == 0 || got > c.most {
			t.Errorf("the last %d every %d: %.2f merges for each of %v windows, want at most %v", c.size, c.slide, got, fired, c.most)
		}
		if g := newCountGrid(c.size, c.slide); int64(op.cells.Len()) != g.count+1 {
			t.Errorf("the last %d every %d: %d accumulators, want %d slices and the prefix", c.size, c.slide, op.cells.Len(), g.count)
		}
	}
}

// The last six records every two, where no two sums above ten are merged: by hand. What a
// failed merge spoils is known after a restore, too, and not longer than it lasts.
func TestACountWindowThatCannotBeMergedIsSetAsideAlone(t *testing.T) {
	for _, trap := range []bool{false, true} {
		for _, restored := range []bool{false, true} {
			t.Run(fmt.Sprintf("trap %v, restored %v", trap, restored), func(t *testing.T) {
				var out exactly
				fns := func() []Function {
					sum := builtin(t, "sum", 1)
					sum.Agg = total{sum.Agg, 10, trap}
					return []Function{builtin(t, "count", 0), sum}
				}
				open := func() Operator { return turn{size: 6, slide: 2}.ring(t, fns(), &out) }
				op := &reborn{Operator: open(), make: open}
				var in []row
				for i, v := range []int{1, 0, 6, 0, 5, 0, 1, 0, 1, 0, 1, 0, 1, 0} {
					in = append(in, row{"a", stream.Time(i), v, stream.MinTime})
				}
				feed(t, op, in, 1, func() {
					if restored {
						op.restore(t)
					}
				})
				const all = "a [-9223372036854775808,9223372036854775807)"
				diff(t, "rows", out.lines, []string{
					all + "  r0 2 1",
					all + "  r1 4 7",
					"refused pane " + all + ": merge: too much", // 1 + 6 and 5, in their block
					"refused pane " + all + ": merge: too much", // 6 and 5, from the end of the block
					all + "  r2 6 7", // 5 and 1 + 1
					all + "  r3 6 3",
					all + "  r4 6 3",
				})
			})
		}
	}
}

func TestADamagedSnapshotOfCountsIsRefused(t *testing.T) {
	c := turn{size: 10, slide: 3, stream: shape{keys: 2, step: 2, size: 5}}
	var out exactly
	op := c.ring(t, fractions(t), &out)
	b := batchOf(randomRows(rand.New(rand.NewPCG(6, 6)), c.stream, 60))
	b.SetKeys([]int{0})
	if err := op.Process(b); err != nil {
		t.Fatal(err)
	}
	refusesDamage(t, op, func() Operator { return c.ring(t, fractions(t), &out) }, func(next Operator) {
		feed(t, next, []row{{"a", 1, 1, stream.MinTime}, {"b", 1, 1, stream.MinTime}}, 1, func() {})
	})
}

func TestCountsRefuseWhatTheyCannotDo(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  CountsConfig
		want string
	}{
		{"size 0", CountsConfig{Slide: 1}, "a count window holds and slides by at least one record, not 0 and 1"},
		{"slide 0", CountsConfig{Size: 1}, "a count window holds and slides by at least one record, not 1 and 0"},
		{"accumulators that grow", CountsConfig{Size: 1, Slide: 1, Functions: []Function{builtin(t, "distinct", 1)}},
			"aggregate distinct has accumulators of varying size: its windows cannot share sums (L9)"},
	} {
		if _, err := NewCounts(c.cfg, &recorder{}); !errors.Is(err, fault.ErrUser) || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// The edges of slices by hand: see the picture at countGrid.
func TestCountGrid(t *testing.T) {
	for _, c := range []struct {
		size, slide int64
		lengths     []int64 // of the first slices
		ends        []bool
		count       int64
	}{
		{4, 2, []int64{2, 2, 2}, []bool{true, true, true}, 2},
		{5, 1, []int64{1, 1}, []bool{true, true}, 5},
		{5, 5, []int64{5, 5}, []bool{true, true}, 1},
		{10, 4, []int64{2, 2, 2, 2}, []bool{false, true, false, true}, 5},   // ends at 4, 8, …; starts at 2 from 4k
		{100, 7, []int64{5, 2, 5, 2}, []bool{false, true, false, true}, 29}, // 98 = 14 slides, and 2 more
		{3, 10, []int64{7, 3, 7, 3}, []bool{false, true, false, true}, 1},   // seven records that no window holds
	} {
		g := newCountGrid(c.size, c.slide)
		if g.count != c.count {
			t.Errorf("%d/%d: %d slices a window, want %d", c.size, c.slide, g.count, c.count)
		}
		for i, want := range c.lengths {
			if got := g.length(int64(i)); got != want || g.ends(int64(i)) != c.ends[i] {
				t.Errorf("%d/%d: slice %d has %d records and ends a window: %v; want %d, %v", c.size, c.slide, i, got, g.ends(int64(i)), want, c.ends[i])
			}
		}
	}
}
