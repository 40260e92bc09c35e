package window

// A window is the end of one block of slices and the beginning of the next, or just a
// block. For each slice of a key that has entered there is the sum of its block up to
// it, the prefix, and, once a window begins in the middle of the block, from it on, the
// suffix. Which records a sum was made of, and in which shape, depends on slices and
// blocks alone, never on when it was made: floats are the same after a restore (L4).
//
// Without lateness a prefix is done with when the suffixes of its block are made: they
// take its place.

// demand asks for the sum of a window for a key: its slices there are cells[i:j].
type demand struct {
	id   uint32
	i, j int
}

// climb is a chain of sums of one key, from cells[at] on to cells[stop], each made of the
// one before it. Chains of many keys are made step by step together.
type climb struct {
	id       uint32
	at, stop int
}

// assemble merges the sums that are asked for into the keys' panes. next and whole are
// those of sliceKey.parts.
func (o *Slices) assemble(demands []demand, next int64, whole bool) error {
	if !whole {
		if err := o.suffixes(demands, next); err != nil {
			return err
		}
	}
	batch := o.batch[:0]
	for _, d := range demands {
		k := &o.keys[d.id]
		k.from, k.to = k.parts(d.i, d.j, next, whole)
		pane := sum{o.panes, d.id}
		switch head, tail := (sum{o.sums, k.cells[d.i].suffix}), (sum{o.sums, k.cells[d.j-1].prefix}); {
		case k.to == noSlice:
			o.copy(pane, head)
		case k.from == noSlice:
			o.copy(pane, tail)
		default:
			batch = append(batch, merge{head, tail, pane})
		}
	}
	o.batch = batch
	return o.merge(batch)
}

// suffixes makes those that windows which begin inside a block need, from the block's
// last slice downwards.
func (o *Slices) suffixes(demands []demand, next int64) error {
	chains := o.climbs[:0]
	for _, d := range demands {
		k := &o.keys[d.id]
		if c := &k.cells[d.i]; c.slice >= next || c.suffix != noSum {
			continue
		}
		at := d.i
		for k.inBlock(at+1, next) && k.cells[at+1].suffix == noSum {
			at++
		}
		chains = append(chains, climb{d.id, at, d.i})
	}
	o.climbs = chains
	for len(chains) > 0 {
		batch, n := o.batch[:0], 0
		for _, c := range chains {
			k := &o.keys[c.id]
			of := &k.cells[c.at]
			if o.cfg.Lateness == 0 && of.prefix != noSum {
				of.suffix, of.prefix = of.prefix, noSum
			} else {
				of.suffix = uint32(o.sums.Alloc(o.fresh))
			}
			cell, to := sum{o.cells, of.cell}, sum{o.sums, of.suffix}
			if k.inBlock(c.at+1, next) {
				batch = append(batch, merge{cell, sum{o.sums, k.cells[c.at+1].suffix}, to})
			} else {
				o.copy(to, cell)
			}
			if c.at > c.stop {
				chains[n] = climb{c.id, c.at - 1, c.stop}
				n++
			}
		}
		chains, o.batch = chains[:n], batch
		if err := o.merge(batch); err != nil {
			return err
		}
	}
	return nil
}

// inBlock reports whether cells[at] has entered and lies before the block that begins
// with slice next.
func (k *sliceKey) inBlock(at int, next int64) bool {
	return at < k.entered && k.cells[at].slice < next
}

// prefix adds what makes the prefix of cells[at], in the block that begins with a slice,
// to batch.
func (o *Slices) prefix(k *sliceKey, at int, block int64, batch []merge) []merge {
	c := &k.cells[at]
	if c.prefix == noSum {
		c.prefix = uint32(o.sums.Alloc(o.fresh))
	}
	cell, to := sum{o.cells, c.cell}, sum{o.sums, c.prefix}
	if at > 0 && k.cells[at-1].slice >= block {
		return append(batch, merge{sum{o.sums, k.cells[at-1].prefix}, cell, to})
	}
	o.copy(to, cell)
	return batch
}

// enter takes the slices that window k is the first to end with or behind.
func (o *Slices) enter(k int64) error {
	lo, hi := o.grid.bounds(k)
	for {
		b, ok := o.buckets.enter(hi)
		if !ok {
			return nil
		}
		settled, ids := o.settled[:0], b.ids[:0]
		for _, id := range b.ids {
			key := &o.keys[id]
			at := key.entered
			slot := key.cells[at].cell
			if o.cells.Rows(int(slot)) == 0 { // its only records were refused: there is no such slice
				o.drop(id, at)
				continue
			}
			key.entered++
			o.activate(id)
			settled = append(settled, cell{table: o.cells, slot: int(slot)})
			ids = append(ids, id)
		}
		b.ids, o.settled = ids, settled
		if err := o.settle(settled); err != nil {
			return err
		}
		block := o.grid.block(b.slice)
		if block < lo { // the very end of a block in which window k begins: a suffix will have it
			continue
		}
		batch := o.batch[:0]
		for _, id := range ids {
			key := &o.keys[id]
			batch = o.prefix(key, key.entered-1, block, batch)
		}
		o.batch = batch
		if err := o.merge(batch); err != nil {
			return err
		}
	}
}

// refresh makes good the sums of keys that had records added to slices that had entered
// before. Blocks that have begun to close need no prefixes; suffixes are made when a
// window asks for them.
func (o *Slices) refresh(ids []uint32) error {
	chains, settled := o.climbs[:0], o.settled[:0]
	for _, id := range ids {
		k := &o.keys[id]
		from, to := k.staleFrom, k.staleTo
		if from == noSlice {
			continue
		}
		k.from, k.to, k.staleFrom, k.staleTo = noSlice, noSlice, noSlice, noSlice
		at, _ := k.search(0, k.entered, from)
		for i := at; k.inBlock(i, to+1); {
			if slot := k.cells[i].cell; o.cells.Rows(int(slot)) == 0 {
				o.drop(id, i)
			} else {
				settled = append(settled, cell{table: o.cells, slot: int(slot)})
				i++
			}
		}
		first, _ := k.search(0, k.entered, o.grid.block(from))
		for i := first; k.inBlock(i, to+1); i++ {
			if c := &k.cells[i]; c.suffix != noSum {
				o.free(sum{o.sums, c.suffix})
				c.suffix = noSum
			}
		}
		stop, _ := k.search(0, k.entered, o.grid.block(to)+o.grid.count)
		if at < stop {
			chains = append(chains, climb{id, at, stop})
		}
	}
	o.climbs, o.settled = chains, settled
	if err := o.settle(settled); err != nil {
		return err
	}
	return o.prefixes(chains)
}

// prefixes makes those of the chains' slices, the stop not included, upwards.
func (o *Slices) prefixes(chains []climb) error {
	closed := o.grid.per * (o.closed + 1)
	for len(chains) > 0 {
		batch, n := o.batch[:0], 0
		for _, c := range chains {
			k := &o.keys[c.id]
			if block := o.grid.block(k.cells[c.at].slice); block >= closed {
				batch = o.prefix(k, c.at, block, batch)
			}
			if c.at+1 < c.stop {
				chains[n] = climb{c.id, c.at + 1, c.stop}
				n++
			}
		}
		chains, o.batch = chains[:n], batch
		if err := o.merge(batch); err != nil {
			return err
		}
	}
	return nil
}
