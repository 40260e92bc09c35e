package agg

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/DataDog/sketches-go/ddsketch/mapping"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// quantiles estimates quantiles with a DDSketch: values are counted in bins whose width
// grows with the value, so that each answer is within a relative accuracy of the value
// that has that rank. The rank of q among n values is q·(n-1), rounded down.
//
// The library's mapping decides the bins. Its stores are made for a sketch that lives in
// memory; ours is bytes that are merged without being unpacked, and that are equal
// however the values came together.
//
// Accumulator, of varying size: nothing, or the lowest and the highest value as float64,
// then the bins that hold values in ascending order: the difference to the bin before
// (the first as varint, the others as uvarint) and the count as uvarint. Bin 0 is for
// zero and what is too close to it (about 2e-308), bins below are for negative values.
// At the default accuracy there are 116 bins for each power of ten, and about 72,000 on
// either side of zero for all that a float64 can hold.
type quantiles struct {
	stateless
	kind  stream.Kind
	bins  mapping.IndexMapping
	low   int // the mapping's lowest index
	at    []float64
	names []stream.Field

	found           tally // of bins
	lowest, highest []float64
	merging
}

// margin leaves room for the rounding of the mapping's numbers: with the whole accuracy
// they may lie a few units of the last place outside of it.
const margin = 1 - 1e-9

var quantilesParams = []job.Param{
	{Name: "quantiles", Kind: stream.Float64, List: true, Max: 1,
		Default: job.Arg{Name: "quantiles", Kind: stream.Float64, List: []float64{0.5, 0.9, 0.99}}},
	// Below 0.001 there are more bins than values in most windows, and a list is better.
	{Name: "accuracy", Kind: stream.Float64, Min: 0.001, Max: 0.2,
		Default: job.Arg{Name: "accuracy", Kind: stream.Float64, Float: 0.01}},
}

// newQuantiles takes checked arguments.
func newQuantiles(k stream.Kind, at []float64, accuracy float64) udf.Aggregate {
	// The cubic mapping reads the logarithm's whole part off the bits: three times as
	// fast as the exact logarithm, for one bin more in a hundred.
	m, err := mapping.NewCubicallyInterpolatedMapping(accuracy * margin)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	q := &quantiles{kind: k, bins: m, low: m.Index(m.MinIndexableValue()), at: at}
	for _, v := range at {
		q.names = append(q.names, stream.Field{Name: percentile(v), Kind: stream.Float64})
	}
	return q
}

// percentile names a quantile: p50, p99, p99_9, p0_5. Different numbers have different
// names.
func percentile(q float64) string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(q, 'f', -1, 64), ".")
	for len(fraction) < 2 {
		fraction += "0"
	}
	whole = strings.TrimLeft(whole+fraction[:2], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction = fraction[2:]; fraction != "" {
		fraction = "_" + fraction
	}
	return "p" + whole + fraction
}

func (q *quantiles) Info() udf.Info {
	return udf.Info{Inputs: input(q.kind), Outputs: q.names, OrderInsensitive: true, Exact: true, Schema: 1}
}

func (*quantiles) Create(dst *udf.Accs, n int) error { createEmpty(dst, n); return nil }

// bin returns the bin of a value; bins are in the order of the values.
func (q *quantiles) bin(v float64) int64 {
	switch least := q.bins.MinIndexableValue(); {
	case v > least:
		return int64(q.bins.Index(v) - q.low + 1)
	case v < -least:
		return -int64(q.bins.Index(-v) - q.low + 1)
	}
	return 0
}

// value is the inverse of bin.
func (q *quantiles) value(bin int64) float64 {
	switch {
	case bin > 0:
		return q.bins.Value(int(bin) - 1 + q.low)
	case bin < 0:
		return -q.bins.Value(int(-bin) - 1 + q.low)
	}
	return 0
}

func (q *quantiles) number(c *stream.Column, row uint32) float64 {
	if q.kind == stream.Int64 {
		return float64(c.Ints[row])
	}
	return c.Floats[row] + 0 // -0 + 0 is 0: they are one value
}

