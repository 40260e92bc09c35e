package window

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/engine/breaker"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// Stored state must load for ever. testdata/state/v1.txt has cuts that the first version of
// each layout wrote, as hexadecimal, with what can be asked of an operator that takes them:
//
//	job <name>
//	task <hex> | group <number> <floor> <hex> | is <line>
//
// A new version of a layout adds a file, and this one stays as it is. The test prints the
// file for a job that it has nothing of.

// goldenRows leave something of everything: what has fired and is kept, what is to fire, a
// session that grew after it had fired, a null, a list.
var goldenRows = []row{
	{"a", 12, 1, stream.MinTime}, {"c", 15, noValue, stream.MinTime}, {"", 31, 3, 25}, {"a", 13, 4, 25}, {"a", 38, 5, 25}, {"c", 27, 0, 30}, {"a", 26, 2, 30}, {"c", 44, 7, 33},
}

func goldenJobs() []rescaled {
	step := func(a Assigner, err error, tr trigger.Trigger, fns []Function, edit func(*Spec)) Spec {
		if err != nil {
			panic("BUG: " + err.Error())
		}
		p := stepOf(&shape{lateness: 30}, a, tr, fns)
		if edit != nil {
			edit(&p)
		}
		return p
	}
	sets := func(t *testing.T) []Function { return []Function{builtin(t, "sum", 2), builtin(t, "distinct", 1)} }
	job := func(name string, spec func(t *testing.T) Spec) rescaled {
		return rescaled{name: name, spec: func(t *testing.T, _ *rand.Rand, _ *shape) Spec { return spec(t) }}
	}
	return []rescaled{
		job("tumbling", func(t *testing.T) Spec { return step(tiles(10, 0), nil, trigger.NewEventTime(), sets(t), nil) }),
		job("states and failures", func(t *testing.T) Spec {
			bad := moody{refuse: 0, trap: -1, result: 99}
			return step(tiles(10, 0), nil, trigger.NewEventTime(), []Function{{"moody", &blaming{&bad}, []int{2}}}, func(p *Spec) {
				p.Process = &Process{Fn: &visits{states: "key window"}, Inputs: []ProcessInput{{Value: 0, Col: 0}}, TTL: 100}
				p.SetAside = true
				p.Guard = &Guard{Breaker: breaker.New(breaker.Limit{Failures: 2, Within: 400}), Groups: rescaleGroups, Adds: []string{"moody"}, Fires: []string{"moody"}}
			})
		}),
		job("sliding", func(t *testing.T) Spec {
			a, err := NewSliding(20, 8, 0, false)
			return step(a, err, trigger.NewEventTime(), sets(t), nil)
		}),
		job("the last three, every two", func(t *testing.T) Spec {
			return step(NewGlobal(), nil, trigger.NewCount(2), fractions(t), func(p *Spec) { p.Evictor = &Evictor{Count: 3} })
		}),
		job("sessions", func(t *testing.T) Spec {
			a, err := NewSession(5, false)
			return step(a, err, trigger.NewEventTime(), sets(t), nil)
		}),
		job("panes", func(t *testing.T) Spec {
			a, err := NewSliding(20, 10, 0, false)
			return step(a, err, trigger.NewCountOrTimeout(3, 9, trigger.EventTime), sets(t), nil)
		}),
		job("sessions of lists", func(t *testing.T) Spec {
			a, err := NewSession(5, false)
			return step(a, err, trigger.NewEventTime(), fractions(t), func(p *Spec) { p.Evictor = &Evictor{Count: 3} })
		}),
		job("panes that share slices", func(t *testing.T) Spec {
			a, err := NewSliding(64, 8, 0, false)
			return step(a, err, trigger.NewContinuous(trigger.EventTime, 50), sets(t), nil)
		}),
		job("windows of a plug-in", func(t *testing.T) Spec {
			return step(NewUserAssigner(&strides{}, []int{1}), nil, trigger.NewEventTime(), sets(t), nil)
		}),
		job("a trigger of a plug-in", func(t *testing.T) Spec {
			return step(tiles(10, 0), nil, trigger.NewUser(&fickle{}, []int{2}), sets(t), nil)
		}),
	}
}

