package trigger

import "tidemark/engine/stream"

// purging turns every firing of another trigger into one that purges (S61).
type purging struct{ Trigger }

// NewPurging returns the trigger of S61 around inner.
func NewPurging(inner Trigger) Trigger { return purging{inner} }

// IsPurgingEventTime reports whether t is the default trigger of event-time windows,
// made to purge.
func IsPurgingEventTime(t Trigger) bool {
	p, ok := t.(purging)
	return ok && IsEventTime(p.Trigger)
}

func purged(v Verdict) Verdict {
	if v&Fire != 0 {
		return FireAndPurge
	}
	return v
}

func (p purging) Element(c *Context, e Element) Verdict {
	return purged(p.Trigger.Element(c, e))
}

func (p purging) Timer(c *Context, d Domain, t stream.Time) Verdict {
	return purged(p.Trigger.Timer(c, d, t))
}

func (p purging) MayPurge() bool { return true }

// timeout fires a pane some processing time after a record, whatever another trigger
// thinks (S62). State: 1 if the timer is armed, when, and then that of the other.
type timeout struct {
	inner        Trigger
	after        stream.Time
	reset        bool
	clearOnTimer bool
}

// NewProcessingTimeout returns the trigger of S62 around inner: after is in ms; reset
// starts the time anew with every record; clear also clears inner when it is over.
func NewProcessingTimeout(inner Trigger, after stream.Time, reset, clear bool) Trigger {
	return timeout{inner, after, reset, clear}
}

func (k timeout) Words() int { return 2 + k.inner.Words() }

func (k timeout) part(c *Context) *Context { return c.part(2, k.inner.Words()) }

func (k timeout) Element(c *Context, e Element) Verdict {
	v := k.inner.Element(k.part(c), e)
	if v&Fire != 0 {
		k.Clear(c)
		return v
	}
	if c.State[0] == 1 && k.reset {
		c.Timers.DeleteTimer(ProcessingTime, stream.Time(c.State[1]))
		c.State[0] = 0
	}
	if c.State[0] == 0 {
		t := c.Now.Add(k.after)
		c.State[0], c.State[1] = 1, int64(t)
		c.Timers.SetTimer(ProcessingTime, t)
	}
	return v
}

// Timer fires at any timer, as Flink does: also at the window's cleanup.
func (k timeout) Timer(c *Context, d Domain, t stream.Time) Verdict {
	v := k.inner.Timer(k.part(c), d, t)
	if k.clearOnTimer {
		k.Clear(c)
	}
	return v | Fire
}

func (k timeout) Clear(c *Context) {
	if c.State[0] == 1 {
		c.Timers.DeleteTimer(ProcessingTime, stream.Time(c.State[1]))
	}
	c.State[0], c.State[1] = 0, 0
	k.inner.Clear(k.part(c))
}

func (timeout) Mergeable() bool           { return false }
func (timeout) Merge(*Context, [][]int64) {}
func (k timeout) MayPurge() bool          { return k.inner.MayPurge() }
