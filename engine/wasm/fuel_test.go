package wasm

import (
	"context"
	"errors"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/wasmtest"
)

// loops has sum run without end where it would trap.
var loops = []string{"$v i64.const -1 i64.eq if unreachable end", "$v i64.const -1 i64.eq if loop br 0 end end"}

func TestARecordThatDoesNotEndIsNamed(t *testing.T) {
	a := start(t, "sum", loops...)
	want := udf.Failure{Op: 1, Trap: true, Module: "plug",
		Message: "used more than 504000000 fuel in a call with 3 records and 1 accumulator in tm_aggregate_add"}
	if got := failure(t, a.Add(create(t, a, 1), all(ints(4, -1, 5), 1))); *got != want {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
	// Alone, it is condemned by a fresh instance.
	want = udf.Failure{Op: 0, Trap: true, Fresh: true, Module: "plug",
		Message: "used more than 502000000 fuel in a call with 1 record and 1 accumulator in tm_aggregate_add"}
	if got := failure(t, a.Add(create(t, a, 1), all(ints(-1), 1))); *got != want {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
	accs := create(t, a, 1)
	if err := a.Add(accs, all(ints(4, 5), 1)); err != nil {
		t.Fatal(err)
	}
	if got := result(t, a, accs); got[0] != "9 2" {
		t.Errorf("then: got %s, want 9 2", got[0])
	}
}

// Whoever ends the job's context gets the call back, without blame for a record. A
// fresh instance is under the same context.
func TestTheEndOfAJobEndsACall(t *testing.T) {
	ps := host(t, map[string][]byte{"plug": wasmtest.Guest(t, "sum", loops...)})
	p := &job.Plugin{Name: "plug"}
	if _, err := ps.Describe(p); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	opened, err := ps.Aggregate(ctx, p, &job.Aggregate{Plugin: "plug"}, []stream.Kind{stream.Int64})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	a := opened.(*aggregate)
	accs := create(t, a, 1)
	why := errors.New("enough")
	cancel(why)
	for range 2 {
		err := a.Add(accs, all(ints(1, -1), 1))
		if _, blamed := errors.AsType[*udf.Failure](err); blamed || !errors.Is(err, why) {
			t.Errorf("got %v, want %v", err, why)
		}
	}
}