func TestStoredStateLoads(t *testing.T) {
	text, err := os.ReadFile("testdata/state/v1.txt")
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string][]string{}
	name := ""
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		} else if job, ok := strings.CutPrefix(line, "job "); ok {
			name = job
			continue
		}
		stored[name] = append(stored[name], line)
	}
	for _, job := range goldenJobs() {
		t.Run(job.name, func(t *testing.T) {
			op := openSubtasks(t, job, 0, 1).ops[0]
			lines := stored[job.name]
			if lines == nil {
				feedTo(t, op, goldenRows, 3, 34)
				t.Fatalf("there is none; the job leaves\njob %s\n%s", job.name, strings.Join(written(op), "\n"))
			}
			r := state.Restore{Exact: true, Counts: true}
			for _, line := range lines {
				words := strings.Fields(line)
				b, err := hex.DecodeString(words[len(words)-1])
				g := state.GroupCut{State: b}
				switch words[0] {
				case "task":
					r.Tasks = [][]byte{b}
				case "group":
					if _, err := fmt.Sscan(words[1]+" "+words[2], &g.Group, &g.Floor); err != nil {
						t.Fatal(err)
					}
					r.Groups = append(r.Groups, g)
				default:
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := op.Restore(r); err != nil {
				t.Fatal(err)
			}
			if got := written(op); !slices.Equal(got, lines) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
			}
			// What the job leaves today is the same, too.
			today := openSubtasks(t, job, 0, 1).ops[0]
			if feedTo(t, today, goldenRows, 3, 34); !slices.Equal(written(today), lines) {
				t.Errorf("today it leaves\n%s", strings.Join(written(today), "\n"))
			}
		})
	}
}

// written is a cut, and what can be asked of the operator, as lines of the file.
func written(op Operator) []string {
	c := cutOf(op)
	lines := []string{fmt.Sprintf("task %x", c.Task)}
	for _, g := range c.Groups {
		lines = append(lines, fmt.Sprintf("group %d %d %x", g.Group, g.Floor, g.State))
	}
	for _, l := range stateOf(op) {
		lines = append(lines, "is "+strconv.QuoteToASCII(l)) // a key that is null is no text
	}
	return lines
}

// The bytes of a cut by hand, as STATE.md draws them: two tumbling windows of a key that
// counts and adds up, at watermark 15.
func TestStateByHand(t *testing.T) {
	var w []byte
	u8 := func(b ...byte) { w = append(w, b...) }
	u32 := func(n uint32) { w = binary.LittleEndian.AppendUint32(w, n) }
	i64 := func(n int64) { w = binary.LittleEndian.AppendUint64(w, uint64(n)) }
	header := func() {
		w = nil
		u8(1, 1, 0, 0) // tumbling windows, version 1, no flags, no words of a trigger
		u32(8)         // one count
		u32(0)         // and nothing of varying size
	}
	header()
	i64(15)                                                         // watermark
	i64(int64(stream.MinTime))                                      // clock
	i64(0)                                                          // arrivals
	for _, n := range []int64{0, 0, 0, 0, 3, 3, 0, 0, 1, 1, 0, 0} { // counted 3, open 3, behind 1, late accepted 1
		i64(n)
	}
	task := w
	header()
	u32(2) // windows
	for _, x := range []struct {
		start   int64
		records int64
		firings uint32
	}{{0, 2, 2}, {10, 1, 0}} {
		i64(x.start)
		i64(x.start + 10)
		u32(1) // cells
		u32(1)
		u8('a')
		u32(8)
		i64(x.records) // the count
		i64(x.records)
		u32(x.firings)
	}
	op, err := New(stepOf(&shape{lateness: 50}, tiles(10, 0), trigger.NewEventTime(), []Function{builtin(t, "count", 0)}), &recorder{})
	opened(t, op, err)
	feedTo(t, op, []row{{"a", 3, 1, stream.MinTime}, {"a", 12, 1, 10}, {"a", 4, 1, 12}}, 3, 15)
	c := cutOf(op)
	if !bytes.Equal(c.Task, task) {
		t.Errorf("the task is %x, want %x", c.Task, task)
	}
	if len(c.Groups) != 1 || c.Groups[0].Group != groupOfRow(row{key: "a"}) || c.Groups[0].Floor != 15 || !bytes.Equal(c.Groups[0].State, w) {
		t.Errorf("the key groups are %+v, want %x", c.Groups, w)
	}
}
