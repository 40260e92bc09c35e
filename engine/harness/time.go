package harness

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/watermark"
	"tidemark/spec"
)

// machine runs the scenarios of one kind of job that is a decision about time and no
// operator: generators, combiners, alignment. They are called as the tasks call them.
type machine interface {
	step(st *spec.Step, e *spec.Entry) error
	// restore replaces all state by itself, saved and read into new parts (S105).
	restore() error
}

func runTime(s *spec.Scenario) ([]spec.Entry, error) {
	m, err := newMachine(&s.Job)
	if err != nil {
		return refused(err), nil
	}
	var out []spec.Entry
	for i := range s.Steps {
		e := spec.Entry{AfterStep: i}
		if s.Steps[i].CheckpointRestore {
			err = m.restore()
		} else {
			err = m.step(&s.Steps[i], &e)
		}
		if errors.Is(err, errStep) {
			return nil, unknown(i)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// errStep: the scenario has a step that its job does not know.
var errStep = errors.New("unknown step")

func newMachine(j *spec.Job) (machine, error) {
	switch j.Kind {
	case spec.KindGenerator:
		if g := j.Generator; g.BoundMS < 0 || g.IdleTimeoutMS != nil && *g.IdleTimeoutMS <= 0 {
			return nil, errConfig
		}
		m := &generating{job: j.Generator}
		m.gen, m.out, m.idle = m.parts()
		return m, nil
	case spec.KindCombiner:
		m := &combining{valve: j.Combiner == "valve", inputs: j.InputCount()}
		m.c = m.parts()
		return m, nil
	case spec.KindAlignment:
		m := &aligning{groups: map[string]stream.Time{}, readers: map[string]*reader{}}
		for name, g := range j.Groups {
			m.groups[name] = stream.Time(g.MaxDriftMS)
		}
		var err error
		m.c, err = watermark.NewCoordinator(m.groups)
		return m, err
	}
	r, err := watermark.NewReader(true, false)
	if err != nil {
		return nil, err
	}
	for range j.Splits {
		r.Add()
	}
	return &pausing{names: j.Splits, reader: r, min: watermark.NewMin(len(j.Splits))}, nil
}

// saved passes state through a snapshot.
func saved(snapshot func(*state.Writer), restore func(*state.Reader)) error {
	var w state.Writer
	snapshot(&w)
	r := state.NewReader(w.Buf)
	restore(r)
	return r.Err()
}

// add appends what goes downstream.
func add(e *spec.Entry, c watermark.Change) { e.Events = append(e.Events, events(c)...) }

// generating is a generator with its output and idleness. The clock of a restored one
// has another origin, since a snapshot holds what has elapsed and no absolute time.
type generating struct {
	job    *spec.Generator
	gen    watermark.Generator
	out    watermark.Output
	idle   *watermark.Idleness
	now    stream.Time // of the scenario
	origin stream.Time
}

func (m *generating) parts() (watermark.Generator, watermark.Output, *watermark.Idleness) {
	b := watermark.NewBounded(stream.Time(m.job.BoundMS))
	gen := watermark.Generator(&b)
	if m.job.Type == "ascending" {
		gen = watermark.NewAscending()
	}
	var idle *watermark.Idleness
	if m.job.IdleTimeoutMS != nil {
		idle = &watermark.Idleness{Timeout: stream.Time(*m.job.IdleTimeoutMS)}
	}
	return gen, watermark.NewOutput(), idle
}

func (m *generating) clock() stream.Time { return m.now + m.origin }

func (m *generating) step(st *spec.Step, e *spec.Entry) error {
	punctuated := m.job.Type == "punctuated" // emits after every record
	switch {
	case st.Record != nil:
		m.gen.Record(watermark.Record{Time: timeOf(st.Record.TS)})
		if m.idle != nil {
			m.idle.Event()
		}
		if punctuated {
			add(e, m.out.Emit(m.gen.Current()))
		}
	case st.Periodic != nil:
		m.now = stream.Time(*st.Periodic)
		if m.idle != nil && m.idle.Probe(m.clock()) {
			add(e, m.out.MarkIdle())
		} else if !punctuated {
			add(e, m.out.Emit(m.gen.Current()))
		}
	case st.EndOfInput:
		add(e, m.out.End())
	default:
		return errStep
	}
	return nil
}

func (m *generating) restore() error {
	gen, out, idle := m.parts()
	before := m.clock()
	m.origin += 1_000_003
	err := saved(func(w *state.Writer) {
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
	return err
}

// combining is one of the two combiners.
type combining struct {
	valve  bool
	inputs int
	c      combiner
}

type combiner interface {
	Watermark(int, stream.Time) watermark.Change
	SetIdle(int, bool) watermark.Change
	Snapshot(*state.Writer)
	Restore(*state.Reader)
}

func (m *combining) parts() combiner {
	if m.valve {
		return watermark.NewValve(m.inputs)
	}
	return watermark.NewMin(m.inputs)
}

func (m *combining) step(st *spec.Step, e *spec.Entry) error {
	for in := range m.inputs {
		if st.Input != nil && *st.Input != in {
			continue
		}
		switch {
		case st.Watermark != nil:
			add(e, m.c.Watermark(in, stream.Time(*st.Watermark)))
		case st.Idle != nil:
			add(e, m.c.SetIdle(in, *st.Idle))
		case st.EndOfInput: // active first (S13)
			add(e, m.c.SetIdle(in, false))
			add(e, m.c.Watermark(in, stream.MaxTime))
		default:
			return errStep
		}
	}
	return nil
}

func (m *combining) restore() error {
	c := m.parts()
	err := saved(m.c.Snapshot, c.Restore)
	m.c = c
	return err
}

// aligning is a coordinator with the readers that report to it, without splits.
type aligning struct {
	groups  map[string]stream.Time
	c       *watermark.Coordinator
	readers map[string]*reader // by group/name
}

type reader struct {
	*watermark.Reader
	wm stream.Time // reported last
}

func (m *aligning) step(st *spec.Step, e *spec.Entry) error {
	switch {
	case st.Report != nil:
		if err := m.report(st.Report); err != nil {
			return err
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
		return errStep
	}
	e.Waiting = []string{}
	for _, name := range slices.Sorted(maps.Keys(m.readers)) {
		if m.readers[name].Waits() {
			e.Waiting = append(e.Waiting, name)
		}
	}
	return nil
}

func (m *aligning) report(rep *spec.Report) error {
	name := rep.Group + "/" + rep.Reader
	r := m.readers[name]
	if r == nil {
		fresh, err := watermark.NewReader(true, false)
		if err != nil {
			return err
		}
		r = &reader{fresh, stream.MinTime}
		m.readers[name] = r
	}
	if !rep.Idle {
		r.wm = stream.Time(*rep.Watermark)
	}
	r.Combined(r.wm, rep.Idle)
	if wm, ok := r.Report(); ok {
		r.Bound(m.c.Report(rep.Group, rep.Reader, wm))
	}
	return nil
}

func (m *aligning) restore() error {
	c, err := watermark.NewCoordinator(m.groups)
	if err != nil {
		return err
	}
	if err := saved(m.c.Snapshot, c.Restore); err != nil {
		return err
	}
	m.c = c
	for _, old := range m.readers {
		r, err := watermark.NewReader(true, false)
		if err != nil {
			return err
		}
		if err := saved(old.Snapshot, r.Restore); err != nil {
			return err
		}
		old.Reader = r
	}
	return nil
}

// pausing is one reader with splits and their combiner.
type pausing struct {
	names  []string
	reader *watermark.Reader
	min    *watermark.Min
}

func (m *pausing) step(st *spec.Step, e *spec.Entry) error {
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
		return errStep
	}
	e.Paused = []string{}
	for i, name := range m.names {
		if m.reader.Paused(i) {
			e.Paused = append(e.Paused, name)
		}
	}
	waits := m.reader.Waits()
	e.ReaderWaits = &waits
	return nil
}

func (m *pausing) restore() error {
	r, err := watermark.NewReader(true, false)
	if err != nil {
		return err
	}
	c := watermark.NewMin(0)
	err = errors.Join(saved(m.reader.Snapshot, r.Restore), saved(m.min.Snapshot, c.Restore))
	m.reader, m.min = r, c
	return err
}
