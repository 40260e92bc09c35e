// Package naive evaluates scenarios of the written semantics in the simplest way
// there is: it keeps lists of records and timers, looks through all of them and
// recomputes. It is written from spec/semantics.md alone and shares nothing with the
// engine, so that a scenario on which the two agree is probably right. Numbers in
// comments are the rules of that text. Tests call it; nothing else does.
package naive

import (
	"math"

	"tidemark/spec"
)

// Ends of time. A record at minTime has no timestamp (S2).
const (
	minTime = math.MinInt64
	maxTime = math.MaxInt64
)

// Evaluate returns what s produces, one entry for each step that produces something.
// A restore does nothing (S105). The expectations of s are not looked at.
func Evaluate(s *spec.Scenario) []spec.Entry {
	entries, _ := evaluate(s)
	return entries
}

// A doubt is a step whose result the rules leave open, and why. Generate avoids them.
type doubt struct {
	step int
	why  string
}

// A machine is what runs the steps of one kind of job.
type machine interface {
	// step adds what one step produces to the entry of out, and returns an error of
	// the schema or "".
	step(st *spec.Step, out *outcome) string
}

// An outcome collects what one step produces.
type outcome struct {
	entry    spec.Entry
	produced bool // there is something in entry
	doubts   []doubt
}

// evaluate also returns where the rules leave the result open.
func evaluate(s *spec.Scenario) (entries []spec.Entry, doubts []doubt) {
	m, refused := newMachine(&s.Job)
	if refused != "" {
		return []spec.Entry{{AfterStep: spec.ConfigStep, Error: refused}}, nil
	}
	for i := range s.Steps {
		out := outcome{entry: spec.Entry{AfterStep: i}}
		failed := m.step(&s.Steps[i], &out)
		doubts = append(doubts, out.doubts...)
		if failed != "" {
			out.entry.Error = failed
			return append(entries, out.entry), doubts
		}
		if out.produced {
			entries = append(entries, out.entry)
		}
	}
	return entries, doubts
}

// newMachine returns the machine of a job, or why the job is refused.
func newMachine(j *spec.Job) (machine, string) {
	switch j.Kind {
	case spec.KindWindow, spec.KindCoGroup, spec.KindWindowJoin, "":
		return newOperator(j)
	case spec.KindIntervalJoin:
		return newIntervalJoin(j)
	case spec.KindGenerator:
		return newGenerator(j.Generator)
	case spec.KindCombiner:
		return &combining{combiner: newCombiner(j.Combiner, j.InputCount()), inputs: j.InputCount()}, ""
	case spec.KindAlignment:
		return newAlignment(j.Groups), ""
	case spec.KindSplitAlignment:
		return newSplitAlignment(j.Splits), ""
	case spec.KindAssign:
		return newAssigning(j)
	case spec.KindMerge:
		return merging{}, ""
	}
	panic("BUG: kind " + j.Kind + " passed the reader")
}

func (o *outcome) row(r spec.Result) {
	o.entry.Out = append(o.entry.Out, r)
	o.produced = true
}

func (o *outcome) watermark(w int64) {
	o.entry.Events = append(o.entry.Events, spec.Event{Watermark: &w})
	o.produced = true
}

func (o *outcome) status(s string) {
	o.entry.Events = append(o.entry.Events, spec.Event{Status: s})
	o.produced = true
}

func (o *outcome) late(l spec.Late) {
	o.entry.Late = append(o.entry.Late, l)
	o.produced = true
}

func (o *outcome) dropped() {
	o.entry.Dropped++
	o.produced = true
}

func (o *outcome) state(s spec.State) {
	o.entry.State = &s
	o.produced = true
}

// doubt notes that the rules leave the result of this step open.
func (o *outcome) doubt(why string) {
	o.doubts = append(o.doubts, doubt{step: o.entry.AfterStep, why: why})
}

// timestamp returns the event time of a record, minTime if it has none.
func timestamp(r *spec.Record) int64 {
	if r.TS == nil {
		return minTime
	}
	return *r.TS
}

// satAdd adds without wrapping.
func satAdd(a, b int64) int64 {
	switch {
	case b > 0 && a > maxTime-b:
		return maxTime
	case b < 0 && a < minTime-b:
		return minTime
	}
	return a + b
}

// floorMod is the remainder that is never negative, for b > 0.
func floorMod(a, b int64) int64 { return (a%b + b) % b }
