package join

import (
	"cmp"
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// A snapshot is everything that makes a restore a no-op (S105): the watermark, the
// counters, and what is kept. When records go follows from their times.
//
//	watermark, pairs made and refused, failures of a plug-in that may be disabled
//	for each side: the counters of its ledger
//	keys: for each, in order: the key, and for each side its records: time, whether
//	      it was paired, split, place
//	for each side: a table of its records, in the order of the keys

func (l *Ledger) fields() []*int64 {
	return []*int64{&l.Filtered, &l.Late, &l.Counted, &l.Open, &l.Fired, &l.Unfired, &l.Behind}
}

// Snapshot returns the state between two batches.
func (j *Interval) Snapshot() []byte {
	keys := j.list()
	slices.SortFunc(keys, func(a, b *keyState) int { return cmp.Compare(string(a.key), string(b.key)) })
	for s := range j.stores {
		j.compact(uint8(s), keys)
	}
	var w state.Writer
	w.I64(int64(j.wm))
	w.I64(j.pairs)
	w.I64(j.refused)
	j.cfg.Breaker.Snapshot(&w)
	for s := range j.ledger {
		for _, f := range j.ledger[s].fields() {
			w.I64(*f)
		}
	}
	w.Len(len(keys))
	for _, k := range keys {
		w.Bytes(k.key)
		for s := range k.sides {
			list := k.sides[s].list()
			w.Len(len(list))
			for _, e := range list {
				w.I64(int64(e.time))
				w.Bool(e.paired)
				w.U32(uint32(j.stores[s].split[e.row]))
				w.I64(j.stores[s].pos[e.row])
			}
		}
	}
	for _, st := range j.stores {
		w.Columns(&st.Columns)
	}
	return w.Buf
}

var (
	errOrder = fault.As(fault.ErrCorrupt, errors.New("snapshot has records of a join that are not in order of time"))
	errCount = fault.As(fault.ErrCorrupt, errors.New("snapshot has records of a join and their columns in different numbers"))
)

// Restore takes the state of a Snapshot; an error is of class fault.ErrCorrupt.
func (j *Interval) Restore(snapshot []byte) error {
	r := state.NewReader(snapshot)
	j.wm, j.pairs, j.refused = stream.Time(r.I64()), r.I64(), r.I64()
	j.cfg.Breaker.Restore(r)
	for s := range j.ledger {
		for _, f := range j.ledger[s].fields() {
			*f = r.I64()
		}
	}
	for range r.Len() {
		k := j.newKey(r.Bytes())
		for s := range k.sides {
			j.readBuffer(r, &k.sides[s])
		}
	}
	for s, st := range j.stores {
		var c stream.Columns
		c.Reset(j.kinds[s])
		if r.Columns(&c); c.N != len(st.time) {
			r.Fail(errCount)
		}
		st.setColumns(c)
	}
	if err := r.Err(); err != nil {
		return err
	}
	for _, k := range j.keys {
		for s := range k.sides {
			list := k.sides[s].list()
			for i := range list {
				list[i].null = j.stores[s].null(list[i].row, j.notNull[s])
			}
		}
	}
	return nil
}

// readBuffer reads the records of a key and side, whose columns follow later.
func (j *Interval) readBuffer(r *state.Reader, b *buffer) {
	st := j.stores[b.side]
	for range r.Len() {
		e := entry{time: stream.Time(r.I64()), row: uint32(len(st.time)), paired: r.Bool()}
		if n := len(b.entries); n > 0 && e.time < b.entries[n-1].time {
			r.Fail(errOrder)
		}
		st.time = append(st.time, e.time)
		st.split = append(st.split, stream.SplitID(r.U32()))
		st.pos = append(st.pos, r.I64())
		b.entries = append(b.entries, e)
	}
	j.queue.set(b, j.retain[b.side])
}
