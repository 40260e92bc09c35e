package harness

import (
	"flag"
	"testing"

	"tidemark/internal/naive"
	"tidemark/spec"
)

func check(t *testing.T, s spec.Scenario) bool {
	t.Helper()
	plain := Check(&s)
	if plain != "" {
		t.Errorf("%s: %s", s.ID, plain)
	}
	r := spec.WithRestoreAfterEveryStep(s)
	restored := Check(&r)
	if restored != "" {
		t.Errorf("%s, with a restore after every step: %s", s.ID, restored)
	}
	return plain == "" && restored == ""
}

func TestThePublishedScenariosPass(t *testing.T) {
	for _, s := range spec.Published() {
		t.Run(s.ID, func(t *testing.T) { check(t, s) })
	}
}

var (
	seed  = flag.Uint64("seed", 1, "first seed of the scenarios made at random")
	count = flag.Uint64("scenarios", 600, "how many scenarios are made at random")
)

// Scenarios made at random are expected to give what the naive evaluator says, which
// was written from the rules alone and keeps lists where the engine keeps state. A
// scenario's seed is in its name: go test ./engine/harness -seed N -scenarios 1. Where tests
// are to be short (make test), a third of them is made; all in make long.
func TestScenariosMadeAtRandomPass(t *testing.T) {
	failed, count := 0, *count
	if testing.Short() {
		count = (count + 2) / 3
	}
	for n := range 10 * count {
		s := naive.Generate(*seed + n)
		if n >= count && len(Variants(&s)) > 1 {
			continue // decisions alone cost nothing: more of them
		}
		if !check(t, s) {
			if failed++; failed == 5 {
				t.Fatal("and perhaps more")
			}
		}
	}
}
