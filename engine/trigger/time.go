package trigger

import "tidemark/engine/stream"

// eventTime fires at the end of the window, and again for each record that comes
// later (S54). It is the default of event-time windows (S64) and has no state.
type eventTime struct{}

// NewEventTime returns the trigger of S54.
func NewEventTime() Trigger { return eventTime{} }

// IsEventTime reports whether t is the default trigger of event-time windows: then the
// end of a window alone decides when it fires.
func IsEventTime(t Trigger) bool {
	_, ok := t.(eventTime)
	return ok
}

func (eventTime) Words() int { return 0 }

func (eventTime) Element(c *Context, _ Element) Verdict {
	if c.max() <= c.Watermark {
		return Fire
	}
	c.Timers.SetTimer(EventTime, c.max())
	return Continue
}

func (eventTime) Timer(c *Context, d Domain, t stream.Time) Verdict {
	if d == EventTime && t == c.max() {
		return Fire
	}
	return Continue
}

func (eventTime) Clear(c *Context) { c.Timers.DeleteTimer(EventTime, c.max()) }
func (eventTime) Mergeable() bool  { return true }
func (eventTime) MayPurge() bool   { return false }

func (eventTime) Merge(c *Context, _ [][]int64) {
	if c.max() > c.Watermark {
		c.Timers.SetTimer(EventTime, c.max())
	}
}

// processingTime fires when the clock passes the end of the window (S55). It is the
// default of processing-time windows.
type processingTime struct{}

// NewProcessingTime returns the trigger of S55.
func NewProcessingTime() Trigger { return processingTime{} }

func (processingTime) Words() int { return 0 }

func (processingTime) Element(c *Context, _ Element) Verdict {
	c.Timers.SetTimer(ProcessingTime, c.max())
	return Continue
}

func (processingTime) Timer(_ *Context, d Domain, _ stream.Time) Verdict {
	if d == ProcessingTime {
		return Fire
	}
	return Continue
}

func (processingTime) Clear(c *Context) { c.Timers.DeleteTimer(ProcessingTime, c.max()) }
func (processingTime) Mergeable() bool  { return true }
func (processingTime) MayPurge() bool   { return false }

func (processingTime) Merge(c *Context, _ [][]int64) {
	if c.max() > c.Now {
		c.Timers.SetTimer(ProcessingTime, c.max())
	}
}

// continuous fires every interval inside the window (S56, S57). State: 1 if a firing
// is pending, and when.
type continuous struct {
	domain   Domain
	interval stream.Time
}

// NewContinuous returns the trigger of S56 for event time or S57 for processing time.
// interval is in ms and above 0.
func NewContinuous(d Domain, interval stream.Time) Trigger { return continuous{d, interval} }

func (continuous) Words() int { return 2 }

// next returns the first firing after t, at the latest the window's end. The remainder
// truncates towards zero, so that times before 1970 round up, as in Flink.
func (k continuous) next(c *Context, t stream.Time) stream.Time {
	return min(t.Sub(t%k.interval).Add(k.interval), c.max())
}

func (k continuous) arm(c *Context, t stream.Time) {
	c.State[0], c.State[1] = 1, int64(t)
	c.Timers.SetTimer(k.domain, t)
}

func (k continuous) pending(c *Context, t stream.Time) bool {
	return c.State[0] == 1 && c.State[1] == int64(t)
}

func (k continuous) Element(c *Context, e Element) Verdict {
	if k.domain == ProcessingTime {
		if c.State[0] == 0 {
			k.arm(c, k.next(c, c.Now))
		}
		return Continue
	}
	if c.max() <= c.Watermark {
		return Fire
	}
	c.Timers.SetTimer(EventTime, c.max())
	if c.State[0] == 0 {
		k.arm(c, k.next(c, e.Time))
	}
	return Continue
}

func (k continuous) Timer(c *Context, d Domain, t stream.Time) Verdict {
	switch {
	case d != k.domain:
		return Continue
	case d == EventTime && t == c.max():
		return Fire // what is pending stays as it is
	case !k.pending(c, t):
		return Continue
	case c.Window == stream.Global && c.Ending && d == EventTime:
		// The input has ended: a global window would fire for ever on its way to the end
		// of time (S58). Its timer at M fires once more, which is enough.
		c.State[0], c.State[1] = 0, 0
		return Continue
	case t < c.max():
		k.arm(c, min(t.Add(k.interval), c.max()))
	default:
		c.State[0], c.State[1] = 0, 0 // fired at the very end: nothing to register again
	}
	return Fire
}

func (k continuous) Clear(c *Context) {
	if c.State[0] == 1 {
		c.Timers.DeleteTimer(k.domain, stream.Time(c.State[1]))
	}
	c.State[0], c.State[1] = 0, 0
}

func (continuous) Mergeable() bool { return true }
func (continuous) MayPurge() bool  { return false }

func (k continuous) Merge(c *Context, olds [][]int64) {
	found, first := c.State[0] == 1, stream.Time(c.State[1])
	for _, o := range olds {
		if t := stream.Time(o[1]); o[0] == 1 && (!found || t < first) {
			found, first = true, t
		}
	}
	if found {
		k.arm(c, first)
	}
}

// never leaves firing to nobody (S63); endOfStream fires at the end of time.
type never struct{}

// NewNever returns the trigger that never fires.
func NewNever() Trigger { return never{} }

func (never) Words() int                                  { return 0 }
func (never) Element(*Context, Element) Verdict           { return Continue }
func (never) Timer(*Context, Domain, stream.Time) Verdict { return Continue }
func (never) Clear(*Context)                              {}
func (never) Mergeable() bool                             { return false }
func (never) Merge(*Context, [][]int64)                   {}
func (never) MayPurge() bool                              { return false }

type endOfStream struct{}

// NewEndOfStream returns the trigger that fires at M, for a global window at the end
// of the input.
func NewEndOfStream() Trigger { return endOfStream{} }

func (endOfStream) Words() int { return 0 }

func (endOfStream) Element(c *Context, _ Element) Verdict {
	c.Timers.SetTimer(EventTime, c.max())
	return Continue
}

func (endOfStream) Timer(c *Context, d Domain, t stream.Time) Verdict {
	return eventTime{}.Timer(c, d, t)
}

func (endOfStream) Clear(*Context)            {}
func (endOfStream) Mergeable() bool           { return true }
func (endOfStream) Merge(*Context, [][]int64) {}
func (endOfStream) MayPurge() bool            { return false }
