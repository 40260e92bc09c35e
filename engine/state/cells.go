// Package state holds keyed state as the host owns it: opaque accumulators in flat
// tables, one table a key group, so that a checkpoint, a change of parallelism and
// the recovery from a trap move bytes and nothing else.
//
// It knows neither windows nor functions; engine/window is its caller. A table is
// used by the goroutine of the task that owns it, a View by anyone.
package state

import (
	"encoding/binary"
	"maps"
	"slices"

	"tidemark/engine/stream"
)

// Cells is a table from key to cell. A cell holds an accumulator of fixed width,
// partial accumulators of varying size, the number of records behind them and the
// number of firings. Slots are numbered in order of arrival and never move, so a
// table is dropped as a whole; there is no deletion.
//
//	index   open addressing: upper bits of the hash | slot+1; 0 is free
//	places  where the key of each slot lies
//	keys    the keys one after the other
//	chunks  cells, 2^shift to a chunk; the first one begins small
//
// What leads to a cell is small and dense. A cell is what a record changes, together:
//
//	0   mark
//	4   records, modulo 2^32
//	8   firings
//	12  accumulator
//
// None of it is a pointer, and cells and keys do not move when a table grows: the collector
// has little to walk, a million cells cost their bytes (TestBytesOfACell), and their growth
// leaves little garbage.
type Cells struct {
	index  []uint32
	places []uint32
	first  []byte // chunks[0]: a small table is read with one step less (BenchmarkSlot)
	size   int    // of a cell
	whole  int    // cells of a whole chunk: 2^shift
	keys   arena
	shift  uint
	chunks [][]byte
	n      int // cells
	room   int // cells that there are chunks for
	mem    *Memory

	// carries counts, for slots that took 2^32 records and more, how many times: that is
	// nearly never, and would cost every cell four bytes.
	carries map[int]uint64
	// Parts holds, for each aggregate of varying size, the partials of each slot.
	Parts []Parts

	freed []uint32 // slots that Free gave back

	// A View has the same memory: what it has is copied before it changes.
	lentIndex bool
	lentParts bool
	lent      []bool // by chunk; nil: none
}

// Parts holds partial accumulators by slot, oldest first. A partial is never
// changed once it is here, only replaced.
type Parts [][][]byte

// Places in a cell.
const (
	markAt   = 0
	rowsAt   = 4
	firedAt  = 8
	headSize = 12
)

const (
	// smallChunk bounds the bytes of a chunk of tables that are one of many, as those of key
	// groups are: a table wastes half a one on average. 256 cells of three sums have nine KiB.
	smallChunk = 10 << 10
	// largeChunk bounds those of a table that stands alone: with fewer chunks the list of
	// them stays in the cache. The first change after a Freeze copies one.
	largeChunk = 80 << 10
	// minCells is what a table has room for at first: many have a handful of keys.
	minCells = 4
	minIndex = 8
	// maxCells bounds the cells of one table: the index has 32 bits for a slot, and one of
	// four places stays free. Long before that the state budget ends the job.
	maxCells = 1 << 30
)

// NewCells makes an empty table for accumulators of width bytes and for so many
// aggregates of varying size, with memory of its own.
func NewCells(width, varying int) *Cells { return newMemory(width, varying, largeChunk).Table() }

// Width returns the size of a cell's accumulator of fixed width in bytes.
func (c *Cells) Width() int { return c.size - headSize }

// Len returns the number of cells.
func (c *Cells) Len() int { return c.n }

// Used returns the number of cells without those that Free gave back.
func (c *Cells) Used() int { return c.n - len(c.freed) }

// Idle is what the cells take that Free gave back, for others to come.
func (c *Cells) Idle() int64 { return int64(len(c.freed)) * int64(c.size) }

