package agg

import (
	"encoding/binary"
	"math"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Accumulators of fixed size are a few little-endian words. A float's word that is
// NaN means "no value yet": NaN is never an input, so no flag is needed.

func word(b []byte) uint64         { return binary.LittleEndian.Uint64(b) }
func setWord(b []byte, v uint64)   { binary.LittleEndian.PutUint64(b, v) }
func float(b []byte) float64       { return math.Float64frombits(word(b)) }
func setFloat(b []byte, f float64) { setWord(b, math.Float64bits(f)) }

// fill makes dst hold n copies of acc.
func fill(dst *udf.Accs, n int, acc ...uint64) {
	dst.Reset(8 * len(acc))
	for range n {
		for _, w := range acc {
			dst.Data = binary.LittleEndian.AppendUint64(dst.Data, w)
		}
	}
}

var noFloat = math.Float64bits(math.NaN())

// addInt adds with overflow check.
func addInt(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func overflow(op int, what string) error {
	return &udf.Failure{Op: op, Message: "the " + what + " leaves the range of its type"}
}

// stateless is what all built-ins share: nothing to close.
type stateless struct{}

func (stateless) Close() error { return nil }

// count counts records. Accumulator: the count.
type count struct{ stateless }

func (count) Info() udf.Info {
	return udf.Info{Outputs: output("count", stream.Int64), Width: 8, OrderInsensitive: true, Exact: true, Schema: 1}
}

func (count) Create(dst *udf.Accs, n int) error { fill(dst, n, 0); return nil }

func (count) Add(accs *udf.Accs, rows *udf.Rows) error {
	for _, g := range rows.Group {
		a := accs.Data[8*g:]
		setWord(a, word(a)+1)
	}
	return nil
}

func (count) Merge(into, from *udf.Accs) error {
	for i := 0; i < len(into.Data); i += 8 {
		setWord(into.Data[i:], word(into.Data[i:])+word(from.Data[i:]))
	}
	return nil
}

func (count) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := 0; i < len(accs.Data); i += 8 {
		out.Cols[0].AppendInt(int64(word(accs.Data[i:])))
	}
	return nil
}

// sumInt sums int64 exactly. Accumulator: sum, number of values.
type sumInt struct{ stateless }

// sumFloat sums float64 in the order of arrival. Accumulator: the sum or NaN.
type sumFloat struct{ stateless }

func newSum(k stream.Kind) udf.Aggregate {
	if k == stream.Float64 {
		return sumFloat{}
	}
	return sumInt{}
}

func (sumInt) Info() udf.Info {
	return udf.Info{Inputs: input(stream.Int64), Outputs: output("sum", stream.Int64), Width: 16, OrderInsensitive: true, Exact: true, Schema: 1}
}

func (sumInt) Create(dst *udf.Accs, n int) error { fill(dst, n, 0, 0); return nil }

func (sumInt) Add(accs *udf.Accs, rows *udf.Rows) error {
	vals := rows.Batch.Cols[rows.Cols[0]].Ints
	for i, r := range rows.Sel {
		a := accs.Data[16*rows.Group[i]:]
		s, ok := addInt(int64(word(a)), vals[r])
		if !ok {
			return overflow(i, "sum")
		}
		setWord(a, uint64(s))
		setWord(a[8:], word(a[8:])+1)
	}
	return nil
}

func (sumInt) Merge(into, from *udf.Accs) error {
	for i := 0; i < len(into.Data); i += 16 {
		a, b := into.Data[i:], from.Data[i:]
		s, ok := addInt(int64(word(a)), int64(word(b)))
		if !ok {
			return overflow(i/16, "sum")
		}
		setWord(a, uint64(s))
		setWord(a[8:], word(a[8:])+word(b[8:]))
	}
	return nil
}

func (sumInt) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := 0; i < len(accs.Data); i += 16 {
		if word(accs.Data[i+8:]) == 0 {
			out.Cols[0].AppendNull()
		} else {
			out.Cols[0].AppendInt(int64(word(accs.Data[i:])))
		}
	}
	return nil
}

