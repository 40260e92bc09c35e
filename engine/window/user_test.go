package window

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/agg"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// fickle is user code that decides when windows fire, in as many ways as it takes to make
// a host unhappy. Its state is the records since the last firing, one byte each, and it
// fires at every second one. What it does besides hangs on the value of a record:
//
//	13 refuses   14 breaks down   20 purges   30+n sets a timer n ms after the record
type fickle struct {
	purges, merges bool
	timer          func(op *udf.PaneOp, out *udf.Decisions, i uint32) *udf.Failure // nil: it fires
	merge, clear   *udf.Failure
	calls, closed  int
}

func (f *fickle) Info() udf.TriggerInfo {
	return udf.TriggerInfo{Name: "fickle", Inputs: []udf.Input{{Name: "v", Kind: stream.Float64}}, MayPurge: f.purges, Merges: f.merges}
}

func (f *fickle) Close() error { f.closed++; return nil }

func (f *fickle) Decide(in *udf.TriggerOps, out *udf.Decisions) error {
	f.calls++
	for i := range in.Ops {
		op, state := &in.Ops[i], in.States.Get(i)
		set := func(t stream.Time) {
			out.Timers = append(out.Timers, udf.TimerChange{Op: uint32(i), Time: t})
		}
		switch op.What {
		case udf.OnElement:
			v := in.Records.Columns.Cols[in.Records.Cols[0]].Floats[op.Row]
			in.States.Set(i, append(slices.Clone(state), 'x')) // also in what fails: it must leave no trace
			switch {
			case v == 13:
				set(1)
				return &udf.Failure{Op: i, Module: "fickle", Message: "unlucky"}
			case v == 14:
				return &udf.Failure{Op: i, Trap: true, Module: "fickle", Message: "unreachable"}
			case v == 20:
				out.Verdict[i] = udf.VerdictPurge
			case v >= 30:
				set(op.Time + stream.Time(v-30))
			}
			if len(state) > 0 {
				in.States.Set(i, nil)
				out.Verdict[i] |= udf.VerdictFire
			}
		case udf.OnEventTimer:
			if f.timer == nil {
				out.Verdict[i] = udf.VerdictFire
			} else if fail := f.timer(op, out, uint32(i)); fail != nil {
				return fail
			}
		case udf.OnMerge:
			if f.merge != nil {
				return f.merge
			}
			in.States.Set(i, append(slices.Clone(state), in.States.Data[op.From]...))
		case udf.OnClear:
			if f.clear != nil {
				return f.clear
			}
		}
	}
	return nil
}

