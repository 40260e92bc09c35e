package trigger

import (
	"math"

	"tidemark/engine/stream"
)

// count fires at every n-th record (S59). State: records since the last firing.
type count struct{ n int64 }

// NewCount returns the trigger of S59; n is at least 1.
func NewCount(n int64) Trigger { return count{n} }

// IsCount reports whether t fires at every n-th record and at nothing else, and its n.
func IsCount(t Trigger) (n int64, ok bool) {
	k, ok := t.(count)
	return k.n, ok
}

func (count) Words() int { return 1 }

func (k count) Element(c *Context, _ Element) Verdict {
	if c.State[0]++; c.State[0] >= k.n {
		c.State[0] = 0
		return Fire
	}
	return Continue
}

func (count) Timer(*Context, Domain, stream.Time) Verdict { return Continue }
func (count) Clear(c *Context)                            { c.State[0] = 0 }
func (count) Mergeable() bool                             { return true }
func (count) MayPurge() bool                              { return false }

func (count) Merge(c *Context, olds [][]int64) {
	for _, o := range olds {
		c.State[0] += o[0]
	}
}

// delta fires when a value has moved by more than a threshold from the one that it
// fired at last (S60). State: 1 if there is a reference, and its bits.
type delta struct {
	threshold float64
	abs       bool
}

// NewDelta returns the trigger of S60. The difference is new - old, or with abs its
// absolute value.
func NewDelta(threshold float64, abs bool) Trigger { return delta{threshold, abs} }

func (delta) Words() int { return 2 }

func (k delta) Element(c *Context, e Element) Verdict {
	ref := math.Float64frombits(uint64(c.State[1]))
	d := e.Value - ref
	if k.abs {
		d = math.Abs(d)
	}
	if c.State[0] == 1 && d <= k.threshold {
		return Continue
	}
	first := c.State[0] == 0
	c.State[0], c.State[1] = 1, int64(math.Float64bits(e.Value))
	if first {
		return Continue
	}
	return Fire
}

func (delta) Timer(*Context, Domain, stream.Time) Verdict { return Continue }
func (delta) Clear(c *Context)                            { c.State[0], c.State[1] = 0, 0 }
func (delta) Mergeable() bool                             { return false }
func (delta) Merge(*Context, [][]int64)                   {}
func (delta) MayPurge() bool                              { return false }

// countOrTimeout fires at n records, some time after the first of them, and at the end
// of the window, whichever comes first (S62a). State: records since the last firing, 1
// if a timeout is armed, and when.
type countOrTimeout struct {
	n      int64
	after  stream.Time
	domain Domain
}

// NewCountOrTimeout returns the trigger of S62a. n is at least 1, after is in ms and
// above 0. For its option purge wrap it in NewPurging.
func NewCountOrTimeout(n int64, after stream.Time, d Domain) Trigger {
	return countOrTimeout{n, after, d}
}

func (countOrTimeout) Words() int { return 3 }

func (k countOrTimeout) Element(c *Context, e Element) Verdict {
	end := (eventTime{}).Element(c, e) // the end of the window counts in any case (S54)
	if c.State[0]++; end == Fire || c.State[0] >= k.n {
		k.reset(c)
		return Fire
	}
	if c.State[1] == 0 {
		at := c.Now
		if k.domain == EventTime {
			at = e.Time
		}
		k.arm(c, at.Add(k.after))
	}
	return Continue
}

func (k countOrTimeout) arm(c *Context, t stream.Time) {
	c.State[1], c.State[2] = 1, int64(t)
	c.Timers.SetTimer(k.domain, t)
}

// disarm takes back the timeout. One that coincides with the end of the window leaves that
// one's timer alone.
func (k countOrTimeout) disarm(c *Context) {
	if c.State[1] == 1 && (k.domain != EventTime || c.State[2] != int64(c.max())) {
		c.Timers.DeleteTimer(k.domain, stream.Time(c.State[2]))
	}
}

// reset begins anew after a firing.
func (k countOrTimeout) reset(c *Context) {
	k.disarm(c)
	c.State[0], c.State[1], c.State[2] = 0, 0, 0
}

func (k countOrTimeout) Timer(c *Context, d Domain, t stream.Time) Verdict {
	switch {
	case d == EventTime && t == c.max():
		k.reset(c)
		return Fire
	case d == k.domain && c.State[1] == 1 && c.State[2] == int64(t):
		c.State[0], c.State[1], c.State[2] = 0, 0, 0
		return Fire
	}
	return Continue
}

func (k countOrTimeout) Clear(c *Context) {
	k.reset(c)
	(eventTime{}).Clear(c)
}

func (countOrTimeout) Mergeable() bool { return true }
func (countOrTimeout) MayPurge() bool  { return false }

func (k countOrTimeout) Merge(c *Context, olds [][]int64) {
	armed, first := c.State[1] == 1, stream.Time(c.State[2])
	for _, o := range olds {
		c.State[0] += o[0]
		if t := stream.Time(o[2]); o[1] == 1 && (!armed || t < first) {
			armed, first = true, t
		}
	}
	if armed && stream.Time(c.State[2]) != first {
		k.disarm(c)
	}
	if armed {
		k.arm(c, first)
	}
	(eventTime{}).Merge(c, nil)
}
