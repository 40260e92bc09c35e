package window

import (
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Where refused records are set aside, one that is refused must leave no trace: it must
// not have extended a session, or begun one (E8). Most are not refused. So rows that do no
// more than that are taken on trust, with notes of what they have changed, until something
// fires or merges. If the functions then fail, the changes are undone, and the rows come
// once more, one by one, each tried on copies before anything sees it.

// change is what a row has changed on trust.
type change struct {
	slot  uint32
	began bool        // the session began with it
	end   stream.Time // else: it ended here before
}

func (o *Sessions) note(c change) {
	if o.cfg.SetAside {
		o.changes = append(o.changes, c)
	}
}

// wary reports whether no row is taken on trust: where a plug-in is disabled.
func (o *Sessions) wary() bool { return o.guard != nil && o.guard.Breaker.Any() }

// foldTrusted adds the rows of the segment, all of which were taken on trust.
func (o *Sessions) foldTrusted() error {
	f, _, err := o.try(&o.seg)
	if f != nil && err == nil {
		return o.replay()
	}
	o.seg.clear()
	o.changes = o.changes[:0]
	return err
}

// replay undoes what the rows of the segment have changed, and takes them one by one.
func (o *Sessions) replay() error {
	for _, c := range slices.Backward(o.changes) {
		if c.began {
			o.retire(c.slot)
			o.cells.Free(int(c.slot))
		} else {
			o.intervals[c.slot].window.End = c.end
		}
	}
	b, rows := o.seg.batch, slices.Clone(o.seg.rows)
	o.seg.clear()
	o.changes = o.changes[:0]
	for _, row := range rows {
		own, err := o.window(b, int(row))
		if err == nil {
			err = o.place(b, int(row), touch{}, own)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trial runs the functions for one record on copies of what it would meet, as that of the
// general operator does. Nothing waits.
func (o *Sessions) trial(t *touch, b *stream.Batch, i int) (*udf.Failure, error) {
	if f := o.guard.barsRecord(b.Hash[i]); f != nil {
		return f, nil
	}
	slots := o.slots(t)
	for n := range o.fns {
		if f, err := retry(func() error { return o.try1(&o.fns[n], o.cells, slots, b, i) }); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}
