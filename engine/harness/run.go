package harness

import (
	"fmt"
	"slices"

	"tidemark/spec"
)

// Variant is a way to run a scenario. The results must not depend on it.
type Variant struct {
	// Together sends the records between two other steps as one batch; otherwise each
	// record is a batch of its own.
	Together    bool
	Parallelism int
	// Operator is the one that is used; the plan's where the step cannot be run so.
	Operator Operator
	// HotKeys is how many keys of a slice are added up before records are routed, if the
	// scenario has keys and the step can be run so; 0: none.
	HotKeys int
	// Trigger has user code decide when windows fire; nil: built-in triggers do.
	Trigger UserTrigger
	// Assigner has user code decide which windows records are in; nil: built-in assigners do.
	Assigner UserAssigner
	// Disk leaves no room in memory: all state goes to a backing between two batches.
	Disk bool
}

func (v Variant) String() string {
	text := "record by record"
	if v.Together {
		text = "in batches"
	}
	if v.Operator != Planned {
		text += ", " + string(v.Operator)
	}
	if v.HotKeys > 0 {
		text += fmt.Sprintf(", %d hot keys", v.HotKeys)
	}
	if v.Trigger != nil {
		text += ", triggers of users"
	}
	if v.Assigner != nil {
		text += ", windows of users"
	}
	if v.Disk {
		text += ", state on disk"
	}
	return fmt.Sprintf("%s, parallelism %d", text, v.Parallelism)
}

// Variants lists the ways in which a scenario may be run.
func Variants(s *spec.Scenario) []Variant {
	switch s.Job.Kind {
	case spec.KindWindow, spec.KindCoGroup, spec.KindWindowJoin, spec.KindIntervalJoin:
	default:
		return []Variant{{Parallelism: 1}}
	}
	var out []Variant
	for _, together := range []bool{false, true} {
		for _, p := range []int{1, 4} {
			if p > 1 && !s.Job.IsKeyed() {
				continue // one constant key has one place (S98)
			}
			for _, op := range operators(s) {
				out = append(out, Variant{Together: together, Parallelism: p, Operator: op})
			}
			if p == 1 {
				out = append(out, Variant{Together: together, Parallelism: p, Disk: true})
				if s.Job.Window != nil {
					out = append(out, Variant{Together: together, Parallelism: p, Operator: General, Disk: true})
				}
			}
			if s.Job.IsKeyed() && s.Job.Window != nil {
				out = append(out, Variant{Together: together, Parallelism: p, HotKeys: p})
			}
			if s.Job.Window != nil {
				out = append(out, Variant{Together: together, Parallelism: p, Trigger: InUserCode},
					Variant{Together: together, Parallelism: p, Assigner: AssignInUserCode})
				if together {
					out = append(out, Variant{Together: true, Parallelism: p, Trigger: InUserCode, Assigner: AssignInUserCode},
						Variant{Together: true, Parallelism: p, Trigger: InUserCode, Assigner: AssignInUserCode, Disk: true})
				}
			}
		}
	}
	return out
}

// Operator is which of the operators of a step runs it.
type Operator string

const (
	Planned Operator = ""                 // what a job would use
	General Operator = "general operator" // takes records one by one
	Sliced  Operator = "slices"           // also for slides so short that the plan does without
)

// operators lists those that a scenario is run on. Slices of a few milliseconds have no
// numbers for times near the ends of int64, which no job has.
func operators(s *spec.Scenario) []Operator {
	out := []Operator{Planned, General}
	if s.Job.Window == nil || s.Job.Window.Type != "sliding" && s.Job.Window.Type != "tumbling" {
		return out
	}
	const far = 1 << 58
	for _, step := range s.Steps {
		if r := step.Record; r != nil && r.TS != nil && (*r.TS > far || *r.TS < -far) {
			return out
		}
	}
	return append(out, Sliced)
}

// Check runs a scenario in every variant and returns the first difference from what it
// expects, in words; "" if there is none.
func Check(s *spec.Scenario) string {
	for _, v := range Variants(s) {
		if d := CheckVariant(s, v); d != "" {
			return v.String() + ": " + d
		}
	}
	return ""
}

// CheckVariant runs a scenario in one way and compares.
func CheckVariant(s *spec.Scenario, v Variant) string {
	got, err := Run(s, v)
	if err != nil {
		return err.Error()
	}
	if v.Together {
		s, got = together(s, got)
	}
	return spec.Diff(s, got)
}

// Run runs a scenario and returns what happened, step by step. The error says that the
// scenario asks for something that the harness cannot do.
func Run(s *spec.Scenario, v Variant) ([]spec.Entry, error) {
	switch s.Job.Kind {
	case spec.KindAssign:
		return runAssign(s)
	case spec.KindMerge:
		return runMerge(s)
	case spec.KindGenerator, spec.KindCombiner, spec.KindAlignment, spec.KindSplitAlignment:
		return runTime(s)
	case spec.KindWindow, spec.KindCoGroup, spec.KindWindowJoin, spec.KindIntervalJoin:
		return runStage(s, v)
	}
	return nil, fmt.Errorf("no way to run a scenario of kind %q", s.Job.Kind)
}

// group returns, for each step, the step that its results are looked at: the last one
// of a run of records, since these are sent together.
func group(s *spec.Scenario) []int {
	at := make([]int, len(s.Steps))
	for i := len(s.Steps) - 1; i >= 0; i-- {
		at[i] = i
		if i+1 < len(s.Steps) && s.Steps[i].Record != nil && s.Steps[i+1].Record != nil {
			at[i] = at[i+1]
		}
	}
	return at
}

// together moves the results of a run of records to its last step, in what is expected
// and in what happened.
func together(s *spec.Scenario, got []spec.Entry) (*spec.Scenario, []spec.Entry) {
	at := group(s)
	moved := *s
	moved.Expect = gather(s.Expect, at)
	return &moved, gather(got, at)
}

func gather(entries []spec.Entry, at []int) []spec.Entry {
	var out []spec.Entry
	for _, e := range entries {
		if e.AfterStep >= 0 {
			e.AfterStep = at[e.AfterStep]
		}
		i := slices.IndexFunc(out, func(o spec.Entry) bool { return o.AfterStep == e.AfterStep })
		if i < 0 {
			e.Out, e.Late, e.Events = slices.Clone(e.Out), slices.Clone(e.Late), slices.Clone(e.Events)
			out = append(out, e)
			continue
		}
		o := &out[i]
		o.Out = append(o.Out, e.Out...)
		o.Late = append(o.Late, e.Late...)
		o.Dropped += e.Dropped
		o.Events = append(o.Events, e.Events...)
		if e.Error != "" {
			o.Error = e.Error
		}
	}
	return out
}
