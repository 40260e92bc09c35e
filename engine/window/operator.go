package window

import (
	"fmt"

	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// Config is what a windowed step is made of.
type Config struct {
	Size, Offset stream.Time // of the tumbling windows
	Lateness     stream.Time
	Key          []stream.Field
	DropNullKey  bool
	Functions    []Function
	Groups       int // number of key groups, max_parallelism
}

// Function is one aggregate of the step. The operator closes it.
type Function struct {
	Name string
	Agg  udf.Aggregate
	Cols []int // columns of the input batches, one for each input of Agg
}

// Output hears what an operator produces, in order, before the call into the
// operator returns. Arguments are borrowed for the call. An error stops the job.
type Output interface {
	// Rows takes result rows: they precede the watermark that caused them (S69).
	Rows(*result.Rows) error
	// Late takes row i of b, which w refused at watermark wm (S42, S97).
	Late(b *stream.Batch, i int, w stream.Window, wm stream.Time) error
	// Refused takes row i of b, which user code does not accept. It decides by the
	// step's policy: nil goes on without the record.
	Refused(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error
	// RefusedPane takes a pane whose result could not be computed; likewise.
	RefusedPane(key []byte, w stream.Window, f *udf.Failure) error
}

// Ledger counts what became of the step's records. Each counter has its own increment:
//
//	records in = Filtered + Failed + Late + Counted
//
// Open, Fired and Unfired split Counted by the fate of the record's window.
type Ledger struct {
	Filtered, Failed, Late, Counted int64
	Open, Fired, Unfired            int64
	Behind, LateAccepted            int64
}

// Operator runs tumbling event-time windows with the event-time trigger (S31, S54)
// for the key groups of one subtask. One goroutine uses it: Process for each batch,
// Close once.
type Operator struct {
	cfg     Config
	out     Output
	wm      stream.Time
	windows buckets

	fns     []function
	width   int    // of a cell's fixed accumulators together
	varying int    // number of functions whose accumulators vary in size
	fresh   []byte // a cell's accumulators before the first record

	seg     segment
	refused int // row of the current batch that was set aside last, -1: none
	ledger  Ledger
	emitter emitter
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
}

// New makes an operator with empty state at watermark MIN (S7).
func New(cfg Config, out Output) (*Operator, error) {
	o := &Operator{cfg: cfg, out: out, wm: stream.MinTime}
	o.windows = buckets{lateness: cfg.Lateness, groups: cfg.Groups}
	for _, f := range cfg.Functions {
		fn := function{Function: f, info: f.Agg.Info(), off: o.width, part: o.varying}
		if fn.info.Width == 0 {
			o.varying++
		} else {
			o.width += fn.info.Width
			var one udf.Accs
			if err := f.Agg.Create(&one, 1); err != nil {
				return nil, fmt.Errorf("aggregate %s: %w", f.Name, err)
			}
			o.fresh = append(o.fresh, one.Data...)
		}
		o.fns = append(o.fns, fn)
	}
	o.emitter.init(cfg, o.fns)
	return o, nil
}

// Watermark is the operator's event time.
func (o *Operator) Watermark() stream.Time { return o.wm }

// Panes counts (key, window) pairs with state.
func (o *Operator) Panes() int64 { return o.windows.panes() }

// Ledger returns the counters so far.
func (o *Operator) Ledger() Ledger { return o.ledger }

// Close closes the functions.
func (o *Operator) Close() error {
	var first error
	for _, f := range o.fns {
		if err := f.Agg.Close(); err != nil && first == nil {
			first = fmt.Errorf("aggregate %s: %w", f.Name, err)
		}
	}
	return first
}

// Process takes a batch of this subtask's rows, routed by key, each with the
// watermark that it is seen at, and then the batch's trailing watermark. It leaves
// nothing pending: all that the batch causes has been handed to Output.
func (o *Operator) Process(b *stream.Batch) error {
	o.seg.start(b)
	o.refused = -1
	for i := range b.N {
		if w := b.WM[i]; w > o.wm {
			if err := o.advance(w); err != nil {
				return err
			}
		}
		if err := o.record(b, i); err != nil {
			return err
		}
	}
	if err := o.flush(); err != nil {
		return err
	}
	if b.Trailing > o.wm {
		return o.advance(b.Trailing)
	}
	return nil
}

// record judges one row and puts it into the segment (E1, E2).
func (o *Operator) record(b *stream.Batch, i int) error {
	ts, key := b.Time[i], b.Key[i].Bytes(b.Blob)
	if o.cfg.DropNullKey && stream.KeyHasNull(key, o.cfg.Key) {
		o.ledger.Filtered++
		return nil
	}
	if ts <= o.wm {
		o.ledger.Behind++
	}
	start := stream.GridStart(ts, o.cfg.Offset, o.cfg.Size)
	w := stream.Window{Start: start, End: start.Add(o.cfg.Size)}
	if w.Cleanup(o.cfg.Lateness) <= o.wm { // S41; a tumbling window's record is late with it (S42)
		o.ledger.Late++
		return o.out.Late(b, i, w, o.wm)
	}
	buck := o.windows.find(w, o.wm)
	group := stream.KeyGroup(b.Hash[i], o.cfg.Groups)
	table := buck.tables[group]
	if table == nil {
		table = state.NewCells(o.width, o.varying)
		buck.tables[group] = table
	}
	if table.Full() {
		return fault.As(fault.ErrQuota, fmt.Errorf("window %d..%d: the keys of one key group exceed 4 GiB; raise max_parallelism", w.Start, w.End))
	}
	slot := table.Slot(b.Hash[i], key, o.fresh)
	o.seg.add(uint32(i), cell{table, slot, buck})
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
	return o.fire([]cell{{table, slot, buck}})
}

// advance moves event time to w, which is above the current watermark: what is
// pending is added first, then windows fire in order of their ends, then the state of
// those past their lateness goes (S44, S68, S69).
func (o *Operator) advance(w stream.Time) error {
	if w < o.windows.due() {
		o.wm = w
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	o.wm = w
	for buck := o.windows.nextToFire(w); buck != nil; buck = o.windows.nextToFire(w) {
		if err := o.fireAll(buck); err != nil {
			return err
		}
	}
	for buck := o.windows.nextToClean(w); buck != nil; buck = o.windows.nextToClean(w) {
		o.clean(buck)
	}
	return nil
}

// clean settles the ledger for a window whose state goes.
func (o *Operator) clean(buck *bucket) {
	led := &o.ledger
	for _, t := range buck.tables {
		if t == nil {
			continue
		}
		for slot, n := range t.Rows {
			led.Open -= int64(n)
			if t.Fired[slot] > 0 {
				led.Fired += int64(n)
			} else {
				led.Unfired += int64(n)
			}
		}
	}
}
