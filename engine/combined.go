package engine

import (
	"tidemark/engine/job"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/watermark"
)

// combined joins the splits of a source task by the minimum over those that are not idle
// (S20). Times are those of the clock, which only a watermark.Advancing looks at.
type combined interface {
	Add() int
	Remove(i int)
	Out() stream.Time
	Idle() bool
	Watermark(i int, wm stream.Time) watermark.Change
	SetIdle(i int, idle bool) watermark.Change
	// Probe brings the output up to date: with splits that have gone, and with the clock.
	Probe(now stream.Time) watermark.Change
	Record(now stream.Time) // a split had a record
	Hold(span stream.Time)  // so long nothing could be read, because of us (S12)
	// Snapshot writes the state, Restore takes it into a new one (S105).
	Snapshot(w *state.Writer, now stream.Time)
	Restore(r *state.Reader, now stream.Time)
}

// newCombined makes what joins n splits.
func newCombined(w *job.Watermark, n int) combined {
	if w.WhenAllIdle == job.AdvanceWhenAllIdle {
		return watermark.NewAdvancing(n, stream.Time(w.OutOfOrderness.Milliseconds()))
	}
	return clockless{watermark.NewMin(n)}
}

// clockless is a minimum that does not mind the clock: with all splits idle, time stands
// (S16).
type clockless struct{ *watermark.Min }

func (c clockless) Probe(stream.Time) watermark.Change { return c.Min.Probe() }
func (clockless) Record(stream.Time)                   {}
func (clockless) Hold(stream.Time)                     {}

func (c clockless) Snapshot(w *state.Writer, _ stream.Time) { c.Min.Snapshot(w) }
func (c clockless) Restore(r *state.Reader, _ stream.Time)  { c.Min.Restore(r) }

var (
	_ combined = (*watermark.Advancing)(nil)
	_ combined = clockless{}
)
