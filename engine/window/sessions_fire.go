package window

import (
	"tidemark/engine/result"
	"tidemark/engine/stream"
)

// departure is a session that waits for the end of the segment, to fire, or to leave, or
// both.
type departure struct {
	slot        uint32
	fires, ends bool

	// Of one that fires.
	firing   firing
	key      []byte
	update   bool // it had fired before as this window
	replaces []stream.Window
	fired    bool // its result has been computed
}

func (d *departure) kind() result.Kind {
	if d.update {
		return result.Update
	}
	return result.OnTime
}

// wait has a session fire or end behind the records of the segment.
func (o *Sessions) wait(slot uint32, fires, ends bool) error {
	if o.waiting == nil {
		o.waiting = make([]departure, 0, fireRows)
	}
	s := &o.intervals[slot]
	if fires && o.process.forgets() {
		// The state that it finds may have expired by then: one firing of a key at a time.
		if n := o.keys.Mark(int(s.key)); int(n) < len(o.waiting) && o.waiting[n].fires && o.intervals[o.waiting[n].slot].key == s.key {
			if err := o.flush(); err != nil {
				return err
			}
		}
		o.keys.SetMark(int(s.key), uint32(len(o.waiting)))
	}
	s.waits = true
	n := len(o.waiting)
	o.waiting = o.waiting[:n+1]
	d := &o.waiting[n]
	d.slot, d.fires, d.ends, d.fired = slot, fires, ends, false
	if fires {
		d.firing.moment, d.firing.session = o.moment(), d
	}
	if len(o.waiting) == fireRows {
		return o.flush()
	}
	return nil
}

// flush adds the rows of the segment to their sessions, fires those that wait, and lets
// those go that have ended.
func (o *Sessions) flush() error {
	o.base += uint64(len(o.seg.cells))
	fold := o.contents.flush
	if len(o.changes) > 0 {
		fold = o.foldTrusted
	}
	if err := fold(); err != nil || len(o.waiting) == 0 {
		return err
	}
	cells := o.emitter.cells[:0]
	for i := range o.waiting {
		if d := &o.waiting[i]; d.fires {
			s := &o.intervals[d.slot]
			d.key, d.update, d.replaces = o.keys.Key(int(s.key)), s.ended, o.replaces[d.slot]
			cells = append(cells, cell{table: o.cells, slot: int(d.slot), window: s.window, firing: &d.firing})
		}
	}
	o.emitter.cells = cells
	if err := o.fire(cells); err != nil {
		return err
	}
	for i := range o.waiting {
		d := &o.waiting[i]
		s := &o.intervals[d.slot]
		s.waits = false
		if d.fired {
			s.ended = true
			delete(o.replaces, d.slot)
		}
		if d.ends {
			o.leave(d.slot)
		}
	}
	o.waiting = o.waiting[:0]
	return nil
}

// leave settles the ledger for a session whose state goes.
func (o *Sessions) leave(slot uint32) {
	n := int64(o.cells.Rows(int(slot)))
	o.ledger.Open -= n
	if o.cells.Fired(int(slot)) > 0 {
		o.ledger.Fired += n
	} else {
		o.ledger.Unfired += n
	}
	o.cells.Free(int(slot))
	delete(o.replaces, slot)
}
