package window

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/breaker"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// The general operator runs sessions record by record, with a pane for each: the operator
// of their own must say the same of the same stream, row for row in the same order.

// sitting is a random job of sessions. The size of its shape is the gap.
type sitting struct {
	shape
	own      bool // each record has a gap of its own
	fine     bool
	setAside bool
	purging  bool
}

func (s sitting) String() string {
	return fmt.Sprintf("%v, own gaps %v, fine %v, set aside %v, purging %v", s.shape, s.own, s.fine, s.setAside, s.purging)
}

func randomSitting(r *rand.Rand) sitting {
	s := sitting{shape: randomShape(r), own: r.IntN(4) == 0, fine: r.IntN(2) == 0, setAside: r.IntN(3) == 0}
	s.size = stream.Time(1 + r.IntN(12))
	s.lateness = pick(r, 0, 0, 1, s.size, 3*s.size, 60, s.lateness)
	s.disorder = pick(r, 0, s.bound, s.bound+s.size, s.bound+4*s.size, s.bound+s.size+min(s.lateness, 1000))
	s.purging = s.lateness == 0 && r.IntN(2) == 0
	return s
}

// rows are records of the job; those with own gaps have one above 0.
func (s sitting) rows(r *rand.Rand, n int) []row {
	rows := randomRows(r, s.shape, n)
	if s.own {
		for i := range rows {
			rows[i].value = 1 + max(rows[i].value, 0)
		}
	}
	return rows
}

// spec is the job; edit may be nil.
func (s sitting) spec(fns []Function, edit func(*Spec)) Spec {
	p := Spec{GeneralConfig: GeneralConfig{Groups: 4}}
	p.Assigner, p.GapCol, p.ValueCol = session{gap: s.size}, -1, -1
	if s.own {
		p.Assigner, p.GapCol = session{}, 1
	}
	p.Trigger, p.Lateness, p.Key, p.DropNullKey, p.Functions = trigger.NewEventTime(), s.lateness, sliceKeyFields, s.dropNull, fns
	if s.purging {
		p.Trigger = trigger.NewPurging(p.Trigger)
	}
	p.Fine, p.SetAside = s.fine, s.setAside
	if edit != nil {
		edit(&p)
	}
	return p
}

func opened(t testing.TB, op Operator, err error) Operator {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func planned(t testing.TB, p Spec, out Output) Operator {
	op, err := p.plain(out)
	if _, ok := op.(*Sessions); !ok && err == nil {
		t.Fatalf("the plan has chosen %T", op)
	}
	return opened(t, op, err)
}

func onPanes(t testing.TB, p Spec, out Output) Operator {
	op, err := NewGeneral(p.GeneralConfig, out)
	return opened(t, op, err)
}

// whole writes rows down with all that they say. Other lines are kept apart: rows wait for
// the end of a segment, and what is set aside does not.
type whole struct {
	exactly
	rows []string
	at   []fired // of each row
}

// fired is what the order of rows is made of.
type fired struct {
	before stream.Time
	window stream.Window
	key    string
}

func (w *whole) Rows(r *result.Rows) error {
	n := len(w.lines)
	err := w.exactly.Rows(r)
	for i, line := range w.lines[n:] {
		w.rows = append(w.rows, fmt.Sprintf("%s since %v for %v behind %d", line, r.SinceLast[i], r.Replaces[i], r.Before[i]))
		w.at = append(w.at, fired{r.Before[i], r.Window[i], string(r.EncodedKey[i])})
	}
	w.lines = w.lines[:n]
	return err
}

// takeRows returns the rows since the last time in their order, but for those that fire at
// the same time, their end, which are of different keys: they come in order of their starts
// and keys, where the general operator has them as their timers were set.
func (w *whole) takeRows() []string {
	order := make([]int, len(w.rows))
	for i := range order {
		order[i] = i
	}
	for lo := 0; lo < len(order); {
		first, hi := w.at[lo], lo+1
		for hi < len(order) && w.at[hi].before == first.before && w.at[hi].window.End == first.window.End && first.before < first.window.MaxTimestamp() {
			hi++
		}
		slices.SortStableFunc(order[lo:hi], func(a, b int) int {
			return cmp.Or(cmp.Compare(w.at[a].window.Start, w.at[b].window.Start), cmp.Compare(w.at[a].key, w.at[b].key))
		})
		lo = hi
	}
	rows := make([]string, len(order))
	for i, n := range order {
		rows[i] = w.rows[n]
	}
	w.rows, w.at = nil, nil
	return rows
}

// inOrder compares rows in their order.
func inOrder(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: from row %d on got\n\t%s\nwant\n\t%s", what, i, strings.Join(got[min(i, len(got)):], "\n\t"), strings.Join(want[min(i, len(want)):], "\n\t"))
		}
	}
}

