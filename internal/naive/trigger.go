package naive

import (
	"math/big"

	"tidemark/spec"
)

// A verdict is what a trigger says (S53).
type verdict struct{ fire, purge bool }

// A scope is what a trigger sees of one window of one key.
type scope struct {
	op *operator
	p  *pane
}

// A trigger is one row of the table of S54 to S63, with the state it keeps for one
// window of one key (S66).
type trigger interface {
	element(s scope, r *spec.Record) verdict
	event(s scope, t int64) verdict
	clock(s scope, t int64) verdict
	clear(s scope)
	// merge takes over the state of the windows that became the one of s.
	merge(s scope, olds []trigger)
}

// newTrigger returns a trigger without state.
func newTrigger(t *spec.Trigger) trigger {
	switch t.Type {
	case "event_time":
		return &onEventTime{}
	case "processing_time":
		return &onProcessingTime{}
	case "continuous_event_time":
		return &continuousEventTime{interval: t.IntervalMS}
	case "continuous_processing_time":
		return &continuousProcessingTime{interval: t.IntervalMS}
	case "count":
		return &onCount{n: t.N}
	case "delta":
		return &onDelta{threshold: t.Threshold, abs: t.Abs}
	case "purging":
		return &purging{inner: newTrigger(t.Inner)}
	case "processing_timeout":
		return &processingTimeout{inner: newTrigger(t.Inner), after: t.TimeoutMS, reset: t.ResetOnRecord, clears: t.ClearsOnTimeout()}
	case "count_or_timeout":
		return &countOrTimeout{n: t.N, after: t.AfterMS, clockDomain: t.Domain == "processing", purge: t.Purge}
	case "never":
		return never{}
	case "end_of_stream":
		return &endOfStream{}
	}
	panic("BUG: trigger type " + t.Type)
}

// canMerge tells which triggers stand on merging windows (S65).
func canMerge(t *spec.Trigger) bool {
	switch t.Type {
	case "delta", "never", "processing_timeout":
		return false
	case "purging":
		return canMerge(t.Inner)
	}
	return true
}

// inert is the part of triggers that hold no state and handle no callback.
type inert struct{}

func (inert) element(scope, *spec.Record) verdict { return verdict{} }
func (inert) event(scope, int64) verdict          { return verdict{} }
func (inert) clock(scope, int64) verdict          { return verdict{} }
func (inert) clear(scope)                         {}
func (inert) merge(scope, []trigger)              {}

// never is S63.
type never struct{ inert }

// endOfStream is the other S63.
type endOfStream struct{ inert }

func (*endOfStream) element(s scope, _ *spec.Record) verdict {
	s.addEvent(s.max())
	return verdict{}
}

func (*endOfStream) event(s scope, t int64) verdict { return verdict{fire: t == s.max()} }

// onEventTime is S54.
type onEventTime struct{ inert }

func (*onEventTime) element(s scope, _ *spec.Record) verdict {
	if s.max() <= s.op.wm {
		return verdict{fire: true}
	}
	s.addEvent(s.max())
	return verdict{}
}

func (*onEventTime) event(s scope, t int64) verdict { return verdict{fire: t == s.max()} }
func (*onEventTime) clear(s scope)                  { s.deleteEvent(s.max()) }

func (*onEventTime) merge(s scope, _ []trigger) {
	if s.max() > s.op.wm {
		s.addEvent(s.max())
	}
}

// onProcessingTime is S55.
type onProcessingTime struct{ inert }

func (*onProcessingTime) element(s scope, _ *spec.Record) verdict {
	s.addClock(s.max())
	return verdict{}
}

func (*onProcessingTime) clock(scope, int64) verdict { return verdict{fire: true} }
func (*onProcessingTime) clear(s scope)              { s.deleteClock(s.max()) }

func (*onProcessingTime) merge(s scope, _ []trigger) {
	if s.max() > s.op.now {
		s.addClock(s.max())
	}
}

// nextGrid is the first firing of a continuous trigger: the remainder truncates
// towards zero, as S56 asks.
func nextGrid(t, interval, end int64) int64 { return min(satAdd(t-t%interval, interval), end) }

// continuousEventTime is S56.
type continuousEventTime struct {
	inert
	interval int64
	pending  *int64
}

func (c *continuousEventTime) element(s scope, r *spec.Record) verdict {
	if s.max() <= s.op.wm {
		return verdict{fire: true}
	}
	s.addEvent(s.max())
	if c.pending == nil {
		if timestamp(r) == minTime {
			s.op.out.doubt("S56: a record without timestamp")
		}
		c.wait(s, nextGrid(timestamp(r), c.interval, s.max()))
	}
	return verdict{}
}

