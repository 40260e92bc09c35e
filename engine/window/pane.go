package window

import (
	"slices"

	"tidemark/engine/result"
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
	cohorts cohorts
	due     bool      // a firing of one of its panes waits
	slices  *sliceKey // where panes share them
}

// pane is one window of one key: its contents, its trigger's state, its timers. A pane
// whose state was cleaned up lives on while a timer of its trigger is still set, since
// that timer will be shown to the trigger as Flink does.
type pane struct {
	// First what a record touches in each of its windows, in as few lines of the cache as
	// that takes.
	op                    *General
	slot                  int           // cell of the accumulators, -1: none
	due, cleared, leaving bool          // what waits: its firing, a purge, and its end
	id                    stream.Window // under which the key knows it: the window that it began as
	window                stream.Window
	state                 []int64 // of the trigger
	timers                [2][]stream.Time
	// What state and timers are slices of, as long as they fit.
	words [4]int64
	times [2][2]stream.Time

	owner    *keyState
	elements *elements
	own      *ownPane // of a user's trigger; nil: nothing yet
	records  int64    // accepted so far: the ledger's, not touched by a purge

	ended    bool            // fired at or after its end
	purged   bool            // contents are what came since a purge
	replaces []stream.Window // windows that were merged into this one and had fired (M4)

	gone bool // merged into another
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
	return p.slot >= 0 && !p.cleared && !p.leaving && (p.op.table.Rows[p.slot] > 0 || p.op.seg.has(p.cell()))
}

// cleanup is when the pane's state goes, and in which domain (S40, S44).
func (p *pane) cleanup() (trigger.Domain, stream.Time) {
	if p.op.cfg.Assigner.EventTime() {
		return trigger.EventTime, p.window.Cleanup(p.op.cfg.Lateness)
	}
	return trigger.ProcessingTime, p.window.MaxTimestamp()
}

// kind says what a firing now is.
func (p *pane) kind() result.Kind {
	if p.window == stream.Global {
		return result.NoKind
	}
	clock := p.op.now
	if p.op.cfg.Assigner.EventTime() {
		clock = p.op.wm
	}
	switch {
	case p.window.MaxTimestamp() > clock:
		return result.Early
	case p.ended:
		return result.Update
	}
	return result.OnTime
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
