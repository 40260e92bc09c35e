package watermark

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// The state of combiners is part of every cut, so that a restore is a no-op (S105):
// watermarks and flags of each input, and what has been sent.

func writeInputs(w *state.Writer, in []input, out stream.Time, idle bool) {
	w.Len(len(in))
	for _, i := range in {
		w.I64(int64(i.wm))
		w.Bool(i.idle)
		w.Bool(i.aligned)
	}
	w.I64(int64(out))
	w.Bool(idle)
}

func readInputs(r *state.Reader) (in []input, out stream.Time, idle bool) {
	for range r.Len() {
		in = append(in, input{stream.Time(r.I64()), r.Bool(), r.Bool()})
	}
	return in, stream.Time(r.I64()), r.Bool()
}

// Snapshot writes the combiner's state.
func (m *Min) Snapshot(w *state.Writer) { writeInputs(w, m.in, m.out, m.idle) }

// Restore takes the state of a Snapshot.
func (m *Min) Restore(r *state.Reader) { m.in, m.out, m.idle = readInputs(r) }

// Snapshot writes the valve's state.
func (v *Valve) Snapshot(w *state.Writer) { writeInputs(w, v.in, v.out, v.idle) }

// Restore takes the state of a Snapshot.
func (v *Valve) Restore(r *state.Reader) { v.in, v.out, v.idle = readInputs(r) }
