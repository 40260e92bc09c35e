package window

import (
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// A trigger decides without looking at contents, so what is to be done with them in a batch
// is known before anything is computed. The general operator therefore keeps an agenda:
// records are added to panes, panes fire, are purged and end. It is carried out when the
// batch ends, with one call of each function (E6) and one of the process function (E7).
//
// An agenda has stages. In a stage first records are added, then panes fire, and then they
// are purged or end; a record for a pane that has fired begins the next one. Functions that
// cannot be called for several stages at once (udf.Applier) are called for each.
//
// If any call fails nothing has happened, and the stages are gone through one by one, each
// with calls that are cut until the record or the firing to blame stands alone (E8).
type agenda struct {
	firings []firing // fireRows of them, from the first one on that waits
	cells   []cell   // of the firings
	after   []after
	stages  []mark // where stages end; the last one has not
	rows    int    // in the lists of all firings
	undo    []unfired

	first, stage uint64 // numbers of the first stage and of this one; they are never used again
}

// mark is a place in an agenda: so many records have been added, so many panes have fired
// and so many have been purged or have ended before it.
type mark struct{ rows, firings, after int }

// after is what comes behind the firings of a stage: a purge, or the pane's end.
type after struct {
	pane *pane
	cell cell // of a purge
	ends bool
}

// unfired is what a firing changes of its pane, as it was before.
type unfired struct {
	ended, shown bool
	replaces     []stream.Window
}

// moment is what a firing sees of time.
type moment struct {
	wm, now stream.Time
	before  stream.Time // see contents.before
}

// moment is now.
func (o *contents) moment() moment { return moment{wm: o.seen(), now: o.now, before: o.before} }

// firing is a pane that fires, and what it was when its trigger said so.
type firing struct {
	moment
	pane   *pane
	window stream.Window
	clock  stream.Time // that the window ends by
	since  bool
	list   *elements // its records, where contents are lists

	session *departure // of the operator of sessions, where there is no pane
}

// agendaRows bounds the records in lists that wait: they are copied for one call.
const agendaRows = 1 << 16

// firing is that of a pane now.
func (o *General) firing(p *pane) firing {
	f := firing{moment: o.moment(), pane: p, window: p.window, clock: o.clock(), since: p.purged}
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

// kind says what the firing is.
func (f *firing) kind() result.Kind {
	if f.session != nil {
		return f.session.kind()
	}
	switch {
	case f.window == stream.Global:
		return result.NoKind
	case f.window.MaxTimestamp() > f.clock:
		return result.Early
	case f.pane.ended:
		return result.Update
	}
	return result.OnTime
}

// replaces lists windows that the row takes the place of (M4).
func (f *firing) replaces() []stream.Window {
	if f.session != nil {
		return f.session.replaces
	}
	return f.pane.replaces
}

// done notes that the pane, or the session, has fired.
func (f *firing) done() {
	if f.session != nil {
		f.session.fired = true
		return
	}
	p := f.pane
	p.ended = p.ended || f.window != stream.Global && f.window.MaxTimestamp() <= f.clock
	p.shown, p.replaces = true, nil
}

// acts reports whether a pane has been fired or purged in this stage, or in the agenda.
func (s *agenda) acts(p *pane) bool { return p.acted == s.stage }

func (s *agenda) has(p *pane) bool { return p.acted >= s.first }

// waits reports whether anything of the agenda is about the pane.
func (p *pane) waits() bool {
	return p.op.agenda.has(p) || p.slot >= 0 && p.op.seg.has(p.cell())
}

// cut begins a stage. Accumulators that vary in size are kept in partials, which only real
// calls make.
func (o *General) cut() error {
	if o.varying > 0 && !o.lists {
		return o.flush()
	}
	s := &o.agenda
	s.stages = append(s.stages, s.here(&o.seg))
	s.stage++
	return nil
}

func (s *agenda) here(seg *segment) mark { return mark{len(seg.rows), len(s.cells), len(s.after)} }

// wait puts the firing of a pane into the agenda.
func (o *General) wait(p *pane) error {
	s := &o.agenda
	if s.firings == nil {
		s.firings = make([]firing, fireRows)
	}
	f := &s.firings[len(s.cells)]
	*f = o.firing(p)
	if f.list != nil {
		s.rows += f.list.Len()
	}
	p.acted, p.owner.acted = s.stage, s.stage
	if s.cells = append(s.cells, f.cell()); len(s.cells) == fireRows || s.rows >= agendaRows {
		return o.flush()
	}
	return nil
}

// purge puts into the agenda, or does, that a pane's accumulators become fresh ones.
func (o *General) purge(p *pane) {
	if !p.waits() {
		o.table.Clear(p.slot, o.fresh)
		return
	}
	s := &o.agenda
	p.acted = s.stage
	s.after = append(s.after, after{pane: p, cell: p.cell()})
}

// end puts into the agenda, or does, that a pane's contents go. Windows end in order.
func (o *General) end(p *pane) {
	if s := &o.agenda; p.waits() || len(s.after) > 0 {
		p.leaving = true
		s.after = append(s.after, after{pane: p, ends: true})
		return
	}
	o.leave(p)
}

// flush carries the agenda out.
func (o *General) flush() error {
	s := &o.agenda
	if len(o.seg.rows) == 0 && len(s.cells) == 0 && len(s.after) == 0 {
		return nil
	}
	s.stages = append(s.stages, s.here(&o.seg))
	s.stage++ // nobody acts in the stage that comes next
	err := o.perform()
	clear(s.firings[:len(s.cells)])
	clear(s.after)
	s.cells, s.after, s.stages, s.rows = s.cells[:0], s.after[:0], s.stages[:0], 0
	s.first = s.stage
	o.seg.clear()
	return err
}

func (o *General) perform() error {
	barred := o.guard != nil && o.guard.Breaker.Any()
	if len(o.agenda.cells) > 0 && (o.varying == 0 || o.lists) && !barred {
		if f, err := o.atOnce(); f == nil || err != nil {
			return err
		}
	}
	err := o.eachStage(func(from, to mark) error {
		if from.rows < to.rows {
			part := &o.seg
			if len(o.agenda.stages) > 1 {
				part = o.seg.slice(from.rows, to.rows)
			}
			if err := o.fold(part); err != nil {
				return err
			}
		}
		if err := o.fire(o.agenda.cells[from.firings:to.firings]); err != nil {
			return err
		}
		o.carryOutAfter(from, to)
		return nil
	})
	for _, c := range o.seg.cells {
		c.pane.full = c.pane.slot >= 0 && o.shared == nil && o.table.Rows(c.pane.slot) > 0 // a record may have been refused
	}
	return err
}

func (o *General) eachStage(do func(from, to mark) error) error {
	var from mark
	for _, to := range o.agenda.stages {
		if err := do(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// carryOutAfter carries out what comes behind the firings of a stage.
func (o *General) carryOutAfter(from, to mark) {
	for _, a := range o.agenda.after[from.after:to.after] {
		if a.ends {
			o.leave(a.pane)
		} else {
			o.table.Clear(a.cell.slot, o.fresh)
		}
	}
}

// atOnce carries out the agenda with one call of each sort, or changes nothing: then with
// the failure that kept it from that.
func (o *General) atOnce() (*udf.Failure, error) {
	s, r := &o.agenda, &o.emitter.rows
	r.Reset(o.emitter.key, o.emitter.values)
	if o.lists {
		if f, _, err := o.listResults(s.cells, r); f != nil || err != nil {
			return f, err
		}
	} else if f, err := o.playAll(r); f != nil || err != nil {
		return f, err
	}
	// Each firing is described as those before it have left its pane.
	s.undo = s.undo[:0]
	r.Extend(len(s.cells))
	for i := range s.cells {
		c := &s.cells[i]
		o.describe(r, i, c)
		s.undo = append(s.undo, unfired{c.pane.ended, c.pane.shown, c.pane.replaces})
		o.table.Fire(c.slot)
		c.firing.done()
	}
	if o.process != nil {
		if f, _, err := o.process.run(r, o.moments(s.cells), s.cells); f != nil || err != nil {
			for i := len(s.cells) - 1; i >= 0; i-- {
				c := s.cells[i]
				c.pane.ended, c.pane.shown, c.pane.replaces = s.undo[i].ended, s.undo[i].shown, s.undo[i].replaces
				o.table.Unfire(c.slot)
			}
			return f, err
		}
	}
	_ = o.eachStage(func(from, to mark) error {
		for i := from.rows; i < to.rows; i++ {
			o.table.Touch(o.seg.cells[o.seg.group[i]].slot, 1)
			o.count(o.seg.rows[i])
		}
		o.carryOutAfter(from, to)
		return nil
	})
	if !o.lists {
		for i := range o.fns {
			fn := &o.fns[i]
			for g, c := range o.seg.cells {
				o.table.SetAcc(c.slot, fn.off, fn.accs.At(g))
			}
		}
	}
	if o.process != nil {
		return nil, o.process.emit(o.out, r)
	}
	return nil, o.out.Rows(r)
}

// playAll plays the agenda for all functions, on copies of the accumulators that it is
// about: those become the cells of the segment.
func (o *General) playAll(r *result.Rows) (*udf.Failure, error) {
	for _, c := range o.agenda.cells {
		o.seg.number(c)
	}
	for _, a := range o.agenda.after {
		if !a.ends {
			o.seg.number(a.cell)
		}
	}
	for i := range o.fns {
		fn, vals := &o.fns[i], &r.Values[i]
		err := fn.play(o, vals)
		if err == nil {
			err = finite(fn, vals)
		}
		if f, err := failure(err); f != nil || err != nil {
			return f, wrapFunction("aggregate", fn.Name, err)
		}
		vals.N = len(o.agenda.cells)
	}
	return nil, nil
}

// play plays the agenda for one function, in one call where it takes several stages.
func (fn *function) play(o *General, vals *stream.Columns) error {
	fn.gatherFixed(o.seg.cells)
	fn.selectRows(&o.seg)
	all := fn.rows
	if fn.applier != nil && len(all.Sel) > 0 {
		fn.write(o)
		return named{fn.Agg, fn.Name}.say(fn.applier.Apply(&fn.accs, fn.ops, &all, vals))
	}
	at := 0
	return o.eachStage(func(from, to mark) error {
		begin := at
		at = fn.until(at, to.rows)
		fn.rows.Sel, fn.rows.Group = all.Sel[begin:at], all.Group[begin:at]
		if err := fn.addSome(); err != nil {
			return err
		}
		fn.other.Reset(fn.info.Width)
		for _, c := range o.agenda.cells[from.firings:to.firings] {
			fn.other.Append(fn.accs.At(int(o.seg.number(c))))
		}
		if fn.other.N() > 0 {
			if err := fn.Agg.Result(&fn.other, vals); err != nil {
				return err
			}
		}
		for _, a := range o.agenda.after[from.after:to.after] {
			if !a.ends {
				copy(fn.accs.At(int(o.seg.number(a.cell))), o.fresh[fn.off:])
			}
		}
		return nil
	})
}

// write sets fn.ops to the agenda.
func (fn *function) write(o *General) {
	fn.ops = fn.ops[:0]
	at := 0
	_ = o.eachStage(func(from, to mark) error {
		for end := fn.until(at, to.rows); at < end; at++ {
			fn.ops = append(fn.ops, udf.ContentOp{What: udf.OpAdd, Acc: fn.rows.Group[at], Row: uint32(at)})
		}
		for _, c := range o.agenda.cells[from.firings:to.firings] {
			fn.ops = append(fn.ops, udf.ContentOp{What: udf.OpEmit, Acc: o.seg.number(c)})
		}
		for _, a := range o.agenda.after[from.after:to.after] {
			if !a.ends {
				fn.ops = append(fn.ops, udf.ContentOp{What: udf.OpReset, Acc: o.seg.number(a.cell)})
			}
		}
		return nil
	})
}

// until is the first selected row from at on that has not been added before a place in the
// segment.
func (fn *function) until(at, rows int) int {
	if len(fn.back) == 0 {
		return rows
	}
	for at < len(fn.back) && int(fn.back[at]) < rows {
		at++
	}
	return at
}

// addSome adds the rows of a stage to those of fn.accs that they go into.
func (fn *function) addSome() error {
	if len(fn.rows.Sel) == 0 {
		return nil
	}
	if len(fn.local) < fn.accs.N() {
		fn.local = make([]uint32, fn.accs.N())
	}
	fn.other.Reset(fn.info.Width)
	fn.members = fn.members[:0]
	fn.groups = fn.groups[:0]
	for _, g := range fn.rows.Group {
		at := fn.local[g] // right only if that place is its own
		if int(at) >= len(fn.members) || fn.members[at] != g {
			at = uint32(len(fn.members))
			fn.local[g] = at
			fn.members = append(fn.members, g)
			fn.other.Append(fn.accs.At(int(g)))
		}
		fn.groups = append(fn.groups, at)
	}
	fn.rows.Group, fn.rows.Groups = fn.groups, len(fn.members)
	if err := fn.Agg.Add(&fn.other, &fn.rows); err != nil {
		return err
	}
	for at, g := range fn.members {
		copy(fn.accs.At(int(g)), fn.other.At(at))
	}
	return nil
}
