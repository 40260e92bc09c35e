package naive

import (
	"slices"

	"tidemark/spec"
)

// An intervalJoin pairs records of two inputs that are close in time (S110 to S114).
type intervalJoin struct {
	lower, upper int64
	lateOutput   bool
	wm           int64
	combined     *minimum
	sides        [2][]*spec.Record // buffered
}

func newIntervalJoin(j *spec.Job) (machine, string) {
	if j.LowerMS > j.UpperMS { // S110: before the adjustment
		return nil, spec.ErrInvalidConfig
	}
	lower, upper := j.Bounds()
	return &intervalJoin{lower: lower, upper: upper, lateOutput: j.LateOutput, wm: minTime, combined: newMinimum(2)}, ""
}

func (j *intervalJoin) step(st *spec.Step, out *outcome) string {
	if combineStep(j.combined, 2, st, sink{watermark: func(w int64) { j.advance(w); out.watermark(w) }, status: out.status}) {
		return ""
	}
	switch {
	case st.Record != nil:
		input := 0
		if st.Input != nil {
			input = *st.Input
		}
		return j.record(st.Record, input, out)
	case st.Probe:
		out.state(spec.State{Left: j.buffered(0), Right: j.buffered(1)})
	}
	return ""
}

func (j *intervalJoin) record(r *spec.Record, input int, out *outcome) string {
	ts := timestamp(r)
	if ts == minTime { // S2
		return spec.ErrMissingTimestamp
	}
	if ts < j.wm { // S112: strict
		if j.lateOutput {
			out.late(spec.Late{Key: r.Key, Value: r.Value, TS: ts, Input: &input})
		}
		return ""
	}
	j.sides[input] = append(j.sides[input], r)
	for _, other := range j.sides[1-input] { // S111
		left, right := r, other
		if input == 1 {
			left, right = other, r
		}
		if left.Key == right.Key && *right.TS >= satAdd(*left.TS, j.lower) && *right.TS <= satAdd(*left.TS, j.upper) {
			out.row(spec.Result{Key: r.Key, Window: spec.Span{None: true}, Value: spec.List(left.Value, right.Value), TS: max(*left.TS, *right.TS)})
		}
	}
	return ""
}

// advance removes what no record to come can match (S113).
func (j *intervalJoin) advance(w int64) {
	j.wm = w
	for side, keep := range []int64{max(j.upper, 0), max(-j.lower, 0)} {
		j.sides[side] = slices.DeleteFunc(j.sides[side], func(r *spec.Record) bool { return satAdd(*r.TS, keep) <= w })
	}
}

func (j *intervalJoin) buffered(side int) []int64 {
	times := []int64{}
	for _, r := range j.sides[side] {
		times = append(times, *r.TS)
	}
	slices.Sort(times)
	return times
}
