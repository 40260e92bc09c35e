// Command count_or_timeout is a trigger that fires a window at its end, at every n-th
// record, and some time after the first record that has not been fired yet, whichever comes
// first. It does what the built-in trigger of the same name does, and shows how: with a
// state, timers of both domains, and a merge.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	n     = tidemark.ParamInt64("n").Required()
	after = tidemark.ParamInt64("after_ms").Required()
	clock = tidemark.ParamBool("by_the_clock")

	state = tidemark.FixedState[waiting]()

	errN     = errors.New("n must be at least 1")
	errAfter = errors.New("after_ms must be at least 1")
)

// waiting is what the trigger knows of a window: the records since the last firing, and
// when the timeout is that the first of them has armed.
type waiting struct {
	records int64
	armed   bool
	at      tidemark.Timestamp
}

func domain() tidemark.Domain {
	if clock.Value() {
		return tidemark.ProcessingTime
	}
	return tidemark.EventTime
}

// disarm takes back the timeout. One that coincides with the window's end leaves that one's
// timer alone.
func disarm(p *tidemark.Pane, w waiting) {
	if w.armed && (domain() != tidemark.EventTime || w.at != p.Last()) {
		p.DeleteTimer(domain(), w.at)
	}
}

// begin begins anew after a firing.
func begin(p *tidemark.Pane, w waiting) {
	disarm(p, w)
	state.Clear(p)
}

func element(p *tidemark.Pane) (tidemark.Verdict, error) {
	w, _ := state.Get(p)
	if p.Last() <= p.Watermark() { // late, but allowed: an update at once
		begin(p, w)
		return tidemark.Fire, nil
	}
	p.SetTimer(tidemark.EventTime, p.Last())
	if w.records++; w.records >= n.Value() {
		begin(p, w)
		return tidemark.Fire, nil
	}
	if !w.armed {
		from := p.Time()
		if clock.Value() {
			from = p.Now()
		}
		w.armed, w.at = true, later(from, after.Value())
		p.SetTimer(domain(), w.at)
	}
	state.Set(p, w)
	return tidemark.Continue, nil
}

// later does not go beyond the end of time.
func later(t tidemark.Timestamp, ms int64) tidemark.Timestamp {
	if sum := t + tidemark.Timestamp(ms); sum > t {
		return sum
	}
	return 1<<63 - 1
}

func timer(p *tidemark.Pane) (tidemark.Verdict, error) {
	w, _ := state.Get(p)
	switch {
	case p.Domain() == tidemark.EventTime && p.Time() == p.Last():
		begin(p, w)
		return tidemark.Fire, nil
	case p.Domain() == domain() && w.armed && p.Time() == w.at:
		state.Clear(p)
		return tidemark.Fire, nil
	}
	return tidemark.Continue, nil
}

func gone(p *tidemark.Pane) error {
	w, _ := state.Get(p)
	begin(p, w)
	p.DeleteTimer(tidemark.EventTime, p.Last())
	return nil
}

// join takes over the records of another session, and the earlier one of two timeouts.
func join(p *tidemark.Pane, old tidemark.Merged) error {
	w, _ := state.Get(p)
	o, _ := state.Get(old)
	w.records += o.records
	if o.armed && (!w.armed || o.at < w.at) {
		disarm(p, w)
		w.armed, w.at = true, o.at
		p.SetTimer(domain(), w.at)
	}
	state.Set(p, w)
	if p.Last() > p.Watermark() {
		p.SetTimer(tidemark.EventTime, p.Last())
	}
	return nil
}

var plugin = tidemark.Triggers(tidemark.TriggerSpec{
	Name: "count_or_timeout", Version: "1.0.0",
	Params: []tidemark.Param{n, after, clock},
	State:  state,
	Configure: func() error {
		switch {
		case n.Value() < 1:
			return errN
		case after.Value() < 1:
			return errAfter
		}
		return nil
	},
	Element: element, Timer: timer, Clear: gone, Merge: join,
})

func main() {}
