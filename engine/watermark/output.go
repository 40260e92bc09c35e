package watermark

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// Output is what a generator has said so far: its last watermark, and whether it is
// marked idle. Make it with NewOutput.
type Output struct {
	last stream.Time
	idle bool
}

// NewOutput starts active at MIN, which is never sent (S7).
func NewOutput() Output { return Output{last: stream.MinTime} }

// Last is the highest watermark sent.
func (o *Output) Last() stream.Time { return o.last }

// Idle reports whether the output is marked idle.
func (o *Output) Idle() bool { return o.idle }

// Emit takes a watermark of the generator. Only one that is strictly greater than
// the last is sent (S6), and only such a one ends an idle period (S11).
func (o *Output) Emit(wm stream.Time) Change {
	c := raise(wm, &o.last)
	if c.Advanced && o.idle {
		o.idle = false
		c.Status = BecameActive
	}
	return c
}

// MarkIdle is signalled once in an idle period (S10).
func (o *Output) MarkIdle() Change {
	if o.idle {
		return Change{Watermark: o.last}
	}
	o.idle = true
	return Change{Watermark: o.last, Status: BecameIdle}
}

// End is the end of a bounded input: active first, then MAX (S13).
func (o *Output) End() Change { return o.Emit(stream.MaxTime) }

// Snapshot writes the last watermark and the idle mark.
func (o *Output) Snapshot(w *state.Writer) {
	w.I64(int64(o.last))
	w.Bool(o.idle)
}

// Restore takes the state of a Snapshot.
func (o *Output) Restore(r *state.Reader) { o.last, o.idle = stream.Time(r.I64()), r.Bool() }
