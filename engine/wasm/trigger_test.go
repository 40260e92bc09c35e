package wasm

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tidemark/engine/agg"
	"tidemark/engine/harness"
	"tidemark/engine/job"
	rows "tidemark/engine/result"
	"tidemark/engine/stream"
	builtin "tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/engine/window"
	"tidemark/internal/naive"
	"tidemark/spec"
)

// starter makes triggers of one module.
type starter struct {
	ps   *Plugins
	p    *job.Plugin
	info job.FunctionInfo
}

func newStarter(tb testing.TB, dir string) *starter {
	tb.Helper()
	s := &starter{ps: host(tb, map[string][]byte{"plug": build(tb, dir)}), p: &job.Plugin{Name: "plug"}}
	var err error
	if s.info, err = s.ps.Describe(s.p); err != nil {
		tb.Fatal(err)
	}
	if s.info.Kind != job.TriggerKind {
		tb.Fatalf("it is described as %v", s.info)
	}
	return s
}

func (s *starter) start(tb testing.TB, args ...job.Arg) (udf.Trigger, error) {
	var kinds []stream.Kind
	for _, in := range s.info.Inputs {
		kinds = append(kinds, in.Kinds[0])
	}
	return s.ps.Trigger(tb.Context(), s.p, &job.Trigger{Plugin: "plug", Args: args}, kinds)
}

func number(name string, v int64) job.Arg { return job.Arg{Name: name, Kind: stream.Int64, Int: v} }
func truth(name string, v bool) job.Arg   { return job.Arg{Name: name, Kind: stream.Bool, Bool: v} }
func word(name, v string) job.Arg         { return job.Arg{Name: name, Kind: stream.String, Str: v} }

// ops are operations on one table of values, below 0: null.
func opsOf(values []int64, states [][]byte, ops ...udf.PaneOp) *udf.TriggerOps {
	c := &stream.Columns{N: len(values), Cols: []stream.Column{{Kind: stream.Int64}}}
	in := &udf.TriggerOps{Ops: ops, Records: udf.Timed{Columns: c, Cols: []int{0}}}
	for i, v := range values {
		if v < 0 {
			c.Cols[0].AppendNull()
		} else {
			c.Cols[0].AppendInt(v)
		}
		in.Records.Time = append(in.Records.Time, stream.Time(i))
	}
	for _, s := range states {
		in.States.Add(s)
	}
	return in
}

// on puts the operations on slots.
func on(in *udf.TriggerOps, slots ...uint32) *udf.TriggerOps {
	in.States.Slot = slots
	return in
}

var fires = map[uint8]string{0: "-", udf.VerdictFire: "F", udf.VerdictPurge: "P", udf.VerdictFire | udf.VerdictPurge: "FP"}

func decide(t *testing.T, fn udf.Trigger, in *udf.TriggerOps) string {
	t.Helper()
	var out udf.Decisions
	out.Reset(len(in.Ops))
	if err := fn.Decide(in, &out); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, v := range out.Verdict {
		text += fires[v]
	}
	return text
}

// Operations on several windows go in one call; one with the state of an earlier one finds
// what that left, also where a state moves from window to window.
func TestATriggerInOneCall(t *testing.T) {
	s := newStarter(t, "testdata/triggers")
	if want := (job.TriggerInfo{Merges: true}); *s.info.Trigger != want {
		t.Errorf("got %+v, want %+v", *s.info.Trigger, want)
	}
	fn, err := s.start(t, word("kind", "count"), number("n", 3))
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	w := stream.Window{Start: 0, End: 100}
	element := func(row uint32) udf.PaneOp { return udf.PaneOp{What: udf.OnElement, Window: w, Row: row} }
	in := on(opsOf([]int64{1, -1, 3, 4}, [][]byte{nil, nil, nil}, element(0), element(1), element(2), element(3), element(0),
		udf.PaneOp{What: udf.OnMerge, Window: w, From: 0}, udf.PaneOp{What: udf.OnMerge, Window: w, From: 1}, element(2)), 0, 1, 1, 0, 1, 2, 2, 2)
	// Window 0 has 2 records, window 1 has fired at its third, and 2 has taken over both.
	if got, want := decide(t, fn, in), "----F--F"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	fn2, err := s.start(t, word("kind", "continuous"), number("interval", 10))
	if err != nil {
		t.Fatal(err)
	}
	defer fn2.Close()
	var out udf.Decisions
	out.Reset(3)
	in = on(opsOf([]int64{1, 1}, [][]byte{nil}, udf.PaneOp{What: udf.OnElement, Window: w, Row: 1, Time: 1, Watermark: -5},
		udf.PaneOp{What: udf.OnEventTimer, Window: w, Time: 10, Watermark: 12}, udf.PaneOp{What: udf.OnClear, Window: w}), 0, 0, 0)
	if err := fn2.Decide(in, &out); err != nil {
		t.Fatal(err)
	}
	if want := (udf.Decisions{Verdict: []uint8{0, udf.VerdictFire, 0}, Timers: []udf.TimerChange{{Time: 99}, {Time: 10}, {Op: 1, Time: 20}, {Op: 2, Time: 20, Delete: true}}}); !reflect.DeepEqual(out, want) {
		t.Errorf("got  %+v\nwant %+v", out, want)
	}
}

