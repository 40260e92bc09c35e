package window

import (
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/internal/fault"
)

// The keys of a key group, as part of a cut of the general operator: how many, and for each
// in order of its bytes what writeKey writes.

// Freeze implements Operator.
func (o *General) Freeze() state.Cut { return freeze(o) }

// Restore implements Operator.
func (o *General) Restore(r state.Restore) error { return restore(o, r) }

func (o *General) form() form {
	s := form{layout: generalLayout, words: byte(o.cfg.Trigger.Words())}
	if o.shared != nil {
		s.layout = sharedLayout
	}
	if o.user != nil {
		s.flags |= hasTrigger
	}
	if o.assigner != nil {
		s.flags |= hasAssigner
	}
	if o.lists {
		s.flags |= hasLists
	}
	return s
}

// resume has the operator stand where its last advance went.
func (o *General) resume() { o.was, o.target = o.wm, o.wm }

func (o *General) freezeKeys() frozen {
	hot, cold := o.freezeMemory(), o.cold.freeze()
	memory := func() groupWriter {
		read := hot.read()
		return func(group int, w *state.Writer) bool { return read(group).write(w) }
	}
	if cold == nil {
		return frozen{open: memory, close: func() error {
			hot.release()
			return nil
		}}
	}
	return frozen{open: func() groupWriter {
		read := hot.read()
		return func(group int, w *state.Writer) bool { return mergeKeys(cold, group, read(group), w) > 0 }
	}, close: func() error {
		hot.release()
		return cold.Close()
	}, disk: &frozenDisk{in: cold, memory: memory, value: keyValue}}
}

func (o *General) readKeys(r *state.Reader, group int) {
	for range r.Len() {
		k := o.readKey(r)
		if r.Failed() {
			return
		}
		if o.groupOf(k.hash) != group {
			r.Fail(errGroup)
		}
		o.cold.restored(k, r)
	}
}

func writeWindow(w *state.Writer, win stream.Window) {
	w.I64(int64(win.Start))
	w.I64(int64(win.End))
}

func readWindow(r *state.Reader) stream.Window {
	return stream.Window{Start: stream.Time(r.I64()), End: stream.Time(r.I64())}
}

// writeKey writes all that there is of a key, accumulators from some tables. Any goroutine
// may call it while the key does not change.
func (o *General) writeKey(w *state.Writer, k *keyState, from cellTables) {
	w.Bytes(k.key)
	k.cohorts.write(w)
	if o.shared != nil {
		writeSlices(w, k.slices, from.slices)
	}
	panes := []*pane(k.panes)
	byWindow := func(a, b *pane) int { return compareWindows(a.window, b.window) }
	if !slices.IsSortedFunc(panes, byWindow) { // sessions are by what they began as
		panes = slices.SortedFunc(slices.Values(panes), byWindow)
	}
	w.Len(len(panes))
	for _, p := range panes {
		o.writePane(w, p, slices.Contains(k.sessions, p), from.panes)
	}
	if o.assigner != nil {
		writeHoldings(w, panes)
	}
}

func (o *General) writePane(w *state.Writer, p *pane, inFlight bool, from cellWriter) {
	writeWindow(w, p.window)
	w.Bool(inFlight)
	w.Bool(p.slot >= 0)
	if p.slot >= 0 {
		from.Write(w, p.slot)
	}
	w.Bool(p.elements != nil)
	if p.elements != nil {
		p.elements.write(w)
	}
	w.I64(p.records)
	w.Bool(p.ended)
	w.Bool(p.shown)
	w.Bool(p.purged)
	w.Len(len(p.replaces))
	for _, win := range p.replaces {
		writeWindow(w, win)
	}
	for _, s := range p.state {
		w.I64(s)
	}
	if o.user != nil {
		w.Bytes(p.ownState())
		w.Bool(p.defaulted())
	}
	for d := range p.timers {
		w.Len(len(p.timers[d]))
		for _, t := range p.timers[d] {
			w.I64(int64(t))
		}
	}
}

// readKey reads what writeKey wrote, of a key that the operator does not have.
func (o *General) readKey(r *state.Reader) *keyState {
	key := r.Bytes()
	k := o.newKey(key, stream.KeyHash(key))
	if o.keys[string(key)] != nil {
		r.Fail(errKey)
		return k
	}
	o.keys[string(key)] = k
	k.cohorts = readCohorts(r)
	if o.shared != nil {
		if k.slices = o.shared.readKey(r); k.slices == nil {
			return k
		}
	}
	for range r.Len() {
		if r.Failed() {
			return k
		}
		p := o.newPane(k, readWindow(r))
		k.panes.put(p)
		if r.Bool() {
			k.sessions = append(k.sessions, p) // panes are written by start
		}
		o.readPane(r, p)
	}
	if o.assigner != nil {
		k.readHoldings(r)
	}
	return k
}

var errKey = fault.As(fault.ErrCorrupt, errors.New("snapshot has a key twice"))

func (o *General) readPane(r *state.Reader, p *pane) {
	if r.Bool() {
		p.slot = o.allocPane()
		r.Cell(o.table, p.slot)
		p.full = o.table.Rows(p.slot) > 0
	}
	if r.Bool() {
		o.setElements(p, readElements(r))
	}
	p.records, p.ended, p.shown, p.purged = r.I64(), r.Bool(), r.Bool(), r.Bool()
	for range r.Len() {
		p.replaces = append(p.replaces, readWindow(r))
	}
	for i := range p.state {
		p.state[i] = r.I64()
	}
	if o.user != nil {
		p.own = &ownPane{state: r.Bytes(), defaulted: r.Bool()}
	}
	for d := range p.timers {
		for range r.Len() {
			p.SetTimer(trigger.Domain(d), stream.Time(r.I64()))
		}
	}
}

// write writes the records that are still in the list, and no evicted ones.
func (l *elements) write(w *state.Writer) {
	if l.sides[0].N+l.sides[1].N > len(l.refs) {
		l = mergeElements([]*elements{l})
	}
	w.Len(len(l.refs))
	for _, e := range l.refs {
		w.U8(e.side)
		w.I64(int64(e.time))
		w.U64(e.seq)
	}
	for s := range l.sides {
		w.Columns(&l.sides[s])
	}
}

func readElements(r *state.Reader) *elements {
	l := &elements{}
	rows := [2]uint32{}
	for range r.Len() {
		if r.Failed() {
			return l
		}
		e := element{side: r.U8() & 1, time: stream.Time(r.I64()), seq: r.U64()}
		e.row = rows[e.side]
		rows[e.side]++
		l.refs = append(l.refs, e)
	}
	for s := range l.sides {
		r.OwnColumns(&l.sides[s])
		if uint32(l.sides[s].N) != rows[s] {
			r.Fail(fault.As(fault.ErrCorrupt, errors.New("snapshot has a list and its records in different numbers")))
		}
	}
	return l
}
