package tidemark

import "unsafe"

// status is what a call answers (abi/SPEC.md, section 5).
type status int32

const (
	ok         status = 0
	refused    status = 1
	outputFull status = 2
	badFrame   status = 3
)

// kind is the type of a column (section 3).
type kind uint32

const (
	kindInt64     kind = 1
	kindFloat64   kind = 2
	kindBool      kind = 3
	kindString    kind = 4
	kindTimestamp kind = 5
)

func (k kind) String() string {
	switch k {
	case kindInt64:
		return "int64"
	case kindFloat64:
		return "float64"
	case kindBool:
		return "bool"
	case kindString:
		return "string"
	case kindTimestamp:
		return "timestamp"
	}
	return "unknown"
}

const (
	headerBytes  = 96
	columnBytes  = 32
	messageBytes = 4096    // longest text of a refusal (section 5)
	accBytes     = 1 << 20 // longest accumulator that varies in size (section 2)
	// arenaBytes holds the largest call that must work: a merge of two accumulators
	// of 1 MiB into a third, or one record of 1 MiB, with room to spare.
	arenaBytes = 4 << 20
	// maxCount bounds rows and groups before they are multiplied: no frame in this
	// arena can hold more, since each row needs at least a group of 4 bytes and each
	// group 4 bytes of an answer.
	maxCount = arenaBytes / 4
)

// arena is where the host writes frames. It lies outside the heap, so that the
// collector neither scans nor counts it; uint64 gives the alignment.
var arena [arenaBytes / 8]uint64

// header is the head of a frame as it lies in memory (section 3).
type header struct {
	size, rows, groups uint32
	cols, ncols        uint32
	group              uint32
	acc, from          uint32
	outcols, noutcols  uint32
	out, outCap        uint32
	op, done, outUsed  uint32 // the host writes none yet, 0 and 0
	block              uint32
	reserved           [8]uint32
}

// descriptor describes one column of a frame.
type descriptor struct {
	kind, flags, validity, data, blob, blobSize uint32
	reserved                                    [2]uint32
}

const hasValidity = 1 // bit of descriptor.flags

// frame is one call's view of the arena. It is valid during that call.
type frame struct {
	*header
	out []byte // the output area
}

// openFrame checks what is cheap to check once a call: that the header and every
// area that it names lie inside the arena. What a host gets wrong within an area
// (an offset of a text) ends in a bounds check and so in a trap.
func openFrame(at, room uintptr) (frame, bool) {
	if room < headerBytes || at%8 != 0 {
		return frame{}, false
	}
	h := (*header)(arenaAt(at))
	f := frame{header: h}
	if h.size < headerBytes || uintptr(h.size) > room || h.rows > maxCount || h.groups > maxCount {
		return frame{}, false
	}
	if !f.holds(h.out, uintptr(h.outCap)) {
		return frame{}, false
	}
	f.out = unsafe.Slice((*byte)(f.at(h.out)), h.outCap)
	return f, true
}

// arenaAt turns an offset into the arena into a pointer.
func arenaAt(off uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(&arena), off) }

// at turns an offset that holds has approved into a pointer.
func (f frame) at(off uint32) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(f.header), off) }

// holds reports whether an area of size bytes lies aligned inside the frame.
func (f frame) holds(off uint32, size uintptr) bool {
	return off%8 == 0 && uintptr(off) <= uintptr(f.size) && size <= uintptr(f.size)-uintptr(off)
}

// slice gives n values of type T at off.
func slice[T any](f frame, off uint32, n int) ([]T, bool) {
	var v T
	if !f.holds(off, uintptr(n)*unsafe.Sizeof(v)) {
		return nil, false
	}
	return unsafe.Slice((*T)(f.at(off)), n), true
}

// groupOf gives the group of each record, all of them below groups.
func (f frame) groupOf() ([]uint32, bool) {
	g, good := slice[uint32](f, f.group, int(f.rows))
	if !good {
		return nil, false
	}
	return g, allBelow(g, f.groups)
}

// allBelow reports whether all groups are below n, which is at most maxCount. It is asked
// once a call, so that no record path asks, and sixteen groups at a time: a turn of a loop
// costs as much as some of them, in what Go's compiler makes for WebAssembly.
func allBelow(groups []uint32, n uint32) bool {
	const both, top = 1<<32 | 1, 1<<63 | 1<<31
	var bad uint64
	last := uint64(n-1) * both
	rest := groups
	for ; len(rest) >= 16; rest = rest[16:] {
		g := (*[8]uint64)(unsafe.Pointer(&rest[0])) // the host aligns them to 8
		bad |= above(g[0], last) | above(g[1], last) | above(g[2], last) | above(g[3], last) |
			above(g[4], last) | above(g[5], last) | above(g[6], last) | above(g[7], last)
	}
	for _, g := range rest {
		bad |= above(uint64(g), last)
	}
	return len(groups) == 0 || n > 0 && bad&top == 0
}

// above has the top bit of a half set if one half of pair is above those of last, which
// have not: it says that a number is too large, or has become so below zero. A borrow from
// the lower half comes only where that says so already.
func above(pair, last uint64) uint64 { return pair | (last - pair) }

// varAccs gives the accumulators of varying size behind an offset: accumulator i is
// data[off[i]:off[i+1]].
func (f frame) varAccs(at uint32) (off []uint32, data []byte, good bool) {
	n := int(f.groups)
	off, good = slice[uint32](f, at, n+1)
	if !good {
		return nil, nil, false
	}
	start := at + uint32(4*(n+1)+7)&^7
	data, good = slice[byte](f, start, int(off[n]))
	return off, data, good
}

// refuse puts the text of err into the output area.
func (f frame) refuse(err error) status {
	text := err.Error()
	n := min(len(text), messageBytes, len(f.out))
	for n > 0 && n < len(text) && text[n]&0xC0 == 0x80 { // do not cut a character
		n--
	}
	f.outUsed = uint32(copy(f.out, text[:n]))
	return refused
}

// full says that operation done did not fit.
func (f frame) full(done int) status {
	f.done = uint32(done)
	return outputFull
}
