package window

import (
	"fmt"
	"slices"
	"sort"

	"tidemark/engine/state"
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
		return nil, o.setAside(b, i, result, f)
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
	if p.shown {
		p.replaces = append(p.replaces, p.window)
	}
	p.window, p.ended, p.shown = w, false, false
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
	var filled []int
	var lists []*elements
	for _, q := range olds {
		if q.slot >= 0 {
			filled = append(filled, q.slot)
		}
		if q.elements != nil {
			lists = append(lists, q.elements)
		}
	}
	var replaces []stream.Window
	for _, q := range olds {
		replaces = append(replaces, q.replaces...)
		if q != p && q.shown {
			replaces = append(replaces, q.window)
		}
	}
	if f, err := o.mergeCells(o.table, filled); f != nil || err != nil {
		return f, err
	}
	for _, q := range olds {
		if q == p {
			continue
		}
		p.records += q.records
		p.full = p.full || q.full
		p.purged = p.purged || q.purged
		q.slot = -1
		o.setElements(q, nil)
	}
	p.replaces = replaces
	if len(filled) > 0 {
		p.slot = filled[0]
	}
	if len(lists) > 0 {
		o.setElements(p, mergeElements(lists))
	}
	return nil, nil
}

// mergeCells joins what cells hold, which are in order of their windows' starts, in the
// first of them, and frees the others. A failure of user code changes nothing.
func (o *contents) mergeCells(t *state.Cells, slots []int) (*udf.Failure, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	accs := make([][]byte, len(o.fns))
	for i := range o.fns {
		fn := &o.fns[i]
		if fn.info.Width == 0 || o.lists {
			continue
		}
		f, err := retry(func() (err error) {
			accs[i], err = o.mergedAcc(fn, t, slots)
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
	into := slots[0]
	for i := range o.fns {
		if fn := &o.fns[i]; accs[i] != nil {
			t.SetAcc(into, fn.off, accs[i])
		}
	}
	for v := range t.Parts {
		parts := slices.Clip(t.Parts[v][into])
		for _, slot := range slots[1:] {
			parts = append(parts, t.Parts[v][slot]...)
		}
		t.SetParts(v, into, parts)
	}
	for _, slot := range slots[1:] {
		t.SetRows(into, t.Rows(into)+t.Rows(slot))
		t.SetFired(into, max(t.Fired(into), t.Fired(slot)))
		t.Free(slot)
	}
	return nil, nil
}

// retire takes a session out of flight.
func (k *keyState) retire(p *pane) {
	if i := slices.Index(k.sessions, p); i >= 0 {
		k.sessions = slices.Delete(k.sessions, i, i+1)
	}
}
