package window

import (
	"cmp"
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// A snapshot of slices holds, key by key in order of key group and key, the slices and
// the firings of windows that are noted. Sums are made again: they have the same bits.
// Merges and Slides are counts of work done by a process, not state.

// Snapshot returns the state of the operator.
func (o *Slices) Snapshot() []byte {
	var w state.Writer
	w.I64(int64(o.wm))
	o.ledger.write(&w)
	o.writeProcess(&w)
	revised := o.revisedByKey()
	ids := o.sortedKeys()
	w.Len(len(ids))
	for _, id := range ids {
		w.Bytes(o.panes.Key(int(id)))
		o.writeSlices(&w, o.keys[id].cells)
		w.Len(len(revised[id]))
		for _, k := range revised[id] {
			w.I64(k)
			w.U32(o.revised[k][id])
		}
	}
	return w.Buf
}

func (o *Slices) writeSlices(w *state.Writer, cells []sliceCell) {
	n := 0
	for _, c := range cells {
		if o.cells.Rows(int(c.cell)) > 0 {
			n++
		}
	}
	w.Len(n)
	for _, c := range cells {
		if o.cells.Rows(int(c.cell)) > 0 {
			w.I64(c.slice)
			o.writeCell(w, o.cells, int(c.cell))
		}
	}
}

// sortedKeys lists the keys with slices.
func (o *Slices) sortedKeys() []uint32 {
	ids := make([]uint32, 0, o.live)
	for id := range o.keys {
		if len(o.keys[id].cells) > 0 {
			ids = append(ids, uint32(id))
		}
	}
	sortByGroup(ids, o.panes, o.cfg.Groups)
	return ids
}

// sortByGroup sorts slots of a table by key group and key.
func sortByGroup(slots []uint32, t *state.Cells, groups int) {
	group := func(key []byte) int { return stream.KeyGroup(stream.KeyHash(key), max(groups, 1)) }
	slices.SortFunc(slots, func(a, b uint32) int {
		p, q := t.Key(int(a)), t.Key(int(b))
		return cmp.Or(cmp.Compare(group(p), group(q)), cmp.Compare(string(p), string(q)))
	})
}

// revisedByKey lists the windows in o.revised of each key, in order.
func (o *Slices) revisedByKey() map[uint32][]int64 {
	windows := map[uint32][]int64{}
	for k, firings := range o.revised {
		for id := range firings {
			windows[id] = append(windows[id], k)
		}
	}
	for _, ks := range windows {
		slices.Sort(ks)
	}
	return windows
}

var errSlices = fault.As(fault.ErrCorrupt, errors.New("snapshot has slices out of order or past their time"))

// Restore takes a snapshot.
func (o *Slices) Restore(snapshot []byte) error {
	r := state.NewReader(snapshot)
	o.wm = stream.Time(r.I64())
	o.ledger.read(r)
	o.readProcess(r)
	o.reachWindow(o.grid.ended(o.wm))
	o.closed = o.grid.closed(o.wm, o.cfg.Lateness)
	o.due = o.grid.due(o.ended, o.closed, o.cfg.Lateness)
	for range r.Len() {
		o.readKey(r)
	}
	return r.Err()
}

// readKey reads the slices of a key. Those that have entered have no sums yet: for them
// all is as if they had just changed.
func (o *Slices) readKey(r *state.Reader) {
	key := r.Bytes()
	before, id := int64(noSlice), uint32(noSum)
	for range r.Len() {
		slice := r.I64()
		first, last := o.grid.windows(slice)
		if slice <= before || first > last || last <= o.closed || last > o.grid.max {
			r.Fail(errSlices)
			return
		}
		before = slice
		slot, at, err := o.place(stream.KeyHash(key), key, slice)
		if err != nil {
			r.Fail(err)
			return
		}
		id = uint32(slot)
		k := &o.keys[id]
		o.readCell(r, o.cells, int(k.cells[at].cell))
		if slice > o.reach {
			continue
		}
		if k.staleFrom == noSlice {
			o.stale = append(o.stale, id)
			o.activate(id)
		}
		k.change(slice)
	}
	for range r.Len() {
		k, firings := r.I64(), r.U32()
		if id == noSum || k <= o.closed || k > o.ended {
			r.Fail(errSlices)
			return
		}
		o.revise(k, id, firings)
	}
}
