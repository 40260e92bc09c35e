package main

import (
	"context"
	"errors"
	"fmt"

	"tidemark/internal/fault"
)

// The exit codes of every command. Documented; never change one.
const (
	exitFine        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnknown     = 3
	exitConflict    = 4
	exitDenied      = 5
	exitTimeout     = 124
	exitInterrupted = 130
)

// exitCodes is their text for people.
const exitCodes = `Exit codes:
  0    fine
  1    the job failed, also beyond its budget of bad records; diff found differences
  2    wrong usage or an invalid job, with a wrong unit of time and files that are missing or cannot be read or written
  3    the host knows nothing by that name
  4    a conflict, or the wrong state
  5    denied, or over a quota
  124  timed out
  130  interrupted
  141  seen by a shell: whoever read the results has closed the pipe (SIGPIPE)`

// errInterrupted: a person or the system asked the process to end. It is the cause of
// the context that ends then, and counts as its cancellation.
var errInterrupted error = interrupted{}

type interrupted struct{}

func (interrupted) Error() string        { return "interrupted" }
func (interrupted) Is(target error) bool { return target == context.Canceled }

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// failedError is a job that ran and failed: whatever its class, the job failed.
type failedError struct{ error }

func (e failedError) Unwrap() error { return e.error }

// quietError carries an exit code whose reason the command has printed itself.
type quietError struct{ code int }

func (e *quietError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	var usage usageError
	var failed failedError
	var quiet *quietError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &quiet):
		return quiet.code
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &failed):
		return exitFailed
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, fault.ErrUnknown):
		return exitUnknown
	case errors.Is(err, fault.ErrConflict):
		return exitConflict
	case errors.Is(err, fault.ErrDenied), errors.Is(err, fault.ErrQuota):
		return exitDenied
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.Is(err, fault.ErrUser):
		return exitUsage
	}
	return exitFailed
}
