package harness

import (
	"testing"

	"tidemark/spec"
)

func TestThePublishedScenariosPass(t *testing.T) {
	for _, s := range spec.Published() {
		t.Run(s.ID, func(t *testing.T) {
			if d := Check(&s); d != "" {
				t.Error(d)
			}
			r := spec.WithRestoreAfterEveryStep(s)
			if d := Check(&r); d != "" {
				t.Error("with a restore after every step: " + d)
			}
		})
	}
}
