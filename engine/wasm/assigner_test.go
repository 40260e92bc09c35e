package wasm

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/harness"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
	"tidemark/internal/naive"
	"tidemark/spec"
)

// assigning makes window assigners of one module.
type assigning struct {
	ps *Plugins
	p  *job.Plugin
}

func newAssigning(tb testing.TB, dir string, merges bool) *assigning {
	tb.Helper()
	s := &assigning{ps: host(tb, map[string][]byte{"plug": build(tb, dir)}), p: &job.Plugin{Name: "plug"}}
	info, err := s.ps.Describe(s.p)
	if err != nil || info.Kind != job.AssignerKind || info.Assigner.Merges != merges || len(info.Inputs) != 1 {
		tb.Fatalf("it is described as %+v, %v", info, err)
	}
	return s
}

func (s *assigning) start(tb testing.TB, args ...job.Arg) (udf.Assigner, error) {
	return s.ps.Assigner(tb.Context(), s.p, &job.Window{Kind: job.PluginWindow, Plugin: "plug", Args: args}, []stream.Kind{stream.Int64})
}

// gapRows are records with a gap, below 0: null.
func gapRows(gaps ...int64) *udf.Rows {
	b := &stream.Batch{}
	b.Reset([]stream.Kind{stream.Int64})
	rows := &udf.Rows{Batch: b, Cols: []int{0}}
	for i, g := range gaps {
		if g < 0 {
			b.Cols[0].AppendNull()
		} else {
			b.Cols[0].AppendInt(g)
		}
		b.Time = append(b.Time, stream.Time(100*i))
		rows.Sel = append(rows.Sel, uint32(i))
		b.N++
	}
	return rows
}

// Records cross the line between host and guest, in one frame and in several; windows name
// the records that they are of, among those that were chosen.
func TestAnAssigner(t *testing.T) {
	s := newAssigning(t, "testdata/assigners", false)
	fn, err := s.start(t, number("size", 20), number("slide", 10))
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	if i := fn.Info(); i.Name != "plug" || i.Merges || len(i.Inputs) != 1 || !i.Inputs[0].Nullable {
		t.Errorf("got %+v", i)
	}
	rows := gapRows(1, 2, -1, 4)
	rows.Sel = []uint32{0, 2, 3}
	var out udf.Assigned
	if err := fn.Assign(rows, &out); err != nil {
		t.Fatal(err)
	}
	w := func(start stream.Time) stream.Window { return stream.Window{Start: start, End: start + 20} }
	if want := []stream.Window{w(0), w(-10), w(200), w(190), w(300), w(290)}; !slices.Equal(out.Windows, want) || !slices.Equal(out.Of, []uint32{0, 0, 1, 1, 2, 2}) {
		t.Errorf("got %v of %v", out.Windows, out.Of)
	}
	// 100,000 records and their windows do not fit into one frame.
	many := gapRows(make([]int64, 100_000)...)
	out.Truncate(0)
	if err := fn.Assign(many, &out); err != nil || len(out.Windows) != 200_000 {
		t.Fatalf("%d windows, %v", len(out.Windows), err)
	}
	for i, of := range out.Of {
		if int(of) != i/2 || out.Windows[i] != w(stream.Time(100*(i/2)-10*(i%2))) {
			t.Fatalf("window %d is %v of record %d", i, out.Windows[i], of)
		}
	}
	if _, err := s.start(t, number("size", 0), number("slide", 1)); err == nil || !strings.Contains(err.Error(), "plug-in plug refuses its arguments: size and slide must be above 0") {
		t.Errorf("got %v", err)
	}
}

func TestAnAssignerThatFails(t *testing.T) {
	s := newAssigning(t, "testdata/assigners", false)
	fn, err := s.start(t, number("size", 10), number("slide", 10), truth("moody", true))
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	for _, c := range []struct {
		gap  int64
		trap bool
		want string
	}{{13, false, "unlucky"}, {14, true, "panic: out of luck"}} {
		var out udf.Assigned
		f := (*udf.Failure)(nil)
		if err := fn.Assign(gapRows(1, 2, c.gap, 3), &out); !errors.As(err, &f) || f.Op != 2 || f.Trap != c.trap || !strings.HasPrefix(f.Message, c.want) {
			t.Errorf("%d: got %v", c.gap, err)
		}
	}
	// A module of another kind is none, whatever the job was checked against.
	other := &assigning{ps: host(t, map[string][]byte{"plug": build(t, "../../plugins/sections")}), p: &job.Plugin{Name: "plug"}}
	if _, err := other.ps.Describe(other.p); err != nil {
		t.Fatal(err)
	}
	if _, err := other.start(t); err == nil || !strings.Contains(err.Error(), "plug-in plug: it is no window assigner") {
		t.Errorf("got %v", err)
	}
}

