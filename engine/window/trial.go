package window

import (
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// trial runs the functions for one record on copies of what it would meet: the
// accumulators of its windows, those of the sessions that it would join merged first, or
// fresh ones where contents are lists. Nothing waits, so that the copies are of what is there. It changes nothing. A failure comes with the
// window that it happened in; as everywhere, a trap counts only on a fresh instance.
func (o *General) trial(k *keyState, b *stream.Batch, i int) (*udf.Failure, stream.Window, error) {
	for _, w := range o.windows {
		panes := []*pane{k.panes.get(w)}
		if o.cfg.Assigner.Merging() {
			lo, hi, cover := o.touching(k, w)
			w, panes = cover, k.sessions[lo:hi]
		}
		if o.late(w) {
			continue
		}
		if f := o.guard.barsRecord(k.hash); f != nil {
			return f, w, nil
		}
		table, slots := o.table, o.cells(panes)
		if o.shared != nil {
			table, slots = o.shared.cells, o.shared.slots(k, b.Time[i])
		}
		for n := range o.fns {
			f, err := retry(func() error { return o.try1(&o.fns[n], table, slots, b, i) })
			if f != nil || err != nil {
				return f, w, err
			}
		}
		if o.shared != nil {
			break // the slice of all its windows
		}
	}
	return nil, stream.Window{}, nil
}

// cells are the slots of panes that have accumulators.
func (o *General) cells(panes []*pane) []int {
	var slots []int
	for _, p := range panes {
		if p != nil && p.slot >= 0 && !o.lists {
			slots = append(slots, p.slot)
		}
	}
	return slots
}

// try1 adds one record to a copy of the accumulators of some cells, merged.
func (o *contents) try1(fn *function, table *state.Cells, slots []int, b *stream.Batch, i int) error {
	fn.accs.Reset(fn.info.Width)
	if fn.info.Width > 0 {
		acc, err := o.mergedAcc(fn, table, slots)
		if err != nil {
			return err
		}
		fn.accs.Reset(fn.info.Width)
		fn.accs.Append(acc)
	}
	s := segment{batch: b, rows: []uint32{uint32(i)}, group: []uint32{0}, cells: make([]cell, 1)}
	if fn.selectRows(&s); len(fn.rows.Sel) == 0 {
		return nil
	}
	return fn.Agg.Add(&fn.accs, &fn.rows)
}

// mergedAcc is the fixed accumulator of some cells, merged in their order into a copy;
// a fresh one for none.
func (o *contents) mergedAcc(fn *function, table *state.Cells, slots []int) ([]byte, error) {
	var acc []byte
	for _, slot := range slots {
		next := table.Acc(slot, fn.off, fn.info.Width)
		if acc == nil {
			acc = slices.Clone(next)
			continue
		}
		fn.accs.Reset(fn.info.Width)
		fn.other.Reset(fn.info.Width)
		fn.accs.Append(acc)
		fn.other.Append(next)
		if err := fn.Agg.Merge(&fn.accs, &fn.other); err != nil {
			return nil, err
		}
		acc = slices.Clone(fn.accs.At(0))
	}
	if acc == nil {
		acc = o.fresh[fn.off : fn.off+fn.info.Width]
	}
	return acc, nil
}

// retry calls f, and once more if it broke down: an instance may have been worn out by
// what it did before. Failures of user code are told from other errors.
func retry(f func() error) (*udf.Failure, error) {
	for again := false; ; again = true {
		err := f()
		if err == nil {
			return nil, nil
		}
		var failure *udf.Failure
		if !errors.As(err, &failure) {
			return nil, err
		}
		if !failure.Trap || again {
			return failure, nil
		}
	}
}
