package window

import (
	"fmt"
	"slices"
	"sort"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// merge puts a record's own window w among the sessions in flight of its key: they
// become one where they overlap or touch (S45). It returns the pane of the session
// that the record is in now, or nil if that is late (S46) or the record was set aside
// because the functions could not merge.
func (o *General) merge(k *keyState, w stream.Window, b *stream.Batch, i int) (*pane, error) {
	lo, hi, result := o.touching(k, w)
	touched := k.sessions[lo:hi]
	if len(touched) == 1 && touched[0].window == result {
		return touched[0], nil // inside an existing session: nothing merges (S48)
	}
	if o.late(result) { // nothing was merged: a session that is still kept is not late
		return nil, nil
	}
	if len(touched) == 0 {
		p := o.newPane(k, w)
		k.panes.put(p)
		k.sessions = slices.Insert(k.sessions, lo, p)
		return p, nil
	}
	grows := o.lazy && len(touched) == 1
	if !grows || o.agenda.has(touched[0]) {
		if err := o.flush(); err != nil { // what waits for the old panes
			return nil, err
		}
	}
	if grows {
		return touched[0], touched[0].grow(result)
	}
	if d, t := (&pane{op: o, window: result}).cleanup(); d == trigger.ProcessingTime && t <= o.now {
		return nil, fmt.Errorf("a merge of sessions would end at %d, which the clock has passed at %d", t, o.now) // S51
	}
	olds := slices.Clone(touched)
	p, others := mergeTarget(olds, result)
	if p == nil { // none of them holds all the others
		p = o.newPane(k, result)
	}
	if f, err := o.mergeContents(p, olds); err != nil {
		return nil, err
	} else if f != nil {
		o.ledger.Failed++
		o.refused = i
		return nil, o.out.Refused(b, i, result, f)
	}
	if f, err := o.onMerge(p, others); err != nil {
		return nil, err
	} else if f != nil {
		return nil, o.refuseLate(b, i, result, f)
	}
	for _, q := range others {
		if o.user == nil {
			o.cfg.Trigger.Clear(q.context())
		}
		d, t := q.cleanup()
		q.DeleteTimer(d, t)
		q.drop()
		k.panes.remove(q)
	}
	k.panes.put(p)
	k.sessions = slices.Replace(k.sessions, lo, hi, p)
	return p, nil
}

// grow makes a session larger in place, where nothing else merges and the trigger has no
// state that would have to move: the same as a merge with a new pane, for less.
func (p *pane) grow(w stream.Window) error {
	if p.slot >= 0 && p.op.table.Fired(p.slot) > 0 {
		p.replaces = append(p.replaces, p.window)
	}
	p.window, p.ended = w, false
	return nil
}

// touching is Touching among the sessions in flight of a key.
func (o *General) touching(k *keyState, w stream.Window) (lo, hi int, cover stream.Window) {
	return touching(len(k.sessions), func(i int) stream.Window { return k.sessions[i].window }, w)
}

// Touching returns which of the windows, sorted by start and apart from each other, w
// overlaps or touches, and the window that covers them and w (S45).
func Touching(sorted []stream.Window, w stream.Window) (lo, hi int, cover stream.Window) {
	return touching(len(sorted), func(i int) stream.Window { return sorted[i] }, w)
}

func touching(n int, at func(int) stream.Window, w stream.Window) (lo, hi int, cover stream.Window) {
	lo = sort.Search(n, func(i int) bool { return at(i).End >= w.Start })
	cover = w
	for hi = lo; hi < n && at(hi).Start <= w.End; hi++ {
		s := at(hi)
		cover.Start, cover.End = min(cover.Start, s.Start), max(cover.End, s.End)
	}
	return lo, hi, cover
}

// mergeContents joins the contents of olds, which are in order of their starts, in p:
// lists by arrival, accumulators by start of the window (S48). A failure of user code
// changes nothing.
func (o *General) mergeContents(p *pane, olds []*pane) (*udf.Failure, error) {
	accs := make([][]byte, len(o.fns))
	parts := make([][][]byte, o.varying)
	rows, fired := uint64(0), uint32(0)
	var lists []*elements
	var filled []*pane
	for _, q := range olds {
		if q.slot >= 0 {
			filled = append(filled, q)
			rows += o.table.Rows(q.slot)
			fired = max(fired, o.table.Fired(q.slot))
		}
		if q.elements != nil {
			lists = append(lists, q.elements)
		}
	}
	for i := range o.fns {
		fn := &o.fns[i]
		if fn.info.Width == 0 {
			for _, q := range filled {
				parts[fn.part] = append(parts[fn.part], o.table.Parts[fn.part][q.slot]...)
			}
			continue
		}
		f, err := retry(func() (err error) {
			accs[i], err = o.mergedAcc(fn, o.table, o.cells(filled))
			return err
		})
		if err != nil {
			return nil, err
		}
		if f != nil {
			return &udf.Failure{Trap: f.Trap, Module: f.Module, Message: "merging sessions: " + f.Message}, nil
		}
	}
	// All calls have succeeded: write.
	for _, q := range olds {
		if q == p {
			continue
		}
		p.records += q.records
		p.full = p.full || q.full
		p.purged = p.purged || q.purged
		p.replaces = append(p.replaces, q.replaces...)
		if q.slot >= 0 {
			if o.table.Fired(q.slot) > 0 {
				p.replaces = append(p.replaces, q.window)
			}
			o.table.Free(q.slot)
			q.slot = -1
		}
		q.elements = nil
	}
	if len(filled) > 0 {
		if p.slot < 0 {
			p.slot = o.table.Alloc(o.fresh)
		}
		for i := range o.fns {
			if fn := &o.fns[i]; fn.info.Width > 0 {
				o.table.SetAcc(p.slot, fn.off, accs[i])
			} else {
				o.table.SetParts(fn.part, p.slot, parts[fn.part])
			}
		}
		o.table.SetRows(p.slot, rows)
		o.table.SetFired(p.slot, fired)
	}
	if len(lists) > 0 {
		p.elements = mergeElements(lists)
	}
	return nil, nil
}

// retire takes a session out of flight.
func (k *keyState) retire(p *pane) {
	if i := slices.Index(k.sessions, p); i >= 0 {
		k.sessions = slices.Delete(k.sessions, i, i+1)
	}
}
