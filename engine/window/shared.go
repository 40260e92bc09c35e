package window

import (
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// shared is the contents of overlapping windows whose trigger decides for each key and
// window (L5, L7). The general operator calls the trigger, keeps timers and counts the
// records and firings of each pane; accumulators are those of slices, to one of which a
// record is added, however many windows hold it.
//
// A firing reads: the slices of the block that the window begins in are merged from the
// last one downwards, those of the next block upwards, and then the two (L4). Which
// slices a sum is made of, and in which shape, follows from the window and from which
// slices there are: it is the same with and without firings before, and after a restore.
// (Only where accumulators vary in size do partials depend on where segments ended, here
// as in any pane.) Sums are kept for the next reader until a record is added to one of
// their slices.
type shared struct {
	merger
	grid  sliceGrid
	cells *state.Cells // records of slices
	sums  *state.Cells

	// window is the slot of sums that has the last window of two blocks that was read,
	// and of whom. Neighbours often hold the same slices: a firing of many windows of a key
	// that has records in few slices merges little.
	window uint32
	of     *sliceKey
	one    [1]merge // scratch
	cell   [1]cell
}

// newSharing makes a general operator whose panes share slices.
func newSharing(s Spec, out Output) (*General, error) {
	g := s.Assigner.(*grid)
	numbers, err := newSliceGrid(g.size, g.slide, g.offset)
	if err != nil {
		return nil, err
	}
	o, err := NewGeneral(s.GeneralConfig, out)
	if err != nil {
		return nil, err
	}
	h := &shared{grid: numbers, cells: o.table, sums: state.NewCells(o.width, o.varying)}
	h.merger = merger{contents: &o.contents, failed: map[sum]*udf.Failure{}, due: make([][]int, o.varying)}
	h.window = uint32(h.sums.Alloc(o.fresh))
	o.shared, o.table = h, state.NewCells(0, 0)
	return o, nil
}

// place returns the slot of the slice that holds ts, making it if it is new.
func (h *shared) place(k *keyState, ts stream.Time) (slot uint32, err error) {
	slice := h.grid.slice(ts)
	if err := h.grid.check(slice, ts); err != nil {
		return 0, err
	}
	if k.slices == nil {
		k.slices = newSliceKey()
	}
	at, ok := k.slices.find(slice)
	if !ok {
		if h.cells.Len() >= maxSlots || h.sums.Len() >= maxSlots-1 {
			return 0, fault.As(fault.ErrQuota, fmt.Errorf("the slices of one subtask exceed 4 Gi; raise parallelism"))
		}
		k.slices.insert(at, sliceCell{slice: slice, cell: uint32(h.cells.Alloc(h.fresh)), prefix: noSum, suffix: noSum}, true, noSlice)
	}
	k.slices.change(slice)
	return k.slices.cells[at].cell, nil
}

// slots are those of the slice that holds ts, none if there is no such slice.
func (h *shared) slots(k *keyState, ts stream.Time) []int {
	if k.slices != nil {
		if at, ok := k.slices.find(h.grid.slice(ts)); ok {
			return []int{int(k.slices.cells[at].cell)}
		}
	}
	return nil
}

// number is that of a window.
func (h *shared) number(w stream.Window) int64 {
	n, _ := h.grid.divide(w.Start)
	return n
}

// read returns the sum of a window's slices, which may be marked as failed; ok is false
// where there are none.
func (h *shared) read(k *sliceKey, w int64) (s sum, ok bool, err error) {
	h.refresh(k)
	lo, hi := h.grid.bounds(w)
	i, _ := k.search(0, len(k.cells), lo)
	j, _ := k.search(i, len(k.cells), hi+1)
	if i == j {
		return sum{}, false, nil
	}
	middle := i
	if block := h.grid.block(lo); block < lo { // the window begins inside it
		middle, _ = k.search(i, j, block+h.grid.count)
	}
	switch {
	case middle == j:
		s, err = h.suffix(k, i, j)
		return s, true, err
	case i == middle:
		s, err = h.prefix(k, i, j-1)
		return s, true, err
	}
	to := sum{h.sums, h.window}
	from, until := k.cells[i].slice, k.cells[j-1].slice
	if h.of == k && k.from == from && k.to == until {
		return to, true, nil
	}
	head, err := h.suffix(k, i, middle)
	if err != nil {
		return head, true, err
	}
	tail, err := h.prefix(k, middle, j-1)
	if err != nil {
		return tail, true, err
	}
	h.of, k.from, k.to = k, from, until
	return to, true, h.join(head, tail, to)
}

// refresh drops the sums with slices that have changed.
func (h *shared) refresh(k *sliceKey) {
	from, to := k.staleFrom, k.staleTo
	if from == noSlice {
		return
	}
	k.from, k.to, k.staleFrom, k.staleTo = noSlice, noSlice, noSlice, noSlice
	at, _ := k.search(0, len(k.cells), h.grid.block(from))
	for end := h.grid.block(to) + h.grid.count; k.inBlock(at, end); at++ {
		c := &k.cells[at]
		if c.slice <= to {
			h.release(&c.suffix)
		}
		if c.slice >= from {
			h.release(&c.prefix)
		}
	}
}

func (h *shared) release(slot *uint32) {
	if *slot != noSum {
		h.free(sum{h.sums, *slot})
		*slot = noSum
	}
}

// suffix is the sum of cells[i:end], which are the last ones of a block.
func (h *shared) suffix(k *sliceKey, i, end int) (sum, error) {
	if i+1 == end {
		return h.slice(&k.cells[i])
	}
	at := i
	for at < end-1 && k.cells[at].suffix == noSum {
		at++
	}
	behind, err := h.slice(&k.cells[end-1])
	if at < end-1 {
		behind = sum{h.sums, k.cells[at].suffix}
	}
	for at--; at >= i && err == nil; at-- {
		c := &k.cells[at]
		behind, err = h.extend(c, behind, &c.suffix, true)
	}
	return behind, err
}

// prefix is the sum of cells[begin:last+1], which are the first ones of a block.
func (h *shared) prefix(k *sliceKey, begin, last int) (sum, error) {
	if begin == last {
		return h.slice(&k.cells[last])
	}
	at := last
	for at > begin && k.cells[at].prefix == noSum {
		at--
	}
	before, err := h.slice(&k.cells[begin])
	if at > begin {
		before = sum{h.sums, k.cells[at].prefix}
	}
	for at++; at <= last && err == nil; at++ {
		c := &k.cells[at]
		before, err = h.extend(c, before, &c.prefix, false)
	}
	return before, err
}

// extend makes a sum of a slice and what comes behind or before it, and notes its slot.
func (h *shared) extend(c *sliceCell, by sum, slot *uint32, behind bool) (sum, error) {
	own, err := h.slice(c)
	if err != nil {
		return own, err
	}
	*slot = uint32(h.sums.Alloc(h.fresh))
	to := sum{h.sums, *slot}
	if behind {
		return to, h.join(own, by, to)
	}
	return to, h.join(by, own, to)
}

// slice is the sum of a slice's records, its partials merged.
func (h *shared) slice(c *sliceCell) (sum, error) {
	s := sum{h.cells, c.cell}
	if h.varying == 0 {
		return s, nil
	}
	h.cell[0] = cell{table: s.table, slot: int(s.slot)}
	return s, h.settle(h.cell[:])
}

// join merges two sums, of which into's slices came first.
func (h *shared) join(into, from, to sum) error {
	h.one[0] = merge{into, from, to}
	return h.merge(h.one[:])
}

// drop drops the slices that no window of a key behind w holds.
func (h *shared) drop(k *sliceKey, w int64) {
	for len(k.cells) > 0 {
		c := &k.cells[0]
		if _, last := h.grid.windows(c.slice); last > w {
			return
		}
		h.free(sum{h.cells, c.cell})
		h.release(&c.prefix)
		h.release(&c.suffix)
		k.remove(0)
	}
}

// fireShared emits a pane from its slices. It has none only if its trigger deleted the
// timer of its cleanup, which may be its own, and set another one: slices go with the
// windows behind it.
func (o *General) fireShared(f *firing) error {
	p := f.pane
	s, ok, err := o.shared.read(p.owner.slices, o.shared.number(p.window))
	if err != nil || !ok {
		return err
	}
	if failed := o.shared.failed[s]; failed != nil {
		return o.refusePane(f.cell(), failed)
	}
	slot := int(s.slot)
	s.table.SetFired(slot, o.table.Fired(p.slot))
	cells := append(o.emitter.cells[:0], cell{table: s.table, slot: slot, window: p.window, pane: p, firing: f})
	o.emitter.cells = cells
	err = o.fire(cells)
	o.table.SetFired(p.slot, s.table.Fired(slot))
	s.table.SetFired(slot, 0)
	return err
}

func writeSlices(w *state.Writer, k *sliceKey, from cellWriter) {
	if k == nil {
		w.Len(0)
		return
	}
	w.Len(len(k.cells))
	for _, c := range k.cells {
		w.I64(c.slice)
		from.Write(w, int(c.cell))
	}
}

func (h *shared) readKey(r *state.Reader) *sliceKey {
	k := newSliceKey()
	before := int64(noSlice)
	for range r.Len() {
		slice := r.I64()
		first, last := h.grid.windows(slice)
		if slice <= before || first > last || last > h.grid.max {
			r.Fail(errSlices)
			return nil
		}
		before = slice
		slot := h.cells.Alloc(h.fresh)
		r.Cell(h.cells, slot)
		k.insert(len(k.cells), sliceCell{slice: slice, cell: uint32(slot), prefix: noSum, suffix: noSum}, true, noSlice)
	}
	return k
}

// shares reports whether windows may share slices under a trigger that decides for each
// of them (P2).
func (s *Spec) shares() bool {
	g, aligned := s.Assigner.(*grid)
	return aligned && !g.clock && g.slide < g.size && s.Evictor == nil && !s.Join && !s.needsRecords() &&
		!s.Trigger.MayPurge() && !trigger.IsEventTime(s.Trigger) && s.shareable()
}

const (
	// manyWindows is how many windows must hold a record before adding it once saves more
	// than the merges of firings cost.
	manyWindows = 8
	// fewRecords is between how many records of a window a trigger fires too often for
	// that: each firing merges what came since the last one into most of a block.
	fewRecords = 16
)

// sharingPays reports whether windows that may share slices should. Both constants are
// from BenchmarkSharing. Where refused records are set aside each one is tried first, with
// panes in every window: then it pays in any case.
func (s *Spec) sharingPays() bool {
	g := s.Assigner.(*grid)
	n, counts := trigger.Records(s.Trigger)
	return s.SetAside || g.size/g.slide >= manyWindows && !(counts && n < fewRecords)
}
