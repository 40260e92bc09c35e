package agg

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// multiset counts how often each value occurs, exactly: what top_k and sorted_list are
// made from. Accumulator, of varying size: the list of the values with their counts, see
// values.go. Like distinct it grows with the number of different values, which the state
// budget of a job bounds (K8).
type multiset struct {
	stateless
	kind  stream.Kind
	found tally
	merging
}

func (*multiset) Create(dst *udf.Accs, n int) error { createEmpty(dst, n); return nil }

func (m *multiset) Add(accs *udf.Accs, rows *udf.Rows) error {
	m.found.column(&rows.Batch.Cols[rows.Cols[0]], rows)
	accs.Reset(0)
	for _, found := range m.found.groups(rows.Groups) {
		for _, f := range found {
			accs.Data = appendItem(accs.Data, f.value, uint64(f.n), rows.Batch.Blob)
		}
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

func (m *multiset) Merge(into, from *udf.Accs) error {
	return m.each(into, from, func(sums, a, b []byte) ([]byte, error) {
		sums, _ = mergeValues(sums, a, b, true)
		return sums, nil
	})
}

// appendJSON appends the value that v stands for. one is scratch.
func (m *multiset) appendJSON(dst, v []byte, one *stream.Column) []byte {
	one.Reset(m.kind)
	switch m.kind {
	case stream.Int64, stream.Timestamp:
		one.AppendInt(int64(binary.BigEndian.Uint64(v) ^ 1<<63))
	case stream.Float64:
		one.AppendFloat(floatOf(binary.BigEndian.Uint64(v)))
	case stream.Bool:
		one.AppendBool(v[0] != 0)
	default:
		one.AppendStr(stream.Str{Len: uint32(len(v))})
	}
	return result.AppendValue(dst, one, 0, v, result.RFC3339)
}

// sortedList gives all values in ascending order, as a JSON list; text is ordered by
// its bytes.
type sortedList struct{ multiset }

func newSortedList(k stream.Kind) udf.Aggregate { return &sortedList{multiset{kind: k}} }

func (s *sortedList) Info() udf.Info {
	return udf.Info{Inputs: input(s.kind), Outputs: output("sorted_list", stream.JSON), OrderInsensitive: true, Exact: true, Schema: 1}
}

func (s *sortedList) Result(accs *udf.Accs, out *stream.Columns) error {
	var one stream.Column
	for i := range accs.N() {
		off := len(out.Blob)
		out.Blob = append(out.Blob, '[')
		for it := itemsOf(accs.At(i), true); it.ok; it.next() {
			for range it.n {
				if len(out.Blob) > off+1 {
					out.Blob = append(out.Blob, ',')
				}
				out.Blob = s.appendJSON(out.Blob, it.value(), &one)
			}
		}
		closeList(out, off)
	}
	return nil
}

var topKParams = []job.Param{{Name: "k", Kind: stream.Int64, Min: 1, Max: maxTopK, Default: job.Arg{Name: "k", Kind: stream.Int64, Int: 10}}}

// maxTopK bounds the entries of one result: more belong into a list, and finding the
// places of k values among n costs up to k·n steps.
const maxTopK = 1000

// topK gives the k most frequent values with their counts, as a JSON list; of equally
// frequent ones the lower value comes first.
type topK struct {
	multiset
	k int
}

// frequent is a value that may be among the most frequent ones.
type frequent struct {
	value []byte
	n     uint64
}

func newTopK(k stream.Kind, n int) udf.Aggregate { return &topK{multiset{kind: k}, n} }

func (t *topK) Info() udf.Info {
	return udf.Info{Inputs: input(t.kind), Outputs: output("top_k", stream.JSON), OrderInsensitive: true, Exact: true, Schema: 1}
}

func (t *topK) Result(accs *udf.Accs, out *stream.Columns) error {
	var one stream.Column
	var best []frequent // by falling count
	for i := range accs.N() {
		best = best[:0]
		for it := itemsOf(accs.At(i), true); it.ok; it.next() {
			if len(best) == t.k {
				if it.n <= best[t.k-1].n {
					continue
				}
				best = best[:t.k-1]
			}
			// Values come in ascending order, so an equal count goes behind.
			at, _ := slices.BinarySearchFunc(best, it.n, func(b frequent, n uint64) int {
				if b.n >= n {
					return -1
				}
				return 1
			})
			best = slices.Insert(best, at, frequent{it.value(), it.n})
		}
		off := len(out.Blob)
		out.Blob = append(out.Blob, '[')
		for n, b := range best {
			if n > 0 {
				out.Blob = append(out.Blob, ',')
			}
			out.Blob = append(out.Blob, `{"value":`...)
			out.Blob = t.appendJSON(out.Blob, b.value, &one)
			out.Blob = fmt.Appendf(out.Blob, `,"count":%d}`, b.n)
		}
		closeList(out, off)
	}
	return nil
}

var (
	_ udf.Aggregate = (*sortedList)(nil)
	_ udf.Aggregate = (*topK)(nil)
)
