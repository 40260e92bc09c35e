package harness

import (
	"fmt"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/watermark"
	"tidemark/engine/window"
	"tidemark/spec"
)

// Scenarios of single decisions: assigners, the merging of intervals, generators and
// combiners. They are called as the tasks call them.

func span(w stream.Window) spec.Span {
	if w == stream.Global {
		return spec.Span{None: true}
	}
	return spec.Span{Start: int64(w.Start), End: int64(w.End)}
}

func timeOf(ts *int64) stream.Time {
	if ts == nil {
		return stream.MinTime // no timestamp (S2)
	}
	return stream.Time(*ts)
}

func refused(err error) []spec.Entry {
	return []spec.Entry{{AfterStep: spec.ConfigStep, Error: errorName(err)}}
}

func runAssign(s *spec.Scenario) ([]spec.Entry, error) {
	a, _, err := assigner(s.Job.Window)
	if err != nil {
		return refused(err), nil
	}
	var out []spec.Entry
	now := stream.Time(s.Job.StartProcessingTime)
	for i, step := range s.Steps {
		switch {
		case step.ProcessingTime != nil:
			now = stream.Time(*step.ProcessingTime)
		case step.Record != nil:
			windows, err := a.Assign(nil, timeOf(step.Record.TS), now, gapOf(step.Record))
			if err != nil {
				return append(out, spec.Entry{AfterStep: i, Error: errorName(err)}), nil
			}
			e := spec.Entry{AfterStep: i}
			for _, w := range windows {
				e.Windows = append(e.Windows, span(w))
			}
			out = append(out, e)
		default:
			return nil, unknown(i)
		}
	}
	return out, nil
}

func unknown(step int) error { return fmt.Errorf("step %d is of no kind that this job has", step) }

func gapOf(r *spec.Record) stream.Time {
	if r.GapMS == nil {
		return 0
	}
	return stream.Time(*r.GapMS)
}

func runMerge(s *spec.Scenario) ([]spec.Entry, error) {
	var out []spec.Entry
	for i, step := range s.Steps {
		if step.Merge == nil {
			return nil, unknown(i)
		}
		// Session windows come one by one, and each is merged with what it touches.
		type set struct {
			into stream.Window
			from []stream.Window
		}
		var sets []set
		for _, m := range step.Merge {
			w := stream.Window{Start: stream.Time(m.Start), End: stream.Time(m.End)}
			windows := make([]stream.Window, len(sets))
			for n := range sets {
				windows[n] = sets[n].into
			}
			lo, hi, into := window.Touching(windows, w)
			merged := set{into, []stream.Window{w}}
			for _, t := range sets[lo:hi] {
				merged.from = append(merged.from, t.from...)
			}
			sets = slices.Replace(sets, lo, hi, merged)
		}
		e := spec.Entry{AfterStep: i}
		for _, t := range sets {
			if len(t.from) < 2 {
				continue
			}
			m := spec.Merged{Into: span(t.into)}
			slices.SortFunc(t.from, func(a, b stream.Window) int { return int(a.Start - b.Start) })
			for _, w := range t.from {
				m.From = append(m.From, span(w))
			}
			e.Merged = append(e.Merged, m)
		}
		out = append(out, e)
	}
	return out, nil
}

// events turns a change into what goes downstream, in order (S69).
func events(c watermark.Change) []spec.Event {
	var out []spec.Event
	if c.Status == stream.BecameActive {
		out = append(out, spec.Event{Status: spec.StatusActive})
	}
	if c.Advanced {
		wm := int64(c.Watermark)
		out = append(out, spec.Event{Watermark: &wm})
	}
	if c.Status == stream.BecameIdle {
		out = append(out, spec.Event{Status: spec.StatusIdle})
	}
	return out
}
