package guest_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"tidemark/abi/guest"
	"tidemark/internal/wasmtest"
)

// A module that is interpreted answers the same as one that is compiled, for the same fuel.
func TestInterpreterDoesTheSame(t *testing.T) {
	file := wasmtest.Guest(t, "sum")
	run := func(c *guest.InProcess) (frame []byte, fuel int64) {
		m, err := c.Compile(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		i, err := m.Instantiate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		for _, step := range []struct {
			fn     guest.Func
			groups int
			values []int64
		}{{guest.Configure, 0, []int64{3}}, {guest.Add, 1, slices.Repeat([]int64{5, 7}, 100)}} {
			put(i, step.groups, step.values...)
			if s, err := i.Call(step.fn); s != 0 || err != nil {
				t.Fatalf("%s: %d, %v", step.fn, s, err)
			}
		}
		return bytes.Clone(i.Arena()), i.Fuel()
	}
	slow, err := guest.NewInterpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close(context.Background())
	wantFrame, wantFuel := run(compiler(t))
	frame, fuel := run(slow)
	if !bytes.Equal(frame, wantFrame) || fuel != wantFuel || fuel == 0 {
		t.Errorf("fuel %d, compiled it takes %d; the frame is the same: %t", fuel, wantFuel, bytes.Equal(frame, wantFrame))
	}
}
