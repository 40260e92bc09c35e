package window

import (
	"errors"
	"fmt"

	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// cell is the accumulators of a pane: a slot of a table.
type cell struct {
	table  *state.Cells
	slot   int
	window stream.Window
	pane   *pane   // of the general operator
	firing *firing // where the cell is to be fired with others that see other times
}

func (c *cell) key() []byte {
	switch {
	case c.pane != nil:
		return c.pane.owner.key
	case c.firing != nil:
		return c.firing.session.key
	}
	return c.table.Key(c.slot)
}

// segment is a run of accepted rows between two firings, with the cells that they go
// into numbered densely: these numbers are the groups of the functions' calls.
type segment struct {
	batch *stream.Batch
	rows  []uint32 // rows of the batch, ascending
	group []uint32 // for each, the index of its cell
	cells []cell
	count []uint64 // for each cell, how many of the rows are its own
}

func (s *segment) start(b *stream.Batch) {
	s.batch = b
	s.clear()
}

func (s *segment) clear() {
	s.rows, s.group, s.cells, s.count = s.rows[:0], s.group[:0], s.cells[:0], s.count[:0]
}

// add puts a row into a cell. A cell's Mark remembers its number; it is right only if
// the cell at that number is this one, so marks never need clearing.
func (s *segment) add(row uint32, c cell) { s.put(row, s.number(c)) }

// put adds a row to the cell with a number.
func (s *segment) put(row, number uint32) {
	s.rows = append(s.rows, row)
	s.group = append(s.group, number)
	s.count[number]++
}

// open gives a cell that has no number the next one.
func (s *segment) open(c cell) uint32 {
	s.cells = append(s.cells, c)
	s.count = append(s.count, 0)
	return uint32(len(s.cells) - 1)
}

// contents is what the operators of this package share: the functions of a step, the
// segment that waits to be added, and the way from panes to result rows.
type contents struct {
	out     Output
	wm      stream.Time // the operator's event time
	fns     []function
	width   int    // of a cell's fixed accumulators together
	varying int    // number of functions whose accumulators vary in size
	fresh   []byte // a cell's accumulators before the first record
	lists   bool   // functions are run over lists of records: cells have counts, and no accumulators

	seg     segment
	refused int // row of the current batch that was set aside last, -1: none
	counted int // row of the current batch that was counted last, -1: none
	ledger  Ledger
	emitter emitter

	// compute makes the results of firings: what the functions give for accumulators, or
	// for lists. A failure comes with the cell that it happened in, or -1.
	compute  func(cells []cell, r *result.Rows) (f *udf.Failure, at int, err error)
	groups   int         // key groups: at least 1
	arrivals uint64      // records that went into lists: the number of the last one
	guard    *Guard      // nil: no plug-in is ever disabled
	refusing *firing     // whose refusal is told just now; nil: it is of now
	process  *processor  // nil: each firing gives one row of the functions' results
	now      stream.Time // processing time
	fine     bool        // see GeneralConfig

	// before is the watermark that precedes what fires now, for those who read the rows
	// (result.Rows.Before): for a timer just short of its time, however far the watermark
	// has jumped, so that it does not depend on who else sent something.
	before stream.Time
}

// function is a Function with its place in a cell and its working memory.
type function struct {
	Function
	info  udf.Info
	off   int // fixed: offset in the cell
	part  int // varying: index into Cells.Parts
	accs  udf.Accs
	other udf.Accs
	rows  udf.Rows
	sel   []uint32 // rows without nulls, where some have one
	group []uint32
	back  []uint32 // place of each of sel in the segment
	has   []bool   // varying: groups that got a record

	applier udf.Applier     // nil: it has no calls for several stages
	ops     []udf.ContentOp // for that
	// Working memory of addSome: the accumulators of a stage, and for each the place among
	// them.
	members, local, groups []uint32
}

// named is an aggregate whose failures say what the job calls it.
type named struct {
	udf.Aggregate
	name string
}

func (n named) say(err error) error {
	if err == nil { // nearly always; what is below allocates
		return nil
	}
	var f *udf.Failure
	if errors.As(err, &f) && f.Aggregate == "" {
		f.Aggregate = n.name
	}
	return err
}

func (n named) Create(dst *udf.Accs, count int) error { return n.say(n.Aggregate.Create(dst, count)) }
func (n named) Add(a *udf.Accs, r *udf.Rows) error    { return n.say(n.Aggregate.Add(a, r)) }
func (n named) Merge(into, from *udf.Accs) error      { return n.say(n.Aggregate.Merge(into, from)) }
func (n named) Result(a *udf.Accs, out *stream.Columns) error {
	return n.say(n.Aggregate.Result(a, out))
}

// init lays out the accumulators of the functions in a cell.
func (o *contents) init(fns []Function, key []stream.Field, out Output) error {
	o.out, o.wm, o.now = out, stream.MinTime, stream.MinTime // S7
	o.compute = o.results
	if o.guard != nil {
		o.out = counting{out, o, o.guard}
	}
	for _, f := range fns {
		applier, _ := f.Agg.(udf.Applier)
		f.Agg = named{f.Agg, f.Name}
		fn := function{Function: f, info: f.Agg.Info(), off: o.width, part: o.varying, applier: applier}
		if fn.info.Width == 0 {
			o.varying++
		} else {
			o.width += fn.info.Width
			var one udf.Accs
			if err := f.Agg.Create(&one, 1); err != nil {
				return fmt.Errorf("aggregate %s: %w", f.Name, err)
			}
			o.fresh = append(o.fresh, one.Data...)
		}
		o.fns = append(o.fns, fn)
	}
	o.emitter.init(key, o.fns)
	return nil
}

// stepper is what an operator does with the things that a batch is made of.
type stepper interface {
	// advance moves event time to w, which is above the current watermark, and fires what
	// is due.
	advance(w stream.Time) error
	// record judges one row and gives it to its windows.
	record(b *stream.Batch, i int) error
	// flush adds what waits in the segment.
	flush() error
}

// run takes a batch: each row behind the watermark that it is seen at, and then the
// trailing watermark (T3). Nothing is pending afterwards.
func (o *contents) run(b *stream.Batch, by stepper) error {
	o.start(b)
	for i := range b.N {
		if w := b.WM[i]; w > o.wm {
			if err := by.advance(w); err != nil {
				return err
			}
		}
		if err := by.record(b, i); err != nil {
			return err
		}
	}
	if b.Trailing > o.wm {
		if err := by.advance(b.Trailing); err != nil {
			return err
		}
	}
	return by.flush()
}

// start begins a batch.
func (o *contents) start(b *stream.Batch) {
	o.seg.start(b)
	o.refused, o.counted = -1, -1
}

// Watermark is the operator's event time.
func (o *contents) Watermark() stream.Time { return o.wm }

// Stamp sets the processing time that records and firings are seen at. No timer fires.
func (o *contents) Stamp(now stream.Time) { o.now = max(o.now, now) }

// Clock is Stamp for operators of event-time windows, which have no timers by the clock.
func (o *contents) Clock(now stream.Time) error {
	o.Stamp(now)
	return nil
}

// Ledger returns the counters so far.
func (o *contents) Ledger() Ledger { return o.ledger }

// Close closes the functions.
func (o *contents) Close() error {
	var first error
	for _, f := range o.fns {
		if err := f.Agg.Close(); err != nil && first == nil {
			first = fmt.Errorf("aggregate %s: %w", f.Name, err)
		}
	}
	if o.process != nil {
		if err := o.process.Fn.Close(); err != nil && first == nil {
			first = fmt.Errorf("process function: %w", err)
		}
	}
	return first
}

// flush folds the rows of the segment into their panes and empties it.
func (o *contents) flush() error {
	if len(o.seg.rows) == 0 {
		return nil
	}
	err := o.fold(&o.seg)
	o.seg.clear()
	return err
}

// fold adds a segment. Where user code fails it is cut at the place that failed, or
// in the middle where that is unknown, until a call with one record alone fails: only that
// condemns a record, since what a broken instance did with the others is not known
// (E8). Adding in pieces gives the same accumulators as adding at once.
func (o *contents) fold(s *segment) error {
	s, err := o.admit(s)
	if err != nil || len(s.rows) == 0 {
		return err
	}
	f, at, err := o.try(s)
	if err != nil || f == nil {
		return err
	}
	n := len(s.rows)
	if s.rows[0] == s.rows[n-1] {
		if f.Trap && !f.Fresh { // the instance may have been worn out: once more, on a fresh one
			if f, _, err = o.try(s); err != nil || f == nil {
				return err
			}
		}
		return o.condemn(s, f)
	}
	if at < 0 {
		at = n / 2
	}
	for _, cut := range s.cut(at) {
		if lo, hi := cut[0], cut[1]; lo < hi {
			if err := o.fold(s.slice(lo, hi)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut returns the parts before, of and behind the record at a place: a record may go
// into several panes, and is taken or refused as a whole.
func (s *segment) cut(at int) [3][2]int {
	lo, hi := at, at+1
	for lo > 0 && s.rows[lo-1] == s.rows[at] {
		lo--
	}
	for hi < len(s.rows) && s.rows[hi] == s.rows[at] {
		hi++
	}
	return [3][2]int{{0, lo}, {lo, hi}, {hi, len(s.rows)}}
}

// number is a cell's number, of one that has no rows as well.
func (s *segment) number(c cell) uint32 {
	m := c.table.Mark(c.slot)
	if !s.is(m, c) {
		m = s.open(c)
		c.table.SetMark(c.slot, m)
	}
	return m
}

// has reports whether a cell has a number.
func (s *segment) has(c cell) bool { return s.is(c.table.Mark(c.slot), c) }

// is reports whether m is a cell's number.
func (s *segment) is(m uint32, c cell) bool {
	return int(m) < len(s.cells) && s.cells[m].table == c.table && s.cells[m].slot == c.slot
}

// slice returns the rows lo to hi as a segment of their own.
func (s *segment) slice(lo, hi int) *segment {
	part := &segment{batch: s.batch}
	for i := lo; i < hi; i++ {
		part.add(s.rows[i], s.cells[s.group[i]])
	}
	return part
}

// try calls every function for the segment and, once all have succeeded, writes
// accumulators, counts and ledger together. A failure changes nothing; at is the
// place in the segment that failed, or -1.
func (o *contents) try(s *segment) (f *udf.Failure, at int, err error) {
	for i := range o.fns {
		fn := &o.fns[i]
		if err := fn.add(s); err != nil {
			if !errors.As(err, &f) {
				return nil, 0, err
			}
			if f.Op < 0 || f.Op >= len(fn.rows.Sel) {
				return f, -1, nil
			}
			if len(fn.back) > 0 {
				return f, int(fn.back[f.Op]), nil
			}
			return f, f.Op, nil
		}
	}
	for i := range o.fns {
		if fn := &o.fns[i]; fn.info.Width > 0 {
			for g, c := range s.cells {
				c.table.SetAcc(c.slot, fn.off, fn.accs.At(g))
			}
		} else if err := fn.keepParts(s); err != nil {
			return nil, 0, err
		}
	}
	for g, c := range s.cells {
		c.table.Touch(c.slot, s.count[g])
	}
	for _, r := range s.rows {
		o.count(r)
	}
	return nil, 0, nil
}

// count counts a row of the batch, which may go into several panes.
func (o *contents) count(row uint32) {
	if int(row) != o.counted {
		o.counted = int(row)
		o.ledger.Counted++
		o.ledger.Open++
	}
}

// add calls the function for the rows of a segment in which no input is null, on
// copies of the accumulators.
func (fn *function) add(s *segment) error {
	fn.selectRows(s)
	if fn.accs.Reset(fn.info.Width); fn.info.Width > 0 {
		fn.gatherFixed(s.cells)
	}
	if len(fn.rows.Sel) == 0 {
		return nil
	}
	return fn.Agg.Add(&fn.accs, &fn.rows)
}

// gatherFixed sets fn.accs to copies of the accumulators of cells, which are of fixed size.
func (fn *function) gatherFixed(cells []cell) {
	fn.accs.Resize(fn.info.Width, len(cells))
	for i := range cells {
		c := &cells[i]
		fn.accs.Set(i, c.table.Acc(c.slot, fn.off, fn.info.Width))
	}
}

// selectRows sets fn.rows to the segment's rows without those in which an input is
// null, unless the function handles nulls itself.
func (fn *function) selectRows(s *segment) {
	fn.rows = udf.Rows{Batch: s.batch, Cols: fn.Cols, Sel: s.rows, Group: s.group, Groups: len(s.cells)}
	fn.sel, fn.group, fn.back = fn.sel[:0], fn.group[:0], fn.back[:0]
	if len(s.rows) == 0 { // the batch may have no columns either
		return
	}
	nulls := false
	for i, c := range fn.Cols {
		nulls = nulls || s.batch.Cols[c].Valid != nil && !fn.info.Inputs[i].Nullable
	}
	if !nulls {
		return
	}
	for i, r := range s.rows {
		if fn.anyNull(s.batch, int(r)) {
			continue
		}
		fn.sel = append(fn.sel, r)
		fn.group = append(fn.group, s.group[i])
		fn.back = append(fn.back, uint32(i))
	}
	fn.rows.Sel, fn.rows.Group = fn.sel, fn.group
}

func (fn *function) anyNull(b *stream.Batch, row int) bool {
	for i, c := range fn.Cols {
		if !fn.info.Inputs[i].Nullable && b.Cols[c].Null(row) {
			return true
		}
	}
	return false
}

// condemn sets the one record of a segment aside.
func (o *contents) condemn(s *segment, f *udf.Failure) error {
	return o.setAside(s.batch, int(s.rows[0]), s.cells[s.group[0]].window, f)
}

// setAside sets a record aside that user code refuses for a window.
func (o *contents) setAside(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	o.ledger.Failed++
	o.refused = max(o.refused, i) // what a disabled plug-in bars is set aside first, whatever stands before it
	return o.out.Refused(b, i, w, f)
}
