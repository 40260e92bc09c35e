package window

import (
	"cmp"
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// The keys of a key group, as part of a cut:
//
//	how many; for each that has slices, in order of its bytes: the key;
//	  how many slices; for each, in order: its number, cell;
//	  how many windows that have not fired exactly once, past their ends; for each, in
//	  order: its number, firings
//
// Sums are made again: they have the same bits. Merges and Slides are counts of work done
// by a process, not state.

// Freeze implements Operator.
func (o *Slices) Freeze() state.Cut { return freeze(o) }

// Restore implements Operator.
func (o *Slices) Restore(r state.Restore) error { return restore(o, r) }

func (o *Slices) form() form { return form{layout: slicesLayout} }

func (o *Slices) resume() {
	o.reachWindow(o.grid.ended(o.wm))
	o.closed = o.grid.closed(o.wm, o.cfg.Lateness)
	o.due = o.grid.due(o.ended, o.closed, o.cfg.Lateness)
}

// frozenSlices is the keys as they were. Lists of slices are copied: they change in place.
type frozenSlices struct {
	panes, cells *state.View
	keys         []frozenSliceKey
	slices       []frozenSlice // of all keys
	revised      []revision    // likewise
}

type frozenSliceKey struct {
	id       uint32
	from, to int // in slices
}

type frozenSlice struct {
	slice int64
	cell  uint32
}

// revision is how often a window of a key has fired, where that is noted.
type revision struct {
	id      uint32
	firings uint32
	window  int64
}

func (o *Slices) freezeKeys() frozen {
	f := &frozenSlices{panes: o.panes.FreezeKeys(), cells: o.cells.Freeze(), keys: make([]frozenSliceKey, 0, o.live), slices: make([]frozenSlice, 0, o.cells.Used())}
	for id := range o.keys {
		cells := o.keys[id].cells
		if len(cells) == 0 {
			continue
		}
		from := len(f.slices)
		for _, c := range cells {
			if o.cells.Rows(int(c.cell)) > 0 {
				f.slices = append(f.slices, frozenSlice{c.slice, c.cell})
			}
		}
		f.keys = append(f.keys, frozenSliceKey{uint32(id), from, len(f.slices)})
	}
	for k, firings := range o.revised {
		for id, n := range firings {
			f.revised = append(f.revised, revision{id, n, k})
		}
	}
	keys := newKeyWriter(o.groups, len(f.keys), usualKey+20+(28+o.cells.Width())*(len(f.slices)/max(len(f.keys), 1)+1))
	return frozen{open: func() groupWriter {
		slices.SortFunc(f.revised, func(a, b revision) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.window, b.window)) })
		for i := range f.keys {
			key := f.panes.Key(int(f.keys[i].id))
			f.write(keys.begin(stream.KeyHash(key), key), key, &f.keys[i])
		}
		return keys.write
	}}
}

func (f *frozenSlices) write(w *state.Writer, key []byte, k *frozenSliceKey) {
	w.Bytes(key)
	w.Len(k.to - k.from)
	for _, s := range f.slices[k.from:k.to] {
		w.I64(s.slice)
		f.cells.Write(w, int(s.cell))
	}
	lo, _ := slices.BinarySearchFunc(f.revised, k.id, func(r revision, id uint32) int { return cmp.Compare(r.id, id) })
	hi := lo
	for hi < len(f.revised) && f.revised[hi].id == k.id {
		hi++
	}
	w.Len(hi - lo)
	for _, r := range f.revised[lo:hi] {
		w.I64(r.window)
		w.U32(r.firings)
	}
}

var errSlices = fault.As(fault.ErrCorrupt, errors.New("snapshot has slices out of order or past their time"))

func (o *Slices) readKeys(r *state.Reader, group int) {
	for range r.Len() {
		if o.readKeySlices(r, group); r.Failed() {
			return
		}
	}
}

// readKeySlices reads the slices of a key. Those that have entered have no sums yet: for
// them all is as if they had just changed.
func (o *Slices) readKeySlices(r *state.Reader, group int) {
	key, hash := o.readKey(r, group)
	before, id := int64(noSlice), uint32(noSum)
	for range r.Len() {
		slice := r.I64()
		first, last := o.grid.windows(slice)
		if slice <= before || first > last || last <= o.closed || last > o.grid.max {
			r.Fail(errSlices)
			return
		}
		before = slice
		slot, at, err := o.place(hash, key, slice)
		if err != nil {
			r.Fail(err)
			return
		}
		id = uint32(slot)
		k := &o.keys[id]
		r.Cell(o.cells, int(k.cells[at].cell))
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
