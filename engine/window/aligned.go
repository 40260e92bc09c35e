package window

import (
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Config is what a windowed step is made of.
type Config struct {
	Windows     Assigner // tumbling windows, or days
	Lateness    stream.Time
	Key         []stream.Field
	DropNullKey bool
	Functions   []Function
	Process     *Process // nil: none
	Guard       *Guard   // nil: no plug-in is ever disabled
	Fine        bool     // see GeneralConfig: here it is what user code is shown
	Groups      int      // number of key groups, max_parallelism
	Spill       *Spill   // where cells go that there is no room for in memory; nil: all stay there
}

// Aligned runs event-time windows that lie end to end, tumbling ones and days, with the
// event-time trigger (S31, S33, S54) for the key groups of one subtask. One goroutine
// uses it: Process for each batch, Close once.
type Aligned struct {
	contents
	cfg     Config
	tiles   tiling
	last    stream.Window // of the record before: mostly that of the next one too
	windows buckets
	memory  *state.Memory // of their tables
	cold    *coldCells    // nil: all cells are in memory
}

// NewAligned makes an operator with empty state at watermark MIN (S7).
func NewAligned(cfg Config, out Output) (*Aligned, error) {
	o := &Aligned{cfg: cfg, tiles: tilingOf(cfg.Windows)}
	o.windows = buckets{lateness: cfg.Lateness, groups: cfg.Groups}
	o.attach(cfg.Process, cfg.Key, cfg.Fine, cfg.Guard, cfg.Groups)
	if err := o.init(cfg.Functions, cfg.Key, out); err != nil {
		return nil, err
	}
	o.memory = state.NewMemory(o.width, o.varying)
	if o.cold = newColdCells(o, cfg.Spill); o.cold != nil {
		o.process.spill(cfg.Spill, o.Bytes, o.groups)
	}
	return o, nil
}

// Panes counts (key, window) pairs with state.
func (o *Aligned) Panes() int64 { return o.windows.panes() + o.cold.filled() }

// Each calls f for every pane with contents.
func (o *Aligned) Each(f func(key []byte, w stream.Window)) {
	for _, b := range o.windows.open {
		for _, t := range b.tables {
			if t == nil {
				continue
			}
			for slot := range t.Len() {
				if t.Rows(slot) > 0 {
					f(t.Key(slot), b.window)
				}
			}
		}
	}
	o.cold.each(f)
}

// Process takes a batch of this subtask's rows, routed by key, each with the
// watermark that it is seen at, and then the batch's trailing watermark. It leaves
// nothing pending: all that the batch causes has been handed to Output.
func (o *Aligned) Process(b *stream.Batch) error {
	by := stepper(o)
	if b.Partial {
		by = partials{o, o.partial}
	}
	if err := o.run(b, by); err != nil {
		return err
	}
	return o.cold.shrink()
}

// partial takes a partial.
func (o *Aligned) partial(b *stream.Batch, i int) error {
	w := o.window(b.Time[i])
	if w.MaxTimestamp() <= o.wm {
		panic(errLatePartial)
	}
	table, slot, err := o.place(o.windows.find(w, o.wm), b.Hash[i], b.Key[i].Bytes(b.Blob))
	if err != nil {
		return err
	}
	return o.join(cell{table: table, slot: slot, window: w}, b, i)
}

// record judges one row and puts it into the segment (E1, E2).
func (o *Aligned) record(b *stream.Batch, i int) error {
	ts, key := b.Time[i], b.Key[i].Bytes(b.Blob)
	if o.cfg.DropNullKey && stream.KeyHasNull(key, o.cfg.Key) {
		o.ledger.Filtered++
		return nil
	}
	if ts == stream.MinTime {
		return fault.As(fault.ErrUser, ErrNoTimestamp)
	}
	if ts <= o.wm {
		o.ledger.Behind++
	}
	w := o.window(ts)
	if w.Cleanup(o.cfg.Lateness) <= o.wm { // S41; a record that is in one window is late with it (S42)
		o.ledger.Late++
		return o.out.Late(b, i, w, o.wm)
	}
	buck := o.windows.find(w, o.wm)
	table, slot, err := o.place(buck, b.Hash[i], key)
	if err != nil {
		return err
	}
	o.seg.add(uint32(i), cell{table: table, slot: slot, window: w})
	if w.MaxTimestamp() > o.wm {
		return nil
	}
	// Late but within the allowed lateness: the pane fires at once, with this record
	// and before the next (S43, S54).
	if err := o.flush(); err != nil {
		return err
	}
	if o.refused == i {
		return nil
	}
	o.ledger.LateAccepted++
	o.before = o.wm
	return o.fire([]cell{{table: table, slot: slot, window: w}})
}

// window returns the window of a record.
func (o *Aligned) window(ts stream.Time) stream.Window {
	if ts < o.last.Start || ts >= o.last.End {
		o.last = o.tiles.tile(ts)
	}
	return o.last
}

// place finds or makes the cell of a key in a window.
func (o *Aligned) place(b *bucket, hash uint64, key []byte) (*state.Cells, int, error) {
	table := o.tableOf(b, hash)
	if table.Full(len(key)) {
		return nil, 0, fault.As(fault.ErrQuota, fmt.Errorf("window %d..%d: the keys of one key group exceed 4 GiB; raise max_parallelism", b.window.Start, b.window.End))
	}
	known := table.Len()
	slot := table.Slot(hash, key, o.fresh)
	if o.cold != nil {
		if err := o.cold.asked(b, stream.KeyGroup(hash, o.cfg.Groups), table, slot, slot == known); err != nil {
			return nil, 0, err
		}
	}
	return table, slot, nil
}

func (o *Aligned) tableOf(b *bucket, hash uint64) *state.Cells {
	group := stream.KeyGroup(hash, o.cfg.Groups)
	if b.tables[group] == nil {
		b.tables[group] = o.memory.Table()
	}
	return b.tables[group]
}

// advance moves event time to w, which is above the current watermark: what is
// pending is added first, then windows fire in order of their ends, then the state of
// those past their lateness goes (S44, S68, S69).
func (o *Aligned) advance(w stream.Time) error {
	if w < o.windows.due() {
		o.wm = w
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	was := o.wm
	o.wm = w
	for buck := o.windows.nextToFire(w); buck != nil; buck = o.windows.nextToFire(w) {
		o.before = max(was, buck.window.MaxTimestamp()-1)
		if err := o.fireAll(buck); err != nil {
			return err
		}
	}
	for buck := o.windows.nextToClean(w); buck != nil; buck = o.windows.nextToClean(w) {
		if err := o.clean(buck); err != nil {
			return err
		}
	}
	return nil
}

// clean settles the ledger for a window whose state goes, with what a process function
// keeps of it, and leaves its memory to the next one.
func (o *Aligned) clean(buck *bucket) error {
	if o.process != nil {
		o.process.windows.close(buck.window.End)
	}
	for _, t := range buck.tables {
		if t == nil {
			continue
		}
		for slot := range t.Len() {
			o.settle(t, slot)
		}
	}
	o.memory.Drop(buck.tables)
	return o.cold.clean(buck)
}

var _ Operator = (*Aligned)(nil)