// BytesOf is what a slot takes, with its key, its place in the index and its partials.
func (c *Cells) BytesOf(slot int) int64 {
	n := int64(c.size)
	if len(c.places) > 0 {
		n += int64(len(c.Key(slot)) + 16)
	}
	for v := range c.Parts {
		n += sliceSize + partBytes(c.Parts[v][slot])
	}
	return n
}

// Memory is what the table is made of.
func (c *Cells) Memory() *Memory { return c.mem }

// find returns where a slot's cell begins: a chunk, and a place in it.
func (c *Cells) find(slot int) (chunk []byte, at int) {
	if slot < c.whole {
		return c.first, slot * c.size
	}
	return c.chunks[slot>>(c.shift&31)], (slot & (c.whole - 1)) * c.size
}

// setChunk replaces a chunk.
func (c *Cells) setChunk(i int, chunk []byte) {
	if c.chunks[i] = chunk; i == 0 {
		c.first = chunk
	}
}

// word reads one of the words of a cell. The three bounds spare the compiler what
// it does for slices that may be empty.
func (c *Cells) word(slot, from int) uint32 {
	chunk, p := c.find(slot)
	return binary.LittleEndian.Uint32(chunk[p+from : p+from+4 : p+from+4])
}

func (c *Cells) setWord(slot, from int, v uint32) {
	c.own(slot)
	chunk, p := c.find(slot)
	binary.LittleEndian.PutUint32(chunk[p+from:p+from+4:p+from+4], v)
}

// Key returns the key of a slot, empty for one of Alloc. It stays as it is while the table
// is there.
func (c *Cells) Key(slot int) []byte {
	if len(c.places) == 0 {
		return nil
	}
	return c.keys.get(c.places[slot])
}

// Slot finds the cell of a key, or makes an empty one whose accumulator is a copy
// of fresh (width bytes). hash is the key's stream.KeyHash. Called per record.
func (c *Cells) Slot(hash uint64, key, fresh []byte) int {
	h, index := uint32(hash>>32), c.index
	mask := uint32(len(index) - 1)
	i := h & mask
	for e := index[i]; e != 0; e = index[i] {
		if (e^h)&^mask == 0 {
			if slot := int(e&mask) - 1; c.keys.is(c.places[slot], key) {
				return slot
			}
		}
		i = (i + 1) & mask
	}
	if 4*(c.n+1) > 3*len(c.index) {
		c.widen()
		mask = uint32(len(c.index) - 1)
		i = c.free(h)
	}
	if c.lentIndex {
		c.index, c.lentIndex = slices.Clone(c.index), false
	}
	slot := c.add(fresh)
	if n := cap(c.places); n == slot {
		c.mem.held += int64(4 * max(n, minCells))
		c.places = append(make([]uint32, 0, max(2*n, minCells)), c.places...)
	}
	c.places = append(c.places, c.keys.put(key, c.mem))
	c.index[i] = h&^mask | uint32(slot+1)
	return slot
}

