package naive

import (
	"slices"
	"time"
	_ "time/tzdata" // the same days on every machine

	"tidemark/spec"
)

// maxWindowsPerRecord is the limit of S32.
const maxWindowsPerRecord = 10_000_000

// dayReach is longer than any local day, so that a day begins within it and ends
// within it.
const dayReach = 60 * 60 * 60 * 1000

// An assigner tells which windows a record belongs to (S30 to S39).
type assigner struct {
	w    *spec.Window
	zone *time.Location // of day windows
}

func newAssigner(w *spec.Window) (assigner, string) {
	a := assigner{w: w}
	ok := true
	switch w.Type {
	case "tumbling": // S31
		ok = w.SizeMS > 0 && w.OffsetMS < w.SizeMS && -w.OffsetMS < w.SizeMS
	case "sliding": // S32
		ok = w.SizeMS > 0 && w.SlideMS > 0 && w.OffsetMS < w.SlideMS && -w.OffsetMS < w.SlideMS && w.SizeMS/w.SlideMS <= maxWindowsPerRecord
	case "session": // S36
		ok = w.GapMS > 0
	case "day": // S33
		zone, err := time.LoadLocation(w.TZ)
		a.zone, ok = zone, err == nil
	}
	if !ok {
		return a, spec.ErrInvalidConfig
	}
	return a, ""
}

func (a assigner) global() bool {
	return a.w.Type == "global" || a.w.Type == "count_tumbling" || a.w.Type == "count_sliding"
}

// eventTime reports whether windows close by the watermark; global ones do not (S80).
func (a assigner) eventTime() bool { return !a.global() && a.w.Time != "processing" }

func (a assigner) merges() bool { return a.w.Type == "session" || a.w.Type == "dynamic_session" }

// assign returns the windows of a record at processing time now, by start.
func (a assigner) assign(r *spec.Record, now int64) ([]spec.Span, string) {
	if a.global() {
		return []spec.Span{{None: true}}, "" // S39
	}
	t := now // S39
	if a.eventTime() {
		if t = timestamp(r); t == minTime { // S2
			return nil, spec.ErrMissingTimestamp
		}
	}
	switch a.w.Type {
	case "tumbling": // S30, S31
		start := t - floorMod(t-a.w.OffsetMS, a.w.SizeMS)
		return []spec.Span{{Start: start, End: satAdd(start, a.w.SizeMS)}}, ""
	case "sliding": // S32
		var spans []spec.Span
		first := satAdd(t, -a.w.SizeMS) // time begins somewhere
		for start := satAdd(t, -floorMod(t-a.w.OffsetMS, a.w.SlideMS)); start > first; start = satAdd(start, -a.w.SlideMS) {
			spans = append(spans, spec.Span{Start: start, End: satAdd(start, a.w.SizeMS)})
		}
		slices.SortFunc(spans, bySpan)
		return spans, ""
	case "session": // S36
		return []spec.Span{{Start: t, End: satAdd(t, a.w.GapMS)}}, ""
	case "dynamic_session": // S37
		if r.GapMS == nil || *r.GapMS <= 0 {
			return nil, spec.ErrInvalidGap
		}
		return []spec.Span{{Start: t, End: satAdd(t, *r.GapMS)}}, ""
	case "day":
		return []spec.Span{a.day(t)}, ""
	}
	panic("BUG: window type " + a.w.Type)
}

// day is the local calendar day of t (S33): from the first instant with its date to
// the first instant with a later one.
func (a assigner) day(t int64) spec.Span {
	date := a.date(t)
	return spec.Span{
		Start: first(t-dayReach, t, func(x int64) bool { return a.date(x) >= date }),
		End:   first(t, t+dayReach, func(x int64) bool { return a.date(x) > date }),
	}
}

// date is the local date at t as a number that orders like it.
func (a assigner) date(t int64) int {
	y, m, d := time.UnixMilli(t).In(a.zone).Date()
	return (y*12+int(m))*31 + d
}

// first returns the smallest x in (low, high] for which is holds. It holds from some x
// on, and at high.
func first(low, high int64, is func(int64) bool) int64 {
	for low+1 < high {
		if mid := low + (high-low)/2; is(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// assigning is a job that is nothing but the assignment of windows.
type assigning struct {
	assigner assigner
	now      int64
}

func newAssigning(j *spec.Job) (machine, string) {
	a, refused := newAssigner(j.Window)
	return &assigning{assigner: a, now: j.StartProcessingTime}, refused
}

func (a *assigning) step(st *spec.Step, out *outcome) string {
	switch {
	case st.ProcessingTime != nil:
		a.now = *st.ProcessingTime
	case st.Record != nil:
		spans, failed := a.assigner.assign(st.Record, a.now)
		out.entry.Windows, out.produced = spans, len(spans) > 0
		return failed
	}
	return ""
}
