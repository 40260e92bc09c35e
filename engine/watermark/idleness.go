package watermark

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// Idleness decides when an input without records no longer holds time back (S8–S10).
// Time is processing time in ms, from any origin.
type Idleness struct {
	Timeout stream.Time // above 0

	seen     bool // a record since the last probe
	counting bool
	start    stream.Time
}

// Event notes a record.
func (i *Idleness) Event() { i.seen = true }

// Probe looks at the clock and reports whether the input is idle. Only probes count
// down: the first one without a record starts the countdown, a later one declares
// idle when strictly more than the timeout has gone by since.
func (i *Idleness) Probe(now stream.Time) bool {
	switch {
	case i.seen:
		i.seen, i.counting = false, false
		return false
	case !i.counting:
		i.counting, i.start = true, now
		return false
	}
	return now-i.start > i.Timeout
}

// Hold moves the countdown by a span in which the input was blocked by us: blocked
// is not idle (S12).
func (i *Idleness) Hold(span stream.Time) { i.start = i.start.Add(span) }

// Snapshot writes the phase of the countdown as of now: the time that has gone by and not a
// clock, since a restored input was not quiet while nobody read it (S105).
func (i *Idleness) Snapshot(w *state.Writer, now stream.Time) {
	w.Bool(i.seen)
	w.Bool(i.counting)
	w.I64(int64(now.Sub(i.start)))
}

// Restore takes the state of a Snapshot and goes on from now.
func (i *Idleness) Restore(r *state.Reader, now stream.Time) {
	i.seen, i.counting = r.Bool(), r.Bool()
	i.start = now.Sub(stream.Time(r.I64()))
}
