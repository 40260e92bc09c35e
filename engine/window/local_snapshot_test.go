package window

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// alone is a Downstream whose receiver has seen every coming back.
type alone struct{ joins uint64 }

func (alone) Get(like *stream.Batch) *stream.Batch {
	if like == nil {
		like = new(stream.Batch)
	}
	return rowsOf(like)
}
func (alone) Put(*stream.Batch) {}
func (a alone) Joined() uint64  { return a.joins }

func newTestLocal(t *testing.T, seed uint64) *Local {
	t.Helper()
	return openLocal(t, seed, true)
}

func openLocal(t *testing.T, seed uint64, ordered bool) *Local {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	s := stepOf(&shape{dropNull: true}, tiles(10, 0), trigger.NewEventTime(), append(fractions(t), builtin(t, "distinct", 1)))
	if r.IntN(2) == 0 {
		a, err := NewSliding(20, 8, 0, false)
		s.Assigner = mustAssigner(t, a, err)
	}
	var key []int
	if s.HotKeys = r.IntN(3); s.HotKeys > 0 {
		key = []int{0}
	} else {
		s.Key = nil
	}
	l, err := NewLocal(s, key, ordered, func(*stream.Batch, int, stream.Window, *udf.Failure) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sends gives a Local one row of a split and writes down what it sends.
func sends(t *testing.T, l *Local, b *stream.Batch, lines []string) []string {
	t.Helper()
	out, err := l.Process(b, alone{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range out {
		for i := range b.N {
			line := fmt.Sprintf("split %d pos %d time %d wm %d", b.Split[i], b.Pos[i], b.Time[i], b.WM[i])
			if b.Partial {
				line = fmt.Sprintf("%s: %s %x", line, b.Key[i].Bytes(b.Blob), b.Raw[i].Bytes(b.Blob))
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Senders are stopped where each stands at a place of its own, and their splits are dealt
// to others: the sums that leave, and where they stand in the order of a replay, are those
// of a run without.
func TestSplitsAreDealtToOtherSenders(t *testing.T) {
	const splits = 6
	sums := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		rows := randomRows(r, shape{size: 10, bound: 4, disorder: 9, step: 1, keys: 4}, 200)
		of := make([]stream.SplitID, len(rows))
		for i := range of {
			of[i] = stream.SplitID(r.IntN(splits))
		}
		feed := func(l *Local, mine func(split stream.SplitID, i int) bool, until int, lines []string) []string {
			for i, x := range rows[:until] {
				if !mine(of[i], i) {
					continue
				}
				b := batchOf([]row{x})
				b.Split[0], b.Pos[0] = of[i], int64(i)
				lines = sends(t, l, b, lines)
			}
			b := batchOf(nil)
			if until < len(rows) {
				b.Trailing = rows[until].wm
			}
			return sends(t, l, b, lines)
		}
		const before = 3
		var want []string
		for n := range before {
			want = feed(newTestLocal(t, seed), func(s stream.SplitID, _ int) bool { return int(s)%before == n }, len(rows), want)
		}
		var got []string
		var senders [][]byte
		var pieces []SplitCut
		places := make([]int, before)
		for n := range before {
			l := newTestLocal(t, seed)
			places[n] = r.IntN(len(rows))
			got = feed(l, func(s stream.SplitID, _ int) bool { return int(s)%before == n }, places[n], got)
			cut := l.Freeze()
			senders, pieces = append(senders, cut.Sender), append(pieces, cut.Splits...)
		}
		sums += len(pieces)
		after := 1 + r.IntN(splits)
		for n := range after {
			l := newTestLocal(t, seed)
			var mine []SplitCut
			for _, p := range pieces {
				if int(p.Split)%after == n {
					mine = append(mine, p)
				}
			}
			if err := l.Restore(senders, false, mine); err != nil {
				t.Fatal(err)
			}
			got = feed(l, func(s stream.SplitID, i int) bool { return int(s)%after == n && i >= places[int(s)%before] }, len(rows), got)
		}
		slices.Sort(want)
		slices.Sort(got)
		diff(t, fmt.Sprintf("seed %d, %d senders", seed, after), got, want)
	}
	if sums < 100 {
		t.Errorf("%d splits had sums: it shows too little", sums)
	}
}

// By arrival one sender stood at 100, and one at 50, which was idle: the receiver may stand
// at 100. The sender that has the splits of both adds up nothing that may be late, before
// and after another restore, and tells nobody of a watermark that it has not come to.
func TestASenderThatTakesOverFromOneThatWasIdle(t *testing.T) {
	first, second := openLocal(t, 0, false), openLocal(t, 0, false)
	b := batchOf([]row{{"a", 104, 1, 99}})
	b.Trailing = 100
	sends(t, first, b, nil)
	b = batchOf(nil)
	b.Trailing = 50
	sends(t, second, b, nil)
	b = batchOf(nil)
	b.Trailing, b.Status = 50, stream.BecameIdle
	sends(t, second, b, nil)
	one, two := first.Freeze(), second.Freeze()
	l := openLocal(t, 0, false)
	if err := l.Restore([][]byte{one.Sender, two.Sender}, false, append(one.Splits, two.Splits...)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		at := func(ts stream.Time) []string {
			b := batchOf([]row{{"a", ts, 1, 60}})
			b.Split[0] = 1
			return sends(t, l, b, nil)
		}
		if got := at(70); len(got) != 1 || got[0] != "split 1 pos 1 time 70 wm 60" {
			t.Errorf("a record at 70 leaves %q", got)
		}
		if got := at(101); got != nil {
			t.Errorf("a record at 101 leaves %q, and is to be added up", got)
		}
		cut := l.Freeze()
		next := openLocal(t, 0, false)
		if err := next.Restore([][]byte{cut.Sender}, true, cut.Splits); err != nil {
			t.Fatal(err)
		}
		l = next
	}
}

func TestADamagedSnapshotOfASender(t *testing.T) {
	for seed := range uint64(6) {
		l := newTestLocal(t, seed)
		for i, x := range randomRows(rand.New(rand.NewPCG(seed, 7)), shape{size: 10, bound: 40, disorder: 9, step: 1, keys: 4}, 30) {
			b := batchOf([]row{x})
			b.Split[0] = stream.SplitID(i % 2)
			sends(t, l, b, nil)
		}
		cut := l.Freeze()
		if len(cut.Splits) != 2 {
			t.Fatalf("%d splits have sums", len(cut.Splits))
		}
		for _, piece := range []*[]byte{&cut.Sender, &cut.Splits[0].State} {
			whole := *piece
			for n := range whole {
				*piece = whole[:n]
				if err := newTestLocal(t, seed).Restore([][]byte{cut.Sender}, true, cut.Splits); !errors.Is(err, fault.ErrCorrupt) {
					t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
				}
				*piece = slices.Clone(whole)
				(*piece)[n] ^= 0x81
				_ = newTestLocal(t, seed).Restore([][]byte{cut.Sender}, true, cut.Splits) // it must not break
			}
			*piece = whole
		}
	}
}
