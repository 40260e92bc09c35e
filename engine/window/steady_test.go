package window

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// TestAnEndlessStreamHoldsNoMore gives windows' worth of records to an operator of each
// kind. As many keys come as go; each time the operator must hold what it held before,
// by the heap and by its own account.
func TestAnEndlessStreamHoldsNoMore(t *testing.T) {
	const (
		size    = stream.Time(10_000)
		keys    = 300
		records = 3000 // a round, of one size
		warm    = 12   // rounds until tables, spare memory and buffers have found their size
		rounds  = 20
		slack   = 96 << 10
		spare   = 640 << 10 // panes, keys and working memory that are kept for later, and not counted
	)
	must := func(a Assigner, err error) Assigner {
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	tumbling, sliding, session := must(NewTumbling(size, 0, false)), must(NewSliding(size, 1000, 0, false)), must(NewSession(300, false))
	fixed := func() []Function {
		return []Function{builtin(t, "count", 0), builtin(t, "sum", 2), builtin(t, "max", 2)}
	}
	for _, c := range []struct {
		name   string
		a      Assigner
		tr     trigger.Trigger
		late   stream.Time
		evict  *Evictor
		sets   bool // a function whose accumulators vary in size, beside the others
		stays  bool // keys do not go: windows of a number of records never close
		kind   func(Operator) bool
		number int64 // pieces of state, at least
	}{
		{name: "aligned", a: tumbling, tr: trigger.NewEventTime(), kind: is[*Aligned], number: keys},
		{name: "aligned, late records allowed", a: tumbling, tr: trigger.NewEventTime(), late: 25_000, kind: is[*Aligned], number: 3 * keys},
		{name: "aligned, sets", a: tumbling, tr: trigger.NewEventTime(), sets: true, kind: is[*Aligned], number: keys},
		{name: "slices", a: sliding, tr: trigger.NewEventTime(), kind: is[*Slices], number: keys},
		{name: "slices, sets", a: sliding, tr: trigger.NewEventTime(), sets: true, kind: is[*Slices], number: keys},
		{name: "counts", a: NewGlobal(), tr: trigger.NewCount(3), evict: &Evictor{Count: 9}, stays: true, kind: is[*Counts], number: keys},
		{name: "panes", a: tumbling, tr: trigger.NewCount(4), kind: is[*General], number: keys},
		{name: "panes that share slices", a: sliding, tr: trigger.NewContinuous(trigger.EventTime, 2000), kind: is[*General], number: keys},
		{name: "lists", a: tumbling, tr: trigger.NewEventTime(), evict: &Evictor{Count: 5}, kind: is[*General], number: keys},
		{name: "sessions", a: session, tr: trigger.NewEventTime(), kind: is[*Sessions], number: 20},
		{name: "sessions, sets", a: session, tr: trigger.NewEventTime(), sets: true, kind: is[*Sessions], number: 20},
		{name: "sessions with a trigger", a: session, tr: trigger.NewCount(4), kind: is[*General], number: 20},
		{name: "sessions, lists", a: session, tr: trigger.NewEventTime(), evict: &Evictor{Count: 5}, kind: is[*General], number: 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			fns := fixed()
			if c.sets {
				fns = append(fns, builtin(t, "distinct", 1))
			}
			s := Spec{GeneralConfig: GeneralConfig{Groups: 16, Assigner: c.a, Trigger: c.tr, Lateness: c.late, Evictor: c.evict,
				Key: sliceKeyFields, Functions: fns, GapCol: -1, ValueCol: -1}}
			before := int64(liveHeap())
			op, err := s.plain(&sinkhole{})
			if err != nil {
				t.Fatal(err)
			}
			if !c.kind(op) {
				t.Fatalf("it is a %T", op)
			}
			r := rand.New(rand.NewPCG(1, 2))
			var most, mostBytes int64
			for round := range rounds {
				var rows []row
				for i := range records {
					ts := stream.Time(round)*size + stream.Time(i)*size/records
					n := i % keys
					if !c.stays {
						n += (round*records + i) / records * keys / 3 // a third of the keys is new
					}
					rows = append(rows, row{key: fmt.Sprintf("k%07d", n), ts: ts, value: r.IntN(1000), wm: ts - 1})
					if len(rows) == 500 {
						b := batchOf(rows)
						b.SetKeys([]int{0})
						if err := op.Process(b); err != nil {
							t.Fatal(err)
						}
						rows = rows[:0]
					}
				}
				live, bytes := int64(liveHeap())-before, op.Bytes()
				if round < warm {
					most, mostBytes = max(most, live), max(mostBytes, bytes)
					continue
				}
				if live > most+most/10+slack {
					t.Errorf("round %d: %d bytes are live, at most %d until round %d", round, live, most, warm)
				}
				if bytes > mostBytes+mostBytes/10 {
					t.Errorf("round %d: it says it holds %d bytes, at most %d until round %d", round, bytes, mostBytes, warm)
				}
				var pieces, weight int64
				op.Weigh(func(_ []byte, _ stream.Window, n int64) { pieces++; weight += n })
				if pieces < c.number || weight > 2*bytes || 3*weight+slack < bytes { // small tables have room for more
					t.Errorf("round %d: %d pieces weigh %d bytes, all together %d", round, pieces, weight, bytes)
				}
				if bytes > 2*live+slack || 2*bytes+spare < live {
					t.Errorf("round %d: it says it holds %d bytes, the heap %d", round, bytes, live)
				}
			}
			t.Logf("%d bytes are live, it says %d", int64(liveHeap())-before, op.Bytes())
			runtime.KeepAlive(op)
		})
	}
}

// is reports whether an operator is of a kind.
func is[T Operator](op Operator) bool {
	_, ok := op.(T)
	return ok
}