func (sumFloat) Info() udf.Info {
	return udf.Info{Inputs: input(stream.Float64), Outputs: output("sum", stream.Float64), Width: 8, OrderInsensitive: true, Schema: 1}
}

func (sumFloat) Create(dst *udf.Accs, n int) error { fill(dst, n, noFloat); return nil }

func (sumFloat) Add(accs *udf.Accs, rows *udf.Rows) error {
	vals := rows.Batch.Cols[rows.Cols[0]].Floats
	for i, r := range rows.Sel {
		a := accs.Data[8*rows.Group[i]:]
		s := vals[r]
		if old := float(a); old == old {
			s += old
		}
		if s-s != 0 {
			return overflow(i, "sum")
		}
		setFloat(a, s)
	}
	return nil
}

func (sumFloat) Merge(into, from *udf.Accs) error {
	for i := 0; i < len(into.Data); i += 8 {
		s, b := float(into.Data[i:]), float(from.Data[i:])
		switch {
		case b != b:
			continue
		case s != s:
			s = b
		default:
			s += b
		}
		if s-s != 0 {
			return overflow(i/8, "sum")
		}
		setFloat(into.Data[i:], s)
	}
	return nil
}

func (sumFloat) Result(accs *udf.Accs, out *stream.Columns) error {
	return floatResult(accs, 8, out)
}

// floatResult appends the first word of each accumulator, NaN as null.
func floatResult(accs *udf.Accs, width int, out *stream.Columns) error {
	for i := 0; i < len(accs.Data); i += width {
		if f := float(accs.Data[i:]); f == f {
			out.Cols[0].AppendFloat(f)
		} else {
			out.Cols[0].AppendNull()
		}
	}
	return nil
}

// extremeInt is min (sign -1) or max (sign 1) of int64 or timestamps.
// Accumulator: the value, 1 if there is one.
type extremeInt struct {
	stateless
	kind stream.Kind
	sign int
}

// extremeFloat is min or max of float64. Accumulator: the value or NaN.
type extremeFloat struct {
	stateless
	sign int
}

func newExtreme(k stream.Kind, sign int) udf.Aggregate {
	if k == stream.Float64 {
		return extremeFloat{sign: sign}
	}
	return extremeInt{kind: k, sign: sign}
}

func extremeName(sign int) string {
	if sign < 0 {
		return "min"
	}
	return "max"
}

func (e extremeInt) Info() udf.Info {
	return udf.Info{Inputs: input(e.kind), Outputs: output(extremeName(e.sign), e.kind), Width: 16, OrderInsensitive: true, Exact: true, Schema: 1}
}

func (extremeInt) Create(dst *udf.Accs, n int) error { fill(dst, n, 0, 0); return nil }

func (e extremeInt) take(a []byte, v int64) {
	old := int64(word(a))
	if word(a[8:]) == 0 || (e.sign > 0 && v > old) || (e.sign < 0 && v < old) {
		setWord(a, uint64(v))
		setWord(a[8:], 1)
	}
}

func (e extremeInt) Add(accs *udf.Accs, rows *udf.Rows) error {
	vals := rows.Batch.Cols[rows.Cols[0]].Ints
	for i, r := range rows.Sel {
		e.take(accs.Data[16*rows.Group[i]:], vals[r])
	}
	return nil
}

func (e extremeInt) Merge(into, from *udf.Accs) error {
	for i := 0; i < len(into.Data); i += 16 {
		if word(from.Data[i+8:]) != 0 {
			e.take(into.Data[i:], int64(word(from.Data[i:])))
		}
	}
	return nil
}

func (e extremeInt) Result(accs *udf.Accs, out *stream.Columns) error {
	return sumInt{}.Result(accs, out)
}

