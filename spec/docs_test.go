package spec_test

import (
	"os"
	"regexp"
	"testing"

	"tidemark/spec"
)

func TestScenariosNamedInTheDocumentsExist(t *testing.T) {
	known := map[string]bool{}
	for _, s := range spec.Published() {
		known[s.ID] = true
	}
	text, err := os.ReadFile("../docs/semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b[A-Z]{3}-[0-9]{2}\b`).FindAllString(string(text), -1)
	if len(named) < 20 {
		t.Errorf("only %d scenarios are named", len(named))
	}
	for _, id := range named {
		if !known[id] {
			t.Errorf("there is no scenario %s", id)
		}
	}
}
