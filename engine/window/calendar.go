package window

import (
	"math/bits"

	"tidemark/engine/stream"
)

// calendar is when sessions are to be looked at, earliest first. A time is written in
// digits of six bits. An alarm lies on the shelf that is named by the highest digit in
// which its time differs from now, the time that the calendar has come to: its place and
// its value. So all alarms of a shelf come before those of the next one, and when now
// comes to a shelf its alarms go to lower ones: a few times in their lives, without a
// comparison. On the lowest place a shelf is one millisecond.
//
//	place 2    |4 s|4 s|4 s| …         shelf of the alarms of 4,096 ms
//	place 1    |64|64|64| …            those that come before the first of these
//	place 0    |1|1|1| …
//	now        ^
//
// Alarms are numbered by their owners, who have one at most. Those of a shelf are linked by
// these numbers, so that the memory is that of the numbers in use, without a pointer.
type calendar struct {
	now     uint64 // no alarm is before it
	alarms  []alarm
	shelves [places][1 << digit]uint32 // the first alarm of each shelf that has one
	full    [places]uint64             // a bit for each of these
	due     stream.Time                // no alarm is before it: what is asked for each record
	taken   []uint32
}

const (
	digit  = 6
	places = 64/digit + 1
)

type alarm struct {
	at           uint64 // 0: not set
	before, next uint32 // on its shelf
}

const noAlarm = 1<<32 - 1

// ordinal maps times to numbers in the same order; that of MinTime is 0.
func ordinal(t stream.Time) uint64 { return uint64(t) ^ 1<<63 }

func newCalendar() calendar { return calendar{due: stream.MaxTime} }

// set sets an alarm, which is behind all that were taken. If it is set already the earlier
// time counts. The end of time never comes.
func (c *calendar) set(n uint32, t stream.Time) {
	for int(n) >= len(c.alarms) {
		c.alarms = append(c.alarms, alarm{})
	}
	at := ordinal(t)
	if t == stream.MaxTime || c.alarms[n].at != 0 && c.alarms[n].at <= at {
		return
	}
	c.unset(n)
	c.put(n, at)
	c.due = min(c.due, t)
}

// shelf is where an alarm is, which does not change until now comes to it.
func (c *calendar) shelf(at uint64) (place, value int) {
	place = (bits.Len64(at^c.now|1) - 1) / digit
	return place, int(at >> (place * digit) & (1<<digit - 1))
}

func (c *calendar) put(n uint32, at uint64) {
	place, value := c.shelf(at)
	head, next := &c.shelves[place][value], uint32(noAlarm)
	if c.full[place]>>value&1 != 0 {
		next = *head
		c.alarms[next].before = n
	}
	c.full[place] |= 1 << value
	c.alarms[n] = alarm{at: at, before: noAlarm, next: next}
	*head = n
}

// unset takes an alarm back, if it is set.
func (c *calendar) unset(n uint32) {
	if int(n) >= len(c.alarms) || c.alarms[n].at == 0 {
		return
	}
	a := &c.alarms[n]
	if a.next != noAlarm {
		c.alarms[a.next].before = a.before
	}
	if a.before != noAlarm {
		c.alarms[a.before].next = a.next
	} else if place, value := c.shelf(a.at); a.next != noAlarm {
		c.shelves[place][value] = a.next
	} else {
		c.full[place] &^= 1 << value
	}
	a.at = 0
}

// take removes the alarms of the earliest time and returns their numbers, which are lent
// until the next call; none if there is no alarm at until or before.
func (c *calendar) take(until stream.Time) (at stream.Time, numbers []uint32) {
	for {
		place := 0
		for place < places && c.full[place] == 0 {
			place++
		}
		if place == places {
			c.due = stream.MaxTime
			return 0, nil
		}
		value := bits.TrailingZeros64(c.full[place])
		// The digits of now, up to the place: a shift by all bits leaves none.
		first := c.now>>(place*digit+digit)<<(place*digit+digit) | uint64(value)<<(place*digit)
		if c.due = stream.Time(first ^ 1<<63); c.due > until {
			return 0, nil
		}
		c.now = first
		c.full[place] &^= 1 << value
		if place == 0 {
			c.taken = c.taken[:0]
			for n := c.shelves[0][value]; n != noAlarm; n = c.alarms[n].next {
				c.taken = append(c.taken, n)
				c.alarms[n].at = 0
			}
			return c.due, c.taken
		}
		for n := c.shelves[place][value]; n != noAlarm; {
			next := c.alarms[n].next
			c.put(n, c.alarms[n].at)
			n = next
		}
	}
}
