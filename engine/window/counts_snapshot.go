package window

import (
	"errors"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// The keys of a key group, as part of a cut:
//
//	how many; for each that has records, in order of its bytes: the key, firings, the
//	  number of its open slice, and then sums: the prefix, and the slices of the ring
//	sum: cell, whether it could be made (1 byte: 0), else 1 and why: trap, module,
//	  aggregate, message
//
// The sums of the ring are state: what they were made of is gone.

// Freeze implements Operator.
func (o *Counts) Freeze() state.Cut { return freeze(o) }

// Restore implements Operator.
func (o *Counts) Restore(r state.Restore) error { return restore(o, r) }

func (o *Counts) form() form { return form{layout: countsLayout} }

func (o *Counts) resume() {}

// frozenCounts is the keys as they were. Rings are copied: their slots never move, and
// which there are changes until the first block is full.
type frozenCounts struct {
	panes, cells *state.View
	keys         []frozenCountKey
	slots        []uint32 // prefix and ring of all keys
	failed       map[uint32]*udf.Failure
}

type frozenCountKey struct {
	id       uint32
	from, to int // in slots
	slice    int64
}

func (o *Counts) freezeKeys() frozen {
	f := &frozenCounts{panes: o.panes.Freeze(), cells: o.cells.Freeze(), keys: make([]frozenCountKey, 0, len(o.keys)), slots: make([]uint32, 0, o.cells.Used())}
	for id := range o.keys {
		k := &o.keys[id]
		if !o.filled(k) {
			continue
		}
		from := len(f.slots)
		f.slots = append(append(f.slots, k.prefix), k.ring...)
		f.keys = append(f.keys, frozenCountKey{uint32(id), from, len(f.slots), k.slice})
	}
	f.failed = map[uint32]*udf.Failure{}
	for s, why := range o.failed {
		if s.table == o.cells {
			f.failed[s.slot] = why
		}
	}
	keys := newKeyWriter(o.groups, len(f.keys), usualKey+16+(17+o.cells.Width())*(len(f.slots)/max(len(f.keys), 1)+1))
	return frozen{open: func() groupWriter {
		for i := range f.keys {
			k := &f.keys[i]
			key := f.panes.Key(int(k.id))
			w := keys.begin(stream.KeyHash(key), key)
			w.Bytes(key)
			w.U32(f.panes.Fired(int(k.id)))
			w.I64(k.slice)
			for _, slot := range f.slots[k.from:k.to] {
				f.writeSum(w, slot)
			}
		}
		return keys.write
	}}
}

func (f *frozenCounts) writeSum(w *state.Writer, slot uint32) {
	f.cells.Write(w, int(slot))
	why := f.failed[slot]
	w.Bool(why != nil)
	if why != nil {
		w.Bool(why.Trap)
		w.Bytes([]byte(why.Module))
		w.Bytes([]byte(why.Aggregate))
		w.Bytes([]byte(why.Message))
	}
}

func (o *Counts) readSum(r *state.Reader, slot uint32) {
	r.Cell(o.cells, int(slot))
	if r.Bool() {
		o.mark(sum{o.cells, slot}, &udf.Failure{Op: -1, Trap: r.Bool(), Module: string(r.Bytes()), Aggregate: string(r.Bytes()), Message: string(r.Bytes())})
	}
}

var errCounts = fault.As(fault.ErrCorrupt, errors.New("snapshot has a key twice, or slices of count windows that hold too much"))

func (o *Counts) readKeys(r *state.Reader, group int) {
	for range r.Len() {
		if o.readRing(r, group); r.Failed() {
			return
		}
	}
}

func (o *Counts) readRing(r *state.Reader, group int) {
	key, hash := o.readKey(r, group)
	known := len(o.keys)
	id, err := o.find(hash, key)
	if err != nil {
		r.Fail(err)
		return
	}
	k := &o.keys[id]
	o.panes.SetFired(int(id), r.U32())
	k.slice = r.I64()
	if int(id) < known || k.slice < 0 {
		r.Fail(errCounts)
		return
	}
	o.readSum(r, k.prefix)
	o.readSum(r, k.ring[0])
	n := min(k.slice+1, o.grid.count)
	for int64(len(k.ring)) < n && !r.Done() {
		slot := o.alloc()
		k.ring = append(k.ring, slot)
		o.readSum(r, slot)
	}
	if int64(len(k.ring)) < n || o.cells.Rows(int(o.open(k))) >= uint64(o.grid.length(k.slice)) {
		r.Fail(errCounts)
		return
	}
	k.room = o.left(k)
}
