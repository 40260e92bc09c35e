package wasm

import (
	"testing"

	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/wasmtest"
)

// Every call is told of, also one that breaks down, with what it carried and used; a result
// that changes the guest's copy of the accumulators is seen, though the host's are as before.
func TestObserve(t *testing.T) {
	for _, touches := range []bool{false, true} {
		var edits []string
		if touches {
			edits = []string{"$a 16 i32.add =a\n    $i 1 i32.add =i", "$a i64.const 7 i64.store 8\n    $a 16 i32.add =a\n    $i 1 i32.add =i"}
		}
		ps := host(t, map[string][]byte{"plug": wasmtest.Guest(t, "sum", edits...)})
		var calls []Call
		ps.Observe(func(c Call) { calls = append(calls, c) })
		p := &job.Plugin{Name: "plug"}
		if _, err := ps.Describe(p); err != nil {
			t.Fatal(err)
		}
		a, err := ps.Aggregate(t.Context(), p, &job.Aggregate{Plugin: "plug"}, []stream.Kind{stream.Int64})
		if err != nil {
			t.Fatal(err)
		}
		accs := create(t, a, 2)
		if err := a.Add(accs, all(ints(1, 2, 3), 2)); err != nil {
			t.Fatal(err)
		}
		if got := result(t, a, accs); got[0] != "4 2" || got[1] != "2 1" {
			t.Errorf("got %q", got)
		}
		failure(t, a.Add(create(t, a, 1), all(ints(-1, 5), 1)))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		want := []struct {
			fn               guest.Func
			records, answers int
		}{{guest.Configure, 1, 0}, {guest.Create, 0, 1}, {guest.Add, 3, 2}, {guest.Result, 0, 2}, {guest.Add, 2, 1}}
		if len(calls) != len(want) {
			t.Fatalf("got %+v", calls)
		}
		for i, w := range want {
			c := calls[i]
			if c.Func != w.fn || c.Records != w.records || c.Answers != w.answers || c.Touched != (touches && w.fn == guest.Result) {
				t.Errorf("call %d: got %+v, want %+v, touched %v", i, c, w, touches)
			}
			// 3 pages; the limits are those of SPEC section 1 and of docs/plugins.md.
			if c.Fuel <= 0 || c.FuelLimit != 500_000_000+1_000_000*int64(w.records+w.answers) || c.Memory != 3<<16 || c.MemoryLimit != 64<<20 {
				t.Errorf("call %d: %+v", i, c.Usage)
			}
		}
	}
}
