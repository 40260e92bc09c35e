package window

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/agg"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// visits is a process function as a plug-in may be. Of each firing it gives a row with
// what it saw: the number or the values of the records, how often it was called for the
// key and for the window, and its watermark. The side output big has a row for each
// record of a firing with two or more.
type visits struct {
	list   bool   // it looks at the records; else at their number
	states string // "key", "window", "key window"
	refuse int64  // it refuses a firing with so many records
	trap   int64  // it breaks down on so many, and does not say where
	worn   bool   // the next call breaks down: the instance is at fault, not a firing
	calls  int
}

func (v *visits) Info() udf.ProcessInfo {
	rows := []stream.Field{{Name: "saw", Kind: stream.String}, {Name: "key", Kind: stream.Int64}, {Name: "window", Kind: stream.Int64}, {Name: "wm", Kind: stream.Timestamp}}
	info := udf.ProcessInfo{Outputs: rows, Side: []udf.SideOutput{{Name: "big", Outputs: []stream.Field{{Name: "n", Kind: stream.Int64}}}},
		KeyState: strings.Contains(v.states, "key"), WindowState: strings.Contains(v.states, "window")}
	if v.list {
		info.Lists = [][]udf.Input{{{Name: "v", Kind: stream.Float64}}}
	} else {
		info.Inputs = []udf.Input{{Name: "n", Kind: stream.Int64}}
	}
	return info
}

func (v *visits) Call(in *udf.Firings, out []udf.Emitted) error {
	v.calls++
	if v.worn {
		v.worn = false
		return &udf.Failure{Op: -1, Trap: true, Message: "worn out"}
	}
	for i := range in.Window {
		n, saw := int64(0), ""
		if v.list {
			l := &in.Lists[0]
			lo, hi := l.Off[i], l.Off[i+1]
			saw, n = fmt.Sprint(l.Cols[0].Floats[lo:hi], l.Time[lo:hi]), int64(hi-lo)
		} else {
			n = in.Inputs.Cols[0].Ints[i]
			saw = fmt.Sprint(n)
		}
		// A firing that is refused has put its states by then.
		key, window := visit(&in.Keys, i), visit(&in.Windows, i)
		switch {
		case n == 0:
		case n == v.refuse:
			return &udf.Failure{Op: i, Message: "I do not take this"}
		case n == v.trap:
			return &udf.Failure{Op: -1, Trap: true, Message: "unreachable"}
		}
		o := &out[0]
		o.Cols[0].AppendStr(stream.Str{Off: uint32(len(o.Blob)), Len: uint32(len(saw))})
		o.Blob = append(o.Blob, saw...)
		o.Cols[1].AppendInt(key)
		o.Cols[2].AppendInt(window)
		o.Cols[3].AppendInt(int64(in.Watermark[i]))
		o.Of = append(o.Of, uint32(i))
		for k := int64(0); k < n && n > 1; k++ {
			out[1].Cols[0].AppendInt(n)
			out[1].Of = append(out[1].Of, uint32(i))
		}
	}
	return nil
}

// visit counts in a state; without one it is 0.
func visit(s *udf.States, i int) int64 {
	if len(s.Slot) == 0 {
		return 0
	}
	n := uint64(1)
	if data := s.Get(i); data != nil {
		n += binary.LittleEndian.Uint64(data)
	}
	s.Set(i, binary.LittleEndian.AppendUint64(nil, n))
	return int64(n)
}

func (v *visits) Close() error { return nil }

// processed writes down what a step with a process function gives.
type processed struct{ lines []string }

func (p *processed) Rows(r *result.Rows) error {
	for i := range r.N {
		w := r.Window[i]
		line := fmt.Sprintf("%s [%d,%d) r%d", key(&r.Key, i), w.Start, w.End, r.Revision[i])
		if r.Side > 0 {
			line += fmt.Sprintf(" side %d", r.Side)
		}
		if r.Of[i] != 1 {
			line += fmt.Sprintf(" %d/%d", r.Ordinal[i], r.Of[i])
		}
		for n := range r.Values[0].Cols {
			text := result.AppendValue(nil, &r.Values[0].Cols[n], i, r.Values[0].Blob, result.Millis)
			line += " " + strings.Trim(string(text), `"`)
		}
		p.lines = append(p.lines, line)
	}
	return nil
}

func (p *processed) Late(*stream.Batch, int, stream.Window, stream.Time) error { return nil }

func (p *processed) Refused(_ *stream.Batch, _ int, _ stream.Window, f *udf.Failure) error { return f }

