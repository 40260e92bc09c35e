package harness

import (
	"errors"
	"fmt"
	"time"

	"tidemark/engine/agg"
	"tidemark/engine/join"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/window"
	"tidemark/internal/fault"
	"tidemark/spec"
)

// The columns of a scenario's records.
const (
	keyCol = iota
	valueCol
	gapCol
)

var kinds = []stream.Kind{stream.String, stream.Int64, stream.Int64}

// errConfig is a job that cannot be right.
var errConfig = errors.New("invalid configuration")

// errorName is what scenarios call an error.
func errorName(err error) string {
	switch {
	case errors.Is(err, window.ErrNoTimestamp), errors.Is(err, join.ErrNoTimestamp):
		return spec.ErrMissingTimestamp
	case errors.Is(err, window.ErrGap), refusedGap(err):
		return spec.ErrInvalidGap
	case errors.Is(err, window.ErrCannotMerge):
		return spec.ErrTriggerCannotMerge
	case errors.Is(err, window.ErrWindowState):
		return spec.ErrWindowState
	case errors.Is(err, window.ErrLateness), errors.Is(err, errConfig), errors.Is(err, fault.ErrUser):
		return spec.ErrInvalidConfig
	}
	return err.Error()
}

// assigner makes a scenario's assigner; count is set for count windows, which are a
// global window with a trigger and an evictor of their own (S81, S82).
func assigner(w *spec.Window) (a window.Assigner, count *spec.Window, err error) {
	clock := w.Time == "processing"
	switch w.Type {
	case "tumbling":
		a, err = window.NewTumbling(stream.Time(w.SizeMS), stream.Time(w.OffsetMS), clock)
	case "sliding":
		a, err = window.NewSliding(stream.Time(w.SizeMS), stream.Time(w.SlideMS), stream.Time(w.OffsetMS), clock)
	case "session":
		a, err = window.NewSession(stream.Time(w.GapMS), clock)
	case "dynamic_session":
		a = window.NewDynamicSession(clock)
	case "day":
		var zone *time.Location
		if zone, err = time.LoadLocation(w.TZ); err == nil {
			a = window.NewDay(zone)
		}
	case "global":
		a = window.NewGlobal()
	case "count_tumbling", "count_sliding":
		if w.Size <= 0 || w.Type == "count_sliding" && w.Slide <= 0 {
			err = errors.New("a count window holds at least one record")
		}
		a, count = window.NewGlobal(), w
	default:
		err = fmt.Errorf("unknown window %q", w.Type)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errConfig, err)
	}
	return a, count, err
}

// triggerOf makes a scenario's trigger.
func triggerOf(t *spec.Trigger) (trigger.Trigger, error) {
	ms := func(v int64) stream.Time { return stream.Time(v) }
	bad := func(ok bool, tr trigger.Trigger) (trigger.Trigger, error) {
		if !ok {
			return nil, fmt.Errorf("%w: trigger %s has a parameter that is not above 0", errConfig, t.Type)
		}
		return tr, nil
	}
	domain := trigger.EventTime
	if t.Domain == "processing" {
		domain = trigger.ProcessingTime
	}
	switch t.Type {
	case "event_time":
		return trigger.NewEventTime(), nil
	case "processing_time":
		return trigger.NewProcessingTime(), nil
	case "continuous_event_time":
		return bad(t.IntervalMS > 0, trigger.NewContinuous(trigger.EventTime, ms(t.IntervalMS)))
	case "continuous_processing_time":
		return bad(t.IntervalMS > 0, trigger.NewContinuous(trigger.ProcessingTime, ms(t.IntervalMS)))
	case "count":
		return bad(t.N > 0, trigger.NewCount(t.N))
	case "delta":
		return trigger.NewDelta(float64(t.Threshold), t.Abs), nil
	case "never":
		return trigger.NewNever(), nil
	case "end_of_stream":
		return trigger.NewEndOfStream(), nil
	case "count_or_timeout":
		tr := trigger.NewCountOrTimeout(t.N, ms(t.AfterMS), domain)
		if t.Purge {
			tr = trigger.NewPurging(tr)
		}
		return bad(t.N > 0 && t.AfterMS > 0, tr)
	case "purging", "processing_timeout":
		inner, err := triggerOf(t.Inner)
		if err != nil {
			return nil, err
		}
		if t.Type == "purging" {
			return trigger.NewPurging(inner), nil
		}
		return bad(t.TimeoutMS > 0, trigger.NewProcessingTimeout(inner, ms(t.TimeoutMS), t.ResetOnRecord, t.ClearsOnTimeout()))
	}
	return nil, fmt.Errorf("%w: unknown trigger %q", errConfig, t.Type)
}