func (q *quantiles) Add(accs *udf.Accs, rows *udf.Rows) error {
	c := &rows.Batch.Cols[rows.Cols[0]]
	q.found.start(rows)
	q.lowest, q.highest = q.lowest[:0], q.highest[:0]
	for range rows.Groups {
		q.lowest, q.highest = append(q.lowest, math.Inf(1)), append(q.highest, math.Inf(-1))
	}
	for i, r := range rows.Sel {
		v, g := q.number(c, r), rows.Group[i]
		if most := q.bins.MaxIndexableValue(); v > most || v < -most {
			return &udf.Failure{Op: i, Message: "quantiles cannot hold " + strconv.FormatFloat(v, 'g', -1, 64)}
		}
		q.found.add(g, number(uint64(q.bin(v))^1<<63))
		q.lowest[g], q.highest[g] = min(q.lowest[g], v), max(q.highest[g], v)
	}
	q.found.sort(rows.Groups)
	accs.Reset(0)
	for g, found := range q.found.groups(rows.Groups) {
		w := binWriter{data: accs.Data}
		if len(found) > 0 {
			w.start(q.lowest[g], q.highest[g])
		}
		for _, f := range found {
			w.append(int64(f.head^1<<63), uint64(f.n))
		}
		accs.Data = w.data
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

func (q *quantiles) Merge(into, from *udf.Accs) error {
	return q.each(into, from, func(sums, left, right []byte) ([]byte, error) {
		a, b := readBins(left), readBins(right)
		w := binWriter{data: sums}
		if a.ok || b.ok {
			w.start(min(a.lowest, b.lowest), max(a.highest, b.highest))
		}
		for a.ok || b.ok {
			switch {
			case !b.ok || a.ok && a.bin < b.bin:
				w.append(a.bin, a.n)
				a.next()
			case !a.ok || b.bin < a.bin:
				w.append(b.bin, b.n)
				b.next()
			default:
				w.append(a.bin, a.n+b.n)
				a.next()
				b.next()
			}
		}
		return w.data, nil
	})
}

func (q *quantiles) Result(accs *udf.Accs, out *stream.Columns) error {
	for i := range accs.N() {
		total := uint64(0)
		for b := readBins(accs.At(i)); b.ok; b.next() {
			total += b.n
		}
		for n, at := range q.at {
			if total == 0 {
				out.Cols[n].AppendNull()
				continue
			}
			rank := at * float64(total-1)
			b := readBins(accs.At(i))
			if rank < 1 || total == 1 { // its value is known
				out.Cols[n].AppendFloat(b.lowest)
				continue
			}
			if rank >= float64(total-1) {
				out.Cols[n].AppendFloat(b.highest)
				continue
			}
			for seen := b.n; float64(seen) <= rank && len(b.rest) > 0; seen += b.n {
				b.next()
			}
			// The extremes are known, so an answer outside them can be bettered.
			out.Cols[n].AppendFloat(max(b.lowest, min(b.highest, q.value(b.bin))))
		}
	}
	return nil
}

// binWriter appends the bins of an accumulator.
type binWriter struct {
	data  []byte
	first bool // the next bin is the first
	last  int64
}

func (w *binWriter) start(lowest, highest float64) {
	w.data = binary.LittleEndian.AppendUint64(w.data, math.Float64bits(lowest))
	w.data = binary.LittleEndian.AppendUint64(w.data, math.Float64bits(highest))
	w.first = true
}

func (w *binWriter) append(bin int64, n uint64) {
	if w.first {
		w.data = binary.AppendVarint(w.data, bin)
	} else {
		w.data = binary.AppendUvarint(w.data, uint64(bin-w.last))
	}
	w.data = binary.AppendUvarint(w.data, n)
	w.first, w.last = false, bin
}

// binReader walks over the bins of an accumulator.
type binReader struct {
	lowest, highest float64
	rest            []byte
	ok              bool // there is a current bin
	bin             int64
	n               uint64
}

// readBins stands on the first bin. Without any, the extremes are those of nothing.
func readBins(acc []byte) binReader {
	if len(acc) == 0 {
		return binReader{lowest: math.Inf(1), highest: math.Inf(-1)}
	}
	r := binReader{lowest: float(acc), highest: float(acc[8:]), ok: true}
	bin, size := binary.Varint(acc[16:])
	r.bin, r.rest = bin, acc[16+size:]
	r.count()
	return r
}

func (r *binReader) next() {
	if r.ok = len(r.rest) > 0; r.ok {
		step, size := binary.Uvarint(r.rest)
		r.bin, r.rest = r.bin+int64(step), r.rest[size:]
		r.count()
	}
}

func (r *binReader) count() {
	n, size := binary.Uvarint(r.rest)
	r.n, r.rest = n, r.rest[size:]
}

var _ udf.Aggregate = (*quantiles)(nil)
