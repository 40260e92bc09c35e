package join_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/breaker"
	"tidemark/engine/join"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

const rescaleGroups = 16

// arrival is a record of one side of a random join.
type arrival struct {
	side    int
	key     string
	ts, wm  stream.Time
	pos     int64
	refused bool
}

func (a arrival) batch(trailing stream.Time) *stream.Batch {
	value := "x"
	if a.refused {
		value = "no"
	}
	b := batch(a.side, a.wm, a.pos, fmt.Sprint(a.key, " ", value, " ", int64(a.ts)))
	b.Trailing = trailing
	return b
}

func (a arrival) group() int {
	return stream.KeyGroup(a.batch(a.wm).Hash[0], rescaleGroups)
}

func upTo(wm stream.Time) *stream.Batch { return batch(0, wm, 0) }

// shared is a join for some key groups, whose plug-in is disabled after three failures.
func shared(t *testing.T, out join.Output) *join.Interval {
	t.Helper()
	fn := newPairFunc(func(l, r string) ([]string, *udf.Failure) {
		if l == "no" && r == "no" {
			return nil, &udf.Failure{Module: "p", Message: "no"}
		}
		return []string{l + r}, nil
	})
	op, err := join.NewInterval(join.IntervalConfig{Lower: -10, Upper: 5, LowerInclusive: true, Key: fields[:1], Pair: fn, LeftCols: []int{1}, RightCols: []int{1},
		Breaker: breaker.New(breaker.Limit{Failures: 3, Within: 200}), Plugin: "p", Groups: rescaleGroups}, out)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// The subtasks of a join are stopped where each stands at a place of its own, and go on
// from their cuts at another parallelism, twice: pairs, late records and counters are those
// of a run without.
func TestRescale(t *testing.T) {
	pairs, late, refused, floors := 0, 0, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 77))
		var all []arrival
		now, wm := stream.Time(100), stream.MinTime
		for i := range 300 {
			now += stream.Time(r.IntN(3))
			all = append(all, arrival{side: r.IntN(2), key: string(rune('a' + r.IntN(9))), ts: now - stream.Time(r.IntN(8)), wm: wm, pos: int64(i), refused: r.IntN(3) == 0})
			if r.IntN(2) == 0 {
				wm = max(wm, now-5)
			}
		}
		of := func(n, subtask, group int) bool { return stream.Subtask(group, n, rescaleGroups) == subtask }
		var want recorder
		var before [2]join.Ledger
		var made, failed int64
		for j := range 4 {
			op := shared(t, &want)
			for _, a := range all {
				if of(4, j, a.group()) {
					process(t, op, a.batch(a.wm))
				}
			}
			process(t, op, upTo(stream.MaxTime))
			addUp(&before, &made, &failed, op)
		}

		plan := []int{4, []int{1, 2, 3, 4, 7}[r.IntN(5)], []int{1, 2, 3, 4, 7}[r.IntN(5)]}
		done := make([]int, rescaleGroups)
		var cuts []state.Pieces
		var got recorder
		var after [2]join.Ledger
		var made2, failed2 int64
		for stage, n := range plan {
			var next []state.Pieces
			places := make([]int, n)
			for j := range n {
				op := shared(t, &got)
				if stage > 0 {
					restore := state.Restore{Counts: j == n-1}
					lowest := stream.MaxTime
					for _, c := range cuts {
						restore.Tasks = append(restore.Tasks, c.Task)
						for _, g := range c.Groups {
							lowest = min(lowest, g.Floor)
							if of(n, j, g.Group) {
								restore.Groups = append(restore.Groups, g)
							}
						}
					}
					for _, g := range restore.Groups {
						if g.Floor > lowest {
							floors++
						}
					}
					if err := op.Restore(restore); err != nil {
						t.Fatal(err)
					}
				}
				places[j] = len(all)
				trailing := stream.MaxTime
				if stage < len(plan)-1 {
					places[j] = r.IntN(len(all))
					trailing = all[places[j]].wm
				}
				for i, a := range all[:places[j]] {
					if g := a.group(); of(n, j, g) && i >= done[g] {
						process(t, op, a.batch(a.wm))
					}
				}
				process(t, op, upTo(trailing))
				if stage == len(plan)-1 {
					addUp(&after, &made2, &failed2, op)
					continue
				}
				next = append(next, cutOf(op))
			}
			cuts = next
			for g := range done {
				done[g] = max(done[g], places[stream.Subtask(g, n, rescaleGroups)])
			}
		}
		slices.Sort(want.lines)
		slices.Sort(got.lines)
		if !slices.Equal(got.lines, want.lines) {
			t.Fatalf("seed %d, parallelism %v: got\n%s\nwant\n%s", seed, plan, strings.Join(got.lines, "\n"), strings.Join(want.lines, "\n"))
		}
		if after != before || made2 != made || failed2 != failed {
			t.Fatalf("seed %d, parallelism %v: counted %+v, %d, %d, want %+v, %d, %d", seed, plan, after, made2, failed2, before, made, failed)
		}
		pairs, late, refused = pairs+int(made), late+int(before[0].Late), refused+int(failed)
	}
	if pairs < 1000 || late < 100 || refused < 100 || floors < 100 {
		t.Errorf("%d pairs, %d late records, %d refused, %d floors: they show too little", pairs, late, refused, floors)
	}
}

