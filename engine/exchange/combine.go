package exchange

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/watermark"
)

// combiner joins the watermarks and statuses of a task's senders, by arrival: parallel
// channels of an input in a valve, and the inputs of a two-input operator by their
// minimum. Using one where the other belongs is the classic mistake (section B).
type combiner struct {
	input   []int // of each sender
	channel []int // of each sender: its number in the valve of its input
	valves  []*watermark.Valve
	min     *watermark.Min // nil: one valve for all
}

func newCombiner(inputs []int, separate bool) combiner {
	c := combiner{input: make([]int, len(inputs)), channel: make([]int, len(inputs))}
	count := []int{0}
	for s, in := range inputs {
		if !separate {
			in = 0
		}
		for len(count) <= in {
			count = append(count, 0)
		}
		c.input[s], c.channel[s] = in, count[in]
		count[in]++
	}
	for _, n := range count {
		c.valves = append(c.valves, watermark.NewValve(n))
	}
	if separate {
		c.min = watermark.NewMin(len(c.valves))
	}
	return c
}

// out is the combined watermark.
func (c *combiner) out() stream.Time {
	if c.min != nil {
		return c.min.Out()
	}
	return c.valves[0].Out()
}

// watermark takes a watermark of a sender.
func (c *combiner) watermark(sender int, wm stream.Time) watermark.Change {
	in := c.input[sender]
	return c.pass(in, c.valves[in].Watermark(c.channel[sender], wm))
}

// status takes a change of a sender's status.
func (c *combiner) status(sender int, idle bool) watermark.Change {
	in := c.input[sender]
	return c.pass(in, c.valves[in].SetIdle(c.channel[sender], idle))
}

// pass hands what the valve of an input says to the minimum over the inputs.
func (c *combiner) pass(in int, v watermark.Change) watermark.Change {
	if c.min == nil {
		return v
	}
	out := watermark.Change{}
	join := func(n watermark.Change) {
		if n.Advanced {
			out.Watermark, out.Advanced = n.Watermark, true
		}
		if n.Status != stream.Same {
			out.Status = n.Status
		}
	}
	if v.Status == stream.BecameActive {
		join(c.min.SetIdle(in, false))
	}
	if v.Advanced {
		join(c.min.Watermark(in, v.Watermark))
	}
	if v.Status == stream.BecameIdle {
		join(c.min.SetIdle(in, true))
	}
	return out
}

// tell takes the status and the trailing watermark of a sender's batch and replaces
// them by the combined ones. It reports whether the batch has anything to say.
func (c *combiner) tell(sender int, b *stream.Batch) bool {
	before, status := c.out(), stream.Same
	note := func(n watermark.Change) {
		if n.Status != stream.Same {
			status = n.Status
		}
	}
	if b.Status == stream.BecameActive {
		note(c.status(sender, false))
	}
	note(c.watermark(sender, b.Trailing))
	if b.Status == stream.BecameIdle {
		note(c.status(sender, true))
	}
	b.Trailing, b.Status = c.out(), status
	return b.Trailing > before || status != stream.Same
}

// abreast reports whether a sender takes part in the combined time: it is active and not
// behind (S18). Inputs with a watermark each are always waited for.
func (c *combiner) abreast(sender int) bool {
	return c.valves[c.input[sender]].Abreast(c.channel[sender])
}

func (c *combiner) snapshot(w *state.Writer) {
	for _, v := range c.valves {
		v.Snapshot(w)
	}
	if c.min != nil {
		c.min.Snapshot(w)
	}
}

func (c *combiner) restore(r *state.Reader) {
	for _, v := range c.valves {
		v.Restore(r)
	}
	if c.min != nil {
		c.min.Restore(r)
	}
}
