package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Read reads a JSON array of scenarios. It is strict: a field or kind that the schema
// does not know, a step that says nothing or two things, and an expectation of a step
// that does not exist are errors that name the scenario.
func Read(r io.Reader) ([]Scenario, error) {
	dec := json.NewDecoder(r)
	var raw []json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return nil, fmt.Errorf("scenarios: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("scenarios: more follows the array")
	}
	out := make([]Scenario, 0, len(raw))
	seen := map[string]bool{}
	for i, text := range raw {
		s, err := readOne(text)
		if err == nil {
			err = check(&s)
		}
		if err == nil && seen[s.ID] {
			err = fmt.Errorf("the id is taken")
		}
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name(text, i), err)
		}
		seen[s.ID] = true
		out = append(out, s)
	}
	return out, nil
}

func readOne(text []byte) (Scenario, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	s := Scenario{Job: Job{Kind: KindWindow}}
	err := dec.Decode(&s)
	return s, err
}

// name finds what to call a scenario that cannot be read.
func name(text []byte, i int) string {
	var s struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(text, &s); err != nil || s.ID == "" {
		return fmt.Sprintf("#%d", i)
	}
	return s.ID
}

// check finds what the types cannot say.
func check(s *Scenario) error {
	if s.ID == "" {
		return fmt.Errorf("the id is missing")
	}
	switch s.Job.Kind {
	case KindWindow, KindCoGroup, KindWindowJoin, KindIntervalJoin, KindGenerator, KindCombiner,
		KindAlignment, KindSplitAlignment, KindAssign, KindMerge:
	default:
		return fmt.Errorf("kind %q is not known", s.Job.Kind)
	}
	for i := range s.Steps {
		if n := s.Steps[i].actions(); n != 1 {
			return fmt.Errorf("step %d says %d things, not one", i, n)
		}
		if in := s.Steps[i].Input; in != nil && (*in < 0 || *in >= s.Job.InputCount()) {
			return fmt.Errorf("step %d: the job has no input %d", i, *in)
		}
	}
	last := ConfigStep - 1
	for _, e := range s.Expect {
		if e.AfterStep <= last || e.AfterStep >= len(s.Steps) {
			return fmt.Errorf("expectation after step %d: not a step, or not in order", e.AfterStep)
		}
		last = e.AfterStep
	}
	return nil
}

// actions counts what a step says.
func (s *Step) actions() int {
	n := 0
	for _, said := range []bool{
		s.Record != nil, s.Watermark != nil, s.Idle != nil, s.ProcessingTime != nil, s.Periodic != nil,
		s.EndOfInput, s.CheckpointRestore, s.Probe, s.Report != nil, s.Announce, s.SplitFinished != "",
		s.MaxDesired != nil, s.Merge != nil,
	} {
		if said {
			n++
		}
	}
	return n
}
