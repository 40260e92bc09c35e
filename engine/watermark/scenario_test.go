package watermark

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/naive"
	"tidemark/spec"
)

// machine runs the steps of the scenarios of one kind of job.
type machine interface {
	step(t *testing.T, st *spec.Step, e *spec.Entry)
	// restore replaces all state by itself, saved and read into new parts.
	restore(t *testing.T)
}

// newMachine returns nil for a job that is refused when it is loaded.
func newMachine(t *testing.T, j *spec.Job) machine {
	switch j.Kind {
	case spec.KindGenerator:
		if g := j.Generator; g.BoundMS < 0 || g.IdleTimeoutMS != nil && *g.IdleTimeoutMS <= 0 {
			return nil
		}
		m := &generating{job: j.Generator}
		m.gen, m.out, m.idle = m.parts()
		return m
	case spec.KindCombiner:
		m := &combining{valve: j.Combiner == "valve", inputs: j.InputCount()}
		m.c = m.parts()
		return m
	case spec.KindAlignment:
		m := &aligning{groups: map[string]stream.Time{}, readers: map[string]*Reader{}}
		for name, g := range j.Groups {
			m.groups[name] = stream.Time(g.MaxDriftMS)
		}
		m.c = m.parts(t)
		return m
	default:
		m := &pausing{names: j.Splits, reader: newReader(t), min: NewMin(len(j.Splits))}
		for range j.Splits {
			m.reader.Add()
		}
		return m
	}
}