// compare runs both operators over a stream.
func (s sitting) compare(t *testing.T, what string, in []row, size int, fns func() []Function, edit func() func(*Spec)) (rows []string, l Ledger) {
	t.Helper()
	var got, want whole
	fast, slow := planned(t, s.spec(fns(), edit()), &got), onPanes(t, s.spec(fns(), edit()), &want)
	var answers [][]string
	feed(t, slow, in, size, func() { answers = append(answers, want.takeRows(), want.take(), stateOf(slow)) })
	feed(t, fast, in, size, func() {
		ordered := slices.Clone(got.rows)
		sorted := got.takeRows()
		inOrder(t, what+": keys out of order", ordered, sorted)
		inOrder(t, what, sorted, answers[0])
		diff(t, what, got.take(), answers[1])
		diff(t, what, stateOf(fast), answers[2])
		rows, answers = append(rows, sorted...), answers[3:]
	})
	return rows, fast.Ledger()
}

func unedited() func(*Spec) { return nil }

// inTurn are functions of which the last two mind the order of records.
func inTurn(t testing.TB) func() []Function {
	return func() []Function {
		return []Function{builtin(t, "count", 0), builtin(t, "sum", 2), builtin(t, "distinct", 1), builtin(t, "first", 2), builtin(t, "last", 1)}
	}
}

func TestSessionsSayTheSameAsRecordByRecord(t *testing.T) {
	var late, updates, again int64
	replaced := 0
	for seed := range few(400) {
		r := rand.New(rand.NewPCG(seed, 21))
		s := randomSitting(r)
		in := s.rows(r, 150)
		size := pick(r, 1, 7, 1000)
		rows, l := s.compare(t, fmt.Sprintf("seed %d: %v, batches of %d", seed, s, size), in, size, inTurn(t), unedited)
		late, updates = late+l.Late, updates+l.LateAccepted
		for _, row := range rows {
			if strings.Contains(row, "update") {
				again++
			}
			if !strings.Contains(row, "for []") {
				replaced++
			}
		}
	}
	if late < 1000 || updates < 1000 || again < 200 || replaced < 200 {
		t.Errorf("the streams had %d late records, %d late but allowed, %d updates, %d rows that replace others: they show too little", late, updates, again, replaced)
	}
}

// Rows and their order do not depend on batches, nor on restores, down to the last bit of
// a float.
func TestSessionsDependOnNothingButTheirRecords(t *testing.T) {
	for seed := range few(100) {
		r := rand.New(rand.NewPCG(seed, 22))
		s := randomSitting(r)
		in := s.rows(r, 150)
		fns := func() []Function {
			return []Function{builtin(t, "sum", 2), builtin(t, "mean", 2), builtin(t, "distinct", 1), builtin(t, "last", 1)}
		}
		var want []string
		for _, size := range []int{1, 7, 1000} {
			what := fmt.Sprintf("seed %d: %v, batches of %d", seed, s, size)
			var one, two whole
			open := func(out Output) Operator { return planned(t, s.spec(fns(), nil), out) }
			steady := open(&one)
			restless := &reborn{Operator: open(&two), make: func() Operator { return open(&two) }}
			var states [][]byte
			feed(t, steady, in, size, func() { states = append(states, saved(steady)) })
			feed(t, restless, in, size, func() {
				// Where rows are taken on trust a segment may end at an alarm that comes early, and
				// with it a partial of a set; that of its sum would be the same.
				if !s.setAside && !bytes.Equal(saved(restless), states[0]) {
					t.Fatalf("%s: another state after a restore", what)
				}
				states = states[1:]
				restless.restore(t)
			})
			inOrder(t, what+", restored", two.rows, one.rows)
			if size == 1 {
				want = one.rows
			}
			inOrder(t, what, one.rows, want)
		}
	}
}

// crowd is moody functions of a fixed and of a varying size.
func crowd(m moody) func() []Function {
	return func() []Function {
		a, b := m, moody{varying: !m.varying, refuse: -1, trap: -1, result: math.MaxUint64}
		return []Function{{"steady", &b, []int{2}}, {"moody", &a, []int{2}}}
	}
}