// free finds the free place in the index for a hash.
func (c *Cells) free(h uint32) uint32 {
	mask := uint32(len(c.index) - 1)
	i := h & mask
	for c.index[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

// widen doubles the index. It hashes the keys anew, which lie in a row: bits that the
// index would keep for this would cost every cell.
func (c *Cells) widen() {
	old := len(c.index)
	c.mem.held += int64(4 * old)
	c.index, c.lentIndex = make([]uint32, 2*old), false
	mask := uint32(2*old - 1)
	for slot := range c.n {
		h := uint32(stream.KeyHash(c.Key(slot)) >> 32)
		c.index[c.free(h)] = h&^mask | uint32(slot+1)
	}
}

// Alloc makes an empty cell that no key leads to: the caller keeps its slot. Such cells
// can be freed one by one; a table holds either kind, not both.
func (c *Cells) Alloc(fresh []byte) int {
	if n := len(c.freed); n > 0 {
		slot := int(c.freed[n-1])
		c.freed = c.freed[:n-1]
		c.SetAcc(slot, 0, fresh)
		return slot
	}
	return c.add(fresh)
}

// Free gives back a cell of Alloc.
func (c *Cells) Free(slot int) {
	c.own(slot)
	chunk, p := c.find(slot)
	clear(chunk[p : p+headSize])
	if c.carries != nil {
		c.carry(slot, 0)
	}
	for v := range c.Parts {
		c.SetParts(v, slot, nil)
	}
	c.freed = append(c.freed, uint32(slot))
}

// Clear empties a cell: its accumulator becomes a copy of fresh, and it has taken no
// record. The number of firings stays.
func (c *Cells) Clear(slot int, fresh []byte) {
	c.SetAcc(slot, 0, fresh)
	c.SetRows(slot, 0)
	for v := range c.Parts {
		c.SetParts(v, slot, nil)
	}
}

// add appends a cell without a key.
func (c *Cells) add(fresh []byte) int {
	if c.n == c.room {
		c.grow()
	}
	slot := c.n
	c.n++
	c.own(slot)
	chunk, p := c.find(slot)
	clear(chunk[p : p+headSize]) // a spare chunk holds what was there
	copy(chunk[p+headSize:p+c.size], fresh)
	c.ownParts()
	for v := range c.Parts {
		c.Parts[v] = append(c.Parts[v], nil)
		c.mem.held += sliceSize
	}
	return slot
}

// grow makes room for another cell: by doubling up to a whole chunk, and then by chunks.
func (c *Cells) grow() {
	if c.room >= c.whole {
		c.chunks = append(c.chunks, c.mem.chunk(c.whole*c.size))
		c.room += c.whole
		return
	}
	room := min(max(2*c.room, minCells), c.whole)
	first := c.mem.chunk(room * c.size)
	if c.room == 0 {
		c.chunks = append(c.chunks, nil)
	}
	copy(first, c.first)
	c.mem.held -= int64(len(c.first))
	c.setChunk(0, first)
	if c.isLent(0) {
		c.lent[0] = false
	}
	c.room = room
}

// Full reports whether the table may not take another key of n bytes.
func (c *Cells) Full(n int) bool { return c.n >= maxCells || c.keys.full(n) }

// Acc returns n bytes at offset off of a slot's accumulator, to read.
func (c *Cells) Acc(slot, off, n int) []byte {
	chunk, p := c.find(slot)
	p += headSize + off
	return chunk[p : p+n : p+n]
}

// SetAcc replaces bytes of a slot's accumulator from offset off on.
func (c *Cells) SetAcc(slot, off int, acc []byte) {
	c.own(slot)
	chunk, p := c.find(slot)
	copy(chunk[p+headSize+off:p+c.size], acc)
}

// Rows is how many records a cell has taken; with 0 it is empty and does not fire (S70).
func (c *Cells) Rows(slot int) uint64 {
	n := uint64(c.word(slot, rowsAt))
	if c.carries != nil {
		n += c.carries[slot] << 32
	}
	return n
}

// SetRows says how many records a cell has taken.
func (c *Cells) SetRows(slot int, n uint64) {
	c.setWord(slot, rowsAt, uint32(n))
	if n>>32 > 0 || c.carries != nil {
		c.carry(slot, n>>32)
	}
}

// carry sets how many times 2^32 records a cell has taken.
func (c *Cells) carry(slot int, n uint64) {
	if n == 0 {
		delete(c.carries, slot)
		return
	}
	if c.carries == nil {
		c.carries = map[int]uint64{}
	}
	c.carries[slot] = n
}

// Touch counts n records that a cell has taken.
func (c *Cells) Touch(slot int, n uint64) {
	c.own(slot)
	chunk, p := c.find(slot)
	word := chunk[p+rowsAt : p+rowsAt+4 : p+rowsAt+4]
	if sum := uint64(binary.LittleEndian.Uint32(word)) + n; sum>>32 == 0 {
		binary.LittleEndian.PutUint32(word, uint32(sum))
	} else {
		c.SetRows(slot, c.Rows(slot)+n)
	}
}

// Fired is the number of a cell's firings: the next revision (S70).
func (c *Cells) Fired(slot int) uint32 { return c.word(slot, firedAt) }

// SetFired says how many times a cell has fired.
func (c *Cells) SetFired(slot int, n uint32) { c.setWord(slot, firedAt, n) }

// Fire counts a firing of a cell.
func (c *Cells) Fire(slot int) { c.fire(slot, 1) }

// Unfire takes the last firing of a cell back.
func (c *Cells) Unfire(slot int) { c.fire(slot, ^uint32(0)) }

func (c *Cells) fire(slot int, n uint32) {
	c.own(slot)
	chunk, p := c.find(slot)
	word := chunk[p+firedAt : p+firedAt+4 : p+firedAt+4]
	binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)+n)
}

