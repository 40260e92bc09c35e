package watermark

import "tidemark/engine/stream"

// Bounded is the generator for bounded out-of-orderness (S3): the watermark is the
// highest time seen less the bound less 1 ms. A bound of 0 is the ascending
// generator (S4). Make it with NewBounded.
type Bounded struct {
	bound stream.Time
	max   stream.Time
}

// NewBounded starts at MIN (S7). bound is in ms and at least 0.
func NewBounded(bound stream.Time) Bounded {
	return Bounded{bound: bound, max: stream.MinTime.Add(bound).Add(1)}
}

// Event takes a record's timestamp; lower ones never lower the maximum (S5).
func (b *Bounded) Event(ts stream.Time) { b.max = max(b.max, ts) }

// Current is the watermark as of now.
func (b *Bounded) Current() stream.Time { return b.max - b.bound - 1 }

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