func TestSessionsSetAsideWhatFailsAsRecordByRecord(t *testing.T) {
	failed, refused := int64(0), 0
	for seed := range few(200) {
		r := rand.New(rand.NewPCG(seed, 23))
		s := randomSitting(r)
		s.own, s.setAside = false, true
		edit := unedited
		guarded := r.IntN(2) == 0
		if guarded {
			s.keys, s.dropNull = 1, true // which of two that fail at once is the one too many depends on their order
			edit = func() func(*Spec) {
				return func(p *Spec) {
					p.Guard = &Guard{Breaker: breaker.New(breaker.Limit{Failures: 4, Within: 40}), Groups: 4, Adds: []string{"moody"}, Fires: []string{"moody"}}
				}
			}
		}
		in := s.rows(r, 120)
		size := pick(r, 1, 7, 1000)
		m := moody{varying: r.IntN(2) == 0, refuse: 0, trap: 8./7 + 2e9, result: uint64(2 + r.IntN(3))} // the values 0 and 8 as batchOf has them
		_, l := s.compare(t, fmt.Sprintf("seed %d: %v, %+v, guarded %v, batches of %d", seed, s, m, guarded, size), in, size, crowd(m), edit)
		failed += l.Failed
		if l.Unfired > 0 {
			refused++
		}
	}
	if failed < 1000 || refused < 20 {
		t.Errorf("%d records failed, and results in %d of the jobs: they show too little", failed, refused)
	}
}

// Records that may be refused cost one call for all of them as long as none is; if one is,
// it has extended no session, begun none and joined none, by hand.
func TestRecordsAreTakenOnTrust(t *testing.T) {
	s := sitting{shape: shape{size: 10}, setAside: true}
	in := []row{
		{"a", 0, 1, stream.MinTime}, {"a", 5, 1, stream.MinTime}, {"b", 3, 1, stream.MinTime},
		{"a", 9, 2, stream.MinTime}, // to 19
		{"c", 0, 2, stream.MinTime}, // the only one of its key
		{"a", 15, 1, stream.MinTime}, {"b", 13, 1, stream.MinTime}, {"c", 11, 1, stream.MinTime},
	}
	for _, c := range []struct {
		refuse float64
		calls  int
		rows   []string
		failed int64
	}{
		{-1, 1, []string{
			"c [0,10) on_time r0 1 since false for [] behind 8",
			"c [11,21) on_time r0 1 since false for [] behind 19",
			"b [3,23) on_time r0 2 since false for [] behind 21",
			"a [0,25) on_time r0 4 since false for [] behind 23",
		}, 0},
		// The call for all, and then two for each that is taken, of which the first is a trial,
		// and one for each that is refused.
		{2./7 + 2e9, 1 + 2*6 + 2, []string{
			"c [11,21) on_time r0 1 since false for [] behind 19",
			"b [3,23) on_time r0 2 since false for [] behind 21",
			"a [0,25) on_time r0 3 since false for [] behind 23",
		}, 2},
	} {
		m := &moody{refuse: c.refuse, trap: -1, result: math.MaxUint64}
		var out whole
		op := planned(t, s.spec([]Function{{"n", m, []int{2}}}, nil), &out)
		feed(t, op, in, 1000, func() {})
		inOrder(t, fmt.Sprintf("refusing %v", c.refuse), out.rows, c.rows)
		if l := op.Ledger(); m.calls != c.calls || l.Failed != c.failed {
			t.Errorf("refusing %v: %d calls, want %d; %d records failed, want %d", c.refuse, m.calls, c.calls, l.Failed, c.failed)
		}
	}
}

// A failure of a merge condemns the record that would have brought it about, and leaves
// the sessions as they are.
func TestSessionsThatCannotMergeStayApart(t *testing.T) {
	for _, trap := range []bool{false, true} {
		s := sitting{shape: shape{size: 10, lateness: 5}, setAside: true}
		fns := func() []Function {
			sum := builtin(t, "sum", 1)
			sum.Agg = total{sum.Agg, 10, trap}
			return []Function{builtin(t, "count", 0), sum}
		}
		in := []row{
			{"a", 0, 6, stream.MinTime}, {"a", 20, 5, stream.MinTime}, {"a", 10, 0, stream.MinTime},
			{"b", 0, 1, stream.MinTime}, {"b", 20, 2, stream.MinTime}, {"b", 10, 3, stream.MinTime},
		}
		rows, l := s.compare(t, fmt.Sprintf("trap %v", trap), in, 1000, fns, unedited)
		inOrder(t, "rows", rows, []string{
			"a [0,10) on_time r0 1 6 since false for [] behind 8",
			"b [0,30) on_time r0 3 6 since false for [] behind 28",
			"a [20,30) on_time r0 1 5 since false for [] behind 28",
		})
		if l.Failed != 1 || l.Fired != 5 {
			t.Errorf("trap %v: ledger %+v", trap, l)
		}
	}
}

