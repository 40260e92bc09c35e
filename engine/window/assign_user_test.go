package window

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/agg"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// spans is user code that names windows by the value of a record, a record's time being ts:
//
//	0 none               1 [ts, ts+10)        2 [0, 100) and [ts, ts+10)
//	3 [0, 100), [0, 50) and [20, 80)          4 [0, 100) twice
//	5 [ts, ts)           6 1,001 windows      7 [0, 30) and [10, 20)
//	13 refuses           14 breaks down       15 breaks down but on a fresh instance
type spans struct {
	merges, nullable, blind bool // blind: a failure does not say of which record it is
	calls, closed           int
	used                    bool // by a call since the last trap
}

func (s *spans) Info() udf.AssignerInfo {
	return udf.AssignerInfo{Name: "spans", Inputs: []udf.Input{{Name: "v", Kind: stream.Float64, Nullable: s.nullable}}, Merges: s.merges}
}

func (s *spans) Close() error { s.closed++; return nil }

func (s *spans) Assign(rows *udf.Rows, out *udf.Assigned) error {
	s.calls++
	for i, row := range rows.Sel {
		c := &rows.Batch.Cols[rows.Cols[0]]
		if c.Null(int(row)) && !s.nullable {
			continue
		}
		fail := func(trap bool, message string) error {
			f := &udf.Failure{Op: i, Trap: trap, Module: "spans", Message: message}
			if s.blind {
				f.Op = -1
			}
			s.used = !trap
			return f
		}
		add := func(start, end stream.Time) {
			out.Windows, out.Of = append(out.Windows, stream.Window{Start: start, End: end}), append(out.Of, uint32(i))
		}
		ts := rows.Batch.Time[row]
		switch c.Floats[row] {
		case 1:
			add(ts, ts+10)
		case 2:
			add(ts, ts+10)
			add(0, 100)
		case 3:
			add(20, 80)
			add(0, 50)
			add(0, 100)
		case 4:
			add(0, 100)
			add(0, 100)
		case 5:
			add(ts, ts)
		case 6:
			for n := range stream.Time(1001) {
				add(n, n+1)
			}
		case 7:
			add(0, 30)
			add(10, 20)
		case 13:
			add(0, 1) // it leaves no trace
			return fail(false, "unlucky")
		case 14:
			return fail(true, "unreachable")
		case 15:
			if s.used {
				return fail(true, "worn out")
			}
			add(0, 100)
		}
	}
	s.used = true
	return nil
}

