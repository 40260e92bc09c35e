package naive

import (
	"fmt"

	"tidemark/spec"
)

// maxAttempts is how many scenarios Generate may throw away for one seed. Half of them
// would be much; hundreds mean that it cannot make what it was asked for.
const maxAttempts = 200

// minSteps is how much of a scenario must be left when it is cut before a step whose
// result the rules leave open.
const minSteps = 4

// kinds are the jobs that Generate makes: mostly windows, which have most rules.
var kinds = []weighted[string]{
	{57, spec.KindWindow}, {6, spec.KindCoGroup}, {6, spec.KindWindowJoin}, {8, spec.KindIntervalJoin},
	{6, spec.KindGenerator}, {9, spec.KindCombiner}, {3, spec.KindAlignment}, {2, spec.KindSplitAlignment},
	{2, spec.KindAssign}, {1, spec.KindMerge},
}

// Generate returns a valid scenario that depends on seed alone, with what Evaluate
// makes of it as expectation. Numbers are small and lie on edges: equal timestamps,
// touching sessions, records and watermarks at the end of a window and of its
// lateness. Steps whose result the rules leave open do not occur.
func Generate(seed uint64) spec.Scenario {
	kind := pickWeighted(&random{state: seed}, kinds)
	for attempt := range uint64(maxAttempts) {
		r := &random{state: seed ^ (attempt+1)<<48}
		s := spec.Scenario{ID: fmt.Sprintf("GEN-%d", seed), Area: "generated", Rule: []string{}, Source: "generated"}
		s.Job.Kind = kind
		build(r, &s)
		entries, doubts := evaluate(&s)
		if len(doubts) > 0 {
			s.Steps = s.Steps[:doubts[0].step]
			entries, _ = evaluate(&s)
		}
		if len(s.Steps) >= minSteps || len(doubts) == 0 {
			s.Expect = entries
			return s
		}
	}
	panic(fmt.Sprintf("BUG: seed %d gives no scenario of kind %s", seed, kind))
}

// build fills in job and steps of a scenario of the kind it has.
func build(r *random, s *spec.Scenario) {
	switch s.Job.Kind {
	case spec.KindWindow, spec.KindCoGroup, spec.KindWindowJoin:
		buildWindows(r, s)
	case spec.KindIntervalJoin:
		buildIntervalJoin(r, s)
	case spec.KindGenerator:
		buildGenerator(r, s)
	case spec.KindCombiner:
		buildCombiner(r, s)
	case spec.KindAlignment:
		buildAlignment(r, s)
	case spec.KindSplitAlignment:
		buildSplitAlignment(r, s)
	case spec.KindAssign:
		buildAssign(r, s)
	case spec.KindMerge:
		buildMerge(r, s)
	}
}

// ptr returns a pointer to v, for the optional fields of the schema.
func ptr[T any](v T) *T { return &v }

// Edges are times at which something may change. Steps go there,
// or one beside it.
type edges struct {
	r     *random
	times []int64
}

// recentEdges is how far back edge looks: older ones are mostly passed.
const recentEdges = 16

func (e *edges) add(times ...int64) { e.times = append(e.times, times...) }

// near returns a recent edge, or one millisecond beside it; spread from start if there
// is none yet.
func (e *edges) near(start, spread int64) int64 {
	if len(e.times) == 0 || e.r.chance(20) {
		return satAdd(start, e.r.between(0, spread))
	}
	recent := e.times[max(0, len(e.times)-recentEdges):]
	return satAdd(pick(e.r, recent...), pick(e.r, int64(-1), 0, 0, 1))
}

// channels says which inputs of a job still speak, and what becomes of their
// watermarks.
type channels struct {
	r        *random
	ended    []bool
	idle     []bool
	combiner combiner
	out      int64 // combined
	restless int   // percent of steps that change a status
}

func newChannels(r *random, c combiner, n int) *channels {
	return &channels{r: r, ended: make([]bool, n), idle: make([]bool, n), combiner: c, out: minTime, restless: 22}
}

// open returns an input that has not ended.
func (c *channels) open() (int, bool) {
	if allOf(c.ended) {
		return 0, false
	}
	for {
		if i := c.r.below(len(c.ended)); !c.ended[i] {
			return i, true
		}
	}
}

// ref names an input in a step; with a single one that may be left out.
func (c *channels) ref(i int) *int {
	if len(c.ended) == 1 && c.r.chance(70) {
		return nil
	}
	return &i
}

// at is the combined watermark, or start while there is none that a record can be near.
func (c *channels) at(start int64) int64 {
	if c.out == minTime || c.out == maxTime {
		return start
	}
	return c.out
}

// step makes a step about watermarks on one input: w, a change of status, or the end.
func (c *channels) step(w int64) (spec.Step, bool) {
	i, ok := c.open()
	if !ok {
		return spec.Step{}, false
	}
	step := spec.Step{Watermark: &w, Input: c.ref(i)}
	switch {
	case len(c.ended) > 1 && c.r.chance(c.restless) || c.r.chance(3):
		if !c.r.chance(5) { // else a status repeated
			c.idle[i] = !c.idle[i]
		}
		step = spec.Step{Idle: ptr(c.idle[i]), Input: &i}
	case len(c.ended) > 1 && c.r.chance(3):
		c.ended[i], c.idle[i] = true, false
		step = spec.Step{EndOfInput: true, Input: &i}
	}
	combineStep(c.combiner, len(c.ended), &step, sink{watermark: func(w int64) { c.out = w }, status: func(string) {}})
	return step, true
}

// finish ends every input that has not ended.
func (c *channels) finish() []spec.Step {
	if len(c.ended) == 1 {
		return []spec.Step{{EndOfInput: true, Input: c.ref(0)}}
	}
	var steps []spec.Step
	for i, ended := range c.ended {
		if !ended {
			steps = append(steps, spec.Step{EndOfInput: true, Input: ptr(i)})
		}
	}
	return steps
}
