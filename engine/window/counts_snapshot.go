package window

import (
	"errors"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// A snapshot of count windows holds, key by key in order of key group and key, the ring
// and the prefix as they are, sums included: what they were made of is gone. A sum that
// could not be made is saved as the reason.

// Snapshot returns the state of the operator.
func (o *Counts) Snapshot() []byte {
	var w state.Writer
	w.I64(int64(o.wm))
	o.ledger.write(&w)
	o.writeProcess(&w)
	var ids []uint32
	for id := range o.keys {
		if o.filled(&o.keys[id]) {
			ids = append(ids, uint32(id))
		}
	}
	sortByGroup(ids, o.panes, o.cfg.Groups)
	w.Len(len(ids))
	for _, id := range ids {
		k := &o.keys[id]
		w.Bytes(o.panes.Key(int(id)))
		w.U32(o.panes.Fired(int(id)))
		w.I64(k.slice)
		o.writeSum(&w, k.prefix)
		for _, slot := range k.ring {
			o.writeSum(&w, slot)
		}
	}
	return w.Buf
}

func (o *Counts) writeSum(w *state.Writer, slot uint32) {
	o.writeCell(w, o.cells, int(slot))
	f := o.failed[sum{o.cells, slot}]
	w.Bool(f != nil)
	if f != nil {
		w.Bool(f.Trap)
		w.Bytes([]byte(f.Module))
		w.Bytes([]byte(f.Aggregate))
		w.Bytes([]byte(f.Message))
	}
}

func (o *Counts) readSum(r *state.Reader, slot uint32) {
	o.readCell(r, o.cells, int(slot))
	if r.Bool() {
		o.mark(sum{o.cells, slot}, &udf.Failure{Op: -1, Trap: r.Bool(), Module: string(r.Bytes()), Aggregate: string(r.Bytes()), Message: string(r.Bytes())})
	}
}

var errCounts = fault.As(fault.ErrCorrupt, errors.New("snapshot has a key twice, or slices of count windows that hold too much"))

// Restore takes a snapshot.
func (o *Counts) Restore(snapshot []byte) error {
	r := state.NewReader(snapshot)
	o.wm = stream.Time(r.I64())
	o.ledger.read(r)
	o.readProcess(r)
	for range r.Len() {
		o.readKey(r)
	}
	return r.Err()
}

func (o *Counts) readKey(r *state.Reader) {
	key := r.Bytes()
	known := len(o.keys)
	id, err := o.find(stream.KeyHash(key), key)
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
