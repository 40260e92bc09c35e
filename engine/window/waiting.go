package window

import (
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// A trigger decides without looking at contents, so what fires in a batch is known before
// anything is computed. The general operator therefore lets firings wait, as records wait
// in the segment: until the batch ends, or something is about to change what a waiting pane
// holds. Then one call of each function adds all records, one gives all results, and one
// shows all firings to a process function (E6, E7).

// moment is what a firing sees of time.
type moment struct {
	wm, now stream.Time
	before  stream.Time // see contents.before
}

// firing is a pane that is to be fired, and what it was when its trigger said so.
type firing struct {
	moment
	pane     *pane
	window   stream.Window
	kind     result.Kind
	since    bool
	replaces []stream.Window
	ends     bool      // it is at or behind the window's end
	fired    uint32    // how often the pane had fired
	list     *elements // its records, where contents are lists
}

// waiting is what waits in a general operator, beside the segment.
type waiting struct {
	firings [fireRows]firing // of cells
	cells   []cell
	rows    int     // in the lists of all firings
	after   []after // what happens to panes once their firings are out
}

// after is what a pane's contents wait for: a purge, or their end.
type after struct {
	pane *pane
	ends bool
}

// waitingRows bounds the records in lists that wait: they are copied for one call.
const waitingRows = 1 << 16

// waits reports whether the pane stands in something that has not been carried out.
func (p *pane) waits() bool {
	return p.due || p.cleared || p.slot >= 0 && p.op.seg.has(p.cell())
}

// firing is that of a pane now.
func (o *General) firing(p *pane) firing {
	f := firing{moment: o.moment(), pane: p, window: p.window, kind: p.kind(), since: p.purged, replaces: p.replaces, fired: o.table.Fired[p.slot]}
	f.ends = f.kind != result.NoKind && p.window.MaxTimestamp() <= o.clock()
	if o.lists {
		f.list = p.elements.view()
	}
	return f
}

// cell is the pane's as the firing found it.
func (f *firing) cell() cell {
	c := f.pane.cell()
	c.window, c.firing = f.window, f
	return c
}

// settle notes on the pane that it has fired, unless its result was refused: then nothing
// has.
func (f *firing) settle() {
	if p := f.pane; p.op.table.Fired[p.slot] > f.fired {
		p.ended, p.replaces = p.ended || f.ends, nil
	}
}

// wait lets a pane wait to be fired.
func (o *General) wait(p *pane) error {
	w := &o.waiting
	f := &w.firings[len(w.cells)]
	*f = o.firing(p)
	if f.list != nil {
		w.rows += f.list.Len()
	}
	p.due, p.owner.due = true, true
	if w.cells = append(w.cells, f.cell()); len(w.cells) == fireRows || w.rows >= waitingRows {
		return o.flush()
	}
	return nil
}

// moment is now.
func (o *contents) moment() moment { return moment{wm: o.seen(), now: o.now, before: o.before} }

// flush adds what waits in the segment, fires what waits for that, and lets go what waits
// for both.
func (o *General) flush() error {
	if err := o.contents.flush(); err != nil {
		return err
	}
	w := &o.waiting
	firings := w.firings[:len(w.cells)]
	for i := range firings {
		p := firings[i].pane
		p.due, p.owner.due = false, false
	}
	err := o.fire(w.cells)
	w.cells, w.rows = w.cells[:0], 0
	if err != nil {
		return err
	}
	for i := range firings {
		firings[i].settle()
		firings[i] = firing{}
	}
	for i, a := range w.after {
		if a.ends {
			o.leave(a.pane)
		} else {
			o.table.Clear(a.pane.slot, o.fresh)
			a.pane.cleared = false
		}
		w.after[i] = after{}
	}
	w.after = w.after[:0]
	return nil
}

// firePane fires a pane that has contents: at once, or when it has waited.
func (o *General) firePane(p *pane) error {
	if p.due || o.process.forgets() && p.owner.due { // what it finds depends on the one before
		if err := o.flush(); err != nil {
			return err
		}
	}
	if o.cfg.Evictor != nil {
		return o.fireEvicted(p)
	}
	return o.firePlain(p)
}

func (o *General) firePlain(p *pane) error {
	if o.shared == nil && o.cfg.Table == nil {
		return o.wait(p)
	}
	f := o.firing(p)
	var err error
	if o.shared != nil {
		err = o.fireShared(&f)
	} else {
		err = o.fireTable(&f)
	}
	f.settle()
	return err
}

// fireEvicted evicts, fires at once, and evicts again (S84, S88). What was evicted is gone
// for good, also if the functions then fail.
func (o *General) fireEvicted(p *pane) error {
	if err := o.evict(p, false); err != nil {
		return err
	}
	firings := o.table.Fired[p.slot]
	if err := o.firePlain(p); err != nil {
		return err
	}
	if err := o.flush(); err != nil {
		return err
	}
	if o.table.Fired[p.slot] == firings { // the result was refused
		return nil
	}
	return o.evict(p, true)
}

// clock is the time that windows of the step end by.
func (o *General) clock() stream.Time {
	if o.cfg.Assigner.EventTime() {
		return o.wm
	}
	return o.now
}

// carryOut fires and purges as a verdict says, in this order (S53).
func (o *General) carryOut(p *pane, v trigger.Verdict) error {
	if v&trigger.Fire != 0 && p.filled() {
		if err := o.firePane(p); err != nil {
			return err
		}
	}
	if v&trigger.Purge != 0 {
		p.purged = p.purged || p.filled()
		o.empty(p)
	}
	return nil
}

// empty drops the contents of a pane and nothing else.
func (o *General) empty(p *pane) {
	p.elements = nil
	switch {
	case p.slot < 0 || o.lists || p.cleared:
	case p.waits():
		p.cleared = true
		o.waiting.after = append(o.waiting.after, after{pane: p})
	default:
		o.table.Clear(p.slot, o.fresh)
	}
}

// clean removes a pane's state at its cleanup time (S44). A timer that the trigger
// leaves behind keeps the pane known, as an empty one.
func (o *General) clean(p *pane) error {
	if err := o.onClear(p); err != nil {
		return err
	}
	clear(p.state)
	p.elements = nil
	switch {
	case p.leaving:
	case p.waits() || len(o.waiting.after) > 0: // windows go in order
		p.leaving = true
		o.waiting.after = append(o.waiting.after, after{pane: p, ends: true})
	default:
		o.leave(p)
	}
	if o.cfg.Assigner.Merging() {
		p.owner.retire(p)
		p.drop()
	}
	return nil
}

// leave settles the account of a pane and lets its contents go.
func (o *General) leave(p *pane) {
	o.settle(p)
	if p.slot >= 0 {
		o.table.Free(p.slot)
		p.slot = -1
	}
	if o.shared != nil && p.owner.slices != nil {
		o.shared.drop(p.owner.slices, o.shared.number(p.window))
	}
	p.ended, p.purged, p.replaces = false, false, nil
	if o.process != nil {
		o.process.windows.drop(p.window, p.owner.key)
	}
	if p.leaving {
		p.leaving = false
		o.forget(p)
	}
}
