package agg

import (
	"encoding/binary"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// distinct counts the different values of a column, exactly. Accumulator, of varying
// size: the number of values as uint64, then their list, see values.go.
type distinct struct {
	stateless
	kind  stream.Kind
	found tally
	merging
}

func newDistinct(k stream.Kind) udf.Aggregate { return &distinct{kind: k} }

func (d *distinct) Info() udf.Info {
	return udf.Info{Inputs: input(d.kind), Outputs: output("distinct", stream.Int64), OrderInsensitive: true, Exact: true, Schema: 1}
}

func (*distinct) Create(dst *udf.Accs, n int) error {
	dst.Reset(0)
	for range n {
		dst.Append(make([]byte, 8))
	}
	return nil
}

func (d *distinct) Add(accs *udf.Accs, rows *udf.Rows) error {
	d.found.column(&rows.Batch.Cols[rows.Cols[0]], rows)
	accs.Reset(0)
	for _, found := range d.found.groups(rows.Groups) {
		accs.Data = binary.LittleEndian.AppendUint64(accs.Data, uint64(len(found)))
		for _, f := range found {
			accs.Data = appendItem(accs.Data, f.value, 0, rows.Batch.Blob)
		}
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

func (d *distinct) Merge(into, from *udf.Accs) error {
	return d.each(into, from, func(sums, a, b []byte) ([]byte, error) {
		at := len(sums)
		sums, both := mergeValues(append(sums, a[:8]...), a[8:], b[8:], false)
		setWord(sums[at:], word(a)+word(b)-uint64(both))
		return sums, nil
	})
}

func (*distinct) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		out.Cols[0].AppendInt(int64(word(accs.At(i))))
	}
	return nil
}

var _ udf.Aggregate = (*distinct)(nil)
