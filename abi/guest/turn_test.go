package guest_test

import (
	"errors"
	"testing"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/wasmtest"
)

// ledger is a turn that counts.
type ledger struct {
	begun, ended, yields int
	fuel, most           int64 // told of in all, and at once
	refuse               error // of Begin
	end                  error // of Yield
}

func (l *ledger) Begin() error {
	if l.refuse == nil {
		l.begun++
	}
	return l.refuse
}

func (l *ledger) Yield(fuel int64) error {
	l.yields++
	l.fuel, l.most = l.fuel+fuel, max(l.most, fuel)
	return l.end
}

func (l *ledger) End(fuel int64) {
	l.ended++
	l.fuel, l.most = l.fuel+fuel, max(l.most, fuel)
}

// All fuel that an instance uses is told to its turn: on the way, at least once in a
// million, and at the end of each call, also of one that breaks down.
func TestATurnIsToldOfAllFuel(t *testing.T) {
	for _, c := range []struct {
		name, add string
		values    []int64
		trap      bool
		yields    int // at least
	}{
		{"a short call", "", []int64{1, 2, 3}, false, 0},
		{"a call that traps", "", []int64{1, -1}, true, 0},
		{"a call that does not end", "  loop br 0 end\n", []int64{1}, true, 500},
		{"a call without end", "  0 call forever drop\n", []int64{1}, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &ledger{}
			begins := "func tm_aggregate_add f:i32 -> i32 | i:i32 n:i32 data:i32 group:i32 acc:i32 a:i32 v:i64\n"
			i, err := compile(t, wasmtest.Guest(t, "sum", begins, begins+c.add)).Instantiate(guest.WithTurn(t.Context(), l))
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			put(i, 0, 1)
			if _, err := i.Call(guest.Configure); err != nil {
				t.Fatal(err)
			}
			put(i, 1, c.values...)
			_, err = i.Call(guest.Add)
			if trap := (*guest.Trap)(nil); errors.As(err, &trap) != c.trap {
				t.Fatalf("got %v", err)
			}
			// tm_arena, configure and add.
			if l.begun != 3 || l.ended != 3 || l.yields < c.yields {
				t.Errorf("%d calls begun, %d ended, %d yields, at least %d are right", l.begun, l.ended, l.yields, c.yields)
			}
			if l.fuel != i.Fuel() || l.fuel <= 0 || l.most > 1_000_000 {
				t.Errorf("told of %d fuel, %d at once; the instance has used %d", l.fuel, l.most, i.Fuel())
			}
		})
	}
}

// A turn that says that the job ends, ends a call, which is no trap.
func TestATurnEndsACall(t *testing.T) {
	why := errors.New("the job has ended")
	l := &ledger{end: why}
	begins := "func tm_aggregate_merge f:i32 -> i32 | i:i32 n:i32 a:i32 b:i32\n"
	i, err := compile(t, wasmtest.Guest(t, "sum", begins, begins+"  loop br 0 end\n")).Instantiate(guest.WithTurn(t.Context(), l))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	put(i, 1, 5)
	_, err = i.Call(guest.Merge)
	if trap := (*guest.Trap)(nil); errors.As(err, &trap) || !errors.Is(err, why) || !i.Broken() || l.yields != 1 || l.begun != l.ended {
		t.Errorf("got %v with %+v", err, *l)
	}

	l.end, l.refuse = nil, why
	if _, err := compile(t, wasmtest.Guest(t, "sum")).Instantiate(guest.WithTurn(t.Context(), l)); !errors.Is(err, why) {
		t.Errorf("an instance without a turn: %v", err)
	}
	l.refuse = nil
	i, err = compile(t, wasmtest.Guest(t, "sum")).Instantiate(guest.WithTurn(t.Context(), l))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	l.refuse = why
	put(i, 0, 1)
	if s, err := i.Call(guest.Configure); !errors.Is(err, why) || s != abi.OK || !i.Broken() {
		t.Errorf("a call without a turn: %d, %v", s, err)
	}
}
