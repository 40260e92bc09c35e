package window

import (
	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Operator is a windowed step for the key groups of one subtask. One goroutine uses
// it: Process and Clock in any order and number, Freeze between them, Close once,
// last; Restore only on a new operator of the same configuration.
type Operator interface {
	// Process takes a batch of this subtask's rows, routed by key, each with the
	// watermark that it is seen at, and then the batch's trailing watermark. It leaves
	// nothing pending: all that the batch causes has been handed to Output.
	Process(b *stream.Batch) error
	// Clock sets processing time in ms and fires the timers that it has reached: between
	// two batches, never inside one (T5).
	Clock(now stream.Time) error
	// Stamp sets the processing time that records are seen at from here on. No timer fires.
	Stamp(now stream.Time)
	// Watermark is the operator's event time.
	Watermark() stream.Time
	// Ledger returns the counters so far.
	Ledger() Ledger
	// Panes counts (key, window) pairs with contents.
	Panes() int64
	// Each calls f for every pane with contents, in no order. key is borrowed.
	Each(f func(key []byte, w stream.Window))
	// Bytes is about what the state takes of memory, from numbers that are kept anyhow: it
	// is asked for after each batch.
	Bytes() int64
	// Spilled is what of the state is on disk, and not in Bytes.
	Spilled() SpilledState
	// Weigh calls f for every piece of state, in no order: all together weigh about Bytes.
	Weigh(f Weigher)
	// Freeze takes the state between two batches, everything that makes a restore a no-op
	// (S105). It is quick, and the operator goes on while the cut is read.
	Freeze() state.Cut
	// Restore goes on from cuts; an error is of class fault.ErrCorrupt, or fault.ErrUser
	// where they were written by a step of another kind.
	Restore(state.Restore) error
	// Close closes the functions.
	Close() error
}

// Output hears what an operator produces, in order, before the call into the
// operator returns. Arguments are borrowed for the call. An error stops the job.
type Output interface {
	// Rows takes result rows: they precede the watermark that caused them (S69).
	Rows(*result.Rows) error
	// Late takes row i of b, which w refused at watermark wm (S42, S97); w is
	// stream.Global where no window would have held it.
	Late(b *stream.Batch, i int, w stream.Window, wm stream.Time) error
	// Refused takes row i of b, which user code does not accept. It decides by the
	// step's policy: nil goes on without the record.
	Refused(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error
	// RefusedPane takes a pane whose result could not be computed; likewise.
	RefusedPane(key []byte, w stream.Window, f *udf.Failure) error
}

// Function is one aggregate of the step. The operator closes it.
type Function struct {
	Name string
	Agg  udf.Aggregate
	Cols []int // columns of the input batches, one for each input of Agg
}

// Ledger counts what became of the step's records. Each counter has its own increment:
//
//	records in = Filtered + Failed + Late + NoWindow + Counted
//
// Open, Fired and Unfired split Counted by the fate of the record's windows.
type Ledger struct {
	Filtered, Failed, Late, NoWindow, Counted int64
	Open, Fired, Unfired                      int64
	Behind, LateAccepted                      int64
	// Partials counts the sums that have come in place of records (P4), and InPartials
	// these records, which the sums above count as well.
	Partials, InPartials int64
}
