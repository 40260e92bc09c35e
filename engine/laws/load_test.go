package laws

import (
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Firings for measuring have what was asked for, the same for the same seed.
func TestFiringsForMeasuring(t *testing.T) {
	info := (&numbers{}).Info()
	l := Firings(info, 7, 50, 4, 3)
	if l.N() != 50 {
		t.Fatalf("%d firings", l.N())
	}
	again := Firings(info, 7, 50, 4, 3).Firings()
	in := l.Firings()
	if len(in.Window) != 50 || in.Inputs.N != 50 || len(in.Keys.Data) != 4 || in.Lists[0].Off[50] != 150 || in.Lists[0].N != 150 || in.Inputs.Cols[0].Valid != nil {
		t.Errorf("%d windows, %d inputs, %d keys, %d records", len(in.Window), in.Inputs.N, len(in.Keys.Data), in.Lists[0].N)
	}
	for i := range in.Window {
		if in.Inputs.Cols[0].Ints[i] != again.Inputs.Cols[0].Ints[i] || in.Keys.Slot[i] != again.Keys.Slot[i] {
			t.Fatalf("firing %d differs", i)
		}
	}
	second := in.Inputs.Cols[0].Ints[1]
	if l.Drop(0); l.N() != 49 || l.Firings().Inputs.Cols[0].Ints[0] != second {
		t.Error("the first is not what was dropped")
	}
	// States are carried within a call, and not into the next one.
	p := &numbers{}
	for range 2 {
		out := make([]udf.Emitted, 1)
		out[0].Reset(info.Outputs)
		Forget(&in.Keys)
		if err := p.Call(in, out); err != nil {
			t.Fatal(err)
		}
		ones := 0
		for _, n := range out[0].Cols[0].Ints {
			if n == 1 {
				ones++
			}
		}
		if ones != 4 {
			t.Errorf("%d keys begin, want 4", ones)
		}
	}
}

// Operations for measuring are those of a whole story, without what is refused.
func TestOperationsForMeasuring(t *testing.T) {
	for _, broken := range []string{"", "refuses"} {
		g := &third{broken: broken}
		in, err := Operations(g, 3, 500)
		if err != nil || len(in.Ops) != 500 || len(in.States.Slot) != 500 {
			t.Fatalf("%q: %d operations, %v", broken, len(in.Ops), err)
		}
		counts := map[udf.TriggerOp]int{}
		for _, op := range in.Ops {
			counts[op.What]++
			if op.What == udf.OnElement && broken == "refuses" && in.Records.Columns.Cols[0].Ints[op.Row] == 3 {
				t.Error("a record is there that is refused")
			}
		}
		for _, what := range []udf.TriggerOp{udf.OnElement, udf.OnEventTimer, udf.OnMerge, udf.OnClear} {
			if counts[what] == 0 {
				t.Errorf("%q: no operation %d: %v", broken, what, counts)
			}
		}
		if counts[udf.OnElement] != in.Records.Columns.N || in.Records.Columns.Cols[0].Kind != stream.Int64 {
			t.Errorf("%q: %d records for %d operations", broken, in.Records.Columns.N, counts[udf.OnElement])
		}
	}
}
