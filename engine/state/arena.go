package state

import (
	"bytes"
	"encoding/binary"
)

// arena holds the keys of a table, each behind its length. They are added and never
// change, so a View may go on reading. It grows by segments: nothing is copied, and
// nothing is left over for the collector.
type arena struct {
	first    []byte // segments[0], as far as it goes: see Cells.first
	segments [][]byte
	left     int // bytes that the last segment has room for
}

const (
	// segmentBits is the part of a key's place that says where in its segment it lies.
	segmentBits = 12
	segmentSize = 1 << segmentBits
	// minSegment is what the first segment begins with.
	minSegment = 64
	// maxSegments bounds a table's keys to 4 GiB: places have 32 bits. Long before that
	// the state budget ends the job.
	maxSegments = 1 << (32 - segmentBits)
)

// get returns the key at a place.
func (a *arena) get(place uint32) []byte {
	segment, p := a.find(place)
	n, size := binary.Uvarint(segment[p:])
	p += size
	return segment[p : p+int(n) : p+int(n)]
}

// is reports whether a key is the one at a place. Called per record.
func (a *arena) is(place uint32, key []byte) bool {
	n := len(key)
	if n >= 0x80 {
		return bytes.Equal(a.get(place), key)
	}
	segment, p := a.find(place) // nearly all keys: one byte of length
	return int(segment[p]) == n && string(segment[p+1:p+1+n:p+1+n]) == string(key)
}

// find returns the segment of a place, and where in it that is.
func (a *arena) find(place uint32) (segment []byte, at int) {
	if place < segmentSize {
		return a.first, int(place)
	}
	return a.segments[place>>segmentBits], int(place & (segmentSize - 1))
}

// full reports whether a key of n bytes finds no place.
func (a *arena) full(n int) bool {
	return len(a.segments)+n/segmentSize+2 > maxSegments
}

// put adds a key and returns its place. Memory comes from m.
func (a *arena) put(key []byte, m *Memory) uint32 {
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(key)))
	need := n + len(key)
	if need > a.left {
		a.grow(need, m)
	}
	last := len(a.segments) - 1
	at := len(a.segments[last])
	a.segments[last] = append(append(a.segments[last], head[:n]...), key...)
	a.left -= need
	place := uint32(last)<<segmentBits | uint32(at)
	if need > segmentSize { // no key begins in the places that it takes beyond the first segment
		a.segments = append(a.segments, make([][]byte, (need-1)/segmentSize)...)
		a.left = 0
	}
	return place
}

// grow makes room for need bytes in the last segment.
func (a *arena) grow(need int, m *Memory) {
	if last := len(a.segments) - 1; last == 0 && len(a.segments[0])+need <= segmentSize {
		s := a.segments[0]
		bigger := m.segment(min(max(2*cap(s), len(s)+need), segmentSize))
		m.held -= int64(cap(s))
		a.segments[0] = append(bigger, s...)
		a.first = bigger[:cap(bigger)]
		a.left = cap(bigger) - len(s)
		return
	}
	size := max(need, segmentSize)
	if len(a.segments) == 0 && need < segmentSize {
		size = max(need, minSegment)
	}
	s := m.segment(size)
	if len(a.segments) == 0 {
		a.first = s[:cap(s)]
	}
	a.segments = append(a.segments, s)
	a.left = cap(s)
}
