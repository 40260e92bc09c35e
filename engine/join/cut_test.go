package join

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark/engine/breaker"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// A cut that is read while the join goes on is measured by that of another join, which had the
// same input and was read at once. Inputs are random; a failure prints the seed that they come
// from.

var cutFields = []stream.Field{{Name: "key", Kind: stream.String}, {Name: "value", Kind: stream.String}, {Name: "flag", Kind: stream.Bool}}

// moody is the built-in pair function, but does not take some right records.
type moody struct{ udf.Pair }

func (m *moody) Call(in *udf.Pairs, out *udf.Emitted) error {
	for i, r := range in.R {
		text := string(in.Right.Cols[0].Strs[r].Bytes(in.Right.Blob))
		if strings.HasSuffix(text, "7") || text == "nine" {
			return &udf.Failure{Op: i, Module: "p", Message: "a mood"}
		}
	}
	return m.Pair.Call(in, out)
}

// tolerant goes on without what is refused.
type tolerant struct{ nobody }

func (tolerant) Refused(*stream.Batch, int, *udf.Pairs, int, *udf.Failure) error { return nil }

func cutJoin(t *testing.T, groups int) *Interval {
	t.Helper()
	return openJoin(t, groups, tolerant{}, nil)
}

func openJoin(t *testing.T, groups int, out Output, spill *state.Spill) *Interval {
	t.Helper()
	j, err := NewInterval(IntervalConfig{Lower: -30, Upper: 20, LowerInclusive: true, UpperInclusive: true, Key: cutFields[:1], DropNullKey: true,
		Pair: &moody{Pair: NewIdentity(cutFields[1:], cutFields[1:])}, LeftCols: []int{1, 2}, RightCols: []int{1, 2},
		Breaker: breaker.New(breaker.Limit{Failures: 3, Within: 50}), Plugin: "p", Groups: groups, Spill: spill}, out)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// traffic makes random batches: of a few keys that come again and of many that do not, with
// records that are late, and steps of time that some or all of what is kept does not survive.
type traffic struct {
	r   *rand.Rand
	now stream.Time
	pos int64
}

func (f *traffic) next() *stream.Batch {
	b := new(stream.Batch)
	b.Reset([]stream.Kind{stream.String, stream.String, stream.Bool})
	b.Input = uint8(f.r.IntN(2))
	wm := f.now - 5
	for range f.r.IntN(12) {
		key := fmt.Sprintf("key %d", f.r.IntN(6))
		if f.r.IntN(3) == 0 {
			key = fmt.Sprintf("%d comes once", f.pos)
		}
		for c, text := range []string{key, fmt.Sprint("value ", f.pos)} {
			if c == 1 && f.r.IntN(4) == 0 {
				b.Cols[c].AppendNull()
				continue
			}
			b.Cols[c].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
			b.Blob = append(b.Blob, text...)
		}
		b.Cols[2].AppendBool(f.pos%3 == 0)
		b.Time, b.WM = append(b.Time, f.now-stream.Time(f.r.IntN(8))), append(b.WM, wm)
		b.Split, b.Pos = append(b.Split, stream.SplitID(f.r.IntN(3))), append(b.Pos, f.pos)
		b.N++
		f.pos++
		f.now += stream.Time(f.r.IntN(3))
		if f.r.IntN(3) == 0 {
			wm = max(wm, f.now-5)
		}
	}
	if f.r.IntN(25) == 0 {
		f.now += 100
	}
	b.Trailing = max(wm, f.now-5)
	b.SetKeys([]int{0})
	return b
}

// run has joins process the same batch; at times they compact, as they do when a store is full.
func (f *traffic) run(t *testing.T, joins ...*Interval) {
	t.Helper()
	b, compact := f.next(), f.r.IntN(8) == 0
	for _, j := range joins {
		if compact {
			j.compact(b.Input, j.list())
		}
		if err := j.Process(b); err != nil {
			t.Fatal(err)
		}
	}
}

// sameCut compares a cut with one that was read.
func sameCut(t *testing.T, what string, groups iter.Seq2[state.GroupCut, error], want []state.GroupCut, between func()) {
	t.Helper()
	n := 0
	for g, err := range groups {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n >= len(want) || g.Group != want[n].Group || g.Floor != want[n].Floor || !slices.Equal(g.State, want[n].State) {
			t.Fatalf("%s: group %d at %d is not as it was: %d bytes", what, g.Group, g.Floor, len(g.State))
		}
		n++
		between()
	}
	if n != len(want) {
		t.Fatalf("%s: %d groups, want %d", what, n, len(want))
	}
}

func TestACutIsReadWhileTheJoinGoesOn(t *testing.T) {
	cuts, groups, floors, touched, unread, restores, onDisk := 0, 0, 0, 0, 0, 0, int64(0)
	for seed := range uint64(300) {
		f := &traffic{r: rand.New(rand.NewPCG(seed, 41)), now: 100}
		n := []int{1, 4, 16}[f.r.IntN(3)]
		open := func() *Interval { return cutJoin(t, n) }
		if seed%2 == 0 {
			open = func() *Interval {
				return openJoin(t, n, tolerant{}, &state.Spill{Open: func() state.Backing { return state.NewRAM() }, Memory: int64(f.r.IntN(6000))})
			}
		}
		j, twin := open(), cutJoin(t, n)
		for cut := range 6 {
			what := fmt.Sprintf("seed %d, cut %d", seed, cut)
			for range f.r.IntN(20) {
				f.run(t, j, twin)
			}
			if cut == 2 && seed%3 == 0 { // they go on as one of several subtasks, behind some groups
				p, err := twin.Freeze().Read()
				if err != nil {
					t.Fatal(err)
				}
				first, err := cutJoin(t, n).Freeze().Read()
				if err != nil {
					t.Fatal(err)
				}
				r := state.Restore{Tasks: [][]byte{p.Task, first.Task}, Counts: true, Groups: p.Groups}
				j, twin = open(), cutJoin(t, n)
				for _, op := range []*Interval{j, twin} {
					if err := op.Restore(r); err != nil {
						t.Fatal(err)
					}
				}
				restores++
			}
			frozen := j.Freeze()
			onDisk += j.Spilled().Pieces
			want, err := twin.Freeze().Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range want.Groups {
				if g.Floor > j.wm {
					floors++
				}
			}
			if !slices.Equal(frozen.Task, want.Task) {
				t.Fatalf("%s: the task is not as it was", what)
			}
			for range f.r.IntN(6) {
				f.run(t, j, twin)
			}
			for f.r.IntN(8) > 0 && j.cut.some(1+f.r.IntN(3)) {
				for range f.r.IntN(3) {
					f.run(t, j, twin)
				}
			}
			for _, k := range j.cut.left {
				if k.epoch.Load() == j.epoch {
					touched++
				}
			}
			switch f.r.IntN(8) {
			case 0: // nobody reads it
				unread++
			case 1: // it is read behind the next one
				next := j.Freeze()
				again, err := twin.Freeze().Read()
				if err != nil {
					t.Fatal(err)
				}
				f.run(t, j, twin)
				sameCut(t, what, frozen.Groups, want.Groups, func() { f.run(t, j, twin) })
				if err := frozen.Close(); err != nil {
					t.Fatal(err)
				}
				frozen, want = next, again
				fallthrough
			default:
				sameCut(t, what, frozen.Groups, want.Groups, func() { f.run(t, j, twin) })
				groups += len(want.Groups)
			}
			if err := frozen.Close(); err != nil {
				t.Fatal(err)
			}
			cuts++
			inBalance(t, what, j)
			if j.ledger != twin.ledger {
				t.Fatalf("%s: counted %+v, want %+v", what, j.ledger, twin.ledger)
			}
		}
	}
	t.Logf("%d cuts, %d groups, %d ahead of their task, %d keys written by the join before the reader came to them, %d cuts not read, %d restores, %d keys on disk", cuts, groups, floors, touched, unread, restores, onDisk)
	if groups < 5000 || touched < 1000 || unread < 100 || floors < 50 || onDisk < 1000 {
		t.Error("they show too little")
	}
}

// The reader is another goroutine.
func TestACutIsReadAtTheSameTime(t *testing.T) {
	for seed := range uint64(40) {
		f := &traffic{r: rand.New(rand.NewPCG(seed, 42)), now: 100}
		n := []int{1, 4}[f.r.IntN(2)]
		j, twin := openJoin(t, n, tolerant{}, &state.Spill{Open: func() state.Backing { return state.NewRAM() }, Memory: int64(seed%4) * 2000}), cutJoin(t, n)
		for cut := range 10 {
			for range 20 {
				f.run(t, j, twin)
			}
			frozen := j.Freeze()
			want, err := twin.Freeze().Read()
			if err != nil {
				t.Fatal(err)
			}
			var got state.Pieces
			var readErr error
			var reader sync.WaitGroup
			reader.Go(func() { got, readErr = frozen.Read() })
			for range 20 {
				f.run(t, j, twin)
			}
			reader.Wait()
			if readErr != nil {
				t.Fatal(readErr)
			}
			sameCut(t, fmt.Sprintf("seed %d, cut %d", seed, cut), got.Cut().Groups, want.Groups, func() {})
		}
	}
}