// defaultTrigger is the one that a window has without being asked (S64).
func defaultTrigger(a window.Assigner, w *spec.Window) trigger.Trigger {
	switch {
	case a.EventTime():
		return trigger.NewEventTime()
	case w.Type == "global":
		return trigger.NewNever()
	}
	return trigger.NewProcessingTime()
}

// windowSpec turns a scenario's job into a step; see functions.
func windowSpec(j *spec.Job, lists bool) (window.Spec, error) {
	s := window.Spec{GeneralConfig: window.GeneralConfig{Groups: 8}, Sources: true}
	s.GapCol, s.ValueCol = -1, valueCol
	s.Lateness = stream.Time(j.AllowedLatenessMS)
	if j.IsKeyed() {
		s.Key = []stream.Field{{Name: "key", Kind: stream.String}}
	}
	a, count, err := assigner(j.Window)
	if err != nil {
		return s, err
	}
	s.Assigner = a
	if j.Window.Type == "dynamic_session" {
		s.GapCol = gapCol
	}
	s.Trigger = defaultTrigger(a, j.Window)
	if count != nil {
		s.Trigger = trigger.NewPurging(trigger.NewCount(count.Size))
		if count.Type == "count_sliding" {
			s.Trigger = trigger.NewCount(count.Slide)
			s.Evictor = &window.Evictor{Count: int(count.Size)}
		}
	}
	if j.Trigger != nil {
		if s.Trigger, err = triggerOf(j.Trigger); err != nil {
			return s, err
		}
	}
	if e := j.Evictor; e != nil {
		s.Evictor = &window.Evictor{After: e.After, Col: valueCol}
		switch e.Type {
		case "count":
			s.Evictor.Count = int(e.N)
		case "time":
			s.Evictor.Keep = stream.Time(e.KeepMS)
		case "delta":
			s.Evictor.Delta, s.Evictor.Threshold, s.Evictor.Abs = true, float64(e.Threshold), e.Abs
		default:
			return s, fmt.Errorf("%w: unknown evictor %q", errConfig, e.Type)
		}
	}
	return s, functions(j, &s, lists)
}

// functions sets the functions of a step: aggregates where the scenario's function is
// one, functions of all records otherwise. lists has a process function look at those.
func functions(j *spec.Job, s *window.Spec, lists bool) error {
	if j.Kind != spec.KindWindow {
		s.Join = true
		if j.Kind == spec.KindWindowJoin {
			value := []stream.Field{{Name: "value", Kind: stream.Int64}}
			s.Table = join.NewProduct(join.NewIdentity(value, value), []int{valueCol}, []int{valueCol})
			return nil
		}
		s.Whole = []window.WholeFunction{{Name: "value", Fn: bothLists{}}}
		return nil
	}
	names := []string{j.Function}
	switch j.Function {
	case "avg":
		names = []string{"sum", "count"}
	case "list", "sorted_list":
		s.Whole = []window.WholeFunction{{Name: "value", Fn: list{j.Function}}}
		return nil
	case "context":
		s.Process = &window.Process{Fn: inContext{list: lists}, Inputs: []window.ProcessInput{{}}, Lists: [][]int{{valueCol}}}
		if lists {
			s.Process.Inputs = nil
			return nil
		}
		s.Process.Lists = nil
		names = []string{"sum"}
	}
	for _, n := range names {
		f, ok := agg.Lookup(n)
		if !ok {
			return fmt.Errorf("unknown function %q", n)
		}
		fn := window.Function{Name: n}
		ks := make([]stream.Kind, len(f.Inputs))
		for i := range ks {
			ks[i] = stream.Int64
			fn.Cols = append(fn.Cols, valueCol)
		}
		var err error
		if fn.Agg, err = agg.New(n, ks); err != nil {
			return err
		}
		s.Functions = append(s.Functions, fn)
	}
	return nil
}
