// Command distinct is a plug-in: the exact number of different texts in a column.
//
// It keeps the texts themselves, so it never guesses, and one accumulator holds at
// most 1 MiB of them.
package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	tidemark "tidemark/sdk/go"
)

var (
	value    = tidemark.String("value")
	distinct = tidemark.OutInt64("distinct")
)

// set is the accumulator. Written, it is the number of its members and then each
// member, its length before it, in ascending order: one set, one sequence of bytes,
// whatever the order of records and merges.
type set struct {
	n      uint64 // members in sorted
	sorted []byte // their lengths and bytes

	added []span // what was added since; repetitions are found when it is sorted
	text  []byte // its texts

	scratch, run []byte // memory for the next sorted, and for added as a sequence
}

// span is the place of a text in set.text, and its first 8 bytes, which settle most
// comparisons.
type span struct {
	head     uint64
	from, to uint32
}

// Reset makes the set empty and keeps its memory.
func (s *set) Reset() {
	s.n, s.sorted, s.added, s.text = 0, s.sorted[:0], s.added[:0], s.text[:0]
}

// Add puts the record's text into the set.
func (s *set) Add(r tidemark.Row) error {
	b := value.Bytes(r)
	from := uint32(len(s.text))
	s.text = append(s.text, b...)
	s.added = append(s.added, span{head(b), from, uint32(len(s.text))})
	return nil
}

// head is the first 8 bytes as a number in the order of texts.
func head(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var h uint64
	for i, c := range b {
		h |= uint64(c) << (56 - 8*i)
	}
	return h
}

// Merge puts o's members into the set.
func (s *set) Merge(o *set) error {
	if err := s.settle(); err != nil {
		return err
	}
	if err := o.settle(); err != nil {
		return err
	}
	return s.union(o.sorted, o.n)
}

// Result writes the number of members.
func (s *set) Result(w *tidemark.Out) error {
	if err := s.settle(); err != nil {
		return err
	}
	distinct.Set(w, int64(s.n))
	return nil
}

// AppendBinary writes the set.
func (s *set) AppendBinary(b []byte) ([]byte, error) {
	if err := s.settle(); err != nil {
		return b, err
	}
	return append(binary.AppendUvarint(b, s.n), s.sorted...), nil
}

// UnmarshalBinary reads what AppendBinary wrote.
func (s *set) UnmarshalBinary(b []byte) error {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return errDamaged
	}
	s.n, s.sorted = n, append(s.sorted[:0], b[used:]...)
	return nil
}

// settle moves what was added into sorted.
func (s *set) settle() error {
	if len(s.added) == 0 {
		return nil
	}
	text := s.text
	slices.SortFunc(s.added, func(a, b span) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(text[a.from:a.to], text[b.from:b.to])
	})
	run, n := s.run[:0], uint64(0)
	var last []byte
	for i, m := range s.added {
		b := text[m.from:m.to]
		if i == 0 || !bytes.Equal(b, last) {
			run = append(binary.AppendUvarint(run, uint64(len(b))), b...)
			n++
		}
		last = b
	}
	s.added, s.text, s.run = s.added[:0], text[:0], run
	return s.union(run, n)
}

// union puts the n members of other, which is sorted too, into sorted.
func (s *set) union(other []byte, n uint64) error {
	mine, out := s.sorted, s.scratch[:0]
	n += s.n
	a, sizeA := member(mine)
	b, sizeB := member(other)
	for len(mine) > 0 && len(other) > 0 {
		if sizeA == 0 || sizeB == 0 {
			return errDamaged
		}
		order := bytes.Compare(a, b)
		if order <= 0 {
			out = append(out, mine[:sizeA]...)
			mine = mine[sizeA:]
			a, sizeA = member(mine)
		} else {
			out = append(out, other[:sizeB]...)
		}
		if order >= 0 {
			other = other[sizeB:]
			b, sizeB = member(other)
		}
		if order == 0 {
			n--
		}
	}
	out = append(append(out, mine...), other...) // one of them is empty
	s.n, s.sorted, s.scratch = n, out, s.sorted
	return nil
}

var errDamaged = errors.New("accumulator is not a set: its bytes are damaged")

// member gives the first member's text, and its size with the length before it: 0 if
// there is none or the bytes are damaged.
func member(b []byte) (text []byte, size int) {
	if len(b) == 0 {
		return nil, 0
	}
	n, used := uint64(b[0]), 1
	if n >= 0x80 { // most texts are short
		n, used = binary.Uvarint(b)
	}
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, 0
	}
	size = used + int(n)
	return b[used:size], size
}

var plugin = tidemark.VariableAggregate[set](tidemark.Spec{
	Name: "distinct", Version: "1.0.0",
	Inputs:           []tidemark.Input{value},
	Outputs:          []tidemark.Output{distinct},
	OrderInsensitive: true,
	Exact:            true,
})

func main() {}