// An answer that contradicts SPEC.md is a failure, and no window.
func TestAnswersOfAnAssigner(t *testing.T) {
	entry := func(item, what uint32, body ...byte) (b []byte) {
		for _, v := range []uint32{item, what, uint32(len(body)), 0} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return append(b, append(body, make([]byte, -len(body)&7)...)...)
	}
	good := entry(1, 0, append([]byte{5, 0, 0, 0, 0, 0, 0, 0}, 9, 0, 0, 0, 0, 0, 0, 0)...)
	for _, c := range []struct {
		answer []byte
		want   string
	}{
		{good, ""},
		{entry(0, 1, make([]byte, 16)...), "an entry is of kind 0x1, and all that a window assigner answers is windows, which are 0"},
		{entry(0, 0x8000_0000), "an entry is of kind 0x80000000, and all that a window assigner answers is windows, which are 0"},
		{entry(0, 0, make([]byte, 8)...), "a window has 8 bytes, it must have 16"},
		{entry(0, 0, make([]byte, 17)...), "a window has 17 bytes, it must have 16"},
		{append(slices.Clone(good), entry(0, 0, make([]byte, 16)...)...), "an entry is of item 0 behind one of item 1, with 2 complete"},
		{entry(2, 0, make([]byte, 16)...), "an entry is of item 2 behind one of item 0, with 2 complete"},
		{good[:20], "an entry of 16 bytes ends outside the used output"},
	} {
		a := &assigner{shown: singles{indexes: []uint32{3, 7, 9}}}
		var out udf.Assigned
		_, err := a.take(1, 2, c.answer, &out)
		switch {
		case c.want == "" && (err != nil || len(out.Windows) != 1 || out.Windows[0] != stream.Window{Start: 5, End: 9} || out.Of[0] != 9):
			t.Errorf("got %v of %v, %v", out.Windows, out.Of, err)
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// blank throws its instance away before every call.
type blank struct{ *assigner }

func (b blank) Assign(rows *udf.Rows, out *udf.Assigned) error {
	b.drop()
	return b.assigner.Assign(rows, out)
}

// assigningFor makes windows of the modules in place of those of scenarios that they can
// stand for, and counts them. With amnesia each call meets a fresh instance.
func assigningFor(t *testing.T, amnesia bool, replaced map[string]int) harness.UserAssigner {
	apart, together := newAssigning(t, "testdata/assigners", false), newAssigning(t, "../../plugins/own_gap", true)
	return func(w *spec.Window, instead window.Assigner) (udf.Assigner, error) {
		if !harness.CanAssign(w, instead) {
			return nil, nil
		}
		from, args := apart, []job.Arg(nil)
		switch w.Type {
		case "tumbling":
			args = []job.Arg{number("size", w.SizeMS), number("slide", w.SizeMS), number("offset", w.OffsetMS)}
		case "sliding":
			args = []job.Arg{number("size", w.SizeMS), number("slide", w.SlideMS), number("offset", w.OffsetMS)}
		case "session":
			from, args = together, []job.Arg{number("gap_ms", w.GapMS)}
		case "dynamic_session":
			from = together
		default:
			return nil, nil // days
		}
		fn, err := from.start(t, args...)
		if err != nil {
			return nil, err
		}
		replaced[w.Type]++
		a := fn.(*assigner)
		var u udf.Assigner = a
		if amnesia {
			u = blank{a}
		}
		if w.Type == "session" {
			return gapless{u}, nil
		}
		return u, nil
	}
}

// gapless shows records without a gap of their own: those of scenarios have one of 0 then.
type gapless struct{ udf.Assigner }

func (g gapless) Info() udf.AssignerInfo {
	return udf.AssignerInfo{Name: "plug", Merges: true}
}

func (g gapless) Assign(rows *udf.Rows, out *udf.Assigned) error {
	b := &stream.Batch{}
	b.Reset([]stream.Kind{stream.Int64})
	for range rows.Batch.N {
		b.Cols[0].AppendNull()
	}
	b.N, b.Time = rows.Batch.N, rows.Batch.Time
	return g.Assigner.Assign(&udf.Rows{Batch: b, Cols: []int{0}, Sel: rows.Sel}, out)
}

// Every published scenario with tumbling, sliding or session windows, those with gaps of their own too, gives the same with a
// plug-in that names them, though its instance has forgotten everything before each call.
func TestScenariosWithWindowsOfAPlugIn(t *testing.T) {
	replaced := map[string]int{}
	user := assigningFor(t, true, replaced)
	for i, s := range spec.Published() {
		if s.Job.Window == nil || s.Job.Kind == spec.KindAssign {
			continue
		}
		for _, restored := range []bool{false, true} {
			if restored && i%2 == 1 {
				continue // a restore starts instances for each step; the harness has them all, without guests
			}
			c := s
			if restored {
				c = spec.WithRestoreAfterEveryStep(s)
			}
			if d := harness.CheckVariant(&c, harness.Variant{Together: !restored, Parallelism: 1, Assigner: user}); d != "" {
				t.Errorf("%s, restored %v: %s", s.ID, restored, d)
			}
		}
	}
	for _, kind := range []string{"tumbling", "sliding", "session", "dynamic_session"} {
		if replaced[kind] < 5 {
			t.Errorf("%d scenarios have %s windows", replaced[kind], kind)
		}
	}
	t.Log(replaced)
}

// So do scenarios made at random, in batches and not, at any parallelism, with joins,
// lateness, triggers and evictors, and triggers of users beside.
func TestScenariosAtRandomWithWindowsOfAPlugIn(t *testing.T) {
	replaced := map[string]int{}
	user := assigningFor(t, false, replaced)
	for seed := uint64(1); seed <= 200; seed++ {
		s := naive.Generate(seed)
		if s.Job.Window == nil || s.Job.Kind == spec.KindAssign {
			continue
		}
		v := harness.Variant{Together: seed%2 == 0, Parallelism: 1, Assigner: user}
		if s.Job.IsKeyed() {
			v.Parallelism += int(seed % 3)
		}
		if seed%3 == 0 {
			v.Trigger = harness.InUserCode
		}
		if seed%5 == 0 {
			s = spec.WithRestoreAfterEveryStep(s)
		}
		if d := harness.CheckVariant(&s, v); d != "" {
			t.Errorf("seed %d, %s: %s", seed, s.ID, d)
		}
	}
	for _, kind := range []string{"tumbling", "sliding", "session", "dynamic_session"} {
		if replaced[kind] < 20 {
			t.Errorf("%d scenarios have %s windows", replaced[kind], kind)
		}
	}
	t.Log(replaced)
}
