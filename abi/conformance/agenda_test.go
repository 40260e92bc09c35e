package conformance

import (
	"slices"
	"testing"

	"tidemark/abi"
)

// Behind the last operation op may be that of any record of the stretch that ends there.
func TestWhereOpMayEnd(t *testing.T) {
	const rec, res = abi.ApplyRecord, abi.ApplyResult
	for _, c := range []struct {
		whats []uint32
		good  []int
	}{
		{[]uint32{res}, []int{0}},
		{[]uint32{rec}, []int{0}},
		{[]uint32{rec, rec, res}, []int{2}},
		{[]uint32{rec, res, rec, rec, rec}, []int{2, 3, 4}},
		{[]uint32{rec, abi.ApplyReset, rec}, []int{2}},
		{[]uint32{rec, rec}, []int{0, 1}},
		{[]uint32{rec, abi.ApplyMerge}, []int{1}},
	} {
		var ops []abi.ContentOp
		for _, w := range c.whats {
			ops = append(ops, abi.ContentOp{What: w})
		}
		for op := -1; op <= len(ops); op++ {
			if got, want := opEnds(ops, op), slices.Contains(c.good, op); got != want {
				t.Errorf("%v: op %d: %v", c.whats, op, got)
			}
		}
	}
}
