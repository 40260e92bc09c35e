package guest

import "context"

// Turn is what an instance's calls run in, where several jobs share a machine. All calls
// come from the goroutine that calls the instance.
type Turn interface {
	// Begin is called before a call. An error is the call's, which is not made.
	Begin() error
	// Yield is called by a guest that asks for more fuel, with what it has used since it
	// did so last. It may wait. An error ends the call: its job ends.
	Yield(fuel int64) error
	// End is called behind each Begin without an error, with the fuel that no Yield was
	// told of.
	End(fuel int64)
}

type turnKey struct{}

// WithTurn returns a context for Instantiate: all calls of the instance run in the turn.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// turnOf returns the turn of a context; without one nobody waits for the CPU.
func turnOf(ctx context.Context) Turn {
	if t, ok := ctx.Value(turnKey{}).(Turn); ok {
		return t
	}
	return freely{}
}

// freely is the turn of those who have the machine to themselves.
type freely struct{}

func (freely) Begin() error      { return nil }
func (freely) Yield(int64) error { return nil }
func (freely) End(int64)         {}
