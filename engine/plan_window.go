package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/engine/agg"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/window"
	"tidemark/internal/fault"
)

// windowSpec turns a step of the job into what package window runs, with its functions.
func (j *Job) windowSpec(ctx context.Context, st *stepSpec) (window.Spec, error) {
	s := window.Spec{GeneralConfig: window.GeneralConfig{Groups: j.graph.MaxParallelism}}
	s.Key, s.DropNullKey = st.key, st.NullKey == job.Drop
	s.Sources, s.HotKeys = fromSources(j.graph, st.Step), st.HotKeys
	s.Lateness = ms(st.AllowedLateness)
	s.SetAside = st.OnError == job.DeadLetter
	s.Guard = newGuard(st.Step, s.Groups)
	s.Fine = j.graph.Settings.OrderReplay || j.opts.fine
	s.Spill = j.spill.of(st.ID)
	s.GapCol, s.ValueCol = -1, -1
	if err := shape(st, &s, j.userCode(ctx)); err != nil {
		return s, err
	}
	if st.join != nil {
		if err := st.join.functions(ctx, j, st, &s); err != nil {
			return s, errors.Join(err, closeUserCode(&s))
		}
		return s, j.process(ctx, st, &s)
	}
	st.names, st.outputs, st.order = nil, nil, nil
	for i := range st.Aggregates {
		a := &st.Aggregates[i]
		f, err := j.function(ctx, st, a)
		if err != nil {
			return s, errors.Join(fmt.Errorf("aggregate %s: %w", a.Name, err), closeFunctions(&s))
		}
		s.Functions = append(s.Functions, f)
		st.names = append(st.names, a.Name)
		st.outputs = append(st.outputs, f.Agg.Info().Outputs)
	}
	if s.Assigner.Merging() {
		var err error
		if st.order, err = listsWhole(st, &s); err != nil {
			return s, errors.Join(err, closeUserCode(&s))
		}
	}
	if err := j.process(ctx, st, &s); err != nil {
		return s, errors.Join(err, closeFunctions(&s))
	}
	return s, nil
}

// listsWhole lets functions of lists see the records themselves where windows merge, so
// that they come in order of arrival (S48). The operator has their results behind those
// of the others; order says where each aggregate's is, in order of the job file.
func listsWhole(st *stepSpec, s *window.Spec) (order []int, err error) {
	var fns []window.Function
	var lists []int // aggregates that are lists
	order = make([]int, len(s.Functions))
	for i, f := range s.Functions {
		whole, ok := agg.Whole(st.Aggregates[i].Function)
		if !ok {
			order[i] = len(fns)
			fns = append(fns, f)
			continue
		}
		s.Whole = append(s.Whole, window.WholeFunction{Name: f.Name, Fn: whole, Cols: f.Cols})
		lists = append(lists, i)
		if err := f.Agg.Close(); err != nil {
			return nil, err
		}
	}
	for n, i := range lists {
		order[i] = len(fns) + n
	}
	s.Functions = fns
	if len(lists) == 0 {
		return nil, nil
	}
	return order, nil
}

// shape sets assigner, trigger and evictor; user makes those of plug-ins. After an error
// nothing is left open.
func shape(st *stepSpec, s *window.Spec, user userCode) (err error) {
	w := st.Window
	if w.Kind == job.PluginWindow {
		if s.Assigner, err = userAssigner(st, user); err != nil {
			return err
		}
	} else if s.Assigner, err = assigner(w); err != nil {
		return fault.As(fault.ErrUser, err)
	}
	if w.GapField != "" {
		s.GapCol = column(st.fields, w.GapField)
	}
	standard := trigger.NewEventTime() // S64
	switch {
	case w.Kind == job.Count && w.Every > 0: // S82
		standard, s.Evictor = trigger.NewCount(int64(w.Every)), &window.Evictor{Count: w.Records}
	case w.Kind == job.Count: // S81
		standard = trigger.NewPurging(trigger.NewCount(int64(w.Records)))
	case w.Kind == job.Global:
		standard = trigger.NewNever()
	case w.Time == job.ProcessingTime:
		standard = trigger.NewProcessingTime()
	}
	s.Trigger = standard
	if st.Trigger != nil {
		if s.Trigger, err = stepTrigger(st, st.Trigger, s, user); err != nil {
			return errors.Join(err, closeUserCode(s))
		}
	}
	if e := st.Evictor; e != nil {
		s.Evictor = &window.Evictor{Count: e.N, Keep: ms(e.Keep), Delta: e.Kind == job.EvictDelta, Threshold: e.Threshold, Abs: e.Abs, After: e.After}
		if s.Evictor.Delta {
			s.Evictor.Col = column(st.fields, e.Field)
		}
	}
	return nil
}

