package state

import (
	"errors"
	"slices"

	"tidemark/internal/fault"
)

// Cell writes a cell of a table, its key left out. Stored: never change.
//
//	accumulators of fixed width, as length and bytes
//	records (8 bytes), firings (4 bytes)
//	for each aggregate of varying size: how many partials, each as length and bytes
func (w *Writer) Cell(c *Cells, slot int) {
	w.Buf = slices.Grow(w.Buf, 4+c.Width()+12)
	w.Bytes(c.Acc(slot, 0, c.Width()))
	w.U64(c.Rows(slot))
	w.U32(c.Fired(slot))
	for v := range c.Parts {
		parts := c.Parts[v][slot]
		w.Len(len(parts))
		for _, p := range parts {
			w.Bytes(p)
		}
	}
}

// Write writes a cell, as Writer.Cell does.
func (c *Cells) Write(w *Writer, slot int) { w.Cell(c, slot) }

// Write is that of the table as it was.
func (v *View) Write(w *Writer, slot int) { w.Cell(&v.c, slot) }

var errWidth = fault.As(fault.ErrCorrupt, errors.New("snapshot has accumulators of another size"))

// Cell reads what Writer.Cell wrote into a slot, which is an empty one.
func (r *Reader) Cell(c *Cells, slot int) {
	acc := r.Lent()
	if len(acc) != c.Width() {
		r.Fail(errWidth)
		return
	}
	c.SetAcc(slot, 0, acc)
	c.SetRows(slot, r.U64())
	c.SetFired(slot, r.U32())
	for v := range c.Parts {
		var parts [][]byte
		for range r.Len() {
			parts = append(parts, r.Bytes())
		}
		c.SetParts(v, slot, parts)
	}
}