func addUp(l *[2]join.Ledger, made, refused *int64, op *join.Interval) {
	for side := range l {
		m := op.Ledger(uint8(side))
		x := &l[side]
		x.Filtered, x.Late, x.Counted, x.Open = x.Filtered+m.Filtered, x.Late+m.Late, x.Counted+m.Counted, x.Open+m.Open
		x.Fired, x.Unfired, x.Behind = x.Fired+m.Fired, x.Unfired+m.Unfired, x.Behind+m.Behind
	}
	p, f := op.Paired()
	*made, *refused = *made+p, *refused+f
}

// A join takes over a key group whose task stood at 100 and one whose task stood at 50 (S105).
// "a" is in the first, "c" in the second.
func TestFloorsOfAJoin(t *testing.T) {
	var old, out recorder
	ahead, behind := shared(t, &old), shared(t, &old)
	process(t, ahead, batch(0, stream.MinTime, 1, "a x 97"), upTo(100), batch(0, 100, 2, "a x 100"))
	process(t, behind, batch(0, stream.MinTime, 3, "c x 48"), upTo(50))
	one, two := cutOf(ahead), cutOf(behind)
	r := state.Restore{Tasks: [][]byte{one.Task, two.Task}, Counts: true, Groups: append(one.Groups, two.Groups...)}
	op := shared(t, &out)
	if err := op.Restore(r); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		b    *stream.Batch
		want string
	}{
		{batch(1, 50, 4, "a y 99"), "late 4 side 1 at 100"},
		{batch(1, 50, 5, "a y 100"), "100@50 2+5 0/1 a xy,100@50 1+5 0/1 a xy"}, // 100 is not late, and within 5 of 97
		{batch(1, 50, 6, "c y 49"), "late 6 side 1 at 50"},
		{batch(1, 50, 7, "c y 52"), "52@50 3+7 0/1 c xy"},
		{upTo(60), ""}, // of c all goes
		{batch(0, 60, 8, "a x 99"), "late 8 side 0 at 100"},
		{batch(0, 60, 9, "c x 59"), "late 9 side 0 at 60"},
		{upTo(100), ""}, // a's time does not go on
		{batch(0, 100, 10, "a x 100"), "100@100 10+5 0/1 a xy"},
		{upTo(106), ""},
	} {
		out.lines = nil
		process(t, op, step.b)
		slices.Sort(out.lines)
		want := strings.Split(step.want, ",")
		slices.Sort(want)
		if got := strings.Join(out.lines, ","); got != strings.Join(want, ",") {
			t.Errorf("step %d: got %q, want %q", i, got, want)
		}
		before := op
		op = shared(t, &out)
		if err := op.Restore(cutOf(before).AsItWas()); err != nil {
			t.Fatal(err)
		}
	}
	if l, r := op.Ledger(0), op.Ledger(1); l.Fired != 4 || l.Open != 0 || l.Late != 2 || r.Fired != 1 || r.Open != 1 || r.Late != 2 {
		t.Errorf("counted %+v and %+v", l, r)
	}
}
