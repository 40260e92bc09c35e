package udf

import "context"

// Turn is the right to use the CPU that a function's calls are made in: that of the task
// for which the function was made. User code that can be interrupted runs inside of it.
// One goroutine uses it, that of the task.
type Turn interface {
	// Begin is called before user code runs. It waits for a turn if the task holds none.
	// An error means that the job ends.
	Begin() error
	// Yield tells of fuel that was used since the last Yield or Begin. It may let others
	// have the CPU, and then waits for it. An error means that the job ends, and the call
	// in work with it.
	Yield(fuel int64) error
	// End tells of the rest, behind each Begin without an error.
	End(fuel int64)
}

type turnKey struct{}

// WithTurn returns the context of functions that are made for a task: its end ends their
// calls, and these are made in the task's turn.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// TurnOf returns the turn of a context, nil for none.
func TurnOf(ctx context.Context) Turn {
	t, _ := ctx.Value(turnKey{}).(Turn)
	return t
}
