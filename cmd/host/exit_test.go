package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tidemark/engine/job"
	"tidemark/internal/fault"
)

func TestEveryClassOfErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		code int
	}{
		{"fine", nil, 0},
		{"a job that failed", failedError{errors.New("x")}, 1},
		{"a job that failed on bad records", failedError{fault.Userf("x")}, 1},
		{"a plug-in that broke", fault.As(fault.ErrGuest, errors.New("x")), 1},
		{"a disk that is full", fault.Externalf("x"), 1},
		{"damaged files", fault.Corruptf("x"), 1},
		{"an error of no class", errors.New("x"), 1},
		{"wrong usage", usagef("x"), 2},
		{"an invalid job", fmt.Errorf("load: %w", job.Problems{{}}), 2},
		{"an unknown name", fault.Unknownf("x"), 3},
		{"a conflict", fault.Conflictf("x"), 4},
		{"denied", fault.As(fault.ErrDenied, errors.New("x")), 5},
		{"over a quota", fault.Quotaf("x"), 5},
		{"timed out", fmt.Errorf("wait: %w", context.DeadlineExceeded), 124},
		{"interrupted", fmt.Errorf("job x: %w", errInterrupted), 130},
		{"said by the command itself", &quietError{1}, 1},
	} {
		if got := exitCode(c.err); got != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.code)
		}
	}
}
