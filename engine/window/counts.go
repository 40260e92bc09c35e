package window

import (
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// CountsConfig is what a step of sliding count windows is made of.
type CountsConfig struct {
	Size, Slide int64 // in records, both at least 1
	Key         []stream.Field
	DropNullKey bool
	Functions   []Function // all of them with accumulators of fixed size
	Process     *Process   // nil: none
	Guard       *Guard     // nil: no plug-in is ever disabled
	Fine        bool       // see GeneralConfig: here it is what user code is shown
	Groups      int        // number of key groups, max_parallelism
}

// Counts runs sliding count windows (S82) for the key groups of one subtask: every
// slide records of a key, what its last size records give. A record is added to one
// slice, and a window is merged from slices (L9).
//
//	counts_grid.go      numbers of slices and blocks
//	counts_snapshot.go  state to bytes and back
//
// A window is the end of one block of slices and the beginning of the next. A key keeps
// a ring of as many slices as a window has, and one sum more:
//
//	ring    |  0  |  1  |  2  |  3  |  4  |  5  |  6  |
//	        |---- this block -------|- the one before -|
//	         a slice each      open  each the sum from there to the end of its block
//	prefix  |---------------->|
//
// The window that ends with slice 2 is the sum at 3 and the prefix. The place is then
// free for the slice that comes, since later windows begin behind it. When the ring is
// full the window is the whole block, and its slices become sums from the end of the
// block downwards, each in its place. That is one merge for a slice in either direction
// and one for a window, however many slices a window has; merging all of them at each
// firing would be cheaper only where there are three or less. Which records a sum is made
// of, and in which shape, depends on their numbers within the key alone: floats are the
// same at any batch size and parallelism. The sums are state, so a restore gives them
// back as they were.
//
// Sums stand in order of arrival, so functions may mind it. Their accumulators must be of
// fixed size: others grow with their records, and as sums over a block they would hold
// each of them as often as the block has slices.
type Counts struct {
	contents
	merger
	cfg  CountsConfig
	grid countGrid

	// panes finds keys. A key's cell there is its window that was fired last, merged.
	panes *state.Cells
	keys  []countKey // by slot of panes
	cells *state.Cells

	one [1]merge // scratch
}

// countKey is what the operator knows of one key. Slots are those of Counts.cells.
type countKey struct {
	slice  int64    // the open one
	room   int64    // how many records it still takes; records may be refused that wait to be added
	ring   []uint32 // by place in the block; grows up to the first block's end
	prefix uint32   // this block's slices but for the open one, from its second slice on
}

// NewCounts makes an operator with empty state at watermark MIN (S7).
func NewCounts(cfg CountsConfig, out Output) (*Counts, error) {
	if cfg.Size < 1 || cfg.Slide < 1 {
		return nil, fault.Userf("a count window holds and slides by at least one record, not %d and %d", cfg.Size, cfg.Slide)
	}
	for _, f := range cfg.Functions {
		if f.Agg.Info().Width == 0 {
			return nil, fault.Userf("aggregate %s has accumulators of varying size: its windows cannot share sums (L9)", f.Name)
		}
	}
	o := &Counts{cfg: cfg, grid: newCountGrid(cfg.Size, cfg.Slide)}
	o.attach(cfg.Process, cfg.Key, cfg.Fine, cfg.Guard, cfg.Groups)
	if err := o.init(cfg.Functions, cfg.Key, out); err != nil {
		return nil, err
	}
	o.merger = merger{contents: &o.contents, failed: map[sum]*udf.Failure{}}
	o.panes = state.NewCells(o.contents.width, 0)
	o.cells = state.NewCells(o.contents.width, 0)
	return o, nil
}

// Merges counts pairs of accumulators that were merged to make windows of slices.
func (o *Counts) Merges() int64 { return o.merges }

// Process takes a batch, as that of Aligned does.
func (o *Counts) Process(b *stream.Batch) error { return o.run(b, o) }

// advance sets the watermark. Nothing waits for it (S80).
func (o *Counts) advance(w stream.Time) error {
	o.wm = w
	return nil
}

// record puts one row into its slice, and completes that if it is full. A record that is
// refused takes no room: how much there is is known once the segment has been added.
func (o *Counts) record(b *stream.Batch, i int) error {
	key := b.Key[i].Bytes(b.Blob)
	if o.cfg.DropNullKey && stream.KeyHasNull(key, o.cfg.Key) {
		o.ledger.Filtered++
		return nil
	}
	id, err := o.find(b.Hash[i], key)
	if err != nil {
		return err
	}
	k := &o.keys[id]
	o.seg.add(uint32(i), cell{table: o.cells, slot: int(o.open(k)), window: stream.Global})
	if k.room--; k.room > 0 {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	if k.room = o.left(k); k.room > 0 {
		return nil
	}
	return o.complete(id)
}

// find finds or makes a key.
func (o *Counts) find(hash uint64, key []byte) (id uint32, err error) {
	if o.panes.Full(len(key)) || o.cells.Len() >= maxSlots-2 {
		return 0, fault.As(fault.ErrQuota, fmt.Errorf("the keys and slices of one subtask exceed 4 Gi; raise parallelism"))
	}
	id = uint32(o.panes.Slot(hash, key, o.fresh))
	if int(id) == len(o.keys) {
		o.keys = append(o.keys, countKey{room: o.grid.length(0), prefix: o.alloc(), ring: []uint32{o.alloc()}})
	}
	return id, nil
}

func (o *Counts) alloc() uint32 { return uint32(o.cells.Alloc(o.fresh)) }

// open is the slot of a key's open slice.
func (o *Counts) open(k *countKey) uint32 { return k.ring[o.grid.place(k.slice)] }

// left is how many records the open slice still takes, when none waits to be added.
func (o *Counts) left(k *countKey) int64 {
	return o.grid.length(k.slice) - int64(o.cells.Rows(int(o.open(k))))
}

// complete closes the open slice of a key, which is full, and opens the next.
func (o *Counts) complete(id uint32) error {
	k := &o.keys[id]
	at := o.grid.place(k.slice)
	full, prefix := sum{o.cells, k.ring[at]}, sum{o.cells, k.prefix}
	if at == 0 {
		o.copy(prefix, full)
	} else if err := o.join(prefix, full, prefix); err != nil {
		return err
	}
	if o.grid.ends(k.slice) {
		if err := o.fireWindow(id, at); err != nil {
			return err
		}
	}
	if at == o.grid.count-1 {
		for p := at - 1; p >= 0; p-- {
			c := sum{o.cells, k.ring[p]}
			if err := o.join(c, sum{o.cells, k.ring[p+1]}, c); err != nil {
				return err
			}
		}
	}
	k.slice++
	k.room = o.grid.length(k.slice)
	if at = o.grid.place(k.slice); at == int64(len(k.ring)) {
		k.ring = append(k.ring, o.alloc())
		return nil
	}
	o.mark(sum{o.cells, k.ring[at]}, nil)
	o.cells.Clear(int(k.ring[at]), o.fresh)
	return nil
}

// join merges two sums, of which into's records came first.
func (o *Counts) join(into, from, to sum) error {
	o.one[0] = merge{into, from, to}
	return o.merge(o.one[:])
}

// fireWindow emits the window that ends with the slice at a place of the key's block.
func (o *Counts) fireWindow(id uint32, at int64) error {
	k := &o.keys[id]
	pane, prefix := sum{o.panes, id}, sum{o.cells, k.prefix}
	if at == o.grid.count-1 || k.slice < o.grid.count { // a block, or all that there has been
		o.copy(pane, prefix)
	} else if err := o.join(sum{o.cells, k.ring[at+1]}, prefix, pane); err != nil {
		return err
	}
	o.before = o.wm
	if f := o.failed[pane]; f != nil {
		return o.out.RefusedPane(o.panes.Key(int(id)), stream.Global, f)
	}
	return o.fire([]cell{{table: o.panes, slot: int(id), window: stream.Global}})
}

// filled reports whether a key has records: all that came may have been refused.
func (o *Counts) filled(k *countKey) bool { return k.slice > 0 || o.cells.Rows(int(o.open(k))) > 0 }

// Panes counts keys with contents.
func (o *Counts) Panes() int64 {
	n := int64(0)
	o.Each(func([]byte, stream.Window) { n++ })
	return n
}

// Each calls f for every key with contents.
func (o *Counts) Each(f func(key []byte, w stream.Window)) {
	for id := range o.keys {
		if o.filled(&o.keys[id]) {
			f(o.panes.Key(id), stream.Global)
		}
	}
}

var _ Operator = (*Counts)(nil)
