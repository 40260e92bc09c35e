package naive_test

import (
	"encoding/json"
	"testing"

	"tidemark/internal/naive"
	"tidemark/spec"
)

// TestPublishedScenarios holds the evaluator to the scenarios that were written by
// hand, as they are and with a restore after each step (S105).
func TestPublishedScenarios(t *testing.T) {
	for _, s := range spec.Published() {
		for _, v := range []struct {
			name string
			s    spec.Scenario
		}{{"as it is", s}, {"restored", spec.WithRestoreAfterEveryStep(s)}} {
			got := naive.Evaluate(&v.s)
			if d := spec.Diff(&v.s, got); d != "" {
				text, _ := json.Marshal(v.s.Job)
				t.Errorf("%s %s (%s, %v): %s\n%s", s.ID, v.name, s.Source, s.Rule, d, text)
			}
		}
	}
}
