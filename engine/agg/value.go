package agg

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"tidemark/engine/stream"
)

// value is a value that is not null as bytes that compare as the values do: numbers are
// big endian with the sign bit turned, negative floats with all bits turned; false is 0
// and true 1; text is itself. -0 is 0.
//
// The first eight bytes are held as a number, which tells most values apart at once.
type value struct {
	head uint64 // the first eight bytes, big endian; zeros behind those that are missing
	text stream.Str
}

// headSize is how many bytes head holds. Shorter values have no others.
const headSize = 8

// number is a value of eight bytes.
func number(head uint64) value { return value{head, stream.Str{Len: headSize}} }

// valueAt returns a row of a column.
func valueAt(c *stream.Column, row uint32, blob []byte) value {
	switch c.Kind {
	case stream.Int64, stream.Timestamp:
		return number(uint64(c.Ints[row]) ^ 1<<63)
	case stream.Float64:
		return number(orderedFloat(c.Floats[row]))
	case stream.Bool:
		v := value{text: stream.Str{Len: 1}}
		if c.Bools[row] {
			v.head = 1 << 56
		}
		return v
	case stream.String:
		s := c.Strs[row]
		return value{head(blob[s.Off:], int(s.Len)), s}
	}
	panic(fmt.Sprintf("BUG: values of %s", c.Kind))
}

// head reads the head of a value of size bytes that p begins with.
func head(p []byte, size int) uint64 {
	if len(p) >= headSize {
		v := binary.BigEndian.Uint64(p)
		if size < headSize {
			v &^= math.MaxUint64 >> (8 * size)
		}
		return v
	}
	v := uint64(0)
	for i, b := range p[:min(size, len(p))] {
		v |= uint64(b) << (56 - 8*i)
	}
	return v
}

// orderedFloat maps floats to numbers in the same order, -0 to that of 0.
func orderedFloat(f float64) uint64 {
	bits := math.Float64bits(f + 0) // -0 + 0 is 0
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// floatOf is the inverse of orderedFloat.
func floatOf(v uint64) float64 {
	if v>>63 == 1 {
		return math.Float64frombits(v &^ (1 << 63))
	}
	return math.Float64frombits(^v)
}

// appendBytes appends the bytes of a value.
func (v value) appendBytes(dst, blob []byte) []byte {
	if v.text.Len <= headSize {
		dst = binary.BigEndian.AppendUint64(dst, v.head)
		return dst[:len(dst)-headSize+int(v.text.Len)]
	}
	return append(dst, v.text.Bytes(blob)...)
}

// compareHeads orders two values by what follows from their heads and sizes; decided is
// false where both go on behind equal heads.
func compareHeads(a, b uint64, sizeA, sizeB int) (order int, decided bool) {
	if a != b {
		return cmp.Compare(a, b), true
	}
	// What is missing in a head counts as zeros, so that the shorter one is the
	// beginning of the other.
	return cmp.Compare(sizeA, sizeB), min(sizeA, sizeB) <= headSize
}

// compareValues orders two values.
func compareValues(a, b value, blob []byte) int {
	if order, decided := compareHeads(a.head, b.head, int(a.text.Len), int(b.text.Len)); decided {
		return order
	}
	return bytes.Compare(a.text.Bytes(blob), b.text.Bytes(blob))
}

// equalValues reports whether two values are the same.
func equalValues(a, b value, blob []byte) bool {
	return a.head == b.head && a.text.Len == b.text.Len &&
		(a.text.Len <= headSize || bytes.Equal(a.text.Bytes(blob), b.text.Bytes(blob)))
}
