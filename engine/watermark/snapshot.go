package watermark

import (
	"errors"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// The state of combiners is part of every cut, so that a restore is a no-op (S105):
// watermarks and flags of each input, and what has been sent.

func writeInputs(w *state.Writer, in []input, out stream.Time, idle bool) {
	w.Len(len(in))
	for _, i := range in {
		w.I64(int64(i.wm))
		w.Bool(i.idle)
		w.Bool(i.aligned)
		w.Bool(i.gone)
	}
	w.I64(int64(out))
	w.Bool(idle)
}

func readInputs(r *state.Reader) (in []input, out stream.Time, idle bool) {
	for range r.Len() {
		in = append(in, input{wm: stream.Time(r.I64()), idle: r.Bool(), aligned: r.Bool(), gone: r.Bool()})
	}
	return in, stream.Time(r.I64()), r.Bool()
}

// Snapshot writes the combiner's state.
func (m *Min) Snapshot(w *state.Writer) { writeInputs(w, m.in, m.out, m.idle) }

// Restore takes the state of a Snapshot; the inputs are those of that time.
func (m *Min) Restore(r *state.Reader) { m.in, m.out, m.idle = readInputs(r) }

// Snapshot writes the valve's state.
func (v *Valve) Snapshot(w *state.Writer) { writeInputs(w, v.in, v.out, v.idle) }

var errInputs = fault.As(fault.ErrCorrupt, errors.New("snapshot has a combiner with another number of inputs"))

// Restore takes the state of a Snapshot of a valve with as many inputs.
func (v *Valve) Restore(r *state.Reader) {
	in, out, idle := readInputs(r)
	if len(in) != len(v.in) {
		r.Fail(errInputs)
		return
	}
	v.in, v.out, v.idle = in, out, idle
}
