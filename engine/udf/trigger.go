package udf

import "tidemark/engine/stream"

// Trigger decides when panes fire. It is a pure function of what an operation shows it:
// its state of the pane, a record or a timer, the window and the clocks; the contents of
// the pane it never sees. The state is bytes of the host's; a Trigger keeps nothing
// between calls.
//
// Order of calls: Info any time; Decide in any number; Close once, last. All calls come
// from the goroutine of the task that owns the Trigger. No argument is kept beyond the
// call that passes it.
//
// A call is all or nothing: after an error the caller drops the states and the decisions
// and goes on with its own copies. Errors are of class *Failure when user code refused or
// broke down, with the operation in Op; anything else ends the job.
//
// What it answers to an operation depends on that operation and the state that it finds
// alone, so a call may be cut between any two operations, and be about operations that
// then do not happen.
type Trigger interface {
	Info() TriggerInfo
	// Decide takes operations in order. State that it puts is what later operations of the
	// call find that have the same slot. out comes in empty.
	Decide(in *TriggerOps, out *Decisions) error
	Close() error
}

// TriggerInfo describes a trigger. It never changes during the life of an instance.
type TriggerInfo struct {
	// Name is the plug-in's, as the job calls it, for messages; empty for natives.
	Name string
	// Inputs are the columns that it reads of records, beside their times. A record with a
	// null in one that is not Nullable is not shown.
	Inputs []Input
	// MayPurge: a verdict can purge a pane whose window is still open (P2). One that does
	// so undeclared is a failure.
	MayPurge bool
	// Merges: states of two panes can become one, as windows that merge ask for (S65).
	Merges bool
}

// TriggerOp is what an operation is.
type TriggerOp uint8

// The operations.
const (
	OnElement         TriggerOp = iota // a record came into the pane
	OnEventTimer                       // event time has reached a timer of the pane
	OnProcessingTimer                  // processing time has
	OnMerge                            // the pane takes over the state of another one (S48)
	OnClear                            // the pane's state goes after this (S44)
)

// TriggerOps are what a call carries. States has the slot of each operation's pane.
type TriggerOps struct {
	Ops    []PaneOp
	States States
	// Records are those of OnElement, rows of one table; without Columns there are none.
	Records Timed
}

// PaneOp is an operation on a pane.
type PaneOp struct {
	What   TriggerOp
	Ending bool // time is on its way to its end, with the watermark MAX (S125)
	Window stream.Window
	// Watermark and Now are event time and processing time as the operation sees them.
	Watermark, Now stream.Time
	Time           stream.Time // the record's, or the timer's
	Row            uint32      // OnElement: of Records
	From           uint32      // OnMerge: the slot of the state that is taken over
}

// Verdicts of an operation, bits of Decisions.Verdict.
const (
	VerdictFire  uint8 = 1
	VerdictPurge uint8 = 2
)

// Decisions are what a call answers.
type Decisions struct {
	Verdict []uint8 // of each operation; 0: continue
	Timers  []TimerChange
}

// TimerChange sets or deletes a timer of an operation's pane. Changes come in order of
// their operations, and count in this order.
type TimerChange struct {
	Op             uint32
	Delete         bool
	ProcessingTime bool
	Time           stream.Time
}

// Reset empties the decisions for a call of n operations.
func (d *Decisions) Reset(n int) {
	d.Verdict = append(d.Verdict[:0], make([]uint8, n)...)
	d.Timers = d.Timers[:0]
}
