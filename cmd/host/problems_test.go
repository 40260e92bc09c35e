package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/internal/fault"
)

func TestOnlyIndependentErrorsAreCountedAsProblems(t *testing.T) {
	two := job.Problems{{File: "j.yaml", Line: 1, Column: 2, Text: "x"}, {File: "j.yaml", Line: 3, Column: 4, Text: "y"}}
	for _, row := range []struct {
		name string
		err  error
		want string
	}{
		{"one error", errors.New("x"), "tidemark: x\n"},
		{"a message of two lines", failedError{fault.As(fault.ErrGuest, errors.New("panic: x\n\tat f (g.go:1)"))}, "tidemark: panic: x\n\tat f (g.go:1)\n"},
		{"one problem of a job", two[:1], "tidemark: j.yaml:1:2: x\n"},
		{"two problems of a job", two, "j.yaml:1:2: x\nj.yaml:3:4: y\ntidemark: 2 problems\n"},
		{"two problems, and nothing else", errors.Join(two, nil), "j.yaml:1:2: x\nj.yaml:3:4: y\ntidemark: 2 problems\n"},
		{"two joined errors of a class", usageError{fault.As(fault.ErrUser, errors.Join(errors.New("x"), errors.New("y\nz")))}, "x\ny\nz\ntidemark: 2 problems\n"},
		{"two problems of a module", fmt.Errorf("%w", moduleError{"p.wasm", fault.Userf("has no x\nhas no y")}), "p.wasm: has no x\np.wasm: has no y\ntidemark: 2 problems\n"},
		{"joined errors in a sentence", fmt.Errorf("close: %w", errors.Join(errors.New("x"), errors.New("y"))), "tidemark: close: x\ny\n"},
	} {
		var out strings.Builder
		if tell(&out, row.err); out.String() != row.want {
			t.Errorf("%s: %q, want %q", row.name, out.String(), row.want)
		}
	}
}
