package agg

import (
	"iter"
	"math/bits"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// tally counts the different values of each accumulator in one Add. Most values come
// more than once, so only the different ones are sorted. Its memory is reused.
type tally struct {
	blob  []byte
	found []tallied
	table []uint32 // open addressing: index into found + 1; 0: free
	shift int      // which bits of a hash are a place in the table

	// Of sort.
	digits []uint32
	places grouping
	spare  []tallied
}

// tallied is a value, and how often it came.
type tallied struct {
	value
	group uint32
	n     uint32
}

// start begins an Add.
func (t *tally) start(rows *udf.Rows) {
	t.blob, t.found = rows.Batch.Blob, t.found[:0]
	size := bits.Len(uint(2 * len(rows.Sel))) // at most half of the places are taken
	t.shift = 64 - size
	t.table = slices.Grow(t.table[:0], 1<<size)[:1<<size]
	clear(t.table)
}

// column counts the rows of an Add, of a column.
func (t *tally) column(c *stream.Column, rows *udf.Rows) {
	t.start(rows)
	for i, r := range rows.Sel {
		t.add(rows.Group[i], valueAt(c, r, t.blob))
	}
	t.sort(rows.Groups)
}

// add counts one value of a group.
func (t *tally) add(group uint32, v value) {
	for i := t.hash(group, v) >> t.shift; ; i = (i + 1) & uint64(len(t.table)-1) {
		at := t.table[i]
		if at == 0 {
			t.found = append(t.found, tallied{v, group, 1})
			t.table[i] = uint32(len(t.found))
			return
		}
		if f := &t.found[at-1]; f.group == group && equalValues(f.value, v, t.blob) {
			f.n++
			return
		}
	}
}

// hash mixes by multiplication, of which the upper bits are good. Who makes values
// collide on purpose gains little: an Add has no more rows than a batch.
func (t *tally) hash(group uint32, v value) uint64 {
	const mix, other = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9 // odd, and without a pattern
	h := v.head
	if v.text.Len > headSize {
		h = stream.KeyHash(v.text.Bytes(t.blob))
	}
	return (h ^ uint64(group+1)*other) * mix
}

// fewFound is up to how many values comparing them costs less than counting their bytes:
// BenchmarkTally.
const fewFound = 64

// sort orders what was found by group and value. Many values are dealt out by each byte of
// their heads in which they differ, the last one first, and then by group; what is equal up
// to there is compared.
func (t *tally) sort(groups int) {
	if len(t.found) <= fewFound {
		slices.SortFunc(t.found, t.compare)
		return
	}
	differ := uint64(0)
	for i := range t.found {
		differ |= t.found[i].head ^ t.found[0].head
	}
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		t.digits = t.digits[:0]
		for i := range t.found {
			t.digits = append(t.digits, uint32(t.found[i].head>>shift&0xff))
		}
		t.deal(0x100)
	}
	t.digits = t.digits[:0]
	for i := range t.found {
		t.digits = append(t.digits, t.found[i].group)
	}
	t.deal(groups)
	for rest := t.found; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].head == rest[0].head && rest[n].group == rest[0].group {
			n++
		}
		if n > 1 {
			slices.SortFunc(rest[:n], t.compare)
		}
		rest = rest[n:]
	}
}

// deal orders what was found by t.digits, which are below n, and otherwise as it was.
func (t *tally) deal(n int) {
	t.places.sort(t.digits, n)
	t.spare = t.spare[:0]
	for _, i := range t.places.order {
		t.spare = append(t.spare, t.found[i])
	}
	t.found, t.spare = t.spare, t.found
}

func (t *tally) compare(a, b tallied) int {
	if a.group != b.group {
		return int(a.group) - int(b.group)
	}
	return compareValues(a.value, b.value, t.blob)
}

// groups gives each of n groups and what was found in it, in order.
func (t *tally) groups(n int) iter.Seq2[int, []tallied] {
	return func(yield func(int, []tallied) bool) {
		rest := t.found
		for g := range n {
			end := 0
			for end < len(rest) && rest[end].group == uint32(g) {
				end++
			}
			if !yield(g, rest[:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}
