//go:build !wasip1

package tidemark

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Laws checks the laws of aggregates (abi/SPEC.md, section 6) on some records: that
// fresh accumulators are neutral, that parts merged equal the whole however it is
// cut, that Result changes nothing, that one call for
// many operations does what single calls do, and, if the Spec says so, that order does not
// matter and that equal means equal to the bit. Without Exact, numbers may differ by
// rounding. A host believes a Spec; a plug-in's tests should not.
func (t *Twin) Laws(records ...Values) error {
	whole, err := t.Add(nil, records...)
	if err != nil {
		return fmt.Errorf("add all records: %w", err)
	}
	for cut := range len(records) + 1 {
		a, err := t.Add(nil, records[:cut]...)
		if err != nil {
			return fmt.Errorf("add records before %d: %w", cut, err)
		}
		b, err := t.Add(nil, records[cut:]...)
		if err != nil {
			return fmt.Errorf("add records from %d: %w", cut, err)
		}
		what := fmt.Sprintf("merged at record %d of %d", cut, len(records))
		if err := t.same(whole, t.merged(a, b), what); err != nil {
			return err
		}
		if t.a.spec.OrderInsensitive {
			if err := t.same(whole, t.merged(b, a), what+", the parts exchanged"); err != nil {
				return err
			}
		}
	}
	if err := t.same(whole, func() (acc Acc, err error) {
		for i := 0; i < len(records) && err == nil; i++ {
			acc, err = t.Add(acc, records[i])
		}
		if acc == nil && err == nil {
			return t.Add(nil)
		}
		return acc, err
	}, "added one by one"); err != nil {
		return err
	}
	if t.a.spec.OrderInsensitive {
		back := slices.Clone(records)
		slices.Reverse(back)
		if err := t.same(whole, func() (Acc, error) { return t.Add(nil, back...) }, "added in reverse"); err != nil {
			return err
		}
	}
	if err := t.resultChangesNothing(whole); err != nil {
		return err
	}
	return t.inOneCall(records)
}

func (t *Twin) merged(a, b Acc) func() (Acc, error) {
	return func() (Acc, error) { return t.Merge(a, b) }
}

// same compares an accumulator with the one of the whole, as far as the Spec asks.
func (t *Twin) same(whole Acc, other func() (Acc, error), what string) error {
	acc, err := other()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if t.a.spec.Exact && !bytes.Equal(whole, acc) {
		return fmt.Errorf("%s: accumulator is %x, not %x as in one pass, and the aggregate says that it is exact", what, acc, whole)
	}
	want, err := t.Result(whole)
	if err != nil {
		return fmt.Errorf("result of all records: %w", err)
	}
	got, err := t.Result(acc)
	if err != nil {
		return fmt.Errorf("result %s: %w", what, err)
	}
	if !maps.EqualFunc(want, got, t.equal) {
		return fmt.Errorf("%s: result is %v, not %v as in one pass", what, got, want)
	}
	return nil
}

// rounding is how far numbers may lie apart, in parts of the larger.
const rounding = 1e-9

func (t *Twin) equal(a, b any) bool {
	x, isFloat := a.(float64)
	y, alsoFloat := b.(float64)
	if !isFloat || !alsoFloat {
		return a == b
	}
	if t.a.spec.Exact || x == y || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return math.Float64bits(x) == math.Float64bits(y) || !t.a.spec.Exact && x == y
	}
	return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= rounding*max(math.Abs(x), math.Abs(y), 1)
}

// resultChangesNothing asks twice, of an accumulator of a fixed size in place.
func (t *Twin) resultChangesNothing(acc Acc) error {
	before, err := t.call(opResult, input{accs: []Acc{acc}})
	if err != nil {
		return err
	}
	again, err := t.call(opResult, input{accs: []Acc{acc}})
	if err != nil {
		return err
	}
	if !maps.EqualFunc(before.rows[0], again.rows[0], sameBits) {
		return fmt.Errorf("a second result is %v, not %v", again.rows[0], before.rows[0])
	}
	if t.a.width > 0 && !bytes.Equal(acc, before.accs[0]) {
		return fmt.Errorf("result changed the accumulator from %x to %x", acc, before.accs[0])
	}
	return nil
}

func sameBits(a, b any) bool {
	x, isFloat := a.(float64)
	y, alsoFloat := b.(float64)
	if isFloat && alsoFloat {
		return math.Float64bits(x) == math.Float64bits(y)
	}
	return a == b
}