// fickly opens a general operator that counts, under a trigger of a user.
func fickly(t *testing.T, a Assigner, f *fickle, lateness stream.Time, setAside bool) *script {
	t.Helper()
	n, err := agg.New("count", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, size: 1000, wm: stream.MinTime}
	s.op, err = NewGeneral(GeneralConfig{Assigner: a, Trigger: trigger.NewUser(f, []int{1}), Lateness: lateness, GapCol: -1, ValueCol: -1, SetAside: setAside,
		Key: []stream.Field{{Name: "k", Kind: stream.String}}, Functions: []Function{{"n", n, nil}}}, &s.out)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// place is that of a refused record in its batch, which hangs on how batches are cut.
var place = regexp.MustCompile(`refused record \d+`)

func broken(*udf.PaneOp, *udf.Decisions, uint32) *udf.Failure {
	return &udf.Failure{Op: 0, Module: "fickle", Message: "the timer is broken"}
}

func TestTriggersOfUsers(t *testing.T) {
	ten := tiles(10, 0)
	session, err := NewSession(10, false)
	session = mustAssigner(t, session, err)
	sliding, err := NewSliding(20, 10, 0, false)
	sliding = mustAssigner(t, sliding, err)
	noFailure := func(set func(op *udf.PaneOp) (stream.Time, bool)) func(*udf.PaneOp, *udf.Decisions, uint32) *udf.Failure {
		return func(op *udf.PaneOp, out *udf.Decisions, i uint32) *udf.Failure {
			if at, ok := set(op); ok {
				out.Timers = append(out.Timers, udf.TimerChange{Op: i, Time: at})
			}
			return nil
		}
	}
	for _, c := range []struct {
		name     string
		assigner Assigner
		fickle   fickle
		lateness stream.Time
		in       string
		want     string
	}{
		{name: "every second record", in: `
			record k=a t=1ms v=1
			record k=a t=2ms v=1
			record k=b t=2ms v=1
			record k=a t=3ms v=1`,
			want: "a [0,10) early r0 2"},
		{name: "a null is not shown, and counts", in: `
			record k=a t=1ms v=1
			record k=a t=2ms v=
			record k=a t=3ms v=1`,
			want: "a [0,10) early r0 3"},
		{name: "a refused record leaves no trace", in: `
			record k=a t=1ms v=13
			record k=a t=2ms v=1
			record k=a t=3ms v=13
			record k=a t=4ms v=14
			record k=a t=5ms v=1
			watermark 5ms
			ledger`,
			want: `refused record for [0,10): unlucky
				refused record for [0,10): unlucky
				refused record for [0,10): unreachable
				a [0,10) early r0 2
				filtered 0 failed 3 late 0 counted 2 = open 2 fired 0 unfired 0; behind 0 late_accepted 0; panes 1`},
		{name: "it is refused once for all of its windows", assigner: sliding, in: `
			record k=a t=12ms v=13
			record k=a t=12ms v=1
			record k=a t=12ms v=1`,
			want: `refused record for [10,30): unlucky
				a [0,20) early r0 2
				a [10,30) early r0 2`},
		{name: "a timer", in: `
			record k=a t=1ms v=33
			watermark 3ms
			record k=a t=1ms v=30
			watermark 4ms`,
			want: `a [0,10) early r0 2
				a [0,10) early r1 2
				a [0,10) early r2 2`}, // the second record, and then the timers at 1 and 4 in one advance
		{name: "an undeclared purge is refused", in: `
			record k=a t=1ms v=20
			record k=a t=2ms v=1
			record k=a t=3ms v=1`,
			want: `refused record for [0,10): the trigger purges a window, and its description says that it does not: declare may_purge
				a [0,10) early r0 2`},
		{name: "a declared one purges", fickle: fickle{purges: true}, in: `
			record k=a t=1ms v=20
			record k=a t=2ms v=20
			record k=a t=3ms v=1
			record k=a t=3ms v=1`,
			want: `a [0,10) early r0 1
				a [0,10) early r1 2`},
		{name: "a broken timer: the default trigger takes over, for this window of this key", lateness: 20, fickle: fickle{timer: broken}, in: `
			record k=a t=1ms v=32
			record k=b t=1ms v=1
			record k=a t=11ms v=1
			watermark 5ms
			record k=a t=2ms v=1
			record k=b t=2ms v=1
			record k=a t=12ms v=1
			watermark 9ms
			record k=a t=3ms v=13
			watermark 100ms`,
			// At 5 ms the timer of a at 3 ms fails; then that window fires at its end, 9 ms, and
			// for each late record that is allowed. Cleanup timers fail too, of windows whose
			// end is past: these fire at once, lest what is in them be lost.
			want: `refused pane a [0,10): the timer is broken
				b [0,10) early r0 2
				a [10,20) early r0 2
				a [0,10) on_time r0 2
				a [0,10) update r1 3
				refused pane b [0,10): the timer is broken
				b [0,10) on_time r1 2
				refused pane a [10,20): the timer is broken
				a [10,20) on_time r1 2`},
		{name: "timers that are due at once for ever", fickle: fickle{timer: noFailure(func(op *udf.PaneOp) (stream.Time, bool) { return op.Time, op.Time < 9 })}, in: `
			record k=a t=1ms v=32
			watermark 5ms
			watermark 9ms`,
			want: `refused pane a [0,10): the trigger sets timers that are due at once, more than 1000 times in a row
				a [0,10) on_time r0 1`},
		{name: "timers that go on for ever end with the input", fickle: fickle{timer: noFailure(func(op *udf.PaneOp) (stream.Time, bool) { return op.Time + 1, true })}, in: `
			record k=a t=1ms v=32
			watermark max
			ledger`,
			want: `filtered 0 failed 0 late 0 counted 1 = open 0 fired 0 unfired 1; behind 0 late_accepted 0; panes 0`},
		{name: "and in a global window", assigner: NewGlobal(), fickle: fickle{timer: noFailure(func(op *udf.PaneOp) (stream.Time, bool) { return op.Time + 1, true })}, in: `
			record k=a t=1ms v=32
			watermark max
			ledger`,
			want: `filtered 0 failed 0 late 0 counted 1 = open 1 fired 0 unfired 0; behind 0 late_accepted 0; panes 1`},
		{name: "sessions merge with what the trigger knows of them", assigner: session, fickle: fickle{merges: true}, in: `
			record k=a t=0s v=1
			record k=a t=20ms v=1
			record k=a t=10ms v=1`,
			want: `a [0,30) early r0 3`},
		{name: "a merge that is refused sets the record aside, and the sessions stay apart", assigner: session,
			fickle: fickle{merges: true, merge: &udf.Failure{Module: "fickle", Message: "I do not merge"}}, in: `
			record k=a t=0s v=1
			record k=a t=20ms v=1
			record k=a t=10ms v=1
			record k=a t=0s v=1
			record k=a t=20ms v=1`,
			want: `refused record for [0,30): I do not merge
				a [0,10) early r0 2
				a [20,30) early r0 2`},
		{name: "a session whose trigger broke stays with the default one when it merges", assigner: session, fickle: fickle{merges: true, timer: broken}, in: `
			record k=a t=0s v=32
			watermark 3ms
			record k=a t=15ms v=1
			record k=a t=7ms v=1
			record k=a t=15ms v=1
			watermark max`,
			want: `refused pane a [0,10): the timer is broken
				a [0,25) on_time r0 4`},
		{name: "a clear that fails", fickle: fickle{clear: &udf.Failure{Module: "fickle", Message: "I stay"}}, in: `
			record k=a t=1ms v=130
			watermark 9ms
			watermark 200ms
			ledger`,
			want: `a [0,10) on_time r0 1
				refused pane a [0,10): I stay
				filtered 0 failed 0 late 0 counted 1 = open 0 fired 1 unfired 0; behind 0 late_accepted 0; panes 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := c.assigner
			if a == nil {
				a = ten
			}
			var want []string
			for line := range strings.Lines(c.want) {
				want = append(want, strings.TrimSpace(line))
			}
			for _, size := range []int{1, 1000} {
				f := c.fickle
				s := fickly(t, a, &f, c.lateness, true)
				s.size = size
				got := strings.Split(place.ReplaceAllString(s.run(c.in), "refused record"), "\n")
				if !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// Behind every record and watermark a snapshot is restored into a new operator, and nobody
// can tell: states, timers, and where the default trigger has taken over.
func TestRestoresUnderATriggerOfAUser(t *testing.T) {
	session, err := NewSession(10, false)
	session = mustAssigner(t, session, err)
	for _, a := range []Assigner{tiles(10, 0), session} {
		const in = `record k=a t=1ms v=32
			record k=b t=1ms v=1
			watermark 5ms
			record k=a t=2ms v=1
			record k=b t=2ms v=34
			record k=b t=3ms v=1
			watermark 9ms
			record k=a t=3ms v=1
			watermark 100ms
			ledger`
		whole := fickly(t, a, &fickle{merges: true, timer: broken}, 30, true)
		want := whole.run(in)
		if !strings.Contains(want, "refused pane a") || !strings.Contains(want, "on_time") {
			t.Fatalf("the default trigger has not taken over:\n%s", want)
		}
		s := fickly(t, a, &fickle{merges: true, timer: broken}, 30, true)
		var got []string
		for line := range strings.Lines(in) {
			if text := s.run(line); text != "" {
				got = append(got, text)
			}
			next := fickly(t, a, &fickle{merges: true, timer: broken}, 30, true)
			restored(t, next.op, s.op)
			next.wm, s = s.wm, next
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("got\n%s\nwant\n%s", text, want)
		}
	}
}

// Without a place to set records aside, a failure ends the job where it happened.
func TestAFailureOfATriggerEndsTheJob(t *testing.T) {
	stop := errors.New("stop")
	for _, value := range []string{"13", "32"} { // an element, a timer
		f := &fickle{timer: broken}
		s := fickly(t, tiles(10, 0), f, 0, false)
		s.out.err = stop
		b := newBatch(stream.MinTime)
		appendRecord(b, "a", 1, value, stream.MinTime)
		b.Trailing = 5
		b.SetKeys([]int{0})
		if err := s.op.Process(b); !errors.Is(err, stop) {
			t.Errorf("value %s: got %v", value, err)
		}
		if err := s.op.Close(); err != nil || f.closed != 1 {
			t.Errorf("closed %d times, %v", f.closed, err)
		}
	}
}

// A batch of records is one call, and so are the timers of an advance, however many windows
// there are. What was asked in vain is asked again.
func TestATriggerOfAUserIsAskedAhead(t *testing.T) {
	sliding, err := NewSliding(20, 5, 0, false)
	sliding = mustAssigner(t, sliding, err)
	records := ""
	for i := range 60 {
		records += fmt.Sprintf("record k=%c t=%dms v=1\n", 'a'+i%6, i%10)
	}
	for _, c := range []struct {
		name     string
		assigner Assigner
		in       string
		calls    int
	}{
		{"records", tiles(10, 0), records, 1},
		{"records of many windows each", sliding, records, 1},
		{"and their cleanups", tiles(10, 0), records + "watermark max", 2},
		{"and those of many windows", sliding, records + "watermark max", 2},
		// The timer of the first record comes before the second one, and what was asked about
		// that and the third is void: it is a call of its own, and then they are a second round.
		{"a timer between two records", tiles(10, 0), "record k=a t=1ms v=32\nrecord k=a t=2ms v=1 wm=4ms\nrecord k=a t=3ms v=1", 3},
		// The other key's records are none of its business.
		{"a timer between two records of one of two keys", tiles(10, 0), "record k=a t=1ms v=32\nrecord k=b t=2ms v=1\nrecord k=a t=2ms v=1 wm=4ms\nrecord k=b t=2ms v=1\nrecord k=a t=3ms v=1", 3},
		{"a record that is refused: each is asked about alone", tiles(10, 0), "record k=a t=1ms v=1\nrecord k=a t=2ms v=13\nrecord k=a t=3ms v=1", 1 + 5},
	} {
		f := &fickle{}
		s := fickly(t, c.assigner, f, 0, true)
		got := s.run(c.in)
		if f.calls != c.calls {
			t.Errorf("%s: %d calls, want %d", c.name, f.calls, c.calls)
		}
		one := fickly(t, c.assigner, &fickle{}, 0, true)
		one.size = 1
		if want := one.run(c.in); place.ReplaceAllString(got, "") != place.ReplaceAllString(want, "") {
			t.Errorf("%s: got\n%s\nrecord by record\n%s", c.name, got, want)
		}
	}
}
