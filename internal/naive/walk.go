package naive

import "tidemark/spec"

// A walk makes the steps of a scenario of windows.
type walk struct {
	r        *random
	job      *spec.Job
	assigner assigner
	steps    []spec.Step

	unit, start int64 // times are start plus a few units
	keys        []string
	records     []int64 // timestamps so far
	event       edges
	clock       edges
	now         int64
	inputs      *channels
	usesClock   bool
	mayEnd      bool // MAX is defined for this job
}

// walk makes the steps.
func (w *walk) walk() {
	r := w.r
	records, ticks := 44, 2
	if w.byCount() {
		records = 72 // several windows of a key
	}
	if w.usesClock {
		ticks = 24
	}
	for range r.between(8, 28) {
		n := r.below(100)
		switch {
		case n < records:
			w.record()
		case n < records+ticks:
			w.tick()
		case n < 88:
			w.watermark()
		case n < 94:
			w.steps = append(w.steps, spec.Step{Probe: true})
		default:
			w.steps = append(w.steps, spec.Step{CheckpointRestore: true})
		}
	}
	switch {
	case r.chance(3):
		w.failing()
	case w.mayEnd && r.chance(45):
		w.steps = append(w.steps, w.inputs.finish()...)
		w.steps = append(w.steps, spec.Step{Probe: true})
	case w.mayEnd && w.assigner.eventTime() && len(w.inputs.ended) == 1 && r.chance(10):
		w.steps = append(w.steps, spec.Step{Watermark: ptr(int64(maxTime))})
		w.record() // S126
	}
}

// failing ends the walk with a record that is an error.
func (w *walk) failing() {
	w.record()
	last := w.steps[len(w.steps)-1].Record
	switch {
	case last == nil:
	case w.job.Window.Type == "dynamic_session":
		last.GapMS = ptr(w.r.between(-1, 0))
	default:
		last.TS = nil // S2: an error for event-time windows alone
	}
}

// record makes a record, or three of which the last may bridge two sessions (S45).
func (w *walk) record() {
	r := w.r
	key, at := pick(r, w.keys...), w.event.near(w.inputs.at(w.start), 8*w.unit)
	gap := w.job.Window.GapMS
	if w.job.Window.Type != "session" {
		gap = 0
	}
	switch {
	case gap > 0 && w.assigner.eventTime() && r.chance(18):
		at = satAdd(at, r.between(0, gap))
		w.recordAt(key, at)
		w.recordAt(key, at+2*gap+r.between(-1, 1))
		if r.chance(30) {
			w.watermark()
		}
		w.recordAt(key, at+gap)
		return
	case gap > 0 && len(w.records) > 0 && r.chance(30): // beside a session, or touching it
		at = pick(r, w.records...) + pick(r, -gap, gap) + pick(r, int64(-1), 0, 1)
	}
	w.recordAt(key, at)
}

func (w *walk) recordAt(key string, ts int64) {
	r := w.r
	input, ok := w.inputs.open()
	if !ok {
		return
	}
	if n := len(w.steps); w.usesClock && n > 0 && w.steps[n-1].ProcessingTime != nil && r.chance(60) {
		w.setClock(w.now + 1) // S121
	}
	rec := &spec.Record{TS: &ts, Key: spec.Text(key), Value: spec.Int(r.between(-4, 9))}
	if w.job.Window.Type == "dynamic_session" {
		rec.GapMS = ptr(r.between(1, 9))
	}
	step := spec.Step{Record: rec}
	if len(w.inputs.ended) > 1 || r.chance(20) {
		step.Input = &input
	}
	if !w.assigner.eventTime() && w.job.Evictor == nil && !usesTimestamps(w.job.Trigger) && r.chance(5) {
		rec.TS = nil
	}
	w.steps = append(w.steps, step)
	w.noteRecord(rec, ts)
}

// usesTimestamps reports whether a trigger computes with them.
func usesTimestamps(t *spec.Trigger) bool {
	in := innermost(t)
	return in != nil && (in.Type == "continuous_event_time" || in.Type == "count_or_timeout")
}

// noteRecord keeps the times at which something may happen because of a record.
func (w *walk) noteRecord(rec *spec.Record, ts int64) {
	w.event.add(ts)
	w.records = append(w.records, ts)
	spans, failed := w.assigner.assign(rec, w.now)
	if failed != "" {
		return
	}
	for _, s := range spans {
		switch {
		case s.None:
		case w.assigner.eventTime():
			w.event.add(s.Start, s.End-1, s.End)
			if c := satAdd(s.End-1, w.job.AllowedLatenessMS); c != maxTime {
				w.event.add(c)
			}
			if w.start == 0 {
				w.clock.add(s.End - 1) // for triggers of the clock on such windows
			}
		default:
			w.clock.add(s.Start, s.End-1)
		}
	}
	for t := w.job.Trigger; t != nil; t = t.Inner {
		switch {
		case t.Type == "processing_timeout":
			w.clock.add(w.now + t.TimeoutMS)
		case t.Type == "continuous_processing_time":
			w.clock.add(w.now - w.now%t.IntervalMS + t.IntervalMS)
		case t.Type == "continuous_event_time":
			w.event.add(satAdd(ts-ts%t.IntervalMS, t.IntervalMS))
		case t.Type == "count_or_timeout" && t.Domain == "event":
			w.event.add(satAdd(ts, t.AfterMS))
		case t.Type == "count_or_timeout":
			w.clock.add(w.now + t.AfterMS)
		}
	}
}

func (w *walk) watermark() {
	at := w.event.near(w.inputs.at(w.start), 10*w.unit)
	if step, ok := w.inputs.step(at); ok {
		w.steps = append(w.steps, step)
		w.event.add(at)
	}
}

// tick moves the clock to where something may happen, never back.
func (w *walk) tick() {
	if allOf(w.inputs.ended) {
		return // S125: what the clock would fire is dropped at the end
	}
	at := w.clock.near(w.now+1, 6)
	if at < w.now || at > w.now+200 {
		at = w.now + w.r.between(0, 5)
	}
	w.setClock(at)
}

func (w *walk) setClock(at int64) {
	w.now = at
	w.steps = append(w.steps, spec.Step{ProcessingTime: &at})
}
