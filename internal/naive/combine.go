package naive

import "tidemark/spec"

// A combiner makes one watermark of those of several inputs. It calls the functions of
// the sink in the order of what goes downstream.
type combiner interface {
	watermark(input int, w int64, to sink)
	idle(input int, to sink)
	active(input int, to sink)
}

// A sink takes what a combiner puts out.
type sink struct {
	watermark func(int64)
	status    func(string)
}

func newCombiner(kind string, inputs int) combiner {
	if kind == "min" {
		return newMinimum(inputs)
	}
	return newValve(inputs)
}

// combineStep feeds the steps that concern watermarks to a combiner, and reports
// whether st was one of them. A step without an input concerns every input.
func combineStep(c combiner, inputs int, st *spec.Step, to sink) bool {
	first, last := 0, inputs-1
	if st.Input != nil {
		first, last = *st.Input, *st.Input
	}
	for i := first; i <= last; i++ {
		switch {
		case st.Record != nil:
			return false // its input is where it came from
		case st.Watermark != nil:
			c.watermark(i, *st.Watermark, to)
		case st.EndOfInput: // S13: active first, then MAX
			c.active(i, to)
			c.watermark(i, maxTime, to)
		case st.Idle != nil && *st.Idle:
			c.idle(i, to)
		case st.Idle != nil:
			c.active(i, to)
		default:
			return false
		}
	}
	return true
}

// combining is a job that is nothing but a combiner.
type combining struct {
	combiner combiner
	inputs   int
}

func (c *combining) step(st *spec.Step, out *outcome) string {
	combineStep(c.combiner, c.inputs, st, sink{watermark: out.watermark, status: out.status})
	return ""
}

// A valve combines parallel channels (S14 to S19).
type valve struct {
	last     []int64 // S14: MIN at first
	isActive []bool
	aligned  []bool
	out      int64
}

func newValve(inputs int) *valve {
	v := &valve{out: minTime}
	for range inputs {
		v.last = append(v.last, minTime)
		v.isActive = append(v.isActive, true)
		v.aligned = append(v.aligned, true)
	}
	return v
}

func (v *valve) watermark(i int, w int64, to sink) {
	if !v.isActive[i] || w <= v.last[i] { // S17, S6
		return
	}
	v.last[i] = w
	if w >= v.out { // S18
		v.aligned[i] = true
	}
	v.raise(to)
}

// raise recomputes the minimum over the aligned inputs (S14).
func (v *valve) raise(to sink) {
	low, found := int64(maxTime), false
	for i, w := range v.last {
		if v.aligned[i] {
			low, found = min(low, w), true
		}
	}
	if found { // S19: no aligned input is not MAX
		v.emit(low, to)
	}
}

func (v *valve) emit(w int64, to sink) {
	if w > v.out { // S6
		v.out = w
		to.watermark(w)
	}
}

func (v *valve) idle(i int, to sink) {
	if !v.isActive[i] { // S19
		return
	}
	v.isActive[i], v.aligned[i] = false, false
	if anyOf(v.isActive) {
		v.raise(to) // S15
		return
	}
	v.emit(highest(v.last), to) // S16
	to.status(spec.StatusIdle)
}

func (v *valve) active(i int, to sink) {
	if v.isActive[i] { // S19
		return
	}
	if !anyOf(v.isActive) {
		to.status(spec.StatusActive) // S19
	}
	v.isActive[i] = true
	v.aligned[i] = v.last[i] >= v.out // S18
	v.raise(to)
}

// A minimum combines the sides of a join, or the splits of a source (S20).
type minimum struct {
	last   []int64
	isIdle []bool
	out    int64
}

func newMinimum(inputs int) *minimum {
	m := &minimum{out: minTime, isIdle: make([]bool, inputs)}
	for range inputs {
		m.last = append(m.last, minTime)
	}
	return m
}

func (m *minimum) watermark(i int, w int64, to sink) {
	m.active(i, to) // whatever the value
	m.last[i] = max(m.last[i], w)
	m.raise(to)
}

func (m *minimum) raise(to sink) {
	low, found := int64(maxTime), false
	for i, w := range m.last {
		if !m.isIdle[i] {
			low, found = min(low, w), true
		}
	}
	if found {
		m.emit(low, to)
	}
}

func (m *minimum) emit(w int64, to sink) {
	if w > m.out {
		m.out = w
		to.watermark(w)
	}
}

func (m *minimum) idle(i int, to sink) {
	if m.isIdle[i] {
		return
	}
	m.isIdle[i] = true
	if !allOf(m.isIdle) {
		m.raise(to)
		return
	}
	m.emit(highest(m.last), to)
	to.status(spec.StatusIdle)
}

func (m *minimum) active(i int, to sink) {
	if allOf(m.isIdle) {
		to.status(spec.StatusActive)
	}
	m.isIdle[i] = false
}

func anyOf(flags []bool) bool {
	for _, f := range flags {
		if f {
			return true
		}
	}
	return false
}

func allOf(flags []bool) bool {
	for _, f := range flags {
		if !f {
			return false
		}
	}
	return true
}

func highest(ws []int64) int64 {
	high := int64(minTime)
	for _, w := range ws {
		high = max(high, w)
	}
	return high
}
