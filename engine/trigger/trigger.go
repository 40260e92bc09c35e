// Package trigger decides when a pane fires: the triggers that the engine brings along
// (S53–S62a). A trigger sees a record or a timer, its window, the clocks and its own
// state, never the contents of the pane. It is pure: the operator that calls it keeps
// state and timers, fires and purges.
package trigger

import "tidemark/engine/stream"

// Verdict is what becomes of a pane (S53). Fire is carried out before purge.
type Verdict uint8

const (
	Continue     Verdict = 0
	Fire         Verdict = 1
	Purge        Verdict = 2
	FireAndPurge Verdict = Fire | Purge
)

// Domain is the time that a timer belongs to.
type Domain uint8

const (
	EventTime Domain = iota
	ProcessingTime
)

// Timers is where a trigger sets timers of its pane. They are a set: setting one twice
// is one timer, deleting one that is not there does nothing (S67).
type Timers interface {
	SetTimer(d Domain, t stream.Time)
	DeleteTimer(d Domain, t stream.Time)
}

// Context is what a trigger is shown of a pane. It is valid during one call.
type Context struct {
	Window    stream.Window
	Watermark stream.Time // the operator's, already advanced (S69)
	Now       stream.Time // processing time
	// Ending: time is on its way to its end, with the watermark MAX (S125).
	Ending bool
	State  []int64 // Words() of the trigger; all zero before the first call
	Timers Timers
	// Own is what a user's trigger has in place of words; nil where there is none.
	Own *Own
}

// max is M(w).
func (c *Context) max() stream.Time { return c.Window.MaxTimestamp() }

// Records returns between how many records of a pane a trigger fires, if it counts them.
func Records(t Trigger) (n int64, counts bool) {
	switch t := t.(type) {
	case count:
		return t.n, true
	case countOrTimeout:
		return t.n, true
	case timeout:
		return Records(t.inner)
	case purging:
		return Records(t.Trigger)
	}
	return 0, false
}

// part returns the context of a trigger inside another one: its state begins at word
// from.
func (c *Context) part(from, words int) *Context {
	inner := *c
	inner.State = c.State[from : from+words]
	return &inner
}

// Element is a record as a trigger sees it.
type Element struct {
	Time  stream.Time
	Value float64 // the field that a delta trigger compares; 0 for others
	// Batch has the record as Row, for a user's trigger, which reads columns; nil for others.
	Batch *stream.Batch
	Row   int
}

// Trigger is one trigger with its parameters. It is immutable: all state is in the
// context. Clear is called when the pane's state goes (S44), and on each pane that was
// merged into another; Merge before that, on the pane that they become (S48).
type Trigger interface {
	// Words is the number of words of state.
	Words() int
	Element(c *Context, e Element) Verdict
	// Timer is called for every timer of the pane, also those that others set, such as
	// its cleanup.
	Timer(c *Context, d Domain, t stream.Time) Verdict
	Clear(c *Context)
	// Mergeable says whether the trigger can be used with session windows (S65). If not,
	// Merge is not called.
	Mergeable() bool
	// Merge takes over the states of panes that become this one.
	Merge(c *Context, olds [][]int64)
	// MayPurge says whether a verdict can purge a pane whose window is still open.
	MayPurge() bool
}
