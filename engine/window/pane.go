package window

import (
	"slices"
	"sync/atomic"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// keyState is all that the general operator keeps of one key.
type keyState struct {
	key   []byte
	hash  uint64
	panes paneList
	// sessions are the windows in flight of a merging assigner, by start; none touch.
	sessions []*pane
	// cohorts account for records that several windows hold (overlapping windows only).
	cohorts  cohorts
	holdings holdings  // the same for windows of a user's assigner
	acted    uint64    // stage of the agenda in which a pane of it was fired last
	slices   *sliceKey // where panes share them

	// saved is twice the number of the last cut that has the key as it was then, or for
	// which it was too young; one less while it is written to that cut.
	saved atomic.Uint64

	asked state.Link[keyState] // see coldKeys
}

// pane is one window of one key: its contents, its trigger's state, its timers. A pane
// whose state was cleaned up lives on while a timer of its trigger is still set, since
// that timer will be shown to the trigger as Flink does.
type pane struct {
	// First what a record touches in each of its windows, in as few lines of the cache as
	// that takes.
	op      *General
	slot    int           // cell of the accumulators, -1: none
	acted   uint64        // stage of the agenda in which it was fired or purged last
	full    bool          // it has contents, the agenda carried out; not of lists
	leaving bool          // its end stands in the agenda
	id      stream.Window // under which the key knows it: the window that it began as
	window  stream.Window
	state   []int64 // of the trigger
	timers  [2][]stream.Time
	// What state and timers are slices of, as long as they fit.
	words [4]int64
	times [2][2]stream.Time

	owner    *keyState
	elements *elements
	own      *ownPane   // of a user's trigger; nil: nothing yet
	records  int64      // accepted so far: the ledger's, not touched by a purge
	held     []*holding // records that other windows hold too

	ended    bool            // fired at or after its end
	shown    bool            // fired as the window that it is now
	purged   bool            // contents are what came since a purge
	replaces []stream.Window // windows that were merged into this one and had fired (M4)

	gone bool   // merged into another
	life uint32 // how often it has begun: a pane that is gone is used again
}

// empty reports whether nothing is left that could be asked for.
func (p *pane) empty() bool {
	return p.slot < 0 && p.elements == nil && len(p.timers[0]) == 0 && len(p.timers[1]) == 0 &&
		!slices.ContainsFunc(p.state, func(w int64) bool { return w != 0 }) && len(p.ownState()) == 0 && !p.defaulted()
}

// drop takes a session out of sight: its timers are ignored from here on (S49).
func (p *pane) drop() {
	p.gone = true
	for d := range p.timers {
		p.op.live[d] -= len(p.timers[d])
		p.timers[d] = nil
	}
}

// awakeBy reports whether an event timer of the pane is due by t.
func (p *pane) awakeBy(t stream.Time) bool {
	return slices.ContainsFunc(p.timers[trigger.EventTime], func(x stream.Time) bool { return x <= t })
}

// filled reports whether the pane has contents (S70).
func (p *pane) filled() bool {
	if p.op.lists {
		return p.elements != nil && len(p.elements.refs) > 0
	}
	if p.op.shared != nil {
		return p.slot >= 0 && p.op.table.Rows(p.slot) > 0
	}
	return p.full
}

// cleanup is when the pane's state goes, and in which domain (S40, S44).
func (p *pane) cleanup() (trigger.Domain, stream.Time) {
	if p.op.cfg.Assigner.EventTime() {
		return trigger.EventTime, p.window.Cleanup(p.op.cfg.Lateness)
	}
	return trigger.ProcessingTime, p.window.MaxTimestamp()
}

// context is what the trigger is shown.
func (p *pane) context() *trigger.Context {
	c := &p.op.context
	*c = trigger.Context{Window: p.window, Watermark: p.op.wm, Now: p.op.now, Ending: p.op.target == stream.MaxTime, State: p.state, Timers: p}
	return c
}

// cell is the pane's accumulators as the shared parts see them; the pane has some.
func (p *pane) cell() cell {
	return cell{table: p.op.table, slot: p.slot, window: p.window, pane: p}
}
