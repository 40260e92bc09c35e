// Package state holds keyed state as the host owns it: opaque accumulators in flat
// tables, one table a key group, so that a checkpoint, a change of parallelism and
// the recovery from a trap move bytes and nothing else.
//
// It knows neither windows nor functions; engine/window is its caller. A table is
// used by the goroutine of the task that owns it, a View by anyone.
package state

import (
	"bytes"
	"slices"
)

// Cells is a table from key to cell. A cell holds an accumulator of fixed width,
// partial accumulators of varying size, the number of records behind them and the
// number of firings. Slots are numbered in order of arrival and never move, so a
// table is dropped as a whole; there is no deletion.
//
//	index   open addressing: upper half of the hash << 32 | slot+1, 0 is free
//	keys    the keys one after the other; key i ends at keyEnd[i]
//	acc     width bytes a slot
//
// Nothing but Parts holds a pointer: the collector has nothing to walk, and a
// million cells cost their bytes.
type Cells struct {
	width  int
	index  []uint64
	keyEnd []uint32
	keys   []byte
	acc    []byte

	// Rows counts the records that a cell has taken; 0: the cell is empty and does
	// not fire (S70). Fired counts firings: the next revision (S70).
	Rows  []uint64
	Fired []uint32
	// Mark is scratch of the caller, not part of the state.
	Mark []uint32
	// Parts holds, for each aggregate of varying size, the partials of each slot.
	Parts []Parts

	freed []uint32 // slots that Free gave back

	shared bool // a View has the same memory: copy before the next change
}

// Parts holds partial accumulators by slot, oldest first. A partial is never
// changed once it is here, only replaced.
type Parts [][][]byte

// maxKeyBytes bounds the keys of one table: keyEnd has 32 bits. Beyond it the
// table reports itself full, long before that the state budget does.
const maxKeyBytes = 1<<32 - 1

// NewCells makes an empty table for accumulators of width bytes and for so many
// aggregates of varying size.
func NewCells(width, varying int) *Cells {
	return &Cells{width: width, index: make([]uint64, 8), Parts: make([]Parts, varying)}
}

// Width returns the size of a cell's accumulator of fixed width in bytes.
func (c *Cells) Width() int { return c.width }

// Len returns the number of cells.
func (c *Cells) Len() int { return len(c.keyEnd) }

// Key returns the key of a slot, valid until the next change of the table.
func (c *Cells) Key(slot int) []byte {
	start := uint32(0)
	if slot > 0 {
		start = c.keyEnd[slot-1]
	}
	return c.keys[start:c.keyEnd[slot]]
}

// Slot finds the cell of a key, or makes an empty one whose accumulator is a copy
// of fresh (width bytes). hash is the key's stream.KeyHash. Called per record.
func (c *Cells) Slot(hash uint64, key, fresh []byte) int {
	tag := hash &^ (1<<32 - 1)
	mask := uint64(len(c.index) - 1)
	i := hash >> 32 & mask
	for {
		e := c.index[i]
		if e == 0 {
			break
		}
		if e&^(1<<32-1) == tag {
			slot := int(uint32(e)) - 1
			if bytes.Equal(c.Key(slot), key) {
				return slot
			}
		}
		i = (i + 1) & mask
	}
	c.own()
	if 4*(len(c.keyEnd)+1) > 3*len(c.index) {
		c.grow()
		mask = uint64(len(c.index) - 1)
		for i = hash >> 32 & mask; c.index[i] != 0; {
			i = (i + 1) & mask
		}
	}
	slot := c.add(key, fresh)
	c.index[i] = tag | uint64(slot+1)
	return slot
}

// Alloc makes an empty cell that no key leads to: the caller keeps its slot. Such cells
// can be freed one by one; a table holds either kind, not both.
func (c *Cells) Alloc(fresh []byte) int {
	c.own()
	if n := len(c.freed); n > 0 {
		slot := int(c.freed[n-1])
		c.freed = c.freed[:n-1]
		c.SetAcc(slot, 0, fresh)
		return slot
	}
	return c.add(nil, fresh)
}

// Free gives back a cell of Alloc.
func (c *Cells) Free(slot int) {
	c.Clear(slot, nil)
	c.Fired[slot] = 0
	c.freed = append(c.freed, uint32(slot))
}

