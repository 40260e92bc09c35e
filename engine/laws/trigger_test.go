package laws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/harness"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// third fires at every third record of a window, a second after a record that waits, and at
// the window's end. It can be made to break a law.
type third struct {
	broken string
	calls  int
	seen   map[stream.Window]int64
}

func (g *third) Info() udf.TriggerInfo {
	return udf.TriggerInfo{Inputs: []udf.Input{{Name: "v", Kind: stream.Int64}}, MayPurge: g.broken == "may purge", Merges: g.broken != "no merge"}
}

func (g *third) Close() error { return nil }

// waiting is the state: how many records wait, and until when.
func waiting(state []byte) (n int64, until stream.Time) {
	if len(state) == 0 {
		return 0, stream.MinTime
	}
	return get(state), stream.Time(get(state[8:]))
}

func (g *third) Decide(in *udf.TriggerOps, out *udf.Decisions) error {
	g.calls++
	frame := int64(0) // records in this call
	for i := range in.Ops {
		op := &in.Ops[i]
		n, until := waiting(in.States.Get(i))
		timer := func(t stream.Time, del bool) {
			out.Timers = append(out.Timers, udf.TimerChange{Op: uint32(i), Time: t, Delete: del})
		}
		last := op.Window.End - 1
		switch op.What {
		case udf.OnElement:
			if g.broken == "refuses" && in.Records.Columns.Cols[in.Records.Cols[0]].Ints[op.Row] == 3 {
				return &udf.Failure{Op: i, Message: "no threes"}
			}
			frame++
			switch g.broken {
			case "cut":
				n = max(n, frame-1)
			case "repeat":
				n += int64(g.calls % 2)
			case "amnesia":
				if g.seen == nil || op.Watermark == stream.MinTime {
					g.seen = map[stream.Window]int64{}
				}
				n = g.seen[op.Window]
				g.seen[op.Window]++
			case "apart":
				n = max(n, int64(len(in.States.Data)-1))
			case "clear":
				out.Timers = append(out.Timers, udf.TimerChange{Op: uint32(i), Time: op.Window.End + 60_000, ProcessingTime: true})
			case "many timers":
				for k := range stream.Time(1_001) {
					timer(last-k, false)
				}
			}
			timer(last, false)
			if n++; n >= 3 {
				n = 0
				out.Verdict[i] = udf.VerdictFire
				if until != stream.MinTime {
					timer(until, true)
					until = stream.MinTime
				}
				if g.broken == "purges" || g.broken == "may purge" {
					out.Verdict[i] |= udf.VerdictPurge
				}
			} else if until == stream.MinTime {
				until = op.Time + 1000
				timer(until, false)
			}
		case udf.OnEventTimer:
			if op.Time == until || op.Time == last {
				out.Verdict[i] = udf.VerdictFire
				n = 0
				if until != stream.MinTime && until != op.Time {
					timer(until, true)
				}
				until = stream.MinTime
			}
			if g.broken == "endless" {
				timer(op.Time, false)
			}
		case udf.OnMerge:
			k, other := waiting(in.States.Data[op.From])
			n += k
			if other != stream.MinTime && (until == stream.MinTime || other < until) {
				until = other
				timer(until, false)
			}
			switch {
			case g.broken == "merge":
				n++
			case g.broken == "fires at merges" && k > 0:
				out.Verdict[i] = udf.VerdictFire
			}
		case udf.OnClear:
			timer(last, true)
			if until != stream.MinTime {
				timer(until, true)
			}
			if g.broken == "fires at the end" {
				out.Verdict[i] = udf.VerdictFire
			}
		}
		state := make([]byte, 16)
		put(state, n)
		put(state[8:], int64(until))
		in.States.Set(i, state)
	}
	return nil
}

func TestBrokenTriggers(t *testing.T) {
	for _, c := range []struct {
		broken, law string
		records     int // in the smallest input; 0: any
		got         string
	}{
		{"", "", 0, ""},
		{"no merge", "", 0, ""},
		{"may purge", "", 0, ""},
		{"refuses", "", 0, ""},
		{"repeat", "repeat", 1, ""},
		{"cut", "cut", 0, ""},
		{"apart", "apart", 0, ""},
		{"amnesia", "amnesia", 2, ""},
		{"purges", "verdict", 3, "fire and purge"},
		{"fires at merges", "verdict", 2, "fire"},
		{"fires at the end", "verdict", 1, "fire"},
		{"many timers", "timers", 1, "10"}, // a thousand and some
		{"endless", "timers", 1, "sets them anew"},
		{"clear", "clear", 1, "timers at ["},
		{"merge", "merge", 2, "fire"},
	} {
		for seed := range uint64(2) {
			r, err := Trigger{Info: (&third{broken: c.broken}).Info(), Open: func() (udf.Trigger, error) { return &third{broken: c.broken}, nil }}.Check(Options{Seed: seed, Records: 300})
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%q, seed %d", c.broken, seed)
			if r.Broken() != (c.law != "") || (r.Refused > 0) != (c.broken == "refuses") {
				t.Errorf("%s: broken is %v, %d refused", name, r.Broken(), r.Refused)
			}
			for _, l := range r.Laws {
				switch {
				case l.Name == c.law && l.Broken == nil:
					t.Errorf("%s: %s is not found", name, l.Name)
				case l.Name == c.law && (!strings.Contains(l.Broken.Got, c.got) || c.records > 0 && len(l.Broken.Input) != c.records):
					t.Errorf("%s: %s is shown by %+v", name, l.Name, *l.Broken)
				case l.Broken == nil && l.Judged == 0:
					t.Errorf("%s: %s is not judged", name, l.Name)
				case c.law == "" && l.Broken != nil:
					t.Errorf("%s: %s is %+v", name, l.Name, *l.Broken)
				}
			}
			if got := slices.ContainsFunc(r.Laws, func(l Law) bool { return l.Name == "merge" }); got != (c.broken != "no merge" && c.law != "timers") {
				t.Errorf("%s: merging is judged: %v", name, got)
			}
		}
	}
}

