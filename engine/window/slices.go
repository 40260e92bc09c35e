package window

import (
	"fmt"
	"math"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// SlicesConfig is what a step of sliding windows is made of.
type SlicesConfig struct {
	Size, Slide, Offset stream.Time
	Lateness            stream.Time
	Key                 []stream.Field
	DropNullKey         bool
	Functions           []Function // all of them OrderInsensitive
	Process             *Process   // nil: none
	Guard               *Guard     // nil: no plug-in is ever disabled
	Fine                bool       // see GeneralConfig: here it is what user code is shown
	Groups              int        // number of key groups, max_parallelism
}

// Slices runs sliding event-time windows with the event-time trigger (S32, S54) for the
// key groups of one subtask, and, without lateness, with a purging one, which is the
// same there. A record is added to one slice; windows are merged from slices (L1–L6).
//
//	slices_grid.go      numbers of windows, slices and blocks
//	slices_key.go       the slices of a key; the keys of a slice
//	slices_sums.go      sums over a block, up to a slice and from a slice on
//	slices_fire.go      windows to result rows, on time and late
//	slices_merge.go     many merges in one call, and who is to blame
//	slices_snapshot.go  state to bytes and back
//
// State is laid out by key: a key holds only the slices in which it has records, and a
// window that shares all of a key's slices with the one before it costs no merge. One
// goroutine uses it, as Operator says.
type Slices struct {
	contents
	merger
	cfg  SlicesConfig
	grid sliceGrid

	ended, closed int64       // the last window that the watermark has reached, and whose state is gone
	reach         int64       // the last slice that has entered: that of window ended
	lag           int64       // how many windows later than it ends a window closes
	due           stream.Time // the next watermark at which a window ends or closes

	// panes finds keys. A key's cell there is its window that was fired last, merged.
	panes *state.Cells
	keys  []sliceKey // by slot of panes
	live  int        // keys with slices
	cells *state.Cells
	sums  *state.Cells

	buckets sliceBuckets
	active  []uint32 // keys that have, or may have, slices in the window fired last
	stale   []uint32 // keys with slices that changed after they had entered; some twice
	pending int64    // the first slice that the segment holds rows of
	// revised holds, for windows past their end, how often a key's has fired, where that
	// is not once, at its end (L3).
	revised map[int64]map[uint32]uint32
	slides  int64

	// Working memory.
	batch   []merge
	settled []cell
	demands []demand
	climbs  []climb
}

// maxSlots bounds the slices of all keys of a subtask: a slot is a uint32, of which one
// value means none. The state budget ends long before.
const maxSlots = math.MaxUint32 - 1

// NewSlices makes an operator with empty state at watermark MIN (S7).
func NewSlices(cfg SlicesConfig, out Output) (*Slices, error) {
	grid, err := newSliceGrid(cfg.Size, cfg.Slide, cfg.Offset)
	if err != nil {
		return nil, err
	}
	if cfg.Lateness < 0 {
		return nil, fault.Userf("allowed lateness must not be negative, is %d ms", cfg.Lateness)
	}
	for _, f := range cfg.Functions {
		if !f.Agg.Info().OrderInsensitive {
			return nil, fault.Userf("aggregate %s depends on the order of its records: its windows cannot share slices (P2)", f.Name)
		}
	}
	o := &Slices{cfg: cfg, grid: grid, pending: math.MaxInt64, revised: map[int64]map[uint32]uint32{}}
	o.lag = min(int64(cfg.Lateness/cfg.Slide), 2*maxWindowNumber)
	if cfg.Lateness%cfg.Slide > 0 {
		o.lag++
	}
	o.attach(cfg.Process, cfg.Key, cfg.Fine, cfg.Guard, cfg.Groups)
	if err := o.init(cfg.Functions, cfg.Key, out); err != nil {
		return nil, err
	}
	o.merger = merger{contents: &o.contents, failed: map[sum]*udf.Failure{}, due: make([][]int, o.contents.varying)}
	o.panes = state.NewCells(o.contents.width, o.contents.varying)
	o.cells = state.NewCells(o.contents.width, o.contents.varying)
	o.sums = state.NewCells(o.contents.width, o.contents.varying)
	o.closed = grid.min - 1
	o.reachWindow(grid.min - 1)
	o.due = grid.due(o.ended, o.closed, cfg.Lateness)
	return o, nil
}

// Merges counts pairs of accumulators that were merged to make windows of slices. On
// time that is at most two for a slice, to add it to its block from either end, and one
// for a window: three a slide and key, five where a slide has two slices (L4).
func (o *Slices) Merges() int64 { return o.merges }

// Slides counts windows that were fired at their end, one for each key.
func (o *Slices) Slides() int64 { return o.slides }

// Process takes a batch, as that of Aligned does.
func (o *Slices) Process(b *stream.Batch) error {
	if b.Partial {
		return o.run(b, partials{o, o.partial})
	}
	return o.run(b, o)
}

// partial takes a partial.
func (o *Slices) partial(b *stream.Batch, i int) error {
	slice := o.grid.slice(b.Time[i])
	if slice <= o.reach {
		panic(errLatePartial)
	}
	id, at, err := o.place(b.Hash[i], b.Key[i].Bytes(b.Blob), slice)
	if err != nil {
		return err
	}
	_, last := o.grid.windows(slice)
	return o.join(cell{table: o.cells, slot: int(o.keys[id].cells[at].cell), window: o.grid.window(last)}, b, i)
}

// flush adds the rows of the segment to their slices.
func (o *Slices) flush() error {
	o.pending = math.MaxInt64
	return o.contents.flush()
}

// record judges one row and puts it into the segment. Called per record.
func (o *Slices) record(b *stream.Batch, i int) error {
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
	slice := o.grid.slice(ts)
	first, last := o.grid.windows(slice)
	if err := o.grid.check(slice, ts); err != nil {
		return err
	}
	if first > last || o.late(last) {
		return o.refuse(b, i, first, last)
	}
	id, at, err := o.place(b.Hash[i], key, slice)
	if err != nil {
		return err
	}
	k := &o.keys[id]
	o.seg.add(uint32(i), cell{table: o.cells, slot: int(k.cells[at].cell), window: o.grid.window(last)})
	o.pending = min(o.pending, slice)
	if slice > o.reach {
		return nil
	}
	// Behind the watermark, but a window that is still to end holds it, or one within the
	// allowed lateness. The latter fire at once, before the next record (S43).
	if k.staleFrom == noSlice {
		o.stale = append(o.stale, id)
	}
	k.change(slice)
	o.activate(id)
	first = max(first, o.closed+1)
	if first > o.ended {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	if o.refused == i {
		return nil
	}
	o.ledger.LateAccepted++
	o.before = o.wm
	return o.fireLate(id, first, min(last, o.ended))
}

// late reports whether a window takes no record any more (S41).
func (o *Slices) late(k int64) bool { return k <= o.closed || o.wm == stream.MaxTime }

// refuse accounts for a record that no window takes, be it that there is none or that the
// last of those that would is late. Then the record is late by its own time too (S42),
// but for one at the very end of time, where windows are cut off.
func (o *Slices) refuse(b *stream.Batch, i int, first, last int64) error {
	if b.Time[i].Add(o.cfg.Lateness) > o.wm {
		o.ledger.NoWindow++
		return nil
	}
	w := stream.Global
	if first <= last {
		w = o.grid.window(last)
	}
	o.ledger.Late++
	return o.out.Late(b, i, w, o.wm)
}

// place finds or makes the slice of a key.
func (o *Slices) place(hash uint64, key []byte, slice int64) (id uint32, at int, err error) {
	slot := o.panes.Slot(hash, key, o.fresh)
	id = uint32(slot)
	if slot == len(o.keys) {
		o.keys = append(o.keys, *newSliceKey())
	}
	k := &o.keys[id]
	at, ok := k.find(slice)
	if ok {
		return id, at, nil
	}
	if o.panes.Full(len(key)) || o.cells.Len() >= maxSlots || o.sums.Len() >= maxSlots-1 {
		return id, at, fault.As(fault.ErrQuota, fmt.Errorf("the keys and slices of one subtask exceed 4 Gi; raise parallelism"))
	}
	if len(k.cells) == 0 {
		o.live++
	}
	entered := slice <= o.reach
	k.insert(at, sliceCell{slice: slice, cell: uint32(o.cells.Alloc(o.fresh)), prefix: noSum, suffix: noSum}, entered, o.grid.per*o.ended)
	o.buckets.add(slice, id, entered)
	return id, at, nil
}

func (o *Slices) activate(id uint32) {
	if k := &o.keys[id]; !k.active {
		k.active = true
		o.active = append(o.active, id)
	}
}

// advance moves event time to w, which is above the current watermark: windows fire in
// order of their ends, and the state of those past their lateness goes (S44, S68, S69).
// Windows in which no key has records are stepped over.
func (o *Slices) advance(w stream.Time) error {
	was := o.wm
	o.wm = w
	if w < o.due {
		return nil
	}
	ended, closed := o.grid.ended(w), o.grid.closed(w, o.cfg.Lateness)
	for o.ended < ended {
		k := o.ended + 1
		if len(o.active) == 0 {
			slice, ok := o.buckets.pending()
			if !ok {
				break
			}
			if k, _ = o.grid.windows(slice); k > ended {
				break
			}
		}
		o.before = max(was, o.grid.window(k).MaxTimestamp()-1)
		if err := o.fireWindow(k); err != nil {
			return err
		}
		o.reachWindow(k)
		o.clean(min(closed, k-o.lag))
	}
	o.reachWindow(ended)
	o.clean(closed)
	o.compact()
	o.due = o.grid.due(o.ended, o.closed, o.cfg.Lateness)
	return nil
}

// reachWindow notes the last window that has ended.
func (o *Slices) reachWindow(k int64) {
	o.ended = k
	_, o.reach = o.grid.bounds(k)
}

// clean drops the slices that no window behind k holds, and settles the ledger for their
// records (L2): all of them were in a window that has fired. Where a result was refused
// that is not known slice by slice, and they count as fired all the same.
func (o *Slices) clean(k int64) {
	if k <= o.closed {
		return
	}
	if o.process != nil {
		o.process.windows.close(o.grid.window(k).End)
	}
	for {
		b, ok := o.buckets.leave(o.grid.per*k + o.grid.per - 1)
		if !ok {
			break
		}
		for _, id := range b.ids {
			cells := o.keys[id].cells
			if len(cells) == 0 || cells[0].slice != b.slice {
				continue // taken back
			}
			n := int64(o.cells.Rows(int(cells[0].cell)))
			o.ledger.Open -= n
			if o.single() && o.cells.Fired(int(cells[0].cell)) == 0 {
				o.ledger.Unfired += n
			} else {
				o.ledger.Fired += n
			}
			o.drop(id, 0)
		}
		o.buckets.spare = append(o.buckets.spare, b.ids[:0])
	}
	if k-o.closed < int64(len(o.revised)) {
		for w := o.closed + 1; w <= k; w++ {
			delete(o.revised, w)
		}
	} else {
		for w := range o.revised {
			if w <= k {
				delete(o.revised, w)
			}
		}
	}
	o.closed = k
}

// single reports whether a window is one slice and a slice in one window. Its result may
// have failed, so that it did not fire; the slice's own count of firings tells.
func (o *Slices) single() bool { return o.grid.count == 1 }

// drop takes a slice from a key.
func (o *Slices) drop(id uint32, at int) {
	k := &o.keys[id]
	c := k.cells[at]
	o.free(sum{o.cells, c.cell})
	for _, slot := range [...]uint32{c.prefix, c.suffix} {
		if slot != noSum {
			o.free(sum{o.sums, slot})
		}
	}
	k.remove(at)
	if len(k.cells) > 0 {
		return
	}
	o.live--
	o.mark(sum{o.panes, id}, nil)
	o.panes.Clear(int(id), o.fresh)
	k.from, k.to, k.staleFrom, k.staleTo = noSlice, noSlice, noSlice, noSlice
}

// spareKeys is how many keys without slices may stay known, so that few keys that come
// and go cost nothing.
const spareKeys = 1024

// compact forgets keys without slices once they are as many as the others: the table of
// keys has no deletion.
func (o *Slices) compact() {
	if dead := len(o.keys) - o.live; dead <= spareKeys || dead <= o.live {
		return
	}
	old, ids := o.panes, make([]uint32, len(o.keys))
	o.panes = state.NewCells(o.contents.width, o.contents.varying)
	keys := make([]sliceKey, 0, o.live)
	failed := map[sum]*udf.Failure{}
	for s, f := range o.failed {
		if s.table != old {
			failed[s] = f
		}
	}
	for id, k := range o.keys {
		ids[id] = noSum
		if len(k.cells) == 0 {
			continue
		}
		key := old.Key(id)
		ids[id] = uint32(o.panes.Slot(stream.KeyHash(key), key, o.fresh))
		to, from := sum{o.panes, ids[id]}, sum{old, uint32(id)}
		o.copy(to, from)
		if f := o.failed[from]; f != nil {
			failed[to] = f
		}
		keys = append(keys, k)
	}
	o.keys, o.failed = keys, failed
	o.active, o.stale = renumber(o.active, ids), renumber(o.stale, ids)
	for i := range o.buckets.known {
		b := &o.buckets.known[i]
		b.ids = renumber(b.ids, ids)
	}
	for w, firings := range o.revised {
		moved := make(map[uint32]uint32, len(firings))
		for id, n := range firings {
			if ids[id] != noSum {
				moved[ids[id]] = n
			}
		}
		o.revised[w] = moved
	}
}

// renumber replaces ids in place and leaves out those that are gone.
func renumber(list, ids []uint32) []uint32 {
	n := 0
	for _, id := range list {
		if ids[id] != noSum {
			list[n] = ids[id]
			n++
		}
	}
	return list[:n]
}

var _ Operator = (*Slices)(nil)
