package spec

import "slices"

// WithRestoreAfterEveryStep returns s with a checkpoint and restore after each of its
// steps. A restore changes nothing (S105), so the expectations stay, under their new
// numbers. Scenarios of kinds that keep nothing to restore, or whose schema knows no
// restore, come back unchanged. The result shares records and results with s.
func WithRestoreAfterEveryStep(s Scenario) Scenario {
	switch s.Job.Kind {
	case KindAssign, KindMerge, KindAlignment, KindSplitAlignment:
		return s
	}
	steps := make([]Step, 0, 2*len(s.Steps))
	for _, step := range s.Steps {
		steps = append(steps, step, Step{CheckpointRestore: true})
	}
	s.Steps = steps
	s.Expect = slices.Clone(s.Expect)
	for i := range s.Expect {
		if s.Expect[i].AfterStep != ConfigStep {
			s.Expect[i].AfterStep *= 2
		}
	}
	return s
}
