package window

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// tally counts the calls into an aggregate.
type tally struct {
	udf.Aggregate
	adds, results int
}

func (c *tally) Add(a *udf.Accs, r *udf.Rows) error { c.adds++; return c.Aggregate.Add(a, r) }

func (c *tally) Result(a *udf.Accs, out *stream.Columns) error {
	c.results++
	return c.Aggregate.Result(a, out)
}

// The firings of a batch wait for its end, so that it takes one call of each sort (E6, E7),
// unless a record comes into a pane that waits, or a pane is to fire again: a key that fires
// k times in a batch takes k.
func TestFiringsOfABatchTakeOneCall(t *testing.T) {
	purging := trigger.NewPurging(trigger.NewCount(2))
	for _, c := range []struct {
		name       string
		keys, each int // records: of each key so many, the keys in turn
		trigger    trigger.Trigger
		wm         string
		calls      int // of each sort
		rows       int
	}{
		{"300 keys fire at their second record", 300, 2, trigger.NewCount(2), "5", 1, 300},
		{"and purge", 300, 2, purging, "5", 1, 300},
		{"nothing fires but the windows' ends", 300, 2, trigger.NewEventTime(), "9", 1, 300},
		{"each key fires twice", 300, 4, trigger.NewCount(2), "5", 2, 600},
		{"each key fires twice and purges", 300, 4, purging, "5", 2, 600},
		{"one key fires at every second record", 1, 100, trigger.NewCount(2), "5", 50, 50},
		{"not more than 1,024 wait", 1500, 2, trigger.NewCount(2), "5", 2, 1500},
	} {
		for _, lists := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lists %v", c.name, lists), func(t *testing.T) {
				var script strings.Builder
				for range c.each {
					for k := range c.keys {
						fmt.Fprintf(&script, "k%d@1 ", k)
					}
				}
				fn, counts := &visits{states: "key", list: lists}, &tally{}
				got := play(t, script.String()+"wm="+c.wm, 1<<20, false, func(out Output) (Operator, error) {
					s := processSpec(t, fn, tumbling(t, 10), 0)
					s.Trigger = c.trigger
					if !lists {
						counts.Aggregate = s.Functions[0].Agg
						s.Functions[0].Agg = counts
					}
					return NewGeneral(s.GeneralConfig, out)
				})
				if fn.calls != c.calls {
					t.Errorf("the process function was called %d times, want %d", fn.calls, c.calls)
				}
				if !lists && (counts.adds != c.calls || counts.results != c.calls) {
					t.Errorf("%d calls to add and %d for results, want %d", counts.adds, counts.results, c.calls)
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
