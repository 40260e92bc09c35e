// Package fault holds the few classes of error that the project knows. Code wraps
// one of them with what and where; callers test with errors.Is and never look at
// texts. Exit codes and HTTP statuses are each derived from the class in one place.
package fault

import (
	"errors"
	"fmt"
)

var (
	// ErrUser: the job, its files or its records are wrong. Told to the job's owner;
	// never retried, since the same input fails again.
	ErrUser = errors.New("invalid input")
	// ErrGuest: a plug-in trapped, refused or broke a limit. Told to the job's owner
	// with the module and the record.
	ErrGuest = errors.New("plug-in failed")
	// ErrExternal: a disk, broker or network failed. Retried with back-off where a
	// restart policy allows it.
	ErrExternal = errors.New("outside failure")
	// ErrUnknown: the host knows nothing by that name. What belongs to another tenant
	// is unknown too. Told to whoever asked.
	ErrUnknown = errors.New("unknown")
	// ErrConflict: the name is taken, or the thing is in a state that does not allow
	// it. Told to whoever asked; asking again later may work.
	ErrConflict = errors.New("conflict")
	// ErrDenied: no token, or not a valid one. Told to whoever asked.
	ErrDenied = errors.New("denied")
	// ErrQuota: a limit of the tenant is reached. Told to the tenant.
	ErrQuota = errors.New("quota exceeded")
	// ErrCorrupt: stored bytes are not what was written. Told to the operator; an
	// older copy may serve.
	ErrCorrupt = errors.New("damaged data")
)

// classified is an error with a class that its text does not repeat.
type classified struct {
	class error
	err   error
}

func (c *classified) Error() string   { return c.err.Error() }
func (c *classified) Unwrap() []error { return []error{c.class, c.err} }

// As gives err a class; nil stays nil.
func As(class, err error) error {
	if err == nil {
		return nil
	}
	return &classified{class, err}
}

// Userf is As(ErrUser, fmt.Errorf(...)).
func Userf(format string, args ...any) error { return As(ErrUser, fmt.Errorf(format, args...)) }

// Unknownf is As(ErrUnknown, fmt.Errorf(...)).
func Unknownf(format string, args ...any) error { return As(ErrUnknown, fmt.Errorf(format, args...)) }

// Conflictf is As(ErrConflict, fmt.Errorf(...)).
func Conflictf(format string, args ...any) error {
	return As(ErrConflict, fmt.Errorf(format, args...))
}

// Quotaf is As(ErrQuota, fmt.Errorf(...)).
func Quotaf(format string, args ...any) error { return As(ErrQuota, fmt.Errorf(format, args...)) }

// Corruptf is As(ErrCorrupt, fmt.Errorf(...)).
func Corruptf(format string, args ...any) error { return As(ErrCorrupt, fmt.Errorf(format, args...)) }

// Externalf is As(ErrExternal, fmt.Errorf(...)).
func Externalf(format string, args ...any) error {
	return As(ErrExternal, fmt.Errorf(format, args...))
}
