package window

import (
	"math/bits"

	"tidemark/engine/stream"
)

// calendar is when sessions want to be looked at, earliest first: a heap by radix. An alarm
// lies on the shelf that is named by the highest bit in which its time differs from the
// one that was taken last, so that those of a shelf are all before those of the next one.
// When its turn comes a shelf is dealt out over those below it, and an alarm that comes
// to the lowest is due with all others of its millisecond. It goes down a few shelves in
// its life, each time by a copy of two words; there is no pointer and no comparison.
//
// Alarms cannot be taken back: who gets one asks the session whether it still wants it.
// They are few all the same, since a session that grows keeps the one it has (M2).
type calendar struct {
	now     stream.Time // taken last; no alarm is before it
	shelves [65][]alarm
	first   [65]stream.Time // the earliest alarm of each shelf that has one
	due     stream.Time     // the earliest of all; MaxTime: none
	spare   []alarm         // memory of the alarms that were taken last
}

type alarm struct {
	at   stream.Time
	slot uint32
}

func newCalendar() calendar { return calendar{now: stream.MinTime, due: stream.MaxTime} }

// add sets an alarm, not before the last one taken.
func (c *calendar) add(at stream.Time, slot uint32) {
	c.put(alarm{at, slot})
	c.due = min(c.due, at)
}

func (c *calendar) put(a alarm) {
	n := bits.Len64(uint64(a.at ^ c.now))
	if len(c.shelves[n]) == 0 || a.at < c.first[n] {
		c.first[n] = a.at
	}
	c.shelves[n] = append(c.shelves[n], a)
}

// take removes all alarms of the earliest time, if that is not behind until. They are
// lent until the next call.
func (c *calendar) take(until stream.Time) (at stream.Time, alarms []alarm) {
	if c.due > until || c.due == stream.MaxTime {
		return 0, nil
	}
	n := 0
	for len(c.shelves[n]) == 0 {
		n++
	}
	if n > 0 {
		c.now = c.first[n]
		all := c.shelves[n]
		c.shelves[n] = all[:0]
		for _, a := range all { // they go to shelves below this one
			c.put(a)
		}
	}
	alarms = c.shelves[0]
	c.shelves[0], c.spare = c.spare[:0], alarms
	c.due = stream.MaxTime
	for n := range c.shelves {
		if len(c.shelves[n]) > 0 {
			c.due = c.first[n]
			break
		}
	}
	return c.now, alarms
}
