package window

import "tidemark/engine/stream"

// The walks over what key groups hold, by layout: STATE.md draws them.

// group goes over the piece of a key group, up to the failures of plug-ins, which stay.
func (n *renewal) group(w *walk, flags byte) {
	switch n.form.layout {
	case alignedLayout:
		w.times(func() {
			w.skip(2)
			w.times(w.keyed)
		})
	case slicesLayout:
		w.times(func() {
			w.Lent()
			w.times(w.sliced)
			w.times(func() {
				w.I64()
				w.U32()
			})
		})
	case countsLayout:
		w.times(w.counts)
	case sessionsLayout:
		w.times(func() {
			w.Lent()
			w.times(w.session)
		})
	case generalLayout, sharedLayout:
		w.times(w.panes)
	default:
		panic("BUG: the layout has no walk")
	}
	if flags&hasStates != 0 {
		w.times(func() {
			w.Lent()
			w.state(n.keys)
			w.I64()
		})
		w.times(func() {
			w.skip(2)
			w.Lent()
			w.state(n.windows)
		})
	}
}

// keyed is a key with a cell.
func (w *walk) keyed() {
	w.Lent()
	w.cell()
}

// sliced is a slice with a cell.
func (w *walk) sliced() {
	w.I64()
	w.cell()
}

// counts is the ring of a key.
func (w *walk) counts() {
	w.Lent()
	w.U32()
	sums := min(w.I64()+1, w.n.ring) + 1 // and the prefix
	for ; sums > 0 && !w.Failed(); sums-- {
		if w.cell(); w.Bool() { // it could not be made
			w.Bool()
			for range 3 {
				w.Lent()
			}
		}
	}
}

// session is a session of a key.
func (w *walk) session() {
	w.skip(2)
	w.Bool()
	w.times(func() { w.skip(2) })
	w.cell()
}

// panes is a key with its panes.
func (w *walk) panes() {
	s := w.n.form
	w.Lent()
	w.times(func() { // cohorts
		w.skip(3)
		w.Bool()
	})
	if s.layout == sharedLayout {
		w.times(w.sliced)
	}
	w.times(func() { w.pane(s) })
	if s.flags&hasAssigner != 0 {
		w.times(func() { // holdings
			w.times(func() { w.skip(2) })
			w.I64()
			w.Bool()
			w.Lent()
		})
	}
}

func (w *walk) pane(s form) {
	w.skip(2)
	w.Bool()
	switch {
	case !w.Bool():
	case s.layout == sharedLayout: // of a pane that shares slices there are counts alone
		w.Lent()
		w.U64()
		w.U32()
	default:
		w.cell()
	}
	if w.Bool() {
		w.elements()
	}
	w.I64()
	for range 3 { // fired at its end, shown, purged
		w.Bool()
	}
	w.times(func() { w.skip(2) })
	w.skip(int(s.words))
	if s.flags&hasTrigger != 0 {
		w.state(w.n.own)
		w.Bool()
	}
	for range 2 { // timers
		w.times(func() { w.I64() })
	}
}

// elements is the list of a pane.
func (w *walk) elements() {
	w.times(func() {
		w.U8()
		w.skip(2)
	})
	for range 2 {
		var c stream.Columns
		w.OwnColumns(&c)
	}
}
