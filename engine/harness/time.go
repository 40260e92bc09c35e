package harness

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/watermark"
	"tidemark/spec"
)

func runCombiner(s *spec.Scenario) ([]spec.Entry, error) {
	type combiner interface {
		Watermark(int, stream.Time) watermark.Change
		SetIdle(int, bool) watermark.Change
		Snapshot(*state.Writer)
		Restore(*state.Reader)
	}
	fresh := func() combiner {
		if s.Job.Combiner == "valve" {
			return watermark.NewValve(s.Job.InputCount())
		}
		return watermark.NewMin(s.Job.InputCount())
	}
	c := fresh()
	var out []spec.Entry
	for i, step := range s.Steps {
		e := spec.Entry{AfterStep: i}
		if step.CheckpointRestore {
			var w state.Writer
			c.Snapshot(&w)
			c = fresh()
			r := state.NewReader(w.Buf)
			if c.Restore(r); r.Err() != nil {
				return nil, r.Err()
			}
			continue
		}
		for in := range s.Job.InputCount() {
			if step.Input != nil && *step.Input != in {
				continue
			}
			switch {
			case step.Watermark != nil:
				e.Events = append(e.Events, events(c.Watermark(in, stream.Time(*step.Watermark)))...)
			case step.Idle != nil:
				e.Events = append(e.Events, events(c.SetIdle(in, *step.Idle))...)
			case step.EndOfInput: // active first (S13)
				e.Events = append(e.Events, events(c.SetIdle(in, false))...)
				e.Events = append(e.Events, events(c.Watermark(in, stream.MaxTime))...)
			default:
				return nil, unknown(i)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

func runGenerator(s *spec.Scenario) ([]spec.Entry, error) {
	g := s.Job.Generator
	if g.BoundMS < 0 || g.IdleTimeoutMS != nil && *g.IdleTimeoutMS <= 0 {
		return refused(errConfig), nil
	}
	gen, o := watermark.NewBounded(stream.Time(g.BoundMS)), watermark.NewOutput()
	var idle *watermark.Idleness
	if g.IdleTimeoutMS != nil {
		idle = &watermark.Idleness{Timeout: stream.Time(*g.IdleTimeoutMS)}
	}
	var out []spec.Entry
	for i, step := range s.Steps {
		e := spec.Entry{AfterStep: i}
		switch {
		case step.Record != nil:
			gen.Event(timeOf(step.Record.TS))
			if idle != nil {
				idle.Event()
			}
			if g.Type == "punctuated" {
				e.Events = events(o.Emit(gen.Current()))
			}
		case step.Periodic != nil:
			if idle != nil && idle.Probe(stream.Time(*step.Periodic)) {
				e.Events = events(o.MarkIdle())
			} else if g.Type != "punctuated" {
				e.Events = events(o.Emit(gen.Current()))
			}
		case step.EndOfInput:
			e.Events = events(o.End())
		case step.CheckpointRestore:
		default:
			return nil, unknown(i)
		}
		out = append(out, e)
	}
	return out, nil
}
