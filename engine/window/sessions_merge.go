package window

import (
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// makeWay makes way for a record among the sessions that it touches: what waits for one of
// them is done first. Those that become one must have all of their records.
func (o *Sessions) makeWay(t *touch) error {
	several := t.first != t.last
	for slot := t.first; slot != t.newer && slot != noSession; slot = o.intervals[slot].newer {
		if o.intervals[slot].waits || several && o.intervals[slot].mark >= o.base {
			return o.flush()
		}
	}
	return nil
}

// slots lists the cells of the sessions that are touched, in order of their starts.
func (o *Sessions) slots(t *touch) []int {
	var slots []int
	for slot := t.first; slot != t.newer && slot != noSession; slot = o.intervals[slot].newer {
		slots = append(slots, int(slot))
	}
	return slots
}

// merge makes one session of several (S45), in place of the first. Their accumulators are
// merged in order of their starts (M1). A failure of user code changes nothing.
func (o *Sessions) merge(t *touch) (*udf.Failure, error) {
	slots := o.slots(t)
	replaces := o.replaced(slots)
	if f, err := o.mergeCells(o.cells, slots); f != nil || err != nil {
		return f, err
	}
	for _, slot := range slots[1:] {
		o.calendar.unset(uint32(slot))
		delete(o.replaces, uint32(slot))
	}
	s := &o.intervals[t.first]
	s.window, s.ended = t.cover, false
	o.join(s.key, t.first, t.newer)
	o.wake(t.first)
	if len(replaces) > 0 {
		o.replaces[t.first] = replaces
	}
	return nil, nil
}

// replaced lists the windows under which sessions have fired, in order.
func (o *Sessions) replaced(slots []int) (windows []stream.Window) {
	for _, slot := range slots {
		windows = append(windows, o.replaces[uint32(slot)]...)
		if o.intervals[slot].ended {
			windows = append(windows, o.intervals[slot].window)
		}
	}
	return windows
}