func (c *continuousEventTime) wait(s scope, t int64) {
	c.pending = &t
	s.addEvent(t)
}

func (c *continuousEventTime) event(s scope, t int64) verdict {
	switch {
	case t == s.max():
		return verdict{fire: true}
	case c.pending != nil && t == *c.pending && s.op.wm == maxTime && s.max() == maxTime:
		s.op.out.doubt("S58: MAX on a global window")
		return verdict{} // one firing at MAX follows
	case c.pending != nil && t == *c.pending:
		c.wait(s, min(satAdd(t, c.interval), s.max()))
		return verdict{fire: true}
	}
	return verdict{}
}

func (c *continuousEventTime) clear(s scope) {
	if c.pending == nil {
		return
	}
	if *c.pending == s.max() && s.inFlight() {
		s.op.out.doubt("S56: a pending firing at M is cleared, the timer at M is not")
	}
	s.deleteEvent(*c.pending)
	c.pending = nil
}

func (c *continuousEventTime) merge(s scope, olds []trigger) {
	c.pending = nil
	for _, old := range olds {
		if p := old.(*continuousEventTime).pending; p != nil && (c.pending == nil || *p < *c.pending) {
			c.pending = p
		}
	}
	if c.pending != nil {
		c.wait(s, *c.pending)
	}
}

// continuousProcessingTime is S57.
type continuousProcessingTime struct {
	inert
	interval int64
	pending  *int64
}

func (c *continuousProcessingTime) element(s scope, _ *spec.Record) verdict {
	if c.pending == nil {
		c.wait(s, nextGrid(s.op.now, c.interval, s.max()))
	}
	return verdict{}
}

func (c *continuousProcessingTime) wait(s scope, t int64) {
	c.pending = &t
	s.addClock(t)
}

func (c *continuousProcessingTime) clock(s scope, t int64) verdict {
	if c.pending == nil || t != *c.pending {
		return verdict{}
	}
	if t < s.max() {
		c.wait(s, min(satAdd(t, c.interval), s.max()))
	} else if s.op.assigner.eventTime() {
		s.op.out.doubt("S57: whether a firing is pending after the one at M")
	}
	return verdict{fire: true}
}

func (c *continuousProcessingTime) clear(s scope) {
	if c.pending != nil {
		s.deleteClock(*c.pending)
		c.pending = nil
	}
}

func (c *continuousProcessingTime) merge(s scope, olds []trigger) {
	c.pending = nil
	for _, old := range olds {
		if p := old.(*continuousProcessingTime).pending; p != nil && (c.pending == nil || *p < *c.pending) {
			c.pending = p
		}
	}
	if c.pending != nil {
		c.wait(s, *c.pending)
	}
}

// onCount is S59.
type onCount struct {
	inert
	n, count int64
}

func (c *onCount) element(scope, *spec.Record) verdict {
	c.count++
	if c.count >= c.n {
		c.count = 0
		return verdict{fire: true}
	}
	return verdict{}
}

func (c *onCount) clear(scope) { c.count = 0 }

func (c *onCount) merge(_ scope, olds []trigger) {
	c.count = 0
	for _, old := range olds {
		c.count += old.(*onCount).count
	}
}

// onDelta is S60.
type onDelta struct {
	inert
	threshold int64
	abs       bool
	reference spec.Value // empty: none
}

func (d *onDelta) element(_ scope, r *spec.Record) verdict {
	if d.reference == "" {
		d.reference = r.Value
		return verdict{}
	}
	if delta(d.reference, r.Value, d.abs).Cmp(big.NewRat(d.threshold, 1)) > 0 {
		d.reference = r.Value
		return verdict{fire: true}
	}
	return verdict{}
}

func (d *onDelta) clear(scope) { d.reference = "" }

func (*onDelta) merge(scope, []trigger) { panic("BUG: S60 does not merge") }

// delta is the distance from one value to another, or its magnitude.
func delta(from, to spec.Value, abs bool) *big.Rat {
	d := new(big.Rat).Sub(number(to), number(from))
	if abs {
		d.Abs(d)
	}
	return d
}

// purging is S61.
type purging struct{ inner trigger }

