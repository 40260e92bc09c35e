package state

import "math/bits"

// Memory is what the tables of an operator are made of, which are alike: it counts what
// they hold, and keeps what a window that has closed leaves for the next one. The
// goroutine of the tables uses it.
type Memory struct {
	size    int
	shift   uint
	varying int
	held    int64

	// Whole chunks and segments that no table uses: those of the window that closed last
	// at most, since the next one needs about as many.
	chunks   [][]byte
	segments [][]byte
}

// NewMemory makes the memory of many tables for accumulators of width bytes and for so many
// aggregates of varying size.
func NewMemory(width, varying int) *Memory { return newMemory(width, varying, smallChunk) }

func newMemory(width, varying, chunk int) *Memory {
	size := headSize + width
	return &Memory{size: size, shift: uint(max(bits.Len(uint(chunk/size)), 1) - 1), varying: varying}
}

// Table makes an empty table.
func (m *Memory) Table() *Cells {
	m.held += 4 * minIndex
	return &Cells{mem: m, size: m.size, whole: 1 << m.shift, shift: m.shift, index: make([]uint32, minIndex), Parts: make([]Parts, m.varying)}
}

// Bytes returns what the tables hold. What is spare is not in it: it was theirs before, so
// that all together is never more than Bytes has been.
func (m *Memory) Bytes() int64 { return m.held }

// Spare returns the bytes that are kept for the next window.
func (m *Memory) Spare() int64 {
	return int64(len(m.chunks)*m.size<<m.shift) + int64(len(m.segments)*segmentSize)
}

// Drop takes back the tables of a window that has closed, nil ones too. They must not be
// used any more.
func (m *Memory) Drop(tables []*Cells) {
	chunks, segments := 0, 0
	for _, t := range tables {
		if t == nil {
			continue
		}
		m.held -= int64(4*len(t.index) + 4*cap(t.places))
		for i, c := range t.chunks {
			m.held -= int64(len(c))
			if len(c) == m.size<<m.shift && !t.isLent(i) {
				m.chunks = append(m.chunks, c)
				chunks++
			}
		}
		for _, s := range t.keys.segments {
			m.held -= int64(cap(s))
			if cap(s) == segmentSize && t.lent == nil { // a View reads what was lent
				m.segments = append(m.segments, s[:0])
				segments++
			}
		}
		for v := range t.Parts {
			m.held -= int64(sliceSize * len(t.Parts[v]))
			for _, parts := range t.Parts[v] {
				m.held -= partBytes(parts)
			}
		}
		*t = Cells{} // whoever still points to it keeps nothing alive
	}
	m.chunks, m.segments = keep(m.chunks, chunks), keep(m.segments, segments)
}

// keep cuts a list to its last n.
func keep(list [][]byte, n int) [][]byte {
	extra := len(list) - n
	if extra <= 0 {
		return list
	}
	copy(list, list[extra:])
	clear(list[n:])
	return list[:n]
}

// chunk returns n bytes with any contents.
func (m *Memory) chunk(n int) []byte {
	m.held += int64(n)
	if last := len(m.chunks) - 1; last >= 0 && n == len(m.chunks[last]) {
		c := m.chunks[last]
		m.chunks[last] = nil
		m.chunks = m.chunks[:last]
		return c
	}
	return make([]byte, n)
}

// segment returns an empty slice with a capacity of n.
func (m *Memory) segment(n int) []byte {
	m.held += int64(n)
	if last := len(m.segments) - 1; last >= 0 && n == segmentSize {
		s := m.segments[last]
		m.segments[last] = nil
		m.segments = m.segments[:last]
		return s
	}
	return make([]byte, 0, n)
}

// sliceSize is what a slice takes beside what it points to.
const sliceSize = 24

// partBytes is what a list of partials holds.
func partBytes(parts [][]byte) int64 {
	n := int64(0)
	for _, p := range parts {
		n += int64(cap(p)) + sliceSize
	}
	return n
}