func (e extremeFloat) Info() udf.Info {
	return udf.Info{Inputs: input(stream.Float64), Outputs: output(extremeName(e.sign), stream.Float64), Width: 8, OrderInsensitive: true, Exact: true, Schema: 1}
}

func (extremeFloat) Create(dst *udf.Accs, n int) error { fill(dst, n, noFloat); return nil }

// take keeps the larger or smaller value. Of -0 and 0, which are equal, the max is 0
// and the min is -0, so that the bits do not depend on the order either.
func (e extremeFloat) take(a []byte, v float64) {
	old := float(a)
	switch {
	case old != old:
	case e.sign > 0:
		v = max(old, v)
	default:
		v = min(old, v)
	}
	setFloat(a, v)
}

func (e extremeFloat) Add(accs *udf.Accs, rows *udf.Rows) error {
	vals := rows.Batch.Cols[rows.Cols[0]].Floats
	for i, r := range rows.Sel {
		e.take(accs.Data[8*rows.Group[i]:], vals[r])
	}
	return nil
}

func (e extremeFloat) Merge(into, from *udf.Accs) error {
	for i := 0; i < len(into.Data); i += 8 {
		if f := float(from.Data[i:]); f == f {
			e.take(into.Data[i:], f)
		}
	}
	return nil
}

func (extremeFloat) Result(accs *udf.Accs, out *stream.Columns) error {
	return floatResult(accs, 8, out)
}

// mean is the arithmetic mean: a sum beside a count, divided when it is asked for.
// Accumulator: that of the sum, number of values.
type mean struct {
	stateless
	sum  udf.Aggregate // sumInt or sumFloat
	kind stream.Kind
}

func newMean(k stream.Kind) udf.Aggregate { return mean{sum: newSum(k), kind: k} }

func (m mean) Info() udf.Info {
	return udf.Info{Inputs: input(m.kind), Outputs: output("mean", stream.Float64), Width: 16, OrderInsensitive: true, Exact: m.kind == stream.Int64, Schema: 1}
}

func (m mean) Create(dst *udf.Accs, n int) error { fill(dst, n, 0, 0); return nil }

func (m mean) Add(accs *udf.Accs, rows *udf.Rows) error {
	if m.kind == stream.Int64 {
		return m.sum.Add(accs, rows) // its accumulator is the sum and the count already
	}
	vals := rows.Batch.Cols[rows.Cols[0]].Floats
	for i, r := range rows.Sel {
		a := accs.Data[16*rows.Group[i]:]
		s := float(a) + vals[r]
		if s-s != 0 {
			return overflow(i, "sum behind the mean")
		}
		setFloat(a, s)
		setWord(a[8:], word(a[8:])+1)
	}
	return nil
}

func (m mean) Merge(into, from *udf.Accs) error {
	if m.kind == stream.Int64 {
		return m.sum.Merge(into, from)
	}
	for i := 0; i < len(into.Data); i += 16 {
		a, b := into.Data[i:], from.Data[i:]
		s := float(a) + float(b)
		if s-s != 0 {
			return overflow(i/16, "sum behind the mean")
		}
		setFloat(a, s)
		setWord(a[8:], word(a[8:])+word(b[8:]))
	}
	return nil
}

func (m mean) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := 0; i < len(accs.Data); i += 16 {
		a := accs.Data[i:]
		n := word(a[8:])
		switch {
		case n == 0:
			out.Cols[0].AppendNull()
		case m.kind == stream.Int64:
			out.Cols[0].AppendFloat(float64(int64(word(a))) / float64(n))
		default:
			out.Cols[0].AppendFloat(float(a) / float64(n))
		}
	}
	return nil
}

var (
	_ udf.Aggregate = count{}
	_ udf.Aggregate = sumInt{}
	_ udf.Aggregate = sumFloat{}
	_ udf.Aggregate = extremeInt{}
	_ udf.Aggregate = extremeFloat{}
	_ udf.Aggregate = mean{}
)