// The engine's own triggers keep the laws, as user code.
func TestBuiltinTriggersKeepTheLaws(t *testing.T) {
	for name, tr := range map[string]trigger.Trigger{
		"event time":                  trigger.NewEventTime(),
		"processing time":             trigger.NewProcessingTime(),
		"count":                       trigger.NewCount(3),
		"purging count":               trigger.NewPurging(trigger.NewCount(3)),
		"delta":                       trigger.NewDelta(5, true),
		"count or timeout":            trigger.NewCountOrTimeout(3, 700, trigger.EventTime),
		"count or timeout, clock":     trigger.NewCountOrTimeout(3, 700, trigger.ProcessingTime),
		"continuous":                  trigger.NewContinuous(trigger.EventTime, 700),
		"continuous, clock":           trigger.NewContinuous(trigger.ProcessingTime, 700),
		"never":                       trigger.NewNever(),
		"end of stream":               trigger.NewEndOfStream(),
		"a timeout of event time":     trigger.NewProcessingTimeout(trigger.NewEventTime(), 900, false, false),
		"a timeout that is set anew":  trigger.NewProcessingTimeout(trigger.NewCount(4), 900, true, false),
		"a timeout that starts again": trigger.NewProcessingTimeout(trigger.NewContinuous(trigger.EventTime, 700), 900, true, true),
	} {
		t.Run(name, func(t *testing.T) {
			open := func() (udf.Trigger, error) { return harness.InUserCode(nil, tr) }
			fn, err := open()
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(2) {
				r, err := Trigger{Info: fn.Info(), Open: open}.Check(Options{Seed: seed, Records: 200})
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range r.Laws {
					if l.Broken != nil || l.Judged == 0 {
						t.Errorf("seed %d: %s: %d comparisons, %+v", seed, l.Name, l.Judged, l.Broken)
					}
				}
			}
		})
	}
}

// A story that was told by hand: three records of one window, one of another.
func TestWhatHappensToWindows(t *testing.T) {
	records := []Record{
		{Time: 1_000, Values: []Value{{Int: 1}}},
		{Time: 1_500, Values: []Value{{Int: 1}}},
		{Time: 1_200, Values: []Value{{Int: 1}}, Key: 1},
		{Time: 4_500, Values: []Value{{Int: 1}}},  // the watermark is 2,500: both timeouts at 2,000 and 2,200
		{Time: 12_500, Values: []Value{{Int: 1}}}, // 10,500: the timeout at 5,500, the end; the others' end
		{Time: 8_000, Values: []Value{{Int: 1}}},  // late; it sets timers at 9,000 and the end
		{Time: 17_001, Values: []Value{{Int: 1}}}, // 15,001: the window has gone; the timeout at 13,500
		{Time: 9_000, Values: []Value{{Int: 1}}},  // too late
	}
	h, err := drive(triggerShower{&third{}}, records, false, false)
	if err != nil || len(h.broken) > 0 || h.refused != nil {
		t.Fatal(err, h.broken, h.refused)
	}
	want := []string{
		"a record at 1000 in the window [0, 10000): continue",
		"a record at 1500 in the window [0, 10000): continue",
		"a record at 1200 in the window [0, 10000): continue",
		"a timer at 2000 in the window [0, 10000): fire",
		"a timer at 2200 in the window [0, 10000): fire",
		"a record at 4500 in the window [0, 10000): continue",
		"a timer at 5500 in the window [0, 10000): fire",
		"a timer at 9999 in the window [0, 10000): fire",
		"a timer at 9999 in the window [0, 10000): fire",
		"a record at 12500 in the window [10000, 20000): continue",
		"a record at 8000 in the window [0, 10000): continue",
		"a timer at 9000 in the window [0, 10000): fire",
		"a timer at 9999 in the window [0, 10000): fire",
		"a timer at 13500 in the window [10000, 20000): fire",
		"a record at 17001 in the window [10000, 20000): continue",
		"a timer at 18001 in the window [10000, 20000): fire",
		"a timer at 19999 in the window [10000, 20000): fire",
	}
	if w, g, different := differs(want, h.story()); different {
		t.Errorf("want %s\ngot  %s\nof\n%s", w, g, strings.Join(h.story(), "\n"))
	}
}
