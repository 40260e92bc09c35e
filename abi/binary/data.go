package binary

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

const (
	dataSection      = 11
	dataCountSection = 12
	opI32Const       = 0x41
	opEnd            = 0x0b

	// dataGap is how many zero bytes are written out to save a segment: a segment costs
	// the runtime about a hundred nanoseconds in each start, a few zeros nothing. Go's
	// linker leaves its gaps of up to 32 bytes out and so makes 24,000 segments.
	dataGap = 64
)

// segment is bytes that lie in the memory when a module starts.
type segment struct {
	at   uint32
	init []byte
}

func (s *segment) end() uint64 { return uint64(s.at) + uint64(len(s.init)) }

// MergeData returns a copy of module in which data segments that lie close together
// are one, so that it starts faster; the memory that it starts with is the same. A
// module whose data cannot be judged at sight is copied as it is: segments that
// overlap, are used by instructions, or have a computed address.
func MergeData(module []byte) []byte {
	judged := true
	return rewrite(module, func(id byte, body []byte) ([]byte, bool) {
		judged = judged && id != dataCountSection
		if !judged || id != dataSection {
			return nil, false
		}
		segments, ok := readData(body)
		if !ok {
			return nil, false
		}
		return appendSection(nil, dataSection, appendData(nil, mergeSegments(segments))), true
	})
}

// readData reads a data section whose segments are active, in the only memory, at
// constant addresses, and do not overlap; they come sorted by address.
func readData(section []byte) (segments []segment, ok bool) {
	n, k := binary.Uvarint(section)
	if k <= 0 {
		return nil, false
	}
	for section = section[k:]; n > 0; n-- {
		if !bytes.HasPrefix(section, []byte{0, opI32Const}) {
			return nil, false
		}
		at, k := varint32(section[2:])
		if k <= 0 || len(section) <= 2+k || section[2+k] != opEnd {
			return nil, false
		}
		section = section[2+k+1:]
		size, k := binary.Uvarint(section)
		if k <= 0 || size > uint64(len(section)-k) {
			return nil, false
		}
		segments = append(segments, segment{uint32(at), section[k : k+int(size)]})
		section = section[k+int(size):]
	}
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.at, b.at) })
	for i := range segments[min(1, len(segments)):] {
		if segments[i].end() > uint64(segments[i+1].at) {
			return nil, false
		}
	}
	return segments, len(section) == 0
}

// mergeSegments joins neighbours across small gaps, which are zero in a fresh memory.
func mergeSegments(sorted []segment) []segment {
	var out []segment
	for _, s := range sorted {
		if len(out) > 0 {
			last := &out[len(out)-1]
			if gap := uint64(s.at) - last.end(); gap <= dataGap {
				last.init = append(append(last.init, make([]byte, gap)...), s.init...)
				continue
			}
		}
		out = append(out, segment{s.at, slices.Clone(s.init)})
	}
	return out
}

func appendData(out []byte, segments []segment) []byte {
	out = binary.AppendUvarint(out, uint64(len(segments)))
	for _, s := range segments {
		out = append(out, 0, opI32Const)
		out = appendVarint32(out, int32(s.at))
		out = append(out, opEnd)
		out = binary.AppendUvarint(out, uint64(len(s.init)))
		out = append(out, s.init...)
	}
	return out
}

// varint32 reads a signed LEB128 number; n is how many bytes it has, 0 if there is
// none.
func varint32(b []byte) (v int32, n int) {
	const most = 5
	var u uint32
	for n < min(most, len(b)) {
		c := b[n]
		u |= uint32(c&0x7f) << (7 * n)
		if n++; c < 0x80 {
			if shift := 7 * n; shift < 32 && c&0x40 != 0 {
				u |= ^uint32(0) << shift
			}
			return int32(u), n
		}
	}
	return 0, 0
}

func appendVarint32(out []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}