// stepTrigger makes a trigger, with those inside it.
func stepTrigger(st *stepSpec, t *job.Trigger, s *window.Spec, user userCode) (trigger.Trigger, error) {
	domain := trigger.EventTime
	if t.Time == job.ProcessingTime {
		domain = trigger.ProcessingTime
	}
	var inner trigger.Trigger
	if t.Inner != nil {
		var err error
		if inner, err = stepTrigger(st, t.Inner, s, user); err != nil {
			return nil, err
		}
	}
	switch t.Kind {
	case job.TriggerEventTime:
		return trigger.NewEventTime(), nil
	case job.TriggerProcessingTime:
		return trigger.NewProcessingTime(), nil
	case job.TriggerContinuous:
		return trigger.NewContinuous(domain, ms(t.Every)), nil
	case job.TriggerCount:
		return trigger.NewCount(t.N), nil
	case job.TriggerDelta:
		s.ValueCol = column(st.fields, t.Field)
		return trigger.NewDelta(t.Threshold, t.Abs), nil
	case job.TriggerPurging:
		return trigger.NewPurging(inner), nil
	case job.TriggerProcessingTimeout:
		return trigger.NewProcessingTimeout(inner, ms(t.After), t.Reset, t.Clear), nil
	case job.TriggerCountOrTimeout:
		tr := trigger.NewCountOrTimeout(t.N, ms(t.After), domain)
		if t.Purge {
			tr = trigger.NewPurging(tr)
		}
		return tr, nil
	case job.TriggerNever:
		return trigger.NewNever(), nil
	case job.TriggerEndOfStream:
		return trigger.NewEndOfStream(), nil
	case job.TriggerPlugin:
		return userTrigger(st, t, user)
	}
	return nil, fault.Userf("triggers of kind %q are not run by this version", t.Kind)
}

// usesClock reports whether a step has anything to do when only the clock goes on.
func usesClock(st *job.Step) bool {
	if st.Window.Time == job.ProcessingTime {
		return true
	}
	for t := st.Trigger; t != nil; t = t.Inner {
		if t.Kind == job.TriggerProcessingTime || t.Kind == job.TriggerProcessingTimeout || t.Kind == job.TriggerPlugin || t.Time == job.ProcessingTime {
			return true
		}
	}
	return false
}

func ms(d time.Duration) stream.Time { return stream.Time(d.Milliseconds()) }

// assigner makes the assigner of a window. A count window is the global one with a
// trigger of its own (S81, S82).
func assigner(w *job.Window) (window.Assigner, error) {
	clock := w.Time == job.ProcessingTime
	switch w.Kind {
	case job.Tumbling:
		return window.NewTumbling(ms(w.Size), ms(w.Offset), clock)
	case job.Sliding:
		return window.NewSliding(ms(w.Size), ms(w.Slide), ms(w.Offset), clock)
	case job.Session:
		if w.GapField != "" {
			return window.NewDynamicSession(clock), nil
		}
		return window.NewSession(ms(w.Gap), clock)
	case job.Day:
		zone, err := time.LoadLocation(w.Zone)
		if err != nil {
			return nil, err
		}
		return window.NewDay(zone), nil
	}
	return window.NewGlobal(), nil
}