// spanning opens a general operator that counts, in windows of a user.
func spanning(t *testing.T, fn *spans, lateness stream.Time, tr trigger.Trigger) *script {
	t.Helper()
	n, err := agg.New("count", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, size: 1000, wm: stream.MinTime}
	s.op, err = NewGeneral(GeneralConfig{Assigner: NewUserAssigner(fn, []int{1}), Trigger: tr, Lateness: lateness, GapCol: -1, ValueCol: -1, DropNullKey: true,
		Key: []stream.Field{{Name: "k", Kind: stream.String}}, Functions: []Function{{"n", n, nil}}}, &s.out)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var userWindows = []struct {
	name     string
	fn       spans
	lateness stream.Time
	trigger  trigger.Trigger // nil: event_time
	in       string
	want     string
}{
	{name: "windows of any shape fire at their ends, a record once in each", in: `
		record k=a t=1ms v=3
		record k=b t=1ms v=4
		record k=a t=2ms v=3
		record k=a t=30ms v=1
		watermark 49ms
		watermark 200ms
		ledger`,
		want: `a [30,40) on_time r0 1
			a [0,50) on_time r0 2
			a [20,80) on_time r0 2
			a [0,100) on_time r0 2
			b [0,100) on_time r0 1
			filtered 0 failed 0 late 0 counted 4 = open 0 fired 4 unfired 0; behind 0 late_accepted 0; panes 0`},
	{name: "a record is open until the last of its windows goes, however they lie", in: `
		record k=a t=1ms v=7
		record k=a t=1ms v=7
		record k=a t=1ms v=2
		watermark 19ms
		ledger
		watermark 29ms
		ledger
		watermark 99ms
		ledger`,
		want: `a [1,11) on_time r0 1
			a [10,20) on_time r0 2
			filtered 0 failed 0 late 0 counted 3 = open 3 fired 0 unfired 0; behind 0 late_accepted 0; panes 2
			a [0,30) on_time r0 2
			filtered 0 failed 0 late 0 counted 3 = open 1 fired 2 unfired 0; behind 0 late_accepted 0; panes 1
			a [0,100) on_time r0 1
			filtered 0 failed 0 late 0 counted 3 = open 0 fired 3 unfired 0; behind 0 late_accepted 0; panes 0`},
	{name: "late for some of its windows, for all, and for none because it has none", lateness: 5, in: `
		record k=a t=1ms v=3
		watermark 60ms
		record k=a t=58ms v=3
		record k=a t=40ms v=1
		record k=a t=40ms v=0
		record k=a t=57ms v=0
		record k=a t=48ms v=1
		watermark 200ms
		ledger`,
		// At 60 ms [0, 50) is past its 5 ms of lateness. A record without a window is late if
		// its time is (S42), and the window of the last one, [48, 58), is late but allowed.
		want: `a [0,50) on_time r0 1
			late a at 40 for [40,50) by 11
			late a at 40 for [-9223372036854775808,9223372036854775807) by -9223372036854775747
			a [48,58) on_time r0 1
			a [20,80) on_time r0 2
			a [0,100) on_time r0 2
			filtered 0 failed 0 late 2 counted 3 = open 0 fired 3 unfired 0; behind 5 late_accepted 1; panes 0`},
	{name: "windows that nothing fires", trigger: trigger.NewCount(2), in: `
		record k=a t=1ms v=3
		record k=a t=2ms v=2
		record k=b t=2ms v=3
		record k=c t=2ms v=1
		watermark 200ms
		ledger`,
		want: `a [0,100) early r0 2
			filtered 0 failed 0 late 0 counted 4 = open 0 fired 2 unfired 2; behind 0 late_accepted 0; panes 0`},
	{name: "a record counts as fired if one of its windows has, also if the last has not", trigger: trigger.NewCount(2), in: `
		record k=a t=1ms v=2
		record k=a t=1ms v=1
		record k=b t=1ms v=2
		watermark 200ms
		ledger`,
		want: `a [1,11) early r0 2
			filtered 0 failed 0 late 0 counted 3 = open 0 fired 2 unfired 1; behind 0 late_accepted 0; panes 0`},
	{name: "windows that fire at once do so in order of their ends", trigger: trigger.NewCount(2), in: `
		record k=a t=1ms v=3
		record k=a t=2ms v=3`,
		want: `a [0,50) early r0 2
			a [20,80) early r0 2
			a [0,100) early r0 2`},
	{name: "windows that merge", fn: spans{merges: true}, lateness: 20, in: `
		record k=a t=1ms v=1
		record k=a t=30ms v=1
		record k=a t=11ms v=1
		record k=a t=11ms v=2
		record k=a t=20ms v=1
		watermark 39ms
		record k=a t=35ms v=1
		record k=a t=1ms v=4
		watermark 200ms
		ledger`,
		want: `refused record for none: the assigner answers 2 windows for one record; where windows merge a record is in one
			a [1,40) on_time r0 4
			a [0,100) on_time r1 6
			filtered 0 failed 1 late 0 counted 6 = open 0 fired 6 unfired 0; behind 2 late_accepted 0; panes 0`},
	{name: "what breaks the rules", in: `
		record k=a t=1ms v=5
		record k=a t=1ms v=6
		record k=a t=1ms v=4
		watermark max
		ledger`,
		want: `refused record for none: the assigner answers the window [1, 1), whose start is not below its end
			refused record for none: the assigner answers 1001 windows for one record, at most 1000 are allowed
			a [0,100) on_time r0 1
			filtered 0 failed 2 late 0 counted 1 = open 0 fired 1 unfired 0; behind 0 late_accepted 0; panes 0`},
	{name: "refusals and breakdowns hit their records alone", in: failing, want: failed},
	{name: "also where nobody says which it was", fn: spans{blind: true}, in: failing, want: failed},
	{name: "a null is not shown, a null key takes no part", in: `
		record k=a t=1ms v=
		record k= t=1ms v=13
		record k=a t=1ms v=4
		watermark 200ms
		record k=a t=1ms v=
		record k=a t=250ms v=
		ledger`,
		want: `a [0,100) on_time r0 1
			late a at 1 for [-9223372036854775808,9223372036854775807) by -9223372036854775607
			filtered 1 failed 0 late 1 counted 1 = open 0 fired 1 unfired 0; behind 1 late_accepted 0; panes 0`},
}

const (
	failing = `
		record k=a t=1ms v=13
		record k=a t=1ms v=4
		record k=b t=1ms v=14
		record k=a t=1ms v=15
		record k=b t=1ms v=13
		record k=b t=1ms v=4
		record k=b t=1ms v=14
		watermark 200ms
		ledger`
	failed = `refused record for none: unlucky
		refused record for none: unreachable
		refused record for none: unlucky
		refused record for none: unreachable
		a [0,100) on_time r0 2
		b [0,100) on_time r0 1
		filtered 0 failed 4 late 0 counted 3 = open 0 fired 3 unfired 0; behind 0 late_accepted 0; panes 0`
)

// said makes lines of what a script has said, without what hangs on how batches are cut.
func said(text string) []string {
	text = strings.ReplaceAll(place.ReplaceAllString(text, "refused record"), "for [-9223372036854775808,9223372036854775807): ", "for none: ")
	return trimmed(text)
}

func trimmed(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestWindowsOfUsers(t *testing.T) {
	for _, c := range userWindows {
		t.Run(c.name, func(t *testing.T) {
			tr := c.trigger
			if tr == nil {
				tr = trigger.NewEventTime()
			}
			want := trimmed(c.want)
			for _, size := range []int{1, 1000} {
				fn := c.fn
				s := spanning(t, &fn, c.lateness, tr)
				s.size = size
				if got := said(s.run(c.in)); !slices.Equal(got, want) {
					t.Errorf("batches of %d: got\n%s\nwant\n%s", size, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			// A restore behind every line changes nothing, the ledger included.
			fn := c.fn
			s := spanning(t, &fn, c.lateness, tr)
			var got []string
			for line := range strings.Lines(c.in) {
				if text := s.run(line); text != "" {
					got = append(got, said(text)...)
				}
				next := spanning(t, &fn, c.lateness, tr)
				restored(t, next.op, s.op)
				next.wm, s = s.wm, next
			}
			if !slices.Equal(got, want) {
				t.Errorf("restored: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// A batch is one call, whatever becomes of its records.
func TestAnAssignerOfAUserIsAskedOnce(t *testing.T) {
	fn := &spans{}
	s := spanning(t, fn, 0, trigger.NewEventTime())
	in := strings.Repeat("record k=a t=1ms v=3\nrecord k=b t=2ms v=2 wm=60ms\nrecord k=c t=3ms v=5\n", 100)
	s.run(in)
	if fn.calls != 1 {
		t.Errorf("%d calls, want 1", fn.calls)
	}
	if err := s.op.Close(); err != nil || fn.closed != 1 {
		t.Errorf("closed %d times, %v", fn.closed, err)
	}
}

// What is no failure of user code ends the job, as does a record without a time, and a
// refusal where nothing is set aside.
func TestWhatEndsTheJobInWindowsOfUsers(t *testing.T) {
	stop := errors.New("stop")
	for _, c := range []struct {
		name  string
		value string
		at    stream.Time
		want  error
	}{
		{"a record without a time", "1", stream.MinTime, ErrNoTimestamp},
		{"a refusal", "13", 1, stop},
		{"windows that break the rules", "5", 1, stop},
	} {
		s := spanning(t, &spans{}, 0, trigger.NewEventTime())
		s.out.err = stop
		b := newBatch(stream.MinTime)
		appendRecord(b, "a", c.at, c.value, stream.MinTime)
		b.SetKeys([]int{0})
		if err := s.op.Process(b); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	s := spanning(t, &spans{}, 0, trigger.NewEventTime())
	s.op.(*General).assigner.fn = lost{}
	b := newBatch(stream.MinTime)
	appendRecord(b, "a", 1, "1", stream.MinTime)
	b.SetKeys([]int{0})
	if err := s.op.Process(b); !errors.Is(err, errLost) {
		t.Errorf("an error that is nobody's fault: got %v", err)
	}
}

var errLost = errors.New("the instance is lost")

type lost struct{ udf.Assigner }

func (lost) Assign(*udf.Rows, *udf.Assigned) error { return errLost }

func TestJudgingTheWindowsOfARecord(t *testing.T) {
	w := func(start, end stream.Time) stream.Window { return stream.Window{Start: start, End: end} }
	info := udf.AssignerInfo{Name: "spans"}
	in := []stream.Window{w(1, 5), w(0, 9), w(3, 9), w(1, 5), {Start: math.MinInt64, End: math.MaxInt64}}
	got, f := info.Judge(in)
	if want := []stream.Window{stream.Global, w(3, 9), w(0, 9), w(1, 5)}; f != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, f, want)
	}
	info.Merges = true
	if got, f := info.Judge([]stream.Window{w(1, 5), w(1, 5)}); f != nil || len(got) != 1 {
		t.Errorf("the same window twice: got %v, %v", got, f)
	}
}

// The plan says that such windows share nothing.
func TestPlansOfWindowsOfUsers(t *testing.T) {
	s := Spec{GeneralConfig: GeneralConfig{Assigner: NewUserAssigner(&spans{}, nil), Trigger: trigger.NewEventTime()}, Sources: true}
	if c := Plan(s); c.Contents != Panes || c.Bulk || c.Local || !strings.HasPrefix(c.Reason, "a plug-in says which windows a record is in") {
		t.Errorf("got %+v", c)
	}
}