// 100,000 operations on 50,000 windows do not fit into one frame: the states of one are in
// the next.
func TestATriggerInSeveralFrames(t *testing.T) {
	s := newStarter(t, "testdata/triggers")
	fn, err := s.start(t, word("kind", "count"), number("n", 2))
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	const n = 100_000
	in := opsOf([]int64{1}, make([][]byte, n/2))
	for i := range uint32(n) {
		in.Ops = append(in.Ops, udf.PaneOp{What: udf.OnElement})
		in.States.Slot = append(in.States.Slot, i%(n/2))
	}
	if got, want := decide(t, fn, in), strings.Repeat("-", n/2)+strings.Repeat("F", n/2); got != want {
		t.Error("not every second record of a window fires")
	}
}

func TestATriggerThatFails(t *testing.T) {
	s := newStarter(t, "testdata/triggers")
	fn, err := s.start(t, word("kind", "count"), number("n", 2), word("broken", "moody"))
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	for _, c := range []struct {
		value int64
		trap  bool
		want  string
	}{{13, false, "unlucky"}, {14, true, "panic: out of luck"}} {
		in := on(opsOf([]int64{1, c.value}, [][]byte{nil}, udf.PaneOp{What: udf.OnElement}, udf.PaneOp{What: udf.OnElement, Row: 1}), 0, 0)
		var out udf.Decisions
		out.Reset(2)
		f := (*udf.Failure)(nil)
		if err := fn.Decide(in, &out); !errors.As(err, &f) || f.Op != 1 || f.Trap != c.trap || !strings.HasPrefix(f.Message, c.want) {
			t.Errorf("%d: got %v", c.value, err)
		}
	}
	if _, err := s.start(t, word("kind", "count2")); err == nil || !strings.Contains(err.Error(), "plug-in plug refuses its arguments: no such kind") {
		t.Errorf("got %v", err)
	}
}

