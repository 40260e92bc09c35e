package naive_test

import (
	"os"
	"testing"

	"tidemark/internal/naive"
	"tidemark/spec"
)

// TestPublishedScenarios holds the evaluator to the scenarios that were written by
// hand.
func TestPublishedScenarios(t *testing.T) { evaluateAll(t, spec.Published()) }

// TestCountOrTimeout is about the one trigger that no published scenario has.
func TestCountOrTimeout(t *testing.T) {
	f, err := os.Open("testdata/count_or_timeout.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := spec.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	evaluateAll(t, all)
}

// evaluateAll runs scenarios as they are and with a restore after each step (S105).
func evaluateAll(t *testing.T, all []spec.Scenario) {
	t.Helper()
	for _, s := range all {
		if d := spec.Diff(&s, naive.Evaluate(&s)); d != "" {
			t.Errorf("%s (%s, %v): %s", s.ID, s.Source, s.Rule, d)
		}
		restored := spec.WithRestoreAfterEveryStep(s)
		if d := spec.Diff(&restored, naive.Evaluate(&restored)); d != "" {
			t.Errorf("%s (%s, %v) with restores: %s", s.ID, s.Source, s.Rule, d)
		}
	}
}
