package watermark

import "tidemark/engine/stream"

// Change is what a combiner sends on, in this order where both are there: going
// idle, the watermark comes first; coming back, the status does (S69).
type Change struct {
	Watermark stream.Time
	Advanced  bool // Watermark is new
	Status    Status
}

// Status is a change between idle and active.
type Status = stream.Status

const (
	Same         = stream.Same
	BecameIdle   = stream.BecameIdle
	BecameActive = stream.BecameActive
)

// input is one input of a combiner.
type input struct {
	wm      stream.Time
	idle    bool
	aligned bool // valve only
	gone    bool // minimum only: removed
}

// Min combines the splits of one source or the inputs of a two-input operator (S20):
// the minimum over all that are not idle. An input that comes back from idle and lags
// does hold the output back.
type Min struct {
	in   []input
	out  stream.Time
	idle bool
}

// NewMin starts with n active inputs at MIN.
func NewMin(n int) *Min {
	m := &Min{out: stream.MinTime}
	for range n {
		m.Add()
	}
	return m
}

// Add adds an active input and returns its number. The output stays where it is and
// is held there until the new input has passed it.
func (m *Min) Add() int {
	m.in = append(m.in, input{wm: stream.MinTime})
	return len(m.in) - 1
}

// Remove takes input i out, which is not used any more. That alone does not raise the
// output: the next update does, or Probe.
func (m *Min) Remove(i int) { m.in[i].gone = true }

// Probe brings the output up to date after inputs were removed. With none left it is
// idle.
func (m *Min) Probe() Change { return m.status(m.recompute()) }

// Out is the combined watermark.
func (m *Min) Out() stream.Time { return m.out }

// Idle reports whether every input is idle.
func (m *Min) Idle() bool { return m.idle }

// Watermark takes a watermark of input i, which makes it active.
func (m *Min) Watermark(i int, wm stream.Time) Change {
	in := &m.in[i]
	in.wm = max(in.wm, wm)
	in.idle = false
	c := m.recompute()
	if m.idle {
		m.idle = false
		c.Status = BecameActive
	}
	return c
}

// SetIdle takes a change of input i's status.
func (m *Min) SetIdle(i int, idle bool) Change {
	m.in[i].idle = idle
	return m.status(m.recompute())
}

// status adds to a change whether all inputs are idle now, if that is new.
func (m *Min) status(c Change) Change {
	all := m.allIdle()
	switch {
	case all && !m.idle:
		c.Status = BecameIdle
	case !all && m.idle:
		c.Status = BecameActive
	}
	m.idle = all
	return c
}

func (m *Min) allIdle() bool {
	for _, in := range m.in {
		if !in.idle && !in.gone {
			return false
		}
	}
	return true
}

// recompute takes the minimum over the inputs that are not idle, or with every input
// idle the maximum over all (S16, S20).
func (m *Min) recompute() Change {
	lo, hi, active := stream.MaxTime, stream.MinTime, false
	for _, in := range m.in {
		if in.gone {
			continue
		}
		hi = max(hi, in.wm)
		if !in.idle {
			active = true
			lo = min(lo, in.wm)
		}
	}
	if !active {
		lo = hi
	}
	return raise(lo, &m.out)
}

// Valve combines parallel channels of one stream (S14–S19): the minimum over the
// aligned inputs. An input that comes back from idle and lags behind the output does
// not hold it back until it has caught up.
type Valve struct {
	in   []input
	out  stream.Time
	idle bool
}

// NewValve starts with n active, aligned inputs at MIN.
func NewValve(n int) *Valve {
	v := &Valve{in: make([]input, n), out: stream.MinTime}
	for i := range v.in {
		v.in[i] = input{wm: stream.MinTime, aligned: true}
	}
	return v
}

// Out is the combined watermark.
func (v *Valve) Out() stream.Time { return v.out }

// Abreast reports whether input i takes part in the output: active, and not lagging since
// it came back. The output then does not pass it.
func (v *Valve) Abreast(i int) bool { return v.in[i].aligned }

// Watermark takes a watermark of input i. An idle input's is discarded (S17), and so
// is one that does not advance (S6).
func (v *Valve) Watermark(i int, wm stream.Time) Change {
	in := &v.in[i]
	if v.idle || in.idle || wm <= in.wm {
		return Change{}
	}
	in.wm = wm
	if !in.aligned && wm >= v.out {
		in.aligned = true
	}
	return v.recompute()
}

// SetIdle takes a change of input i's status.
func (v *Valve) SetIdle(i int, idle bool) Change {
	in := &v.in[i]
	if in.idle == idle {
		return Change{}
	}
	in.idle = idle
	if idle {
		in.aligned = false
		for _, o := range v.in {
			if !o.idle {
				return v.recompute() // the minimum may rise at once (S15)
			}
		}
		v.idle = true
		hi := stream.MinTime
		for _, o := range v.in {
			hi = max(hi, o.wm)
		}
		c := raise(hi, &v.out)
		c.Status = BecameIdle
		return c
	}
	in.aligned = in.wm >= v.out
	c := v.recompute()
	if v.idle {
		v.idle = false
		c.Status = BecameActive
	}
	return c
}

// recompute emits the minimum over aligned inputs; with none aligned, nothing (S19).
func (v *Valve) recompute() Change {
	lo, any := stream.MaxTime, false
	for _, in := range v.in {
		if in.aligned {
			any = true
			lo = min(lo, in.wm)
		}
	}
	if !any {
		return Change{}
	}
	return raise(lo, &v.out)
}

// raise moves out up to wm; an output never goes down and never says the same twice (S6).
func raise(wm stream.Time, out *stream.Time) Change {
	if wm <= *out {
		return Change{Watermark: *out}
	}
	*out = wm
	return Change{Watermark: wm, Advanced: true}
}