func (p *processed) RefusedPane(key []byte, w stream.Window, f *udf.Failure) error {
	p.lines = append(p.lines, fmt.Sprintf("%s [%d,%d) refused: %s", key, w.Start, w.End, f.Message))
	return nil
}

// processSpec is a step that counts records and shows that to visits.
func processSpec(t *testing.T, v *visits, a Assigner, lateness stream.Time) Spec {
	t.Helper()
	s := Spec{GeneralConfig: GeneralConfig{Groups: 4}}
	s.Assigner, s.Lateness, s.Trigger = a, lateness, trigger.NewEventTime()
	s.Key = []stream.Field{{Name: "k", Kind: stream.String}}
	s.GapCol, s.ValueCol = -1, -1
	s.Process = &Process{Fn: v}
	if v.list {
		s.Process.Lists = [][]int{{1}}
		return s
	}
	s.Process.Inputs = []ProcessInput{{Value: 0, Col: 0}}
	count, err := agg.New("count", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Functions = []Function{{Name: "n", Agg: count}}
	return s
}

// play runs a script over operators that open makes: "a@5=2" is a record with key, time
// and value, "wm=9" a watermark. It makes batches of size records; with restore the
// operator is saved and made anew after each.
func play(t *testing.T, script string, size int, restore bool, open func(Output) (Operator, error)) []string {
	t.Helper()
	var out processed
	op, err := open(&out)
	if err != nil {
		t.Fatal(err)
	}
	wm := stream.MinTime
	b := newBatch(wm)
	send := func() {
		b.SetKeys([]int{0})
		if err := op.Process(b); err != nil {
			t.Fatal(err)
		}
		if restore {
			before := op
			if op, err = open(&out); err != nil {
				t.Fatal(err)
			}
			if restored(t, op, before); !bytes.Equal(saved(op), saved(before)) {
				t.Error("a restored operator has another state")
			}
		}
		b = newBatch(wm)
	}
	for word := range strings.FieldsSeq(script) {
		if at, ok := strings.CutPrefix(word, "wm="); ok {
			if at == "max" {
				wm = stream.MaxTime
			} else if _, err := fmt.Sscan(at, &wm); err != nil {
				t.Fatal(err)
			}
			b.Trailing = wm
			if b.N == 0 || size == 1 {
				send()
			}
			continue
		}
		k, rest, _ := strings.Cut(word, "@")
		at, v, _ := strings.Cut(rest, "=")
		var ts stream.Time
		if _, err := fmt.Sscan(at, &ts); err != nil {
			t.Fatal(err)
		}
		appendRecord(b, k, ts, v, wm)
		if b.N == size {
			send()
		}
	}
	send()
	return out.lines
}

func tumbling(t *testing.T, size stream.Time) Assigner {
	t.Helper()
	a, err := NewTumbling(size, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func sliding(t *testing.T, size, slide stream.Time) Assigner {
	t.Helper()
	a, err := NewSliding(size, slide, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Each row is run at several batch sizes, with and without restores, by the operator that
// the plan chooses, and by the general one.
func TestProcessFunctions(t *testing.T) {
	session, err := NewSession(10, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		fn     visits
		assign Assigner
		late   stream.Time
		edit   func(*Spec)
		script string
		want   string
	}{
		{"states of key and window; a late record that is allowed finds both", visits{states: "key window"}, tumbling(t, 10), 5, nil,
			"a@1 a@2 b@3 wm=9 a@3 wm=13 a@4 a@12 wm=14 a@5 wm=19",
			`a [0,10) r0 2 1 1 9
			a [0,10) r0 side 1 0/2 2
			a [0,10) r0 side 1 1/2 2
			b [0,10) r0 1 1 1 9
			a [0,10) r1 3 2 2 9
			a [0,10) r1 side 1 0/3 3
			a [0,10) r1 side 1 1/3 3
			a [0,10) r1 side 1 2/3 3
			a [0,10) r2 4 3 3 13
			a [0,10) r2 side 1 0/4 4
			a [0,10) r2 side 1 1/4 4
			a [0,10) r2 side 1 2/4 4
			a [0,10) r2 side 1 3/4 4
			a [10,20) r0 1 4 1 19`},
		{"a firing sees the time that made it fire, not how far the watermark has jumped", visits{states: "key"}, tumbling(t, 10), 0, nil,
			"a@1 a@11 a@12 wm=100 a@105 wm=max",
			`a [0,10) r0 1 1 0 9
			a [10,20) r0 2 2 0 19
			a [10,20) r0 side 1 0/2 2
			a [10,20) r0 side 1 1/2 2
			a [100,110) r0 1 3 0 109`},
		{"a state that is not written for its time to live is gone when that is over", visits{states: "key"}, tumbling(t, 10), 0,
			func(s *Spec) { s.Process.TTL = 10 }, "a@1 wm=9 a@11 wm=19 b@25 wm=29 a@31 wm=39 wm=max",
			`a [0,10) r0 1 1 0 9
			a [10,20) r0 1 1 0 19
			b [20,30) r0 1 1 0 29
			a [30,40) r0 1 1 0 39`},
		{"one millisecond more and it is there", visits{states: "key"}, tumbling(t, 10), 0,
			func(s *Spec) { s.Process.TTL = 11 }, "a@1 wm=9 a@11 wm=19 b@25 wm=29 a@31 wm=39 wm=max",
			`a [0,10) r0 1 1 0 9
			a [10,20) r0 1 2 0 19
			b [20,30) r0 1 1 0 29
			a [30,40) r0 1 1 0 39`},
		{"windows that overlap share the state of the key and have their own", visits{states: "key window"}, sliding(t, 20, 10), 11, nil,
			"a@15 wm=19 wm=29 a@16 wm=39 a@35 wm=49",
			`a [0,20) r0 1 1 1 19
			a [10,30) r0 1 2 1 29
			a [0,20) r1 2 3 2 29
			a [0,20) r1 side 1 0/2 2
			a [0,20) r1 side 1 1/2 2
			a [10,30) r1 2 4 2 29
			a [10,30) r1 side 1 0/2 2
			a [10,30) r1 side 1 1/2 2
			a [20,40) r0 1 5 1 39
			a [30,50) r0 1 6 1 49`},
		{"a purge leaves the states of windows alone (S91)", visits{states: "window"}, tumbling(t, 10), 0,
			func(s *Spec) { s.Trigger = trigger.NewPurging(trigger.NewCount(2)) }, "a@1 a@2 a@3 a@4 wm=9 wm=19 a@21 a@22 wm=max",
			`a [0,10) r0 2 0 1 -9223372036854775808
			a [0,10) r0 side 1 0/2 2
			a [0,10) r0 side 1 1/2 2
			a [0,10) r1 2 0 2 -9223372036854775808
			a [0,10) r1 side 1 0/2 2
			a [0,10) r1 side 1 1/2 2
			a [20,30) r0 2 0 1 19
			a [20,30) r0 side 1 0/2 2
			a [20,30) r0 side 1 1/2 2`},
		{"the last three records, every two", visits{states: "key window"}, NewGlobal(), 0,
			func(s *Spec) { s.Trigger, s.Evictor = trigger.NewCount(2), &Evictor{Count: 3} }, "a@1 a@2 b@1 a@3 a@4 a@5 a@6 wm=max",
			`a [-9223372036854775808,9223372036854775807) r0 2 1 1 -9223372036854775808
			a [-9223372036854775808,9223372036854775807) r0 side 1 0/2 2
			a [-9223372036854775808,9223372036854775807) r0 side 1 1/2 2
			a [-9223372036854775808,9223372036854775807) r1 3 2 2 -9223372036854775808
			a [-9223372036854775808,9223372036854775807) r1 side 1 0/3 3
			a [-9223372036854775808,9223372036854775807) r1 side 1 1/3 3
			a [-9223372036854775808,9223372036854775807) r1 side 1 2/3 3
			a [-9223372036854775808,9223372036854775807) r2 3 3 3 -9223372036854775808
			a [-9223372036854775808,9223372036854775807) r2 side 1 0/3 3
			a [-9223372036854775808,9223372036854775807) r2 side 1 1/3 3
			a [-9223372036854775808,9223372036854775807) r2 side 1 2/3 3`},
		{"records come in order of arrival, also when sessions become one (S48)", visits{list: true, states: "key"}, session, 0, nil,
			"a@20=1 a@0=2 a@21=3 a@1=4 a@10=5 wm=max",
			`a [0,31) r0 [1 2 3 4 5] [20 0 21 1 10] 1 0 30
			a [0,31) r0 side 1 0/5 5
			a [0,31) r0 side 1 1/5 5
			a [0,31) r0 side 1 2/5 5
			a [0,31) r0 side 1 3/5 5
			a [0,31) r0 side 1 4/5 5`},
		{"an aggregate of sessions that became one", visits{states: "key"}, session, 0, nil, "a@20 a@0 a@10 b@50 wm=max",
			`a [0,30) r0 3 1 0 29
			a [0,30) r0 side 1 0/3 3
			a [0,30) r0 side 1 1/3 3
			a [0,30) r0 side 1 2/3 3
			b [50,60) r0 1 1 0 59`},
		{"an evictor may leave nothing, and the function is called all the same (S88)", visits{list: true, states: "key"}, tumbling(t, 10), 0,
			func(s *Spec) { s.Evictor = &Evictor{Delta: true, Col: 1} }, "a@1=7 a@2=7 wm=max",
			`a [0,10) r0 [] [] 1 0 9`},
		{"a record without the value is left out of the list", visits{list: true}, tumbling(t, 10), 0, nil, "a@1=7 a@2= b@3= wm=max",
			`a [0,10) r0 [7] [1] 0 0 9
			b [0,10) r0 [] [] 0 0 9`},
		{"a refused firing leaves no trace, and the window may fire again", visits{states: "key window", refuse: 2}, tumbling(t, 10), 5, nil,
			"a@1 a@2 b@1 c@1 c@2 wm=9 a@3 wm=19",
			`a [0,10) refused: I do not take this
			b [0,10) r0 1 1 1 9
			c [0,10) refused: I do not take this
			a [0,10) r0 3 1 1 9
			a [0,10) r0 side 1 0/3 3
			a [0,10) r0 side 1 1/3 3
			a [0,10) r0 side 1 2/3 3`},
		{"a firing that breaks the function down is found among others", visits{states: "key", trap: 3}, tumbling(t, 10), 0, nil,
			"a@1 b@1 b@2 b@3 c@1 d@1 e@1 wm=9 b@11 wm=19",
			`a [0,10) r0 1 1 0 9
			b [0,10) refused: unreachable
			c [0,10) r0 1 1 0 9
			d [0,10) r0 1 1 0 9
			e [0,10) r0 1 1 0 9
			b [10,20) r0 1 1 0 19`},
		{"a worn-out instance is no firing's fault", visits{states: "key", worn: true}, tumbling(t, 10), 0, nil, "a@1 b@1 wm=9",
			`a [0,10) r0 1 1 0 9
			b [0,10) r0 1 1 0 9`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, general := range []bool{false, true} {
				for _, size := range []int{1, 2, 7, 1000} {
					for _, restore := range []bool{false, true} {
						fn := c.fn // one function for all instances of a run, as plug-ins keep nothing
						open := func(out Output) (Operator, error) {
							s := processSpec(t, &fn, c.assign, c.late)
							s.Fine = true
							if c.edit != nil {
								c.edit(&s)
							}
							if general {
								return NewGeneral(s.GeneralConfig, out)
							}
							return New(s, out)
						}
						got := play(t, c.script, size, restore, open)
						var want []string
						for line := range strings.Lines(c.want) {
							want = append(want, strings.TrimSpace(line))
						}
						sortKeys(got)
						if sortKeys(want); !slices.Equal(got, want) {
							t.Fatalf("general %v, batches of %d, restored %v: got\n%s\nwant\n%s", general, size, restore, strings.Join(got, "\n"), strings.Join(want, "\n"))
						}
					}
				}
			}
		})
	}
}

// sortKeys puts side outputs behind the results, since order between two outputs is not
// promised, and then lines of one time in order of their keys, in which keys come is not
// promised: a line goes before its neighbour of another key and the same window. Firings
// of one key keep their order.
func sortKeys(lines []string) {
	side := func(line string) string {
		_, number, _ := strings.Cut(line, " side ")
		return number[:min(1, len(number))]
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(side(a), side(b)) })
	words := make([][]string, len(lines)) // of each line: key, window
	for i, line := range lines {
		words[i] = strings.Fields(line)
	}
	for swapped := true; swapped; {
		swapped = false
		for i := 1; i < len(lines); i++ {
			if a, b := words[i-1], words[i]; a[1] == b[1] && b[0] < a[0] {
				lines[i-1], lines[i], words[i-1], words[i] = lines[i], lines[i-1], b, a
				swapped = true
			}
		}
	}
}

func TestWindowsThatMergeHaveNoState(t *testing.T) {
	session, err := NewSession(10, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(processSpec(t, &visits{states: "window"}, session, 0), &processed{})
	if !errors.Is(err, ErrWindowState) || !errors.Is(err, fault.ErrUser) {
		t.Errorf("got %v", err)
	}
}

// A result that the function does not take is not shown to it; nor is one that a
// function refuses.
func TestAFiringWithoutTheInputGivesNothing(t *testing.T) {
	mean, err := agg.New("mean", []stream.Kind{stream.Float64})
	if err != nil {
		t.Fatal(err)
	}
	open := func(out Output) (Operator, error) {
		s := processSpec(t, &visits{states: "key"}, tumbling(t, 10), 5)
		s.Functions = append(s.Functions, Function{Name: "mean", Agg: mean, Cols: []int{1}})
		s.Process.Fn = meaning{s.Process.Fn}
		s.Process.Inputs = append(s.Process.Inputs, ProcessInput{Value: 1}, ProcessInput{Value: -1})
		return New(s, out)
	}
	got := play(t, "a@1= b@1=4 b@2= wm=9 a@2=1", 1000, false, open)
	want := []string{"b [0,10) r0 2 1 0 9", "b [0,10) r0 side 1 0/2 2", "b [0,10) r0 side 1 1/2 2",
		"a [0,10) r1 2 1 0 9", "a [0,10) r1 side 1 0/2 2", "a [0,10) r1 side 1 1/2 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// meaning is a function that wants a mean and a key too.
type meaning struct{ udf.Process }

func (m meaning) Info() udf.ProcessInfo {
	info := m.Process.Info()
	info.Inputs = append(info.Inputs, udf.Input{Name: "mean", Kind: stream.Float64}, udf.Input{Name: "k", Kind: stream.String})
	return info
}

func (m meaning) Call(in *udf.Firings, out []udf.Emitted) error {
	for i := range in.Window {
		if k := string(in.Inputs.Cols[2].Strs[i].Bytes(in.Inputs.Blob)); k != "a" && k != "b" {
			return fmt.Errorf("key %q", k)
		}
	}
	return m.Process.Call(in, out)
}

// Whatever runs a step, in whatever pieces, with or without restores: the function is
// shown the same.
func TestProcessFunctionsAtRandom(t *testing.T) {
	rows := 0
	for seed := range few(150) {
		d := rand.New(rand.NewPCG(seed, 1))
		script, wm := "", 0
		for range 20 + d.IntN(60) {
			if d.IntN(4) == 0 {
				wm += d.IntN(15)
				script += fmt.Sprintf("wm=%d ", wm)
			}
			script += fmt.Sprintf("%c@%d=%d ", 'a'+d.IntN(3), max(0, wm-10+d.IntN(30)), d.IntN(5))
		}
		script += "wm=max"
		fn := visits{states: "key window", list: d.IntN(3) == 0, refuse: int64(3 + d.IntN(3))}
		late, ttl := stream.Time(d.IntN(2)*12), stream.Time(d.IntN(3)*15)
		size, slide := stream.Time(10*(1+d.IntN(2))), stream.Time(10)
		// With a trigger of their own windows that overlap share slices where refused records
		// are set aside.
		trig := []trigger.Trigger{trigger.NewEventTime(), trigger.NewEventTime(), trigger.NewContinuous(trigger.EventTime, 4), trigger.NewCount(2)}[d.IntN(4)]
		var want []string
		for i, how := range []struct {
			general bool
			size    int
			restore bool
		}{{true, 1, false}, {true, 1000, false}, {true, 3, true}, {false, 1000, false}, {false, 1, true}, {false, 5, true}} {
			got := play(t, script, how.size, how.restore, func(out Output) (Operator, error) {
				s := processSpec(t, &fn, sliding(t, size, slide), late)
				s.Fine, s.Process.TTL, s.Trigger, s.SetAside = true, ttl, trig, true
				if how.general {
					return NewGeneral(s.GeneralConfig, out)
				}
				return New(s, out)
			})
			slices.Sort(got)
			if i == 0 {
				want = got
				rows += len(got)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %+v: got\n%s\nwant\n%s\nof %s", seed, how, strings.Join(got, "\n"), strings.Join(want, "\n"), script)
			}
		}
	}
	if rows < 5000 {
		t.Errorf("only %d rows: the test shows nothing", rows)
	}
}

func TestADamagedSnapshotOfStates(t *testing.T) {
	open := func() Operator {
		s := processSpec(t, &visits{states: "key window"}, tumbling(t, 10), 5)
		s.Process.TTL = 100
		op, err := New(s, &processed{})
		return opened(t, op, err)
	}
	op := open()
	b := newBatch(9)
	for i := range 3 {
		appendRecord(b, fmt.Sprint("k", i), 1, "1", stream.MinTime)
	}
	b.Trailing = 9
	b.SetKeys([]int{0})
	if err := op.Process(b); err != nil {
		t.Fatal(err)
	}
	refusesDamage(t, op, open, func(Operator) {})
}
