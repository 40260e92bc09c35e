package guest

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"tidemark/abi/meter"
)

// What a guest may use. A unit of fuel is an instruction, and a processor runs five to
// eight of them in a nanosecond (abi/SPEC.md, section 8).
const (
	// fuelBase is what every call may use: ten times what a Go guest takes to merge two
	// sets of 1 MiB. Between 0.1 s and, for a loop that does nothing, 0.4 s.
	fuelBase = 500_000_000
	// fuelEach is what a call may use in addition for each of its records and
	// accumulators. A Go guest puts a text into a set with 15,000.
	fuelEach = 1_000_000
	// fuelGiven is what a guest gets at once. Go's collector stops the world, and a
	// guest cannot be stopped but when it asks for more: that is after 0.03 ms, and a
	// guest that misses every cache was waited for 3 ms. Asking costs less than 1 µs.
	fuelGiven = 200_000
	// stackBytes is what the frames of a guest's functions may take: as much as a C
	// program has. To reach the runtime's own limit costs 130 MB for a moment.
	stackBytes = 8 << 20
)

// No guest runs on for longer than SPEC section 8 says.
const _ = uint(1_000_000 - fuelGiven - meter.MaxAhead)

// tank is the fuel of an instance.
type tank struct {
	ctx    context.Context // whose end ends the call
	turn   Turn
	fuel   api.MutableGlobal
	room   api.MutableGlobal
	used   int64 // by the calls before
	given  int64 // to the call that runs
	told   int64 // of what it has used: to the turn
	limit  int64 // of it
	rows   uint32
	groups uint32
}

// fill begins a call. An error means that it is not to be made.
func (t *tank) fill(rows, groups uint32) error {
	if err := t.turn.Begin(); err != nil {
		return err
	}
	t.rows, t.groups, t.told = rows, groups, 0
	t.limit = fuelBase + fuelEach*(int64(rows)+int64(groups))
	t.given = fuelGiven
	t.fuel.Set(fuelGiven)
	t.room.Set(stackBytes)
	return nil
}

// left is negative once the guest has taken more than it had.
func (t *tank) left() int64 { return int64(t.fuel.Get()) }

// spent is what the call that runs has used.
func (t *tank) spent() int64 { return t.given - t.left() }

// settle ends a call.
func (t *tank) settle() {
	t.used += t.spent()
	t.turn.End(t.untold())
}

// untold is the fuel that the turn has not been told of; from now on it has.
func (t *tank) untold() int64 {
	n := t.spent() - t.told
	t.told += n
	return n
}

// pay takes n for what a host function does. The guest asks for more when it runs on.
func (t *tank) pay(n int64) { t.fuel.Set(uint64(t.left() - n)) }

// yield is called by a guest that has no fuel left, or no room: the place to let others
// have the CPU. It does not return if the guest must end.
func (t *tank) yield() {
	if int64(t.room.Get()) < 0 {
		panic(errStack{})
	}
	if t.ctx.Err() != nil {
		panic(&stopError{context.Cause(t.ctx)})
	}
	spent := t.spent()
	if spent > t.limit {
		panic(&fuelError{*t})
	}
	if err := t.turn.Yield(t.untold()); err != nil {
		panic(&stopError{err})
	}
	more := min(fuelGiven, t.limit-spent)
	t.given = spent + more
	t.fuel.Set(uint64(more))
}

// yieldModule offers yield to rewritten modules.
func yieldModule(ctx context.Context, r wazero.Runtime) error {
	yield := api.GoFunc(func(ctx context.Context, _ []uint64) { ctx.Value(stateKey{}).(*state).tank.yield() })
	_, err := r.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().WithGoFunction(yield, nil, nil).Export(meter.Yield).Instantiate(ctx)
	return err
}

// stopError ends a call because its job ends: it is no fault of the guest's.
type stopError struct{ cause error }

func (s *stopError) Error() string { return s.cause.Error() }
func (s *stopError) Unwrap() error { return s.cause }

// errStack ends a call that is too deep; the runtime's own limit has the same name.
type errStack struct{}

func (errStack) Error() string { return "stack overflow" }

// fuelError ends a call that has used more than its limit.
type fuelError struct{ call tank }

func (e *fuelError) Error() string {
	text := fmt.Sprintf("used more than %d fuel", e.call.limit)
	var what []string
	for _, c := range []struct {
		n    uint32
		name string
	}{{e.call.rows, "record"}, {e.call.groups, "accumulator"}} {
		if c.n == 1 {
			what = append(what, "1 "+c.name)
		} else if c.n > 1 {
			what = append(what, fmt.Sprintf("%d %ss", c.n, c.name))
		}
	}
	if len(what) > 0 {
		text += " in a call with " + strings.Join(what, " and ")
	}
	return text
}