// Mark is scratch of the caller, not part of the state.
func (c *Cells) Mark(slot int) uint32 { return c.word(slot, markAt) }

// SetMark sets a cell's scratch.
func (c *Cells) SetMark(slot int, m uint32) { c.setWord(slot, markAt, m) }

// SetParts replaces the partials of a slot. The slices are the table's from here on.
func (c *Cells) SetParts(v, slot int, parts [][]byte) {
	c.ownParts()
	c.mem.held += partBytes(parts) - partBytes(c.Parts[v][slot])
	c.Parts[v][slot] = parts
}

// ownParts makes the lists of partials the table's own again after a Freeze.
func (c *Cells) ownParts() {
	if !c.lentParts {
		return
	}
	c.Parts, c.lentParts = slices.Clone(c.Parts), false
	for v := range c.Parts {
		c.Parts[v] = slices.Clone(c.Parts[v]) // the lists of a slot are replaced, never changed in place
	}
}

// View is a table as it was when Freeze was called. It never changes and may be
// read from any goroutine.
type View struct{ c Cells }

// Len, Key, Acc, Rows, Fired and Parts read as those of Cells.
func (v *View) Len() int                        { return v.c.Len() }
func (v *View) Key(slot int) []byte             { return v.c.Key(slot) }
func (v *View) Acc(slot, off, n int) []byte     { return v.c.Acc(slot, off, n) }
func (v *View) Rows(slot int) uint64            { return v.c.Rows(slot) }
func (v *View) Fired(slot int) uint32           { return v.c.Fired(slot) }
func (v *View) Parts(aggregate, s int) [][]byte { return v.c.Parts[aggregate][s] }

// Freeze returns the table as it is now, for a checkpoint to write while the task
// goes on (K3). It costs a list of chunks; the first change of a cell afterwards copies
// its chunk.
func (c *Cells) Freeze() *View {
	v := &View{c: *c}
	v.c.chunks, v.c.keys.segments = slices.Clone(c.chunks), slices.Clone(c.keys.segments)
	v.c.carries = maps.Clone(c.carries)
	c.lentIndex, c.lentParts = true, true
	c.lent = slices.Repeat([]bool{true}, len(c.chunks))
	return v
}

// FreezeKeys returns a View of which only Len and Key may be used, of a table that stands
// alone: keys never change, so that nothing is copied later.
func (c *Cells) FreezeKeys() *View {
	v := &View{c: Cells{n: c.n, places: c.places, keys: c.keys}}
	v.c.keys.segments = slices.Clone(c.keys.segments)
	return v
}

// own makes the chunk of a slot the table's own again after a Freeze.
func (c *Cells) own(slot int) {
	if c.lent != nil {
		c.ownChunk(slot >> c.shift)
	}
}

func (c *Cells) ownChunk(i int) {
	if c.isLent(i) {
		c.setChunk(i, slices.Clone(c.chunks[i]))
		c.lent[i] = false
	}
}

// isLent reports whether a View has the same chunk.
func (c *Cells) isLent(chunk int) bool { return chunk < len(c.lent) && c.lent[chunk] }