// Clear empties a cell: its accumulator becomes a copy of fresh, and it has taken no
// record. The number of firings stays.
func (c *Cells) Clear(slot int, fresh []byte) {
	c.own()
	c.SetAcc(slot, 0, fresh)
	c.Rows[slot] = 0
	for v := range c.Parts {
		c.Parts[v][slot] = nil
	}
}

// add appends a cell.
func (c *Cells) add(key, fresh []byte) int {
	c.keys = append(c.keys, key...)
	c.keyEnd = append(c.keyEnd, uint32(len(c.keys)))
	c.acc = append(c.acc, fresh...)
	c.Rows = append(c.Rows, 0)
	c.Fired = append(c.Fired, 0)
	c.Mark = append(c.Mark, 0)
	for v := range c.Parts {
		c.Parts[v] = append(c.Parts[v], nil)
	}
	return len(c.keyEnd) - 1
}

// Full reports whether the table may not take another key of n bytes.
func (c *Cells) Full(n int) bool { return len(c.keys)+n > maxKeyBytes }

func (c *Cells) grow() {
	old := c.index
	c.index = make([]uint64, 2*len(old))
	mask := uint64(len(c.index) - 1)
	for _, e := range old {
		if e == 0 {
			continue
		}
		i := e >> 32 & mask
		for c.index[i] != 0 {
			i = (i + 1) & mask
		}
		c.index[i] = e
	}
}

// Acc returns n bytes at offset off of a slot's accumulator, to read.
func (c *Cells) Acc(slot, off, n int) []byte {
	p := slot*c.width + off
	return c.acc[p : p+n : p+n]
}

// SetAcc replaces bytes of a slot's accumulator from offset off on.
func (c *Cells) SetAcc(slot, off int, acc []byte) {
	c.own()
	copy(c.acc[slot*c.width+off:(slot+1)*c.width], acc)
}

// Touch counts n records that a cell has taken.
func (c *Cells) Touch(slot int, n uint64) { c.own(); c.Rows[slot] += n }

// Fire counts a firing of a cell.
func (c *Cells) Fire(slot int) { c.own(); c.Fired[slot]++ }

// Unfire takes the last firing of a cell back.
func (c *Cells) Unfire(slot int) { c.own(); c.Fired[slot]-- }

// SetParts replaces the partials of a slot. The slices are the table's from here on.
func (c *Cells) SetParts(v, slot int, parts [][]byte) { c.own(); c.Parts[v][slot] = parts }

// View is a table as it was when Freeze was called. It never changes and may be
// read from any goroutine.
type View struct{ c Cells }

// Len, Key, Acc, Rows, Fired and Parts read as those of Cells.
func (v *View) Len() int                        { return v.c.Len() }
func (v *View) Key(slot int) []byte             { return v.c.Key(slot) }
func (v *View) Acc(slot, off, n int) []byte     { return v.c.Acc(slot, off, n) }
func (v *View) Rows(slot int) uint64            { return v.c.Rows[slot] }
func (v *View) Fired(slot int) uint32           { return v.c.Fired[slot] }
func (v *View) Parts(aggregate, s int) [][]byte { return v.c.Parts[aggregate][s] }

// Freeze returns the table as it is now, for a checkpoint to write while the task
// goes on (K3). It costs nothing; the first change afterwards copies the table,
// which is small because a key group has one of its own.
func (c *Cells) Freeze() *View {
	c.shared = true
	v := &View{c: *c}
	v.c.Mark = nil
	return v
}

// own makes the table's memory its own again after a Freeze.
func (c *Cells) own() {
	if !c.shared {
		return
	}
	c.index, c.keyEnd, c.keys, c.acc = slices.Clone(c.index), slices.Clone(c.keyEnd), slices.Clone(c.keys), slices.Clone(c.acc)
	c.Rows, c.Fired = slices.Clone(c.Rows), slices.Clone(c.Fired)
	c.Parts = slices.Clone(c.Parts)
	for v := range c.Parts {
		c.Parts[v] = slices.Clone(c.Parts[v]) // the lists of partials are replaced, never changed in place
	}
	c.shared = false
}
