package agg

import "tidemark/engine/udf"

// merging is the working memory of Merge for accumulators of varying size: sums are made
// there and then take the place of what they are made of.
type merging struct{ sums []byte }

// each merges accumulator i of from into accumulator i of into, for all i. merge appends
// the sum of a and b.
func (m *merging) each(into, from *udf.Accs, merge func(sums, a, b []byte) ([]byte, error)) error {
	m.sums = m.sums[:0]
	start := uint32(0)
	for i := range into.N() {
		a := into.Data[start:into.Off[i+1]]
		start = into.Off[i+1]
		var err error
		if m.sums, err = merge(m.sums, a, from.At(i)); err != nil {
			return err
		}
		into.Off[i+1] = uint32(len(m.sums))
	}
	into.Data = append(into.Data[:0], m.sums...)
	return nil
}
