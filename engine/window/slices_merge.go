package window

import (
	"errors"

	"tidemark/engine/state"
	"tidemark/engine/udf"
)

// sum is an accumulator of all functions: a slot of one of the operator's tables.
type sum struct {
	table *state.Cells
	slot  uint32
}

// merger adds accumulators up, many at once, with failures of user code pinned to the
// sums that they belong to.
type merger struct {
	*contents
	merges int64
	// failed holds why a sum could not be made. Whatever is made of it fails likewise.
	failed map[sum]*udf.Failure
	due    [][]int // for each function of varying size, the merges of a call that concern it
}

// merge is one merge to do: into and from, of which into's records came first, become
// to, which may be into. Either stays as it is otherwise.
type merge struct{ into, from, to sum }

// copy makes to equal to from.
func (m *merger) copy(to, from sum) {
	to.table.SetAcc(int(to.slot), 0, from.table.Acc(int(from.slot), 0, m.width))
	to.table.SetRows(int(to.slot), from.table.Rows(int(from.slot)))
	for v := range to.table.Parts {
		to.table.SetParts(v, int(to.slot), from.table.Parts[v][from.slot])
	}
	m.mark(to, m.failed[from])
}

// mark notes whether a sum could be made.
func (m *merger) mark(s sum, f *udf.Failure) {
	if f != nil {
		m.failed[s] = f
	} else if len(m.failed) > 0 {
		delete(m.failed, s)
	}
}

// merge does all of the merges, which do not depend on each other, in one call a
// function. Where one fails, its sum is marked and the others are made all the same.
func (m *merger) merge(all []merge) error {
	if len(m.failed) > 0 {
		all = m.sound(all)
	}
	if len(all) == 0 {
		return nil
	}
	m.merges += int64(len(all))
	return m.pin(all)
}

// sound returns the merges whose parts could be made, and marks the sums of the others.
func (m *merger) sound(all []merge) []merge {
	n := 0
	for _, p := range all {
		f := m.failed[p.into]
		if f == nil {
			f = m.failed[p.from]
		}
		if f != nil {
			m.mark(p.to, f)
			continue
		}
		all[n] = p
		n++
	}
	return all[:n]
}

// pin halves the merges until those that fail stand alone. A trap counts only on a
// fresh instance.
func (m *merger) pin(all []merge) error {
	f, err := m.try(all)
	if err != nil || f == nil {
		return err
	}
	if len(all) > 1 {
		half := len(all) / 2
		if err := m.pin(all[:half]); err != nil {
			return err
		}
		return m.pin(all[half:])
	}
	if f.Trap {
		if f, err = m.try(all); err != nil || f == nil {
			return err
		}
	}
	m.mark(all[0].to, &udf.Failure{Op: -1, Trap: f.Trap, Module: f.Module, Message: "merge: " + f.Message})
	return nil
}

// try merges, and writes the sums once all functions have succeeded.
func (m *merger) try(all []merge) (*udf.Failure, error) {
	for i := range m.fns {
		fn := &m.fns[i]
		m.gather(fn, all)
		if fn.accs.N() == 0 {
			continue
		}
		if err := fn.Agg.Merge(&fn.accs, &fn.other); err != nil {
			var f *udf.Failure
			if errors.As(err, &f) {
				return f, nil
			}
			return nil, err
		}
	}
	for i := range m.fns {
		m.write(&m.fns[i], all)
	}
	for _, p := range all {
		p.to.table.SetRows(int(p.to.slot), p.into.table.Rows(int(p.into.slot))+p.from.table.Rows(int(p.from.slot)))
		m.mark(p.to, nil)
	}
	return nil, nil
}

// gather copies the accumulators of one function. Of those that vary in size only pairs
// are merged: a slice whose records are all null has none.
func (m *merger) gather(fn *function, all []merge) {
	if w := fn.info.Width; w > 0 {
		fn.accs.Resize(w, len(all))
		fn.other.Resize(w, len(all))
		for i := range all {
			p := &all[i]
			fn.accs.Set(i, p.into.table.Acc(int(p.into.slot), fn.off, w))
			fn.other.Set(i, p.from.table.Acc(int(p.from.slot), fn.off, w))
		}
		return
	}
	fn.accs.Reset(0)
	fn.other.Reset(0)
	due := m.due[fn.part][:0]
	for i, p := range all {
		a, b := p.into.table.Parts[fn.part][p.into.slot], p.from.table.Parts[fn.part][p.from.slot]
		if len(a) > 0 && len(b) > 0 {
			fn.accs.Append(a[0])
			fn.other.Append(b[0])
			due = append(due, i)
		}
	}
	m.due[fn.part] = due
}

// write stores what gather copied and the function merged.
func (m *merger) write(fn *function, all []merge) {
	if fn.info.Width > 0 {
		for i, p := range all {
			p.to.table.SetAcc(int(p.to.slot), fn.off, fn.accs.At(i))
		}
		return
	}
	merged := 0
	due := m.due[fn.part]
	for i, p := range all {
		parts := p.into.table.Parts[fn.part][p.into.slot]
		switch {
		case merged < len(due) && due[merged] == i:
			parts = [][]byte{append([]byte(nil), fn.accs.At(merged)...)}
			merged++
		case len(parts) == 0:
			parts = p.from.table.Parts[fn.part][p.from.slot]
		}
		p.to.table.SetParts(fn.part, int(p.to.slot), parts)
	}
}

// settle merges the partials of slices to one each, since sums are made of whole
// accumulators. A slice where that fails is marked.
func (m *merger) settle(cells []cell) error {
	if m.varying == 0 {
		return nil
	}
	for _, c := range cells {
		m.mark(sum{c.table, uint32(c.slot)}, nil)
	}
	for i := range m.fns {
		fn := &m.fns[i]
		if fn.info.Width > 0 {
			continue
		}
		f, err := fn.merge(cells, true)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		for _, c := range cells {
			if len(c.table.Parts[fn.part][c.slot]) > 1 {
				m.mark(sum{c.table, uint32(c.slot)}, f)
			}
		}
	}
	return nil
}

// free drops what was noted of a sum whose slot is given back.
func (m *merger) free(s sum) {
	m.mark(s, nil)
	s.table.Free(int(s.slot))
}
