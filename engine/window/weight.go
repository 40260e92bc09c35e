package window

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// What the state of an operator weighs. Bytes is asked for after each batch and adds up a
// few numbers that are kept anyhow; Weigh walks through all of it, once, when a job has
// more than it may (K8). Tables and lists know their bytes; the rest is counted in pieces
// of the sizes below.

// Bytes of what is kept beside accumulators and lists, with the share of maps, slices and
// timers that lead to it.
const (
	paneBytes     = 400 // a pane of the general operator
	keyBytes      = 250 // a key of it
	sliceKeyBytes = 140 // a key of a slice operator, or of a count operator
	sliceBytes    = 32  // a slice of a key, and its place in a bucket
	sessionBytes  = 56  // where a session lies, and its alarm
	stateBytes    = 150 // state that a process function keeps of a key, beside key and data
)

// Weigher hears of pieces of state: the key, the window that it is of, and its bytes. Where
// windows share slices, w is the span of a slice. key is borrowed.
type Weigher = func(key []byte, w stream.Window, bytes int64)

// Spilled implements Operator, where nothing is ever on disk.
func (o *contents) Spilled() SpilledState { return SpilledState{} }

// Bytes implements Operator.
func (o *Aligned) Bytes() int64 { return o.memory.Bytes() + o.process.bytes() }

// Weigh implements Operator.
func (o *Aligned) Weigh(f Weigher) {
	for _, b := range o.windows.open {
		for _, t := range b.tables {
			if t == nil {
				continue
			}
			for slot := range t.Len() {
				f(t.Key(slot), b.window, t.BytesOf(slot))
			}
		}
	}
	o.process.weigh(f)
}

// Bytes implements Operator.
func (o *Slices) Bytes() int64 {
	return tables(o.panes, o.cells, o.sums) + sliceKeyBytes*int64(len(o.keys)) + sliceBytes*int64(o.cells.Used()) + o.process.bytes()
}

// Weigh implements Operator.
func (o *Slices) Weigh(f Weigher) {
	for id := range o.keys {
		key := o.panes.Key(id)
		f(key, stream.Global, sliceKeyBytes+o.panes.BytesOf(id))
		weighSlices(key, &o.keys[id], &o.grid, o.cells, o.sums, f)
	}
	o.process.weigh(f)
}

// Bytes is about what a sender holds of records that are added up.
func (l *Local) Bytes() int64 { return l.cells.Memory().Bytes() }

// weighSlices weighs the slices of a key.
func weighSlices(key []byte, k *sliceKey, g *sliceGrid, cells, sums *state.Cells, f Weigher) {
	for _, c := range k.cells {
		n := sliceBytes + cells.BytesOf(int(c.cell))
		for _, slot := range [...]uint32{c.prefix, c.suffix} {
			if slot != noSum {
				n += sums.BytesOf(int(slot))
			}
		}
		f(key, g.span(c.slice), n)
	}
}

// Bytes implements Operator.
func (o *Counts) Bytes() int64 {
	return tables(o.panes, o.cells) + sliceKeyBytes*int64(len(o.keys)) + 4*int64(o.cells.Used()) + o.process.bytes()
}

// Weigh implements Operator.
func (o *Counts) Weigh(f Weigher) {
	for id := range o.keys {
		n := sliceKeyBytes + o.panes.BytesOf(id)
		for _, slot := range o.keys[id].ring {
			n += 4 + o.cells.BytesOf(int(slot))
		}
		f(o.panes.Key(id), stream.Global, n)
	}
	o.process.weigh(f)
}

// Bytes implements Operator.
func (o *General) Bytes() int64 {
	n := o.listed + o.table.Memory().Bytes() + keyBytes*int64(len(o.keys)) + paneBytes*int64(o.table.Used()) + o.process.bytes()
	if h := o.shared; h != nil {
		n += tables(h.cells, h.sums) + sliceBytes*int64(h.cells.Used())
	}
	return n
}

// Weigh implements Operator.
func (o *General) Weigh(f Weigher) {
	for _, k := range o.keys {
		for _, p := range k.panes {
			n := paneBytes + p.elements.bytes()
			if p.slot >= 0 {
				n += o.table.BytesOf(p.slot)
			}
			f(k.key, p.window, n)
		}
		if h := o.shared; h != nil && k.slices != nil {
			weighSlices(k.key, k.slices, &h.grid, h.cells, h.sums, f)
		}
	}
	o.process.weigh(f)
}

// Bytes implements Operator.
func (o *Sessions) Bytes() int64 {
	return tables(o.keys, o.cells) + 4*int64(len(o.newest)) + sessionBytes*int64(o.cells.Len()) + o.process.bytes()
}

// Weigh implements Operator.
func (o *Sessions) Weigh(f Weigher) {
	for id := range o.newest {
		f(o.keys.Key(id), stream.Global, 4+o.keys.BytesOf(id))
	}
	o.each(func(slot uint32) {
		s := &o.intervals[slot]
		f(o.keys.Key(int(s.key)), s.window, sessionBytes+o.cells.BytesOf(int(slot)))
	})
	o.process.weigh(f)
}

// setElements gives a pane another list, nil for none.
func (o *General) setElements(p *pane, l *elements) {
	o.listed += l.bytes() - p.elements.bytes()
	p.elements = l
}

// tables adds up what tables hold that have memory of their own.
func tables(all ...*state.Cells) int64 {
	n := int64(0)
	for _, t := range all {
		n += t.Memory().Bytes()
	}
	return n
}

// bytes is what a process function keeps.
func (p *processor) bytes() int64 {
	if p == nil {
		return 0
	}
	return p.keys.size + p.windows.size
}

// weigh weighs what a process function keeps.
func (p *processor) weigh(f Weigher) {
	if p == nil {
		return
	}
	for _, k := range p.keys.byKey {
		f([]byte(k.key), stream.Global, k.bytes())
	}
	for w, keys := range p.windows.of {
		for _, k := range keys {
			f([]byte(k.key), w, k.bytes())
		}
	}
}
