package window

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// The rules of S105, by hand: a subtask takes over key groups of a task that stood at 100
// and of one that stood at 50. Records come by arrival, below the floor of the first. Keys
// "a" and "c" are in different key groups.

// floorStep is one thing that happens, and what must come of it.
type floorStep struct {
	in   string // "a@71": a record; "wm=60", "clock=9": time; "cut": state is saved and restored
	want string // lines, with ; between them
}

func TestFloors(t *testing.T) {
	count := func(t *testing.T) []Function { return []Function{builtin(t, "count", 0)} }
	sliding, err := NewSliding(20, 10, 0, false)
	sliding = mustAssigner(t, sliding, err)
	session, err := NewSession(10, false)
	session = mustAssigner(t, session, err)
	clocked, err := NewTumbling(10, 0, true)
	clocked = mustAssigner(t, clocked, err)
	ends := []floorStep{
		{"a@71", "late a at 71"},                          // cleanup 79+20 <= 100, though the watermark is 50
		{"a@86", "a [80,90) update r1 2 behind 50"},       // 89 <= 100: at once
		{"a@106", ""},                                     // 109 > 100
		{"c@46", "c [40,50) update r1 2 behind 50"},       // of the task that stood at 50
		{"c@30", "c [30,40) on_time r0 1 behind 50"},      // cleanup 59 > 50
		{"c@29", "late c at 29"},                          // cleanup 49 <= 50
		{"wm=60", "c [50,60) on_time r0 1 behind 58"},     // 59, and a's windows have fired
		{"a@79", "late a at 79"},                          // still by the floor
		{"c@72", ""},                                      //
		{"cut", ""},                                       // while a stands ahead
		{"a@95", "a [90,100) update r1 2 behind 60"},      // 99 <= 100
		{"wm=99", "c [70,80) on_time r0 1 behind 78"},     // and not a's [80,90) or [90,100) again
		{"wm=100", ""},                                    // the floor
		{"a@88", "a [80,90) update r2 3 behind 100"},      // cleanup 109 > 100
		{"wm=110", "a [100,110) on_time r0 2 behind 108"}, // 109
	}
	for _, c := range []struct {
		name        string
		spec        func(t *testing.T) Spec
		ahead       []string // records of the task at 100, before it came there
		behind      []string // of that at 50
		steps       []floorStep
		beforehand  int // rows that both tasks have given
		lateRecords int64
	}{
		{
			name: "tumbling windows", ahead: []string{"a@75", "a@85", "a@95", "a@105"}, behind: []string{"c@45", "c@55"}, beforehand: 4,
			spec: func(t *testing.T) Spec {
				return stepOf(&shape{lateness: 20}, tiles(10, 0), trigger.NewEventTime(), count(t))
			},
			steps: ends, lateRecords: 3,
		},
		{
			name: "tumbling windows of lists", ahead: []string{"a@75", "a@85", "a@95", "a@105"}, behind: []string{"c@45", "c@55"}, beforehand: 4,
			spec: func(t *testing.T) Spec {
				p := stepOf(&shape{lateness: 20}, tiles(10, 0), trigger.NewEventTime(), count(t))
				p.Evictor = &Evictor{Count: 100}
				return p
			},
			steps: ends, lateRecords: 3,
		},
		{
			name: "sliding windows", ahead: []string{"a@95"}, behind: []string{"c@45"}, beforehand: 2,
			spec: func(t *testing.T) Spec {
				return stepOf(&shape{lateness: 5}, sliding, trigger.NewEventTime(), count(t))
			},
			steps: []floorStep{
				{"a@80", "a [80,100) update r1 2 behind 50"}, // [70,90) is gone: 94 <= 100
				{"a@79", "late a at 79"},                     // [60,80) and [70,90) are
				{"c@40", "c [30,50) update r1 2 behind 50"},  // [40,60) is to come
				{"cut", ""},
				{"wm=60", "c [40,60) on_time r0 2 behind 58"},
				{"wm=100", ""}, // [80,100) of a has fired
				{"wm=110", "a [90,110) on_time r0 1 behind 108"},
			},
			lateRecords: 1,
		},
		{
			name: "sessions", ahead: []string{"a@70", "a@88"}, behind: []string{"c@35"}, beforehand: 3,
			spec: func(t *testing.T) Spec {
				return stepOf(&shape{lateness: 20}, session, trigger.NewEventTime(), count(t))
			},
			steps: []floorStep{
				{"a@60", "late a at 60"},                     // 69+20 <= 100, and [70,80) is gone, too: 79+20
				{"a@79", "a [79,98) on_time r1 2 behind 50"}, // joins [88,98), which has fired
				{"a@95", ""}, // [79,105)
				{"cut", ""},
				{"wm=60", ""},
				{"wm=98", ""}, // of a nothing ends below the floor
				{"wm=105", "a [79,105) on_time r2 3 behind 103"},
			},
			lateRecords: 1,
		},
		{
			name: "timers that were past due", ahead: []string{"wm=100", "a@60"}, behind: []string{"wm=50", "c@40"}, beforehand: 0,
			spec: func(t *testing.T) Spec {
				return stepOf(&shape{}, tiles(1000, 0), trigger.NewCountOrTimeout(9, 7, trigger.EventTime), count(t))
			},
			steps: []floorStep{
				{"wm=51", "c [0,1000) early r0 1 behind 50"}, // 47 at the next step of c's time
				{"wm=99", ""}, // 67 of a: its time is 100 still
				{"cut", ""},
				{"wm=100", ""},
				{"wm=101", "a [0,1000) early r0 1 behind 100"},
			},
		},
		{
			name: "windows by the clock", ahead: []string{"clock=17", "a@1"}, behind: []string{"clock=25", "c@1"}, beforehand: 0,
			spec: func(t *testing.T) Spec {
				return stepOf(&shape{}, clocked, trigger.NewProcessingTime(), count(t))
			},
			steps: []floorStep{
				{"a@1", ""}, // of [20,30): the clock is the highest that was seen
				{"cut", ""},
				{"clock=25", "a [10,20) on_time r0 1 behind 50"}, // overdue (S103), and the watermark has no say
				{"wm=70", ""},
				{"clock=29", "c [20,30) on_time r0 1 behind 70;a [20,30) on_time r0 1 behind 70"},
			},
		},
		{
			name: "the last two", ahead: []string{"a@1"}, behind: []string{"c@1"}, beforehand: 0,
			spec: func(t *testing.T) Spec {
				p := stepOf(&shape{}, NewGlobal(), trigger.NewCount(2), count(t))
				p.Evictor = &Evictor{Count: 2}
				return p
			},
			steps: []floorStep{
				{"a@1", "a [-9223372036854775808,9223372036854775807)  r0 2 behind 50"}, // nothing is late (S80)
				{"cut", ""},
				{"c@1", "c [-9223372036854775808,9223372036854775807)  r0 2 behind 50"},
				{"wm=200", ""},
				{"a@1", ""},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old timely
			open := func(out Output) Operator {
				op, err := New(c.spec(t), out)
				return opened(t, op, err)
			}
			ahead, behind := open(&old), open(&old)
			for _, in := range c.ahead {
				happens(t, ahead, in, stream.MinTime)
			}
			happens(t, ahead, "wm=100", stream.MinTime)
			for _, in := range c.behind {
				happens(t, behind, in, stream.MinTime)
			}
			happens(t, behind, "wm=50", stream.MinTime)
			if len(old.lines) != c.beforehand {
				t.Fatalf("the tasks before gave %q", old.lines)
			}
			one, two := cutOf(ahead), cutOf(behind)
			if one.Groups[0].Group == two.Groups[0].Group {
				t.Fatal("the keys are in one key group")
			}
			var out timely
			op := open(&out)
			r := one.AsItWas()
			r.Tasks, r.Exact, r.Groups = append(r.Tasks, two.Task), false, append(r.Groups, two.Groups...)
			if err := op.Restore(r); err != nil {
				t.Fatal(err)
			}
			if op.Watermark() != 50 {
				t.Fatalf("it stands at %d", op.Watermark())
			}
			for i, s := range c.steps {
				if s.in == "cut" {
					before := op
					op = open(&out)
					restored(t, op, before)
					if !slices.Equal(stateOf(op), stateOf(before)) || string(saved(op)) != string(saved(before)) {
						t.Fatalf("%s: another state after a restore while key groups stand ahead:\n%q\n%q", c.name, stateOf(op), stateOf(before))
					}
					continue
				}
				happens(t, op, s.in, op.Watermark())
				for n, l := range out.lines {
					if at, _, cut := strings.Cut(l, " for ["); cut {
						out.lines[n] = at
					}
				}
				if got := strings.Join(out.lines, ";"); got != s.want {
					t.Errorf("step %d, %s: got %q, want %q", i, s.in, got, s.want)
				}
				out.lines = nil
			}
			if l := op.Ledger(); l.Late != c.lateRecords {
				t.Errorf("%d late records, want %d: %+v", l.Late, c.lateRecords, l)
			}
		})
	}
}

// happens gives an operator a record or a watermark, or moves its clock.
func happens(t *testing.T, op Operator, in string, wm stream.Time) {
	t.Helper()
	b := batchOf(nil)
	var at stream.Time
	if text, ok := strings.CutPrefix(in, "clock="); ok {
		if _, err := fmt.Sscan(text, &at); err != nil {
			t.Fatal(err)
		}
		if err := op.Clock(at); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, ok := strings.CutPrefix(in, "wm="); ok {
		if _, err := fmt.Sscan(text, &at); err != nil {
			t.Fatal(err)
		}
		b.Trailing = at
	} else {
		key, text, _ := strings.Cut(in, "@")
		if _, err := fmt.Sscan(text, &at); err != nil {
			t.Fatal(err)
		}
		b = batchOf([]row{{key, at, 1, wm}})
	}
	b.SetKeys([]int{0})
	if err := op.Process(b); err != nil {
		t.Fatal(err)
	}
}
