package window

import (
	"cmp"
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/internal/fault"
)

// A snapshot is everything that makes a restore a no-op (S105): clocks, counters, and
// for each key its panes with contents, trigger state, timers and user state.

func (l *Ledger) fields() []*int64 {
	return []*int64{&l.Filtered, &l.Failed, &l.Late, &l.NoWindow, &l.Counted, &l.Open, &l.Fired, &l.Unfired, &l.Behind, &l.LateAccepted, &l.Partials, &l.InPartials}
}

func (l *Ledger) write(w *state.Writer) {
	for _, f := range l.fields() {
		w.I64(*f)
	}
}

func (l *Ledger) read(r *state.Reader) {
	for _, f := range l.fields() {
		*f = r.I64()
	}
}

func writeWindow(w *state.Writer, win stream.Window) {
	w.I64(int64(win.Start))
	w.I64(int64(win.End))
}

func readWindow(r *state.Reader) stream.Window {
	return stream.Window{Start: stream.Time(r.I64()), End: stream.Time(r.I64())}
}

// writeCell writes the accumulators of a slot.
func (o *contents) writeCell(w *state.Writer, t *state.Cells, slot int) {
	w.Bytes(t.Acc(slot, 0, t.Width()))
	w.U64(t.Rows(slot))
	w.U32(t.Fired(slot))
	for v := range t.Parts {
		parts := t.Parts[v][slot]
		w.Len(len(parts))
		for _, p := range parts {
			w.Bytes(p)
		}
	}
}

var errWidth = fault.As(fault.ErrCorrupt, errors.New("snapshot has accumulators of another size"))

func (o *contents) readCell(r *state.Reader, t *state.Cells, slot int) {
	acc := r.Bytes()
	if len(acc) != t.Width() {
		r.Fail(errWidth)
		return
	}
	t.SetAcc(slot, 0, acc)
	t.SetRows(slot, r.U64())
	t.SetFired(slot, r.U32())
	for v := range t.Parts {
		var parts [][]byte
		for range r.Len() {
			parts = append(parts, r.Bytes())
		}
		t.SetParts(v, slot, parts)
	}
}

// Snapshot returns the state of the operator.
func (o *Aligned) Snapshot() []byte {
	var w state.Writer
	w.I64(int64(o.wm))
	o.ledger.write(&w)
	o.writeProcess(&w)
	w.Len(len(o.windows.open))
	for _, b := range o.windows.open {
		writeWindow(&w, b.window)
		n := 0
		for _, t := range b.tables {
			if t != nil {
				n += t.Len()
			}
		}
		w.Len(n)
		for _, t := range b.tables {
			if t == nil {
				continue
			}
			for slot := range t.Len() {
				w.Bytes(t.Key(slot))
				o.writeCell(&w, t, slot)
			}
		}
	}
	return w.Buf
}

// Restore takes a snapshot.
func (o *Aligned) Restore(snapshot []byte) error {
	r := state.NewReader(snapshot)
	o.wm = stream.Time(r.I64())
	o.ledger.read(r)
	o.readProcess(r)
	for range r.Len() {
		b := o.windows.find(readWindow(r), o.wm)
		for range r.Len() {
			key := r.Bytes()
			t, slot := o.cellOf(b, stream.KeyHash(key), key)
			o.readCell(r, t, slot)
		}
	}
	return r.Err()
}

// Snapshot returns the state of the operator.
func (o *General) Snapshot() []byte {
	var w state.Writer
	w.I64(int64(o.wm))
	w.I64(int64(o.now))
	w.U64(o.seq)
	o.ledger.write(&w)
	o.writeProcess(&w)
	w.Len(len(o.keys))
	for _, k := range o.sortedKeys() {
		o.writeKey(&w, k)
	}
	return w.Buf
}

func (o *General) sortedKeys() []*keyState {
	keys := make([]*keyState, 0, len(o.keys))
	for _, k := range o.keys {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b *keyState) int { return cmp.Compare(string(a.key), string(b.key)) })
	return keys
}

func (o *General) writeKey(w *state.Writer, k *keyState) {
	w.Bytes(k.key)
	k.cohorts.write(w)
	if o.shared != nil {
		o.shared.write(w, k.slices)
	}
	panes := slices.Clone(k.panes)
	slices.SortFunc(panes, func(a, b *pane) int { return compareWindows(a.window, b.window) })
	w.Len(len(panes))
	for _, p := range panes {
		o.writePane(w, p, slices.Contains(k.sessions, p))
	}
	if o.assigner != nil {
		writeHoldings(w, panes)
	}
}

func (o *General) writePane(w *state.Writer, p *pane, inFlight bool) {
	writeWindow(w, p.window)
	w.Bool(inFlight)
	w.Bool(p.slot >= 0)
	if p.slot >= 0 {
		o.writeCell(w, o.table, p.slot)
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

// Restore takes a snapshot.
func (o *General) Restore(snapshot []byte) error {
	r := state.NewReader(snapshot)
	o.wm, o.now, o.seq = stream.Time(r.I64()), stream.Time(r.I64()), r.U64()
	o.ledger.read(r)
	o.readProcess(r)
	for range r.Len() {
		o.readKey(r)
	}
	return r.Err()
}

func (o *General) readKey(r *state.Reader) {
	k := &keyState{key: r.Bytes()}
	k.hash = stream.KeyHash(k.key)
	o.keys[string(k.key)] = k
	k.cohorts = readCohorts(r)
	if o.shared != nil {
		if k.slices = o.shared.readKey(r); k.slices == nil {
			return
		}
	}
	for range r.Len() {
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
}

func (o *General) readPane(r *state.Reader, p *pane) {
	if r.Bool() {
		p.slot = o.allocPane()
		o.readCell(r, o.table, p.slot)
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