// By hand: S43, S46, S47 and M4 in one key, rows in order of firing.
func TestASessionThatHasFiredGrows(t *testing.T) {
	s := sitting{shape: shape{size: 10, lateness: 100}}
	in := []row{
		{"a", 0, 1, stream.MinTime},
		{"a", 20, 2, 9},  // [0,10) has fired
		{"a", 30, 4, 29}, // touches [20,30), which has fired: it goes on to 40
		{"a", 12, 8, 30}, // [12,22) joins [20,40), which has not fired: to come at 39
		{"a", 5, 16, 39}, // brings all together, past their end: at once
		{"a", 6, 32, 39}, // and again
		{"b", 500, 0, 145},
		{"a", 1, 64, 145}, // its cleanup was at 139
	}
	rows, l := s.compare(t, "by hand", in, 1000, func() []Function { return []Function{builtin(t, "sum", 1)} }, unedited)
	inOrder(t, "rows", rows, []string{
		"a [0,10) on_time r0 1 since false for [] behind 8",
		"a [20,30) on_time r0 2 since false for [] behind 28",
		"a [12,40) on_time r1 14 since false for [{20 30}] behind 38",
		"a [0,40) on_time r2 31 since false for [{0 10} {12 40}] behind 39",
		"a [0,40) update r3 63 since false for [] behind 39",
		"b [500,510) on_time r0 0 since false for [] behind 508",
	})
	if want := (Ledger{Late: 1, Counted: 7, Fired: 7, Behind: 4, LateAccepted: 2}); l != want {
		t.Errorf("ledger %+v, want %+v", l, want)
	}
}

// By hand: a session that fires early, and every second time that it grows, names only the
// windows that had a result (M4).
func TestAResultReplacesOnlyWhatThereWas(t *testing.T) {
	s := sitting{shape: shape{size: 10}}
	for _, restored := range []bool{false, true} {
		var out whole
		open := func() Operator {
			fns := []Function{builtin(t, "count", 0)}
			return onPanes(t, s.spec(fns, func(p *Spec) { p.Trigger = trigger.NewCount(2) }), &out)
		}
		op := &reborn{Operator: open(), make: open}
		var in []row
		for _, ts := range []stream.Time{0, 1, 5, 8, 30, 17, 25, 21} {
			in = append(in, row{"a", ts, 1, stream.MinTime})
		}
		feed(t, op, in, 1, func() {
			if restored {
				op.restore(t)
			}
		})
		inOrder(t, fmt.Sprintf("rows, restored %v", restored), out.rows, []string{
			"a [0,11) early r0 2 since false for [] behind -9223372036854775808",
			"a [0,18) early r1 4 since false for [{0 11}] behind -9223372036854775808",
			// 17 makes [0,27) of it, which does not fire, and 25 joins that with [30,40).
			"a [0,40) early r2 7 since false for [{0 18}] behind -9223372036854775808",
		})
	}
}

// Sessions that end together fire in order of their starts, and then of their keys.
func TestOrderOfSessionsThatEndTogether(t *testing.T) {
	s := sitting{shape: shape{size: 10}}
	in := []row{{"c", 5, 1, stream.MinTime}, {"b", 5, 1, stream.MinTime}, {"a", 5, 1, stream.MinTime}, {"d", 0, 1, stream.MinTime}, {"d", 5, 1, stream.MinTime}, {"e", 4, 1, stream.MinTime}}
	rows, _ := s.compare(t, "by hand", in, 1000, func() []Function { return []Function{builtin(t, "count", 0)} }, unedited)
	inOrder(t, "rows", rows, []string{
		"e [4,14) on_time r0 1 since false for [] behind 12",
		"d [0,15) on_time r0 2 since false for [] behind 13",
		"a [5,15) on_time r0 1 since false for [] behind 13",
		"b [5,15) on_time r0 1 since false for [] behind 13",
		"c [5,15) on_time r0 1 since false for [] behind 13",
	})
}

