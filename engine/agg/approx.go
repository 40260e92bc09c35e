package agg

import (
	"encoding/binary"
	"fmt"

	"github.com/axiomhq/hyperloglog"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// approxDistinct counts different values with HyperLogLog: 16 KiB however many there
// are, and a standard error of 1.04/sqrt(2^14) = 0.8 %. Up to maxHashes different
// values it keeps their hashes and is exact.
//
// Accumulator, of varying size: the hashes in ascending order, 8 bytes each, or, longer
// than any such list, the registers in the form of the library. Which of the two it is
// depends on the set of values alone, and so do the bytes; the library's own sparse form
// depends on the order of insertions.
type approxDistinct struct {
	stateless
	kind  stream.Kind
	found tally
	value []byte // working memory of Add
	merging
}

const (
	hllPrecision = 14
	// maxHashes is where the list of hashes is as large as the registers.
	maxHashes = 1 << hllPrecision / 8
)

func newApproxDistinct(k stream.Kind) udf.Aggregate { return &approxDistinct{kind: k} }

func (d *approxDistinct) Info() udf.Info {
	return udf.Info{Inputs: input(d.kind), Outputs: output("approx_distinct", stream.Int64), OrderInsensitive: true, Exact: true, Schema: 1}
}

func (*approxDistinct) Create(dst *udf.Accs, n int) error { createEmpty(dst, n); return nil }

func (d *approxDistinct) Add(accs *udf.Accs, rows *udf.Rows) error {
	c := &rows.Batch.Cols[rows.Cols[0]]
	d.found.start(rows)
	for i, r := range rows.Sel {
		d.value = valueAt(c, r, rows.Batch.Blob).appendBytes(d.value[:0], rows.Batch.Blob)
		// The hash of keys: part of the accumulator's layout, it never changes.
		d.found.add(rows.Group[i], number(stream.KeyHash(d.value)))
	}
	d.found.sort(rows.Groups)
	accs.Reset(0)
	for _, found := range d.found.groups(rows.Groups) {
		head := len(accs.Data)
		for _, f := range found {
			accs.Data = binary.LittleEndian.AppendUint64(accs.Data, f.head)
		}
		var err error
		if accs.Data, err = compactHashes(accs.Data, head); err != nil {
			return err
		}
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

// compactHashes turns the hashes from head on into registers if they are too many.
func compactHashes(dst []byte, head int) ([]byte, error) {
	list := dst[head:]
	if len(list) <= 8*maxHashes {
		return dst, nil
	}
	sketch, err := hyperloglog.NewSketch(hllPrecision, false)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	insertHashes(sketch, list)
	return sketch.AppendBinary(dst[:head])
}

func insertHashes(sketch *hyperloglog.Sketch, list []byte) {
	for ; len(list) > 0; list = list[8:] {
		sketch.InsertHash(word(list))
	}
}

// readRegisters returns the sketch of an accumulator that is not a list.
func readRegisters(acc []byte) (*hyperloglog.Sketch, error) {
	sketch := new(hyperloglog.Sketch)
	if err := sketch.UnmarshalBinary(acc); err != nil {
		return nil, fmt.Errorf("approx_distinct: %w", err)
	}
	return sketch, nil
}

func (d *approxDistinct) Merge(into, from *udf.Accs) error {
	return d.each(into, from, func(sums, a, b []byte) ([]byte, error) {
		if len(a) < len(b) {
			a, b = b, a
		}
		if len(a) > 8*maxHashes {
			return mergeRegisters(sums, a, b)
		}
		return compactHashes(mergeHashes(sums, a, b), len(sums))
	})
}

// mergeRegisters appends the registers a with b, either form, taken in.
func mergeRegisters(dst, a, b []byte) ([]byte, error) {
	sketch, err := readRegisters(a)
	if err != nil {
		return nil, err
	}
	if len(b) <= 8*maxHashes {
		insertHashes(sketch, b)
	} else {
		other, err := readRegisters(b)
		if err != nil {
			return nil, err
		}
		if err := sketch.Merge(other); err != nil {
			return nil, fmt.Errorf("approx_distinct: %w", err)
		}
	}
	return sketch.AppendBinary(dst)
}

// mergeHashes appends the union of two ascending lists.
func mergeHashes(dst, a, b []byte) []byte {
	for len(a) > 0 && len(b) > 0 {
		x, y := word(a), word(b)
		dst = binary.LittleEndian.AppendUint64(dst, min(x, y))
		if x <= y {
			a = a[8:]
		}
		if y <= x {
			b = b[8:]
		}
	}
	dst = append(dst, a...)
	return append(dst, b...)
}

func (*approxDistinct) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		a := accs.At(i)
		if len(a) <= 8*maxHashes {
			out.Cols[0].AppendInt(int64(len(a) / 8))
			continue
		}
		sketch, err := readRegisters(a)
		if err != nil {
			return err
		}
		out.Cols[0].AppendInt(int64(sketch.Estimate()))
	}
	return nil
}

var _ udf.Aggregate = (*approxDistinct)(nil)
