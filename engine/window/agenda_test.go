package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// tally counts the calls into an aggregate.
type tally struct {
	udf.Aggregate
	adds, results, applies int
}

func (c *tally) Add(a *udf.Accs, r *udf.Rows) error { c.adds++; return c.Aggregate.Add(a, r) }

func (c *tally) Result(a *udf.Accs, out *stream.Columns) error {
	c.results++
	return c.Aggregate.Result(a, out)
}

// applied takes an agenda in one call, as a plug-in does: one operation after the other.
type applied struct{ *tally }

func (c applied) Apply(accs *udf.Accs, ops []udf.ContentOp, rows *udf.Rows, out *stream.Columns) error {
	c.applies++
	var one udf.Accs
	for _, op := range ops {
		one.Reset(accs.Width)
		one.Append(accs.At(int(op.Acc)))
		var err error
		switch op.What {
		case udf.OpAdd:
			sub := *rows
			sub.Sel, sub.Group, sub.Groups = rows.Sel[op.Row:op.Row+1], []uint32{0}, 1
			err = c.Aggregate.Add(&one, &sub)
		case udf.OpEmit:
			err = c.Aggregate.Result(&one, out)
		case udf.OpReset:
			err = c.Aggregate.Create(&one, 1)
		}
		if err != nil {
			return err
		}
		copy(accs.At(int(op.Acc)), one.At(0))
	}
	return nil
}

// The firings of a batch wait for its end, so that it takes one call of each sort (E6, E7).
// Only functions that cannot take several stages at once are called for each: a key that
// fires k times in a batch makes k.
func TestFiringsOfABatchTakeOneCall(t *testing.T) {
	purging := trigger.NewPurging(trigger.NewCount(2))
	for _, c := range []struct {
		name       string
		keys, each int // records: of each key so many, the keys in turn
		trigger    trigger.Trigger
		wm         string
		batches    int // that wait for each other
		stages     int
		rows       int
	}{
		{"300 keys fire at their second record", 300, 2, trigger.NewCount(2), "5", 1, 1, 300},
		{"and purge", 300, 2, purging, "5", 1, 1, 300},
		{"nothing fires but the windows' ends", 300, 2, trigger.NewEventTime(), "9", 1, 1, 300},
		{"each key fires twice", 300, 4, trigger.NewCount(2), "5", 1, 2, 600},
		{"each key fires twice and purges", 300, 4, purging, "5", 1, 2, 600},
		{"one key fires at every second record", 1, 100, trigger.NewCount(2), "5", 1, 50, 50},
		{"not more than 1,024 wait", 1500, 2, trigger.NewCount(2), "5", 2, 2, 1500},
	} {
		for _, contents := range []string{"lists", "accumulators", "an agenda"} {
			t.Run(c.name+"/"+contents, func(t *testing.T) {
				var script strings.Builder
				for range c.each {
					for k := range c.keys {
						fmt.Fprintf(&script, "k%d@1 ", k)
					}
				}
				fn, counts := &visits{states: "key", list: contents == "lists"}, &tally{}
				got := play(t, script.String()+"wm="+c.wm, 1<<20, false, func(out Output) (Operator, error) {
					s := processSpec(t, fn, tumbling(t, 10), 0)
					s.Trigger = c.trigger
					switch contents {
					case "accumulators":
						counts.Aggregate = s.Functions[0].Agg
						s.Functions[0].Agg = counts
					case "an agenda":
						counts.Aggregate = s.Functions[0].Agg
						s.Functions[0].Agg = applied{counts}
					}
					return NewGeneral(s.GeneralConfig, out)
				})
				if fn.calls != c.batches {
					t.Errorf("the process function was called %d times, want %d", fn.calls, c.batches)
				}
				want := tally{Aggregate: counts.Aggregate}
				switch contents {
				case "accumulators":
					want.adds, want.results = c.stages, c.stages
				case "an agenda":
					want.applies = c.batches
					want.adds = 0
				}
				if *counts != want {
					t.Errorf("got calls %+v, want %+v", *counts, want)
				}
				rows := 0
				for _, line := range got {
					if !strings.Contains(line, "side") {
						rows++
					}
				}
				if rows != c.rows {
					t.Errorf("%d rows, want %d", rows, c.rows)
				}
			})
		}
	}
}

// The same records in one batch, in several and one by one give the same rows, in whatever
// way functions are called, also where firings are refused or break a function down.
func TestAnAgendaChangesNothing(t *testing.T) {
	session, err := NewSession(5, false)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	for n := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, n))
		pick := func(list ...trigger.Trigger) trigger.Trigger { return list[r.IntN(len(list))] }
		count := trigger.NewCount(int64(1 + r.IntN(4)))
		fires := pick(count, trigger.NewPurging(count), trigger.NewEventTime(), trigger.NewPurging(trigger.NewEventTime()),
			trigger.NewContinuous(trigger.EventTime, stream.Time(1+r.IntN(6))), trigger.NewCountOrTimeout(2, 3, trigger.EventTime))
		assign := []Assigner{tumbling(t, 10), sliding(t, 12, 4), session}[r.IntN(3)]
		lateness := stream.Time(r.IntN(12))
		fn := visits{states: []string{"", "key", "window", "key window"}[r.IntN(4)], list: r.IntN(3) == 0, refuse: int64(r.IntN(5)), trap: int64(r.IntN(5))}
		if assign == session {
			fn.states = strings.TrimSuffix(fn.states, "window")
		}
		ttl := stream.Time(r.IntN(3) * 7)
		var script strings.Builder
		wm := 0
		for range 5 + r.IntN(60) {
			fmt.Fprintf(&script, "%c@%d=1 ", 'a'+rune(r.IntN(3)), max(0, wm+r.IntN(20)-8))
			if r.IntN(4) == 0 {
				wm += r.IntN(5)
				fmt.Fprintf(&script, "wm=%d ", wm)
			}
		}
		script.WriteString("wm=max")
		run := func(size int, restore, agenda bool) []string {
			fn := fn
			got := play(t, script.String(), size, restore, func(out Output) (Operator, error) {
				s := processSpec(t, &fn, assign, lateness)
				s.Trigger, s.Fine, s.Process.TTL = fires, true, ttl
				if agenda && !fn.list {
					s.Functions[0].Agg = applied{&tally{Aggregate: s.Functions[0].Agg}}
				}
				return NewGeneral(s.GeneralConfig, out)
			})
			sortKeys(got)
			slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:1], b[:1]) }) // order is promised per key
			return got
		}
		want := run(1, false, false)
		for _, size := range []int{1, 3, 1000} {
			for _, agenda := range []bool{false, true} {
				for _, restore := range []bool{false, true} {
					if got := run(size, restore, agenda); !slices.Equal(got, want) {
						t.Fatalf("seed %d, %d: %+v, ttl %d, batches of %d, agenda %v, restored %v: %s\ngot\n%s\nwant\n%s", seed, n, fn, ttl, size, agenda, restore, script.String(), strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
			}
		}
	}
}