// What process functions are shown of sessions, with states that expire and without.
func TestProcessFunctionsOfSessions(t *testing.T) {
	rows := 0
	for seed := range few(80) {
		d := rand.New(rand.NewPCG(seed, 24))
		var script strings.Builder
		wm := 0
		for range 20 + d.IntN(60) {
			if d.IntN(4) == 0 {
				wm += d.IntN(15)
				fmt.Fprintf(&script, "wm=%d ", wm)
			}
			fmt.Fprintf(&script, "%c@%d=1 ", 'a'+d.IntN(3), max(0, wm-10+d.IntN(30)))
		}
		script.WriteString("wm=max")
		fn := visits{states: "key", refuse: int64(2 + d.IntN(3)), trap: int64(2 + d.IntN(4))}
		late, ttl, aside := stream.Time(d.IntN(2)*12), stream.Time(d.IntN(3)*15), d.IntN(2) == 0
		var want []string
		for i, how := range []struct {
			general bool
			size    int
			restore bool
		}{{true, 1, false}, {true, 1000, false}, {false, 1000, false}, {false, 1, true}, {false, 5, true}} {
			fn := fn
			got := play(t, script.String(), how.size, how.restore, func(out Output) (Operator, error) {
				s := processSpec(t, &fn, session{gap: 7}, late)
				s.Fine, s.Process.TTL, s.SetAside = true, ttl, aside
				if how.general {
					return NewGeneral(s.GeneralConfig, out)
				}
				return planned(t, s, out), nil
			})
			slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:1], b[:1]) }) // order is promised per key
			sortKeys(got)
			if i == 0 {
				want = got
				rows += len(got)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %+v, %+v, ttl %d: got\n%s\nwant\n%s\nof %s", seed, how, fn, ttl, strings.Join(got, "\n"), strings.Join(want, "\n"), script.String())
			}
		}
	}
	if rows < 1000 {
		t.Errorf("only %d rows: the test shows nothing", rows)
	}
}

func TestADamagedSnapshotOfSessionsIsRefused(t *testing.T) {
	s := sitting{shape: shape{size: 5, lateness: 20}}
	open := func() Operator {
		fns := []Function{builtin(t, "sum", 2), builtin(t, "distinct", 1)}
		return planned(t, s.spec(fns, nil), &whole{})
	}
	op := open()
	b := batchOf([]row{
		{"a", 0, 1, stream.MinTime}, {"a", 20, noValue, stream.MinTime}, {"b", 1, 2, stream.MinTime}, {"c", 9, 3, stream.MinTime},
		{"a", 3, 4, 6}, {"b", 6, 5, 6}, {"c", 14, 6, 13}, {"b", 40, 7, 13}, {"d", 10, 8, 13},
	})
	b.SetKeys([]int{0})
	if err := op.Process(b); err != nil {
		t.Fatal(err)
	}
	if op.Panes() < 3 || len(op.(*Sessions).replaces) == 0 {
		t.Fatalf("%d sessions, of which %d replace others: the snapshot shows too little", op.Panes(), len(op.(*Sessions).replaces))
	}
	refusesDamage(t, op, open, func(next Operator) {
		if err := next.Process(batchOf(nil)); err != nil {
			if _, ok := errors.AsType[*udf.Failure](err); !ok {
				t.Fatal(err)
			}
		}
	})
}

// Neither keys nor sessions pile up, whatever they do.
func TestSessionsThatAreGoneAreForgotten(t *testing.T) {
	s := sitting{shape: shape{size: 10, lateness: 50}}
	var out whole
	op := planned(t, s.spec([]Function{builtin(t, "count", 0)}, nil), &out).(*Sessions)
	for i := range stream.Time(20000) {
		wm := i - 30
		b := batchOf([]row{
			{fmt.Sprint("k", i), i, 1, wm}, {"steady", i, 1, wm}, // a session that never ends
			{"bridged", 25 * (i / 25), 1, wm}, {"bridged", 25*(i/25) + 20, 1, wm}, {"bridged", i - 15, 1, wm}, // sessions that merge all the time
			{"late", i, 1, wm}, {"late", i - 75, 1, wm}, {fmt.Sprint("late", i), i - 200, 1, wm},
		})
		b.SetKeys([]int{0})
		if err := op.Process(b); err != nil {
			t.Fatal(err)
		}
		if op.keys.Len() > 2*spareKeys+10 || op.cells.Len() > 200 || len(op.intervals) > 200 || len(op.calendar.alarms) > 200 || len(op.replaces) > 20 {
			t.Fatalf("at %d: %d keys, %d sessions, %d replace others", i, op.keys.Len(), op.cells.Len(), len(op.replaces))
		}
		out.rows, out.at, out.lines = nil, nil, nil
	}
	if op.live > 120 {
		t.Errorf("%d keys are held to have sessions", op.live)
	}
}