// An answer that contradicts SPEC.md is a failure, not a decision.
func TestAnswersOfATrigger(t *testing.T) {
	in := on(opsOf(nil, [][]byte{nil}, udf.PaneOp{}), 0)
	for _, c := range []struct {
		what uint32
		body []byte
		want string
	}{
		{0x8000_0000, []byte{7}, "a state is answered, which the manifest does not have"},
		{0, []byte{4, 0, 0, 0, 0, 0, 0, 0}, "verdict 4 does not exist"},
		{0, []byte{1, 0, 0, 0}, "an entry of kind 0x0 has 4 bytes, it must have 8"},
		{5, make([]byte, 8), "an entry is of kind 0x5, which this trigger does not answer"},
		{0x8000_0001, make([]byte, 8), "an entry is of kind 0x80000001, which this trigger does not answer"},
		{0x8000_0000, make([]byte, 1<<20+1), "a state has 1048577 bytes, at most 1048576 are allowed"},
	} {
		var out udf.Decisions
		out.Reset(1)
		fn := &trigger{keeps: len(c.body) != 1}
		if err := fn.decided(in, &out, 0, c.what, c.body); err == nil || err.Error() != c.want || out.Verdict[0] != 0 || len(out.Timers) > 0 {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// forgetful throws its instance away before every call.
type forgetful struct{ *trigger }

func (f forgetful) Decide(in *udf.TriggerOps, out *udf.Decisions) error {
	f.drop()
	return f.trigger.Decide(in, out)
}

// replacing makes triggers of the two modules in place of those of scenarios that they can
// stand for, and counts them. With amnesia each call meets a fresh instance.
func replacing(t *testing.T, amnesia bool, replaced map[string]int) harness.UserTrigger {
	some, round := newStarter(t, "testdata/triggers"), newStarter(t, "../../plugins/count_or_timeout")
	return func(st *spec.Trigger, _ builtin.Trigger) (udf.Trigger, error) {
		purges := st != nil && st.Type == "purging"
		if purges {
			st = st.Inner
		}
		if st == nil {
			return nil, nil
		}
		from, args := some, []job.Arg(nil)
		switch valid := st.N > 0; {
		case st.Type == "count" && valid:
			args = []job.Arg{word("kind", "count"), number("n", st.N)}
		case st.Type == "delta":
			args = []job.Arg{word("kind", "delta"), number("n", int64(st.Threshold)), truth("abs", st.Abs)}
		case st.Type == "event_time":
			args = []job.Arg{word("kind", "event_time")}
		case strings.HasPrefix(st.Type, "continuous_") && st.IntervalMS > 0:
			args = []job.Arg{word("kind", "continuous"), number("interval", st.IntervalMS), truth("clock", st.Type == "continuous_processing_time")}
		case st.Type == "count_or_timeout" && valid && st.AfterMS > 0 && !st.Purge && !purges:
			from, args = round, []job.Arg{number("n", st.N), number("after_ms", st.AfterMS), truth("by_the_clock", st.Domain == "processing")}
		default:
			return nil, nil
		}
		if from == some {
			args = append(args, truth("purge", purges))
		}
		fn, err := from.start(t, args...)
		if err != nil {
			return nil, err
		}
		g := fn.(*trigger)
		// One module stands for many triggers here, so that it cannot declare what each does.
		g.info.MayPurge = purges
		g.info.Merges = g.info.Merges && st.Type != "delta"
		replaced[st.Type]++
		if amnesia {
			return forgetful{g}, nil
		}
		return g, nil
	}
}

// Every published scenario with a trigger that there is as a plug-in gives the same with the
// plug-in, though its instance has forgotten everything before each call.
func TestScenariosWithTriggersOfAPlugIn(t *testing.T) {
	replaced := map[string]int{}
	user := replacing(t, true, replaced)
	for _, s := range spec.Published() {
		if s.Job.Window == nil || s.Job.Trigger == nil {
			continue
		}
		for _, restored := range []bool{false, true} {
			c := s
			if restored {
				c = spec.WithRestoreAfterEveryStep(s)
			}
			if d := harness.CheckVariant(&c, harness.Variant{Together: !restored, Parallelism: 1, Trigger: user}); d != "" {
				t.Errorf("%s, restored %v: %s", s.ID, restored, d)
			}
		}
	}
	for _, kind := range []string{"count", "delta", "continuous_event_time", "continuous_processing_time", "event_time"} {
		if replaced[kind] == 0 {
			t.Errorf("no scenario has a trigger %s", kind)
		}
	}
}

// Scenarios made at random, with sessions, disorder and lateness, give what the rules say
// with triggers of plug-ins, at any batch size and parallelism, restored or not.
func TestScenariosAtRandomWithTriggersOfAPlugIn(t *testing.T) {
	replaced, merging := map[string]int{}, 0
	user := replacing(t, false, replaced)
	for seed := uint64(1); seed <= 400; seed++ {
		s := naive.Generate(seed)
		if s.Job.Window == nil || s.Job.Trigger == nil {
			continue
		}
		n := sum(replaced)
		v := harness.Variant{Together: seed%2 == 0, Parallelism: 1, Trigger: user}
		if s.Job.IsKeyed() {
			v.Parallelism += int(seed % 3)
		}
		if seed%5 == 0 {
			s = spec.WithRestoreAfterEveryStep(s)
		}
		if d := harness.CheckVariant(&s, v); d != "" {
			t.Errorf("seed %d, %s: %s", seed, s.ID, d)
		}
		if sum(replaced) > n && strings.Contains(s.Job.Window.Type, "session") {
			merging++
		}
	}
	for _, kind := range []string{"count", "delta", "continuous_event_time", "continuous_processing_time", "event_time", "count_or_timeout"} {
		if replaced[kind] == 0 {
			t.Errorf("no scenario has a trigger %s", kind)
		}
	}
	if merging == 0 {
		t.Error("no scenario has sessions")
	}
	t.Logf("%v, %d with sessions", replaced, merging)
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// BenchmarkTrigger is a record of a window of one of 100 keys that a plug-in fires at every
// tenth one, in batches of as many records.
func BenchmarkTrigger(b *testing.B) {
	tiles, err := window.NewTumbling(1<<40, 0, false)
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newStarter(b, "testdata/triggers")
			fn, err := s.start(b, word("kind", "count"), number("n", 10))
			if err != nil {
				b.Fatal(err)
			}
			count, err := agg.New("count", nil)
			if err != nil {
				b.Fatal(err)
			}
			op, err := window.NewGeneral(window.GeneralConfig{Assigner: tiles, Trigger: builtin.NewUser(fn, []int{1}), GapCol: -1, ValueCol: -1,
				Key: []stream.Field{{Name: "k", Kind: stream.Int64}}, Functions: []window.Function{{Name: "n", Agg: count}}}, nobody{})
			if err != nil {
				b.Fatal(err)
			}
			defer op.Close()
			batch := &stream.Batch{}
			batch.Reset([]stream.Kind{stream.Int64, stream.Int64})
			for i := range size {
				batch.Cols[0].AppendInt(int64(i % 100))
				batch.Cols[1].AppendInt(1)
				batch.Time, batch.WM, batch.High = append(batch.Time, 5), append(batch.WM, stream.MinTime), append(batch.High, 5)
				batch.Split, batch.Pos, batch.Raw = append(batch.Split, 0), append(batch.Pos, 0), append(batch.Raw, stream.Str{})
				batch.N++
			}
			batch.Trailing = stream.MinTime
			batch.SetKeys([]int{0})
			b.ResetTimer()
			for n := 0; n < b.N; n += size {
				if err := op.Process(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// nobody takes what an operator produces.
type nobody struct{ window.Output }

func (nobody) Rows(*rows.Rows) error { return nil }