func (p *purging) element(s scope, r *spec.Record) verdict { return purge(p.inner.element(s, r)) }
func (p *purging) event(s scope, t int64) verdict          { return purge(p.inner.event(s, t)) }
func (p *purging) clock(s scope, t int64) verdict          { return purge(p.inner.clock(s, t)) }
func (p *purging) clear(s scope)                           { p.inner.clear(s) }

func (p *purging) merge(s scope, olds []trigger) {
	inner := make([]trigger, len(olds))
	for i, old := range olds {
		inner[i] = old.(*purging).inner
	}
	p.inner.merge(s, inner)
}

func purge(v verdict) verdict {
	v.purge = v.purge || v.fire
	return v
}

// processingTimeout is S62.
type processingTimeout struct {
	inner         trigger
	after         int64
	reset, clears bool
	armed         *int64 // stays when the timeout fires and nothing is cleared [Q]
}

func (p *processingTimeout) element(s scope, r *spec.Record) verdict {
	v := p.inner.element(s, r)
	if v.fire {
		p.clear(s)
		return v
	}
	if p.armed != nil && p.reset {
		s.deleteClock(*p.armed)
		p.armed = nil
	}
	if p.armed == nil {
		t := satAdd(s.op.now, p.after)
		p.armed = &t
		s.addClock(t)
	}
	return v
}

func (p *processingTimeout) event(s scope, t int64) verdict {
	return p.timeout(s, p.inner.event(s, t))
}

func (p *processingTimeout) clock(s scope, t int64) verdict {
	return p.timeout(s, p.inner.clock(s, t))
}

func (p *processingTimeout) timeout(s scope, v verdict) verdict {
	if p.clears {
		p.clear(s)
	}
	return verdict{fire: true, purge: v.purge}
}

func (p *processingTimeout) clear(s scope) {
	if p.armed != nil {
		s.deleteClock(*p.armed)
		p.armed = nil
	}
	p.inner.clear(s)
}

func (*processingTimeout) merge(scope, []trigger) { panic("BUG: S62 does not merge") }

// countOrTimeout is S62a. Every firing ends the round: the count starts again and the
// next element arms the timer anew.
type countOrTimeout struct {
	n, after    int64
	clockDomain bool
	purge       bool
	count       int64
	armed       *int64
}

func (c *countOrTimeout) element(s scope, r *spec.Record) verdict {
	if s.max() <= s.op.wm { // S54
		return c.fire(s)
	}
	if c.armed == nil {
		c.arm(s, satAdd(c.start(s, r), c.after))
	}
	s.addEvent(s.max())
	c.count++
	if c.count >= c.n {
		return c.fire(s)
	}
	return verdict{}
}

// start is the time from which the timeout counts.
func (c *countOrTimeout) start(s scope, r *spec.Record) int64 {
	if c.clockDomain {
		return s.op.now
	}
	if timestamp(r) == minTime {
		s.op.out.doubt("S62a: a record without timestamp")
	}
	return timestamp(r)
}

func (c *countOrTimeout) arm(s scope, t int64) {
	c.armed = &t
	if c.clockDomain {
		s.addClock(t)
	} else {
		s.addEvent(t)
	}
}

func (c *countOrTimeout) fire(s scope) verdict {
	c.clear(s)
	return verdict{fire: true, purge: c.purge}
}

func (c *countOrTimeout) event(s scope, t int64) verdict {
	if t == s.max() || !c.clockDomain && c.armed != nil && t == *c.armed {
		return c.fire(s)
	}
	return verdict{}
}

func (c *countOrTimeout) clock(s scope, t int64) verdict {
	if c.clockDomain && c.armed != nil && t == *c.armed {
		return c.fire(s)
	}
	return verdict{}
}

func (c *countOrTimeout) clear(s scope) {
	c.count = 0
	if c.armed == nil {
		return
	}
	switch {
	case c.clockDomain:
		s.deleteClock(*c.armed)
	case *c.armed != s.max() || s.max() <= s.op.wm: // the timer at M is also that of S54
		s.deleteEvent(*c.armed)
	}
	c.armed = nil
}

func (c *countOrTimeout) merge(s scope, olds []trigger) {
	c.count, c.armed = 0, nil
	for _, o := range olds {
		old := o.(*countOrTimeout)
		c.count += old.count
		if old.armed != nil && (c.armed == nil || *old.armed < *c.armed) {
			c.armed = old.armed
		}
	}
	if c.armed != nil {
		c.arm(s, *c.armed)
	}
	if s.max() > s.op.wm { // S54
		s.addEvent(s.max())
	}
}