// saved passes state through a snapshot.
func saved(t *testing.T, snapshot func(*state.Writer), restore func(*state.Reader)) {
	t.Helper()
	var w state.Writer
	snapshot(&w)
	r := state.NewReader(w.Buf)
	restore(r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, s *spec.Scenario, restoreAlways bool) []spec.Entry {
	m := newMachine(t, &s.Job)
	if m == nil {
		return []spec.Entry{{AfterStep: spec.ConfigStep, Error: spec.ErrInvalidConfig}}
	}
	var out []spec.Entry
	for i := range s.Steps {
		e := spec.Entry{AfterStep: i}
		if s.Steps[i].CheckpointRestore {
			m.restore(t)
		} else {
			m.step(t, &s.Steps[i], &e)
		}
		if restoreAlways {
			m.restore(t)
		}
		out = append(out, e)
	}
	return out
}

var ourKinds = []string{spec.KindGenerator, spec.KindCombiner, spec.KindAlignment, spec.KindSplitAlignment}

func check(t *testing.T, s *spec.Scenario) {
	t.Helper()
	for _, restored := range []bool{false, true} {
		if d := spec.Diff(s, run(t, s, restored)); d != "" {
			t.Errorf("%s, restored after every step %v: %s", s.ID, restored, d)
		}
	}
}

func TestPublishedScenarios(t *testing.T) {
	seen := map[string]int{}
	for _, s := range spec.Published() {
		if slices.Contains(ourKinds, s.Job.Kind) {
			seen[s.Job.Kind]++
			check(t, &s)
		}
	}
	if len(seen) != len(ourKinds) {
		t.Errorf("scenarios of some kinds are missing: %v", seen)
	}
}

// The seed of a scenario is in its name.
func TestScenariosMadeAtRandom(t *testing.T) {
	for seed := range uint64(10_000) {
		if s := naive.Generate(seed); slices.Contains(ourKinds, s.Job.Kind) {
			check(t, &s)
		}
	}
}

// events appends what goes downstream.
func events(e *spec.Entry, c Change) {
	if c.Status == BecameActive {
		e.Events = append(e.Events, spec.Event{Status: spec.StatusActive})
	}
	if c.Advanced {
		wm := int64(c.Watermark)
		e.Events = append(e.Events, spec.Event{Watermark: &wm})
	}
	if c.Status == BecameIdle {
		e.Events = append(e.Events, spec.Event{Status: spec.StatusIdle})
	}
}

// generating is a generator with its output and idleness. The clock of a restored one
// has another origin.
type generating struct {
	job    *spec.Generator
	gen    Generator
	out    Output
	idle   *Idleness
	now    stream.Time // of the scenario
	origin stream.Time
}

func (m *generating) parts() (Generator, Output, *Idleness) {
	b := NewBounded(stream.Time(m.job.BoundMS))
	gen := Generator(&b)
	if m.job.Type == "ascending" {
		gen = NewAscending()
	}
	var idle *Idleness
	if m.job.IdleTimeoutMS != nil {
		idle = &Idleness{Timeout: stream.Time(*m.job.IdleTimeoutMS)}
	}
	return gen, NewOutput(), idle
}

func (m *generating) clock() stream.Time { return m.now + m.origin }

func (m *generating) step(t *testing.T, st *spec.Step, e *spec.Entry) {
	punctuated := m.job.Type == "punctuated" // emits after every record
	switch {
	case st.Record != nil:
		m.gen.Record(Record{Time: stream.Time(*st.Record.TS)})
		if m.idle != nil {
			m.idle.Event()
		}
		if punctuated {
			events(e, m.out.Emit(m.gen.Current()))
		}
	case st.Periodic != nil:
		m.now = stream.Time(*st.Periodic)
		if m.idle != nil && m.idle.Probe(m.clock()) {
			events(e, m.out.MarkIdle())
		} else if !punctuated {
			events(e, m.out.Emit(m.gen.Current()))
		}
	case st.EndOfInput:
		events(e, m.out.End())
	default:
		t.Fatal("a step of no kind this test knows")
	}
}

func (m *generating) restore(t *testing.T) {
	gen, out, idle := m.parts()
	before := m.clock()
	m.origin += 1_000_003
	saved(t, func(w *state.Writer) {
		m.gen.Snapshot(w)
		m.out.Snapshot(w)
		if idle != nil {
			m.idle.Snapshot(w, before)
		}
	}, func(r *state.Reader) {
		gen.Restore(r)
		out.Restore(r)
		if idle != nil {
			idle.Restore(r, m.clock())
		}
	})
	m.gen, m.out, m.idle = gen, out, idle
}

type combiner interface {
	Watermark(int, stream.Time) Change
	SetIdle(int, bool) Change
	Snapshot(*state.Writer)
	Restore(*state.Reader)
}

type combining struct {
	valve  bool
	inputs int
	c      combiner
}

func (m *combining) parts() combiner {
	if m.valve {
		return NewValve(m.inputs)
	}
	return NewMin(m.inputs)
}

func (m *combining) step(t *testing.T, st *spec.Step, e *spec.Entry) {
	inputs := []int{}
	for i := range m.inputs {
		if st.Input == nil || *st.Input == i {
			inputs = append(inputs, i)
		}
	}
	for _, i := range inputs {
		switch {
		case st.Watermark != nil:
			events(e, m.c.Watermark(i, stream.Time(*st.Watermark)))
		case st.Idle != nil:
			events(e, m.c.SetIdle(i, *st.Idle))
		case st.EndOfInput:
			events(e, m.c.SetIdle(i, false))
			events(e, m.c.Watermark(i, stream.MaxTime))
		default:
			t.Fatal("a step of no kind this test knows")
		}
	}
}

func (m *combining) restore(t *testing.T) {
	c := m.parts()
	saved(t, m.c.Snapshot, c.Restore)
	m.c = c
}

// aligning is a coordinator with the readers that report to it, without splits.
type aligning struct {
	groups  map[string]stream.Time
	c       *Coordinator
	readers map[string]*Reader // by group/name
}

func newReader(t *testing.T) *Reader {
	r, err := NewReader(true, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (m *aligning) parts(t *testing.T) *Coordinator {
	c, err := NewCoordinator(m.groups)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (m *aligning) step(t *testing.T, st *spec.Step, e *spec.Entry) {
	switch {
	case st.Report != nil:
		name := st.Report.Group + "/" + st.Report.Reader
		r := m.readers[name]
		if r == nil {
			r = newReader(t)
			m.readers[name] = r
		}
		if st.Report.Idle {
			r.Combined(r.combined, true)
		} else {
			r.Combined(stream.Time(*st.Report.Watermark), false)
		}
		if wm, ok := r.Report(); ok {
			r.Bound(m.c.Report(st.Report.Group, st.Report.Reader, wm))
		}
	case st.Announce:
		e.Bounds = map[string]int64{}
		m.c.Announce(func(group string, bound stream.Time) {
			e.Bounds[group] = int64(bound)
			for name, r := range m.readers {
				if g, _, _ := strings.Cut(name, "/"); g == group {
					r.Bound(bound)
				}
			}
		})
	default:
		t.Fatal("a step of no kind this test knows")
	}
	e.Waiting = []string{}
	for _, name := range slices.Sorted(maps.Keys(m.readers)) {
		if m.readers[name].Waits() {
			e.Waiting = append(e.Waiting, name)
		}
	}
}

func (m *aligning) restore(t *testing.T) {
	c := m.parts(t)
	saved(t, m.c.Snapshot, c.Restore)
	m.c = c
	for name, old := range m.readers {
		r := newReader(t)
		saved(t, old.Snapshot, r.Restore)
		m.readers[name] = r
	}
}

// pausing is one reader with splits and their combiner.
type pausing struct {
	names  []string
	reader *Reader
	min    *Min
}

func (m *pausing) step(t *testing.T, st *spec.Step, e *spec.Entry) {
	switch {
	case st.Watermark != nil:
		i := slices.Index(m.names, st.Split)
		m.reader.Split(i, stream.Time(*st.Watermark))
		m.min.Watermark(i, stream.Time(*st.Watermark))
		m.reader.Combined(m.min.Out(), m.min.Idle())
	case st.SplitFinished != "":
		i := slices.Index(m.names, st.SplitFinished)
		m.reader.Finish(i)
		m.min.Remove(i)
	case st.MaxDesired != nil:
		m.reader.Bound(stream.Time(*st.MaxDesired))
	default:
		t.Fatal("a step of no kind this test knows")
	}
	e.Paused = []string{}
	for i, name := range m.names {
		if m.reader.Paused(i) {
			e.Paused = append(e.Paused, name)
		}
	}
	waits := m.reader.Waits()
	e.ReaderWaits = &waits
}

func (m *pausing) restore(t *testing.T) {
	r, c := newReader(t), NewMin(0)
	saved(t, m.reader.Snapshot, r.Restore)
	saved(t, m.min.Snapshot, c.Restore)
	m.reader, m.min = r, c
}