func TestSessionsRefuseWhatTheyCannotDo(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  SessionsConfig
		want string
	}{
		{"negative gap", SessionsConfig{Gap: -1}, "gap must not be negative, is -1 ms"},
		{"negative lateness", SessionsConfig{Gap: 1, Lateness: -1}, ErrLateness.Error()},
		{"a process function that looks at records", SessionsConfig{Gap: 1, Process: &Process{Fn: &visits{list: true}}}, "the process function looks at records, and these sessions keep none"},
		{"a process function with states of windows", SessionsConfig{Gap: 1, Process: &Process{Fn: &visits{states: "window"}}}, ErrWindowState.Error()},
	} {
		if _, err := NewSessions(c.cfg, &recorder{}); !errors.Is(err, fault.ErrUser) || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		name string
		s    sitting
		ts   stream.Time
		want error
	}{
		{"no timestamp", sitting{shape: shape{size: 5}}, stream.MinTime, ErrNoTimestamp},
		{"a gap of 0", sitting{own: true}, 7, ErrGap},
	} {
		b := batchOf([]row{{"a", c.ts, 0, stream.MinTime}})
		b.SetKeys([]int{0})
		if err := planned(t, c.s.spec(nil, nil), &whole{}).Process(b); !errors.Is(err, c.want) || !errors.Is(err, fault.ErrUser) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// Sessions are run by the general operator where the ends of windows do not decide, or
// where records are looked at.
func TestWhatSessionsAreRunBy(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Spec)
		bulk bool
	}{
		{"the default", func(*Spec) {}, true},
		{"purging, without lateness", func(p *Spec) { p.Trigger = trigger.NewPurging(trigger.NewEventTime()) }, true},
		{"purging, with lateness", func(p *Spec) { p.Trigger, p.Lateness = trigger.NewPurging(trigger.NewEventTime()), 1 }, false},
		{"a trigger that counts", func(p *Spec) { p.Trigger = trigger.NewCount(2) }, false},
		{"an evictor", func(p *Spec) { p.Evictor = &Evictor{Count: 2} }, false},
		{"a join", func(p *Spec) { p.Join = true }, false},
		{"a function of records", func(p *Spec) { p.Whole = []WholeFunction{{}} }, false},
		{"by the clock", func(p *Spec) { p.Assigner, p.Trigger = session{gap: 5, clock: true}, trigger.NewProcessingTime() }, false},
		{"over all keys", func(p *Spec) { p.Key, p.Sources = nil, true }, true},
	} {
		if got := Plan(sitting{shape: shape{size: 5}}.spec([]Function{builtin(t, "count", 0)}, c.edit)); got.Bulk != c.bulk || got.Local {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// A calendar against a list that is searched.
func TestCalendar(t *testing.T) {
	for seed := range few(300) {
		r := rand.New(rand.NewPCG(seed, 25))
		c := newCalendar()
		want := map[uint32]stream.Time{}
		now := pick[stream.Time](r, stream.MinTime, -100, 0, 1_500_000_000_000, stream.MaxTime-3000)
		for range 200 {
			for range r.IntN(5) {
				n, at := uint32(r.IntN(20)), now.Add(1+stream.Time(r.Int64N(1<<r.IntN(30))))
				if r.IntN(4) == 0 {
					c.unset(n)
					delete(want, n)
					continue
				}
				c.set(n, at)
				if was, ok := want[n]; at < stream.MaxTime && (!ok || at < was) {
					want[n] = at
				}
			}
			now = now.Add(stream.Time(r.Int64N(1 << r.IntN(20))))
			for {
				first := stream.MaxTime
				var due []uint32
				for n, at := range want {
					if at < first {
						first, due = at, nil
					}
					if at == first {
						due = append(due, n)
					}
				}
				if c.due > first {
					t.Fatalf("seed %d: nothing is due before %d, and there is an alarm at %d", seed, c.due, first)
				}
				at, got := c.take(now)
				if first > now || first == stream.MaxTime {
					if got != nil {
						t.Fatalf("seed %d: at %d took %v of %d, want none", seed, now, got, at)
					}
					break
				}
				slices.Sort(got)
				if slices.Sort(due); at != first || !slices.Equal(got, due) {
					t.Fatalf("seed %d: at %d took %v of %d, want %v of %d", seed, now, got, at, due, first)
				}
				for _, n := range due {
					delete(want, n)
				}
			}
		}
	}
}
