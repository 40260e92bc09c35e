package agg

import (
	"bytes"
	"encoding/binary"
)

// A list of values is what distinct, top_k and sorted_list keep: for each value, in
// ascending order, the length of its bytes as uvarint, its count as uvarint where they
// are counted, and its bytes. Which values came, and how often, is all that a list
// depends on.

// appendItem appends a value to a list, with its count if that is not 0.
func appendItem(dst []byte, v value, n uint64, blob []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(v.text.Len))
	if n > 0 {
		dst = binary.AppendUvarint(dst, n)
	}
	return v.appendBytes(dst, blob)
}

// items walks over a list of values.
type items struct {
	list    []byte
	counted bool

	ok   bool // there is a current value
	at   int  // where the current item begins,
	from int  // and its value,
	end  int  // and where both end
	head uint64
	n    uint64 // its count
}

// itemsOf stands on the first value.
func itemsOf(list []byte, counted bool) items {
	it := items{list: list, counted: counted}
	it.next()
	return it
}

// next moves on to the next value. Lengths and counts mostly fit into a byte.
func (it *items) next() {
	p := it.end
	it.at = p
	if it.ok = p < len(it.list); !it.ok {
		return
	}
	size := uint64(it.list[p])
	if p++; size >= 0x80 {
		size, p = it.uvarint(it.at)
	}
	if it.counted {
		it.n = uint64(it.list[p])
		if p++; it.n >= 0x80 {
			it.n, p = it.uvarint(p - 1)
		}
	}
	it.from, it.end = p, p+int(size)
	if rest := it.list[p:]; size >= headSize && len(rest) >= headSize {
		it.head = binary.BigEndian.Uint64(rest)
	} else {
		it.head = head(rest, int(size))
	}
}

func (it *items) uvarint(p int) (v uint64, end int) {
	v, n := binary.Uvarint(it.list[p:])
	return v, p + n
}

// value returns the bytes of the current value.
func (it *items) value() []byte { return it.list[it.from:it.end:it.end] }

// compareItems orders the current values of two lists.
func compareItems(a, b *items) int {
	if order, decided := compareHeads(a.head, b.head, a.end-a.from, b.end-b.from); decided {
		return order
	}
	return bytes.Compare(a.value(), b.value())
}

// mergeValues appends the union of two lists, the counts of equal values added up, and
// returns how many values are in both. What lies in one list between two values of the
// other is copied in one piece.
func mergeValues(dst, listA, listB []byte, counted bool) (merged []byte, both int) {
	a, b := itemsOf(listA, counted), itemsOf(listB, counted)
	for a.ok && b.ok {
		order := compareItems(&a, &b)
		switch {
		case order < 0:
			dst = append(dst, a.skip(&b)...)
		case order > 0:
			dst = append(dst, b.skip(&a)...)
		default:
			both++
			if counted {
				dst = binary.AppendUvarint(dst, uint64(a.end-a.from))
				dst = binary.AppendUvarint(dst, a.n+b.n)
				dst = append(dst, a.value()...)
			} else {
				dst = append(dst, a.list[a.at:a.end]...)
			}
			a.next()
			b.next()
		}
	}
	dst = append(dst, a.list[a.at:]...)
	return append(dst, b.list[b.at:]...), both
}

// skip moves to the first value that is not below that of another list, which the current
// one is, and returns the items that it has passed. Most values are told apart by their
// heads, and have lengths and counts of one byte: BenchmarkMerge.
func (it *items) skip(to *items) []byte {
	start, list, p, prefix := it.at, it.list, it.end, 1
	if it.counted {
		prefix = 2
	}
	for p+prefix+headSize <= len(list) {
		size := list[p]
		if size < headSize || size >= 0x80 || list[p+prefix-1] >= 0x80 || binary.BigEndian.Uint64(list[p+prefix:]) >= to.head {
			break
		}
		p += prefix + int(size)
	}
	it.end = p
	for it.next(); it.ok && (it.head < to.head || it.head == to.head && compareItems(it, to) < 0); it.next() {
	}
	return list[start:it.at]
}
