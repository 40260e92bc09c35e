package agg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// multiset counts how often each value occurs, exactly: what top_k and sorted_list are
// made from. Accumulator, of varying size: for each value in ascending order the length
// of its bytes and its count as uvarints, then its bytes, see appendOrdered. Like
// distinct it grows with the number of different values, which the state budget of a
// job bounds (K8).
type multiset struct {
	stateless
	kind stream.Kind

	// Scratch of one Add, reused: the values of the batch and where they go.
	vals  []byte
	items []distinctItem
}

func (*multiset) Create(dst *udf.Accs, n int) error { createEmpty(dst, n); return nil }

func (m *multiset) Add(accs *udf.Accs, rows *udf.Rows) error {
	c := &rows.Batch.Cols[rows.Cols[0]]
	m.vals, m.items = m.vals[:0], m.items[:0]
	for i, r := range rows.Sel {
		off := len(m.vals)
		m.vals = appendOrdered(m.vals, c, int(r), rows.Batch.Blob)
		m.items = append(m.items, distinctItem{rows.Group[i], uint32(off), uint32(len(m.vals) - off)})
	}
	slices.SortFunc(m.items, func(a, b distinctItem) int {
		if a.group != b.group {
			return int(a.group) - int(b.group)
		}
		return bytes.Compare(m.val(a), m.val(b))
	})
	accs.Reset(0)
	next := 0
	for g := range rows.Groups {
		for next < len(m.items) && m.items[next].group == uint32(g) {
			v, n := m.val(m.items[next]), uint64(1)
			for next++; next < len(m.items) && m.items[next].group == uint32(g) && bytes.Equal(v, m.val(m.items[next])); next++ {
				n++
			}
			accs.Data = appendCounted(accs.Data, v, n)
		}
		accs.Off = append(accs.Off, uint32(len(accs.Data)))
	}
	return nil
}

func (m *multiset) val(it distinctItem) []byte { return m.vals[it.off : it.off+it.len] }

func (*multiset) Merge(into, from *udf.Accs) error {
	var out udf.Accs
	out.Reset(0)
	for i := range into.N() {
		a, b := counted{rest: into.At(i)}, counted{rest: from.At(i)}
		a.next()
		b.next()
		for a.ok || b.ok {
			order := bytes.Compare(a.value, b.value)
			switch {
			case !b.ok || a.ok && order < 0:
				out.Data = appendCounted(out.Data, a.value, a.n)
				a.next()
			case !a.ok || order > 0:
				out.Data = appendCounted(out.Data, b.value, b.n)
				b.next()
			default:
				out.Data = appendCounted(out.Data, a.value, a.n+b.n)
				a.next()
				b.next()
			}
		}
		out.Off = append(out.Off, uint32(len(out.Data)))
	}
	*into = out
	return nil
}

// counted walks over an accumulator.
type counted struct {
	rest  []byte
	ok    bool // there is a current value
	value []byte
	n     uint64
}

func (c *counted) next() {
	if c.ok = len(c.rest) > 0; !c.ok {
		c.value = nil
		return
	}
	size := c.uvarint()
	c.n = c.uvarint()
	c.value, c.rest = c.rest[:size], c.rest[size:]
}

func (c *counted) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	c.rest = c.rest[n:]
	return v
}

func appendCounted(dst, v []byte, n uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(v)))
	dst = binary.AppendUvarint(dst, n)
	return append(dst, v...)
}

// appendOrdered appends the bytes that stand for a value that is not null. Bytes
// compare as the values do: numbers are big endian with the sign bit turned, negative
// floats with all bits turned. -0 is 0.
func appendOrdered(dst []byte, c *stream.Column, row int, blob []byte) []byte {
	switch c.Kind {
	case stream.Int64, stream.Timestamp:
		return binary.BigEndian.AppendUint64(dst, uint64(c.Ints[row])^1<<63)
	case stream.Float64:
		bits := math.Float64bits(c.Floats[row] + 0) // -0 + 0 is 0
		if bits>>63 == 0 {
			bits |= 1 << 63
		} else {
			bits = ^bits
		}
		return binary.BigEndian.AppendUint64(dst, bits)
	case stream.Bool, stream.String:
		return appendValue(dst, c, row, blob)
	}
	panic(fmt.Sprintf("BUG: multiset over %s", c.Kind))
}

// appendJSON appends the value that v stands for. one is scratch.
func (m *multiset) appendJSON(dst, v []byte, one *stream.Column) []byte {
	one.Reset(m.kind)
	switch m.kind {
	case stream.Int64, stream.Timestamp:
		one.AppendInt(int64(binary.BigEndian.Uint64(v) ^ 1<<63))
	case stream.Float64:
		bits := binary.BigEndian.Uint64(v)
		if bits>>63 == 1 {
			bits &^= 1 << 63
		} else {
			bits = ^bits
		}
		one.AppendFloat(math.Float64frombits(bits))
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
		for c := (counted{rest: accs.At(i)}); ; {
			if c.next(); !c.ok {
				break
			}
			for range c.n {
				if len(out.Blob) > off+1 {
					out.Blob = append(out.Blob, ',')
				}
				out.Blob = s.appendJSON(out.Blob, c.value, &one)
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

func newTopK(k stream.Kind, n int) udf.Aggregate { return &topK{multiset{kind: k}, n} }

func (t *topK) Info() udf.Info {
	return udf.Info{Inputs: input(t.kind), Outputs: output("top_k", stream.JSON), OrderInsensitive: true, Exact: true, Schema: 1}
}

func (t *topK) Result(accs *udf.Accs, out *stream.Columns) error {
	var one stream.Column
	var best []counted // by falling count
	for i := range accs.N() {
		best = best[:0]
		for c := (counted{rest: accs.At(i)}); ; {
			if c.next(); !c.ok {
				break
			}
			if len(best) == t.k {
				if c.n <= best[t.k-1].n {
					continue
				}
				best = best[:t.k-1]
			}
			// Values come in ascending order, so an equal count goes behind.
			at, _ := slices.BinarySearchFunc(best, c.n, func(b counted, n uint64) int {
				if b.n >= n {
					return -1
				}
				return 1
			})
			best = slices.Insert(best, at, c)
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
