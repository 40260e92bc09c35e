package watermark

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// Advancing is a Min whose time goes on with the clock while all inputs are idle, so that
// the last windows of a stream that has gone quiet close (S16a, when_all_idle: advance).
// Its output is then active; it is idle only as long as no input has ever had a
// watermark, since there is nothing to go on from. Make it with NewAdvancing.
type Advancing struct {
	min   *Min
	bound stream.Time
	out   stream.Time
	idle  bool

	seen bool // there was a record
	last stream.Time
}

// NewAdvancing starts with n active inputs at MIN. bound is that of the generators, in
// ms: event time never comes closer to the clock.
func NewAdvancing(n int, bound stream.Time) *Advancing {
	return &Advancing{min: NewMin(n), bound: bound, out: stream.MinTime}
}

// Record notes that a record of any input came at processing time now.
func (a *Advancing) Record(now stream.Time) { a.seen, a.last = true, now }

// Hold takes out a span in which the inputs were blocked by us: they had no chance to
// show how their time goes on (S12).
func (a *Advancing) Hold(span stream.Time) { a.last = a.last.Add(span) }

// Add adds an active input and returns its number.
func (a *Advancing) Add() int { return a.min.Add() }

// Remove takes an input out; see Min.
func (a *Advancing) Remove(i int) { a.min.Remove(i) }

// Out is the combined watermark.
func (a *Advancing) Out() stream.Time { return a.out }

// Idle reports whether every input is idle and none has had a watermark.
func (a *Advancing) Idle() bool { return a.idle }

// Watermark takes a watermark of input i, which makes it active. What was claimed while
// all were idle stays claimed (S6).
func (a *Advancing) Watermark(i int, wm stream.Time) Change { return a.pass(a.min.Watermark(i, wm)) }

// SetIdle takes a change of input i's status.
func (a *Advancing) SetIdle(i int, idle bool) Change { return a.pass(a.min.SetIdle(i, idle)) }

// Probe looks at the clock: with all inputs idle the watermark is the last one plus the
// time since the last record.
func (a *Advancing) Probe(now stream.Time) Change {
	c := a.pass(a.min.Probe())
	if !a.seen || !a.min.Idle() || a.min.Out() == stream.MinTime {
		return c
	}
	d := raise(min(a.min.Out().Add(now.Sub(a.last)), now.Sub(a.bound)), &a.out)
	return Change{Watermark: a.out, Advanced: c.Advanced || d.Advanced, Status: c.Status}
}

// pass sends on a change of the minimum.
func (a *Advancing) pass(c Change) Change {
	c = raise(c.Watermark, &a.out)
	if idle := a.min.Idle() && a.min.Out() == stream.MinTime; idle != a.idle {
		if a.idle = idle; idle {
			c.Status = BecameIdle
		} else {
			c.Status = BecameActive
		}
	}
	return c
}

// Snapshot writes the state as of now: the time since the last record and not a clock (S105).
func (a *Advancing) Snapshot(w *state.Writer, now stream.Time) {
	a.min.Snapshot(w)
	w.I64(int64(a.out))
	w.Bool(a.idle)
	w.Bool(a.seen)
	w.I64(int64(now.Sub(a.last)))
}

// Restore takes the state of a Snapshot and goes on from now.
func (a *Advancing) Restore(r *state.Reader, now stream.Time) {
	a.min.Restore(r)
	a.out, a.idle, a.seen = stream.Time(r.I64()), r.Bool(), r.Bool()
	a.last = now.Sub(stream.Time(r.I64()))
}
