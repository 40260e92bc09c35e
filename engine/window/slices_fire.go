package window

import "tidemark/engine/stream"

// fireWindow fires window k, the next one in which a key can have records, for all keys
// that have.
func (o *Slices) fireWindow(k int64) error {
	lo, hi := o.grid.bounds(k)
	if o.pending <= hi {
		if err := o.flush(); err != nil {
			return err
		}
	}
	if err := o.refresh(o.stale); err != nil {
		return err
	}
	o.stale = o.stale[:0]
	if err := o.enter(k); err != nil {
		return err
	}
	block := o.grid.block(lo)
	next, whole := block+o.grid.count, block == lo
	active, demands := o.active[:0], o.demands[:0]
	for _, id := range o.active {
		key := &o.keys[id]
		for key.first < key.entered && key.cells[key.first].slice < lo {
			key.first++
		}
		if key.first == key.entered {
			key.active = false
			continue
		}
		active = append(active, id)
		// A key whose parts are those of the window before has the same sum.
		if from, to := key.parts(key.first, key.entered, next, whole); from != key.from || to != key.to {
			demands = append(demands, demand{id, key.first, key.entered})
		}
	}
	o.active, o.demands = active, demands
	if err := o.assemble(demands, next, whole); err != nil {
		return err
	}
	o.slides += int64(len(active))
	return o.fireActive(k)
}

// fireActive emits the panes of all active keys as the first firing of window k.
func (o *Slices) fireActive(k int64) error {
	w := o.grid.window(k)
	cells := o.emitter.cells[:0]
	for _, id := range o.active {
		if len(cells) == fireRows {
			if err := o.fireFirst(k, cells); err != nil {
				return err
			}
			cells = cells[:0]
		}
		if len(o.failed) > 0 {
			if f := o.failed[sum{o.panes, id}]; f != nil {
				if err := o.out.RefusedPane(o.panes.Key(int(id)), w, f); err != nil {
					return err
				}
				o.revise(k, id, 0)
				continue
			}
		}
		o.panes.SetFired(int(id), 0)
		cells = append(cells, cell{table: o.panes, slot: int(id), window: w})
	}
	o.emitter.cells = cells
	return o.fireFirst(k, cells)
}

// fireFirst emits panes, and notes those that did not fire because their result failed.
func (o *Slices) fireFirst(k int64, cells []cell) error {
	if err := o.fire(cells); err != nil {
		return err
	}
	if o.cfg.Lateness == 0 && !o.single() { // no window fires again, and nobody asks
		return nil
	}
	for _, c := range cells {
		if o.panes.Fired(c.slot) == 0 {
			o.revise(k, uint32(c.slot), 0)
		} else {
			o.noteSingle(k, uint32(c.slot))
		}
	}
	return nil
}

// noteSingle counts a firing at the slice that is the window.
func (o *Slices) noteSingle(k int64, id uint32) {
	if !o.single() {
		return
	}
	lo, _ := o.grid.bounds(k)
	key := &o.keys[id]
	at, ok := key.search(0, key.entered, lo)
	if !ok {
		panic("BUG: a window fired without its slice")
	}
	o.cells.Fire(int(key.cells[at].cell))
}

// fireLate fires windows first to last, all past their end and not yet closed, of a key
// that just got one record in a slice which they share (S43, L6).
func (o *Slices) fireLate(id uint32, first, last int64) error {
	if n := len(o.stale); n > 0 && o.stale[n-1] == id {
		o.stale = o.stale[:n-1]
	}
	if err := o.refresh([]uint32{id}); err != nil {
		return err
	}
	k := &o.keys[id]
	lo, hi := o.grid.bounds(first)
	i, _ := k.search(0, k.entered, lo)
	j, _ := k.search(i, k.entered, hi+1)
	for w := first; w <= last; w++ {
		lo, hi := o.grid.bounds(w)
		for k.cells[i].slice < lo {
			i++
		}
		for k.inBlock(j, hi+1) {
			j++
		}
		block := o.grid.block(lo)
		next, whole := block+o.grid.count, block == lo
		if from, to := k.parts(i, j, next, whole); from != k.from || to != k.to {
			if err := o.assemble([]demand{{id, i, j}}, next, whole); err != nil {
				return err
			}
		}
		if err := o.fireAgain(id, w); err != nil {
			return err
		}
	}
	return nil
}

// fireAgain emits the pane of a key as a later firing of window k, or the first one if
// the window was empty before the record that came.
func (o *Slices) fireAgain(id uint32, k int64) error {
	firings, ok := o.revised[k][id]
	if !ok && o.panes.Rows(int(id)) > 1 {
		firings = 1
	}
	w := o.grid.window(k)
	if f := o.failed[sum{o.panes, id}]; f != nil {
		o.revise(k, id, firings)
		return o.out.RefusedPane(o.panes.Key(int(id)), w, f)
	}
	o.panes.SetFired(int(id), firings)
	if err := o.fire([]cell{{table: o.panes, slot: int(id), window: w}}); err != nil {
		return err
	}
	o.revise(k, id, o.panes.Fired(int(id)))
	if o.panes.Fired(int(id)) > firings {
		o.noteSingle(k, id)
	}
	return nil
}

// revise notes how often the window of a key has fired.
func (o *Slices) revise(k int64, id, firings uint32) {
	if o.cfg.Lateness == 0 {
		return
	}
	if o.revised[k] == nil {
		o.revised[k] = map[uint32]uint32{}
	}
	o.revised[k][id] = firings
}

// Panes counts (key, window) pairs with contents.
func (o *Slices) Panes() int64 {
	n := int64(0)
	for i := range o.keys {
		o.open(&o.keys[i], func(first, last int64) { n += last - first + 1 })
	}
	return n
}

// Each calls f for every pane with contents.
func (o *Slices) Each(f func(key []byte, w stream.Window)) {
	for i := range o.keys {
		key := o.panes.Key(i)
		o.open(&o.keys[i], func(first, last int64) {
			for k := first; k <= last; k++ {
				f(key, o.grid.window(k))
			}
		})
	}
}

// open calls f for runs of windows that are not closed and hold records of a key, each
// window once.
func (o *Slices) open(k *sliceKey, f func(first, last int64)) {
	done := o.closed
	for _, c := range k.cells {
		if o.cells.Rows(int(c.cell)) == 0 {
			continue
		}
		first, last := o.grid.windows(c.slice)
		if first = max(first, done+1); first <= last {
			f(first, last)
			done = last
		}
	}
}
