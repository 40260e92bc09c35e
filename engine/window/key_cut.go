package window

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/engine/state"
)

// keyCut is the keys that a general operator had in memory when it was frozen. What they have
// lies in pointers and changes in place, so Freeze only lists them. Whoever reads the cut
// writes those that have not changed, key group by key group, while the operator goes on;
// before the operator changes anything of a key for the first time, it writes the key as it
// was:
//
//	            reader ──> group 0 │ group 1 │ group 2
//	keys        w w w w w w w w w w│w . w . .│. . w . .   w: written   .: as it was
//	            operator ─────────────────────────^ changes: writes it first
//
// Each key is written once, by who comes first (keyState.claim); accumulators are read from
// views of the tables.
//
// The operator comes to what a key has in three ways, and each preserves the key: by its
// bytes (General.find), by a timer (timerQueue.take), and as the one that is to leave memory
// (coldKeys.drop). From there on, all is of that key until the batch ends.
//
// Several cuts may be open: a checkpoint that was given up is let go of later, and a task
// that ends is frozen once more. A key that is written to one is written to all older ones
// that do not have it, for which it is the same.
type keyCut struct {
	op    *General
	done  uint64 // see keyState.saved
	keys  []*keyState
	older []*keyCut // that were open then: the reader writes to them, too

	released atomic.Bool
	mu       sync.Mutex // guards what is below: the operator and readers of younger cuts write here
	from     cellTables
	saved    []writtenKeys // by key group; taken when the group has been read
}

// cellTables are what the accumulators of keys are written from: the operator's, or views.
type cellTables struct{ panes, slices cellWriter }

type cellWriter interface {
	Write(w *state.Writer, slot int)
}

// liveTables are those of now.
func (o *General) liveTables() cellTables {
	if o.shared == nil {
		return cellTables{panes: o.table}
	}
	return cellTables{panes: o.table, slices: o.shared.cells}
}

// frozenTables are those of now for later.
func (o *General) frozenTables() cellTables {
	if o.shared == nil {
		return cellTables{panes: o.table.Freeze()}
	}
	return cellTables{panes: o.table.Freeze(), slices: o.shared.cells.Freeze()}
}

// freezeMemory begins a cut of the keys in memory.
func (o *General) freezeMemory() *keyCut {
	o.cuts++
	c := &keyCut{op: o, done: 2 * o.cuts, keys: make([]*keyState, 0, len(o.keys)), from: o.frozenTables(), saved: make([]writtenKeys, o.groups)}
	for _, k := range o.keys {
		c.keys = append(c.keys, k)
	}
	o.forgetCuts()
	c.older = slices.Clone(o.open)
	o.open, o.openDone = append(o.open, c), c.done
	return c
}

// forgetCuts forgets those that were let go of.
func (o *General) forgetCuts() {
	o.open = slices.DeleteFunc(o.open, func(c *keyCut) bool { return c.released.Load() })
	if o.openDone = 0; len(o.open) > 0 {
		o.openDone = o.open[len(o.open)-1].done
	}
}

// preserve has a key in the cuts that are open as it is, before it changes. Called per
// record.
func (o *General) preserve(k *keyState) {
	if k.saved.Load() < o.openDone {
		o.save(k)
	}
}

func (o *General) save(k *keyState) {
	o.forgetCuts()
	if was, mine := k.claim(o.openDone); mine {
		tell(o.open, k, was)
		k.saved.Store(o.openDone)
	}
}

// claim reports whether the caller is to write a key to the cut with a number, and which was
// the last one that has it; the caller sets that when it is done. If somebody else is about
// it, claim waits.
func (k *keyState) claim(done uint64) (was uint64, mine bool) {
	for {
		switch was = k.saved.Load(); {
		case was%2 != 0:
			runtime.Gosched()
		case was >= done:
			return was, false
		case k.saved.CompareAndSwap(was, done-1):
			return was, true
		}
	}
}

// put writes a key that is about to change.
func (c *keyCut) put(k *keyState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.saved != nil {
		c.op.writeKey(c.saved[c.op.groupOf(k.hash)].begin(k.key), k, c.from)
	}
}

// tell writes a key to the cuts that do not have it: was is the last that does.
func tell(cuts []*keyCut, k *keyState, was uint64) {
	for _, c := range cuts {
		if c.done > was {
			c.put(k)
		}
	}
}

// read begins to read. What it returns gives the keys of a group in order, until the next
// one is asked for.
func (c *keyCut) read() func(group int) *writtenKeys {
	groups := make([][]*keyState, c.op.groups)
	for _, k := range c.keys {
		g := c.op.groupOf(k.hash)
		if groups[g] == nil {
			groups[g] = make([]*keyState, 0, perGroup(len(c.keys), len(groups)))
		}
		groups[g] = append(groups[g], k)
	}
	c.keys = nil
	from, all := c.from, &writtenKeys{}
	return func(group int) *writtenKeys {
		all.reset()
		for _, k := range groups[group] {
			if was, mine := k.claim(c.done); mine {
				c.op.writeKey(all.begin(k.key), k, from)
				tell(c.older, k, was)
				k.saved.Store(c.done)
			}
		}
		groups[group] = nil
		saved := c.take(group)
		all.add(&saved)
		all.sort()
		return all
	}
}

// take gives away what was written of a group before it changed.
func (c *keyCut) take(group int) writtenKeys {
	c.mu.Lock()
	defer c.mu.Unlock()
	saved := c.saved[group]
	c.saved[group] = writtenKeys{}
	return saved
}

// release lets go of the cut: from here on nothing is written for it.
func (c *keyCut) release() {
	c.released.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys, c.older, c.from, c.saved = nil, nil, cellTables{}, nil
}
