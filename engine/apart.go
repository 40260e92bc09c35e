package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/timestamp"
)

// span is the event times that an input has had; low above high: none.
type span struct{ low, high stream.Time }

var noSpan = span{stream.MaxTime, stream.MinTime}

func (s span) with(t span) span { return span{min(s.low, t.low), max(s.high, t.high)} }
func (s span) empty() bool      { return s.low > s.high }
func (s span) String() string {
	return fmt.Sprintf("%s to %s", timestamp.Date(s.low), timestamp.Date(s.high))
}

// apart says which inputs of a step have times so far from each other that nothing of the
// step can hold records of both: a join then gives nothing, and mostly a time.unit or a
// path is wrong. Inputs whose times are not known take no part.
func apart(st *job.Step, of func(id string) span) []string {
	type input struct {
		id string
		span
	}
	var in []input
	for _, id := range st.From {
		if s := of(id); !s.empty() {
			in = append(in, input{id, s})
		}
	}
	if st.Join != nil && st.Join.Kind == job.IntervalJoin {
		if len(in) < 2 {
			return nil
		}
		l, r := in[0], in[1]
		lower, upper := stream.Time(st.Join.Lower.Milliseconds()), stream.Time(st.Join.Upper.Milliseconds())
		if r.high >= l.low.Add(lower) && r.low <= l.high.Add(upper) {
			return nil
		}
		return []string{fmt.Sprintf("step %s: %s has times from %s, and %s from %s: no two of them are within the bounds of the join; check time.unit and the inputs of both", st.ID, l.id, l.span, r.id, r.span)}
	}
	length, ok := longest(st.Window)
	if !ok {
		return nil
	}
	slices.SortStableFunc(in, func(a, b input) int { return cmp.Compare(a.low, b.low) })
	var out []string
	for i, next := range in {
		if i == 0 {
			continue
		}
		before, names := noSpan, []string(nil)
		for _, p := range in[:i] {
			before, names = before.with(p.span), append(names, p.id)
		}
		if before.high.Add(length) < next.low {
			out = append(out, fmt.Sprintf("step %s: %s has times from %s, and %s from %s: no window holds records of both; check time.unit and the inputs of both",
				st.ID, strings.Join(names, sourceSep), before, next.id, next.span))
		}
	}
	return out
}

// longest is how far two records of one window can lie apart, where no record lies between
// them; false where it is not bounded or not a matter of event time.
func longest(w *job.Window) (stream.Time, bool) {
	if w == nil || w.Time != job.EventTime {
		return 0, false
	}
	var d time.Duration
	switch w.Kind {
	case job.Tumbling, job.Sliding:
		d = w.Size
	case job.Session:
		d = w.Gap // 0: from each record
	case job.Day:
		d = 25 * time.Hour
	}
	return stream.Time(d.Milliseconds()), d > 0
}
