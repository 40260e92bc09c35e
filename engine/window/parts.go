package window

import (
	"errors"
	"slices"

	"tidemark/engine/udf"
)

// Accumulators of varying size are kept as partials, oldest first. Each batch adds
// one; two are merged when the newer has grown to at least half of the older, so that
// a large set is copied only when it doubles (K4), and all of them before a firing.

// callBytes bounds the accumulators of varying size in one call: a second copy of some
// of the state, not of all of it.
const callBytes = 64 << 20

// keepParts stores the partials of an add and merges where it is due.
func (fn *function) keepParts(s *segment) error {
	if len(fn.rows.Sel) == 0 {
		return nil
	}
	if cap(fn.has) < len(s.cells) {
		fn.has = make([]bool, len(s.cells))
	}
	fn.has = fn.has[:len(s.cells)]
	clear(fn.has)
	for _, g := range fn.rows.Group {
		fn.has[g] = true
	}
	for g, c := range s.cells {
		if !fn.has[g] {
			continue
		}
		old := c.table.Parts[fn.part][c.slot]
		c.table.SetParts(fn.part, c.slot, append(slices.Clip(old), slices.Clone(fn.accs.At(g))))
	}
	_, err := fn.merge(s.cells, false)
	return err
}

// merge merges partials of the cells, all of them or where it is due, in rounds of
// one call each. Where the function fails the partials stay as they are; the first
// failure is returned as such, with the index of its cell in Op.
func (fn *function) merge(cells []cell, all bool) (*udf.Failure, error) {
	var failed *udf.Failure
	stuck := map[int]bool{} // cells whose partials cannot be merged
	for {
		fn.accs.Reset(0)
		fn.other.Reset(0)
		var due []int
		for i, c := range cells {
			p := c.table.Parts[fn.part][c.slot]
			n := len(p)
			if n < 2 || stuck[i] || !all && 2*len(p[n-1]) < len(p[n-2]) {
				continue
			}
			if len(due) > 0 && len(fn.accs.Data)+len(fn.other.Data)+len(p[n-2])+len(p[n-1]) > callBytes {
				break // the rest in the next call
			}
			fn.accs.Append(p[n-2])
			fn.other.Append(p[n-1])
			due = append(due, i)
		}
		if len(due) == 0 {
			return failed, nil
		}
		if err := fn.Agg.Merge(&fn.accs, &fn.other); err != nil {
			var f *udf.Failure
			if !errors.As(err, &f) {
				return nil, err
			}
			f, at, err := fn.blameMerge(cells, due, f)
			if err != nil {
				return nil, err
			}
			if f != nil {
				stuck[at] = true
				if failed == nil {
					failed = &udf.Failure{Op: at, Trap: f.Trap, Module: f.Module, Message: "merge: " + f.Message}
				}
			}
			continue
		}
		for k, i := range due {
			fn.replaceLastTwo(cells[i], fn.accs.At(k))
		}
	}
}

func (fn *function) replaceLastTwo(c cell, merged []byte) {
	p := c.table.Parts[fn.part][c.slot]
	c.table.SetParts(fn.part, c.slot, append(slices.Clone(p[:len(p)-2]), slices.Clone(merged)))
}

// blameMerge merges the cells that are due one by one after a call for all of them
// failed, and returns the first that fails alone.
func (fn *function) blameMerge(cells []cell, due []int, f *udf.Failure) (*udf.Failure, int, error) {
	for _, i := range due {
		for try := 0; ; try++ {
			p := cells[i].table.Parts[fn.part][cells[i].slot]
			fn.accs.Reset(0)
			fn.other.Reset(0)
			fn.accs.Append(p[len(p)-2])
			fn.other.Append(p[len(p)-1])
			err := fn.Agg.Merge(&fn.accs, &fn.other)
			if err == nil {
				fn.replaceLastTwo(cells[i], fn.accs.At(0))
				break
			}
			if !errors.As(err, &f) {
				return nil, 0, err
			}
			if !f.Trap || try > 0 { // a trap counts only on a fresh instance
				return f, i, nil
			}
		}
	}
	return nil, 0, nil
}
