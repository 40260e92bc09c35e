// Package breaker turns plug-ins off that keep failing, where a step says
// on_error: {disable_plugin: …}. It counts and remembers; it calls nothing and sets
// nothing aside. Operators ask it before they call a plug-in, and tell it what failed.
//
// A run must not depend on the size of batches or the number of tasks. Tasks see the
// failures of a step in different orders, but each of them sees all that concerns a key
// group, and in the order of the input. So failures are counted by part: a key group where
// there are keys, and a split where records are taken one by one. Time is event time: a
// replay that runs twice as fast has the same failures within ten minutes.
package breaker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Limit is when a plug-in is disabled in a part: at so many failures, the last of them no
// more than Within ms of event time behind the first.
type Limit struct {
	Failures int
	Within   stream.Time
}

// Breaker is that of one task. One goroutine uses it. A nil one never disables anything.
type Breaker struct {
	limit    Limit
	circuits map[place]*circuit
	disabled int // of them
}

// place is a plug-in in a part of the data.
type place struct {
	part   int
	plugin string
}

type circuit struct {
	times    []stream.Time // of the last failures, oldest first; none once it is disabled
	last     stream.Time   // of them all: time does not go back
	reason   string        // why it is disabled; empty: it is not
	since    stream.Time
	setAside int64 // since then
}

// New makes a breaker.
func New(l Limit) *Breaker { return &Breaker{limit: l, circuits: map[place]*circuit{}} }

// Any reports whether a plug-in is disabled anywhere: if not, there is no need to ask.
func (b *Breaker) Any() bool { return b != nil && b.disabled > 0 }

// Bars returns the failure that calls of the first of some plug-ins that is disabled in a
// part meet; nil if none is.
func (b *Breaker) Bars(part int, plugins ...string) *udf.Failure {
	if !b.Any() {
		return nil
	}
	for _, p := range plugins {
		if c := b.circuits[place{part, p}]; c != nil && c.reason != "" {
			return &udf.Failure{Op: -1, Fresh: true, Module: p, Disabled: true, Message: c.reason}
		}
	}
	return nil
}

// Failed takes what was set aside in a part at an event time, and why. What built-in
// functions refuse does not count; what Bars has returned is what a disabled plug-in costs.
func (b *Breaker) Failed(part int, at stream.Time, f *udf.Failure) {
	if b == nil || f.Module == "" {
		return
	}
	where := place{part, f.Module}
	c := b.circuits[where]
	if c == nil {
		c = &circuit{last: stream.MinTime}
		b.circuits[where] = c
	}
	if c.reason != "" {
		c.setAside++
		return
	}
	c.last = max(c.last, at)
	if len(c.times) == b.limit.Failures {
		c.times = slices.Delete(c.times, 0, 1)
	}
	c.times = append(c.times, c.last)
	if len(c.times) < b.limit.Failures || c.last.Sub(c.times[0]) > b.limit.Within {
		return
	}
	within := job.FormatDuration(time.Duration(b.limit.Within) * time.Millisecond)
	c.reason, c.since, c.times = fmt.Sprintf("it is disabled since %s, after %d failures within %s; the last one: %s", result.TimeText(c.last), b.limit.Failures, within, f.Message), c.last, nil
	b.disabled++
}

// Disabled is a plug-in that is disabled in some parts.
type Disabled struct {
	Plugin string      `json:"plugin"`
	Parts  int         `json:"parts"`     // key groups, or files where a function takes single records
	Since  stream.Time `json:"since"`     // event time at which the first of them was
	Reason string      `json:"reason"`    // of that one
	Aside  int64       `json:"set_aside"` // records and firings that would have needed it
}

// Disabled lists what is disabled, by name.
func (b *Breaker) Disabled() []Disabled {
	if !b.Any() {
		return nil
	}
	var out []Disabled
	for at, c := range b.circuits {
		if c.reason != "" {
			out = append(out, Disabled{Plugin: at.plugin, Parts: 1, Since: c.since, Reason: c.reason, Aside: c.setAside})
		}
	}
	return Merge(nil, out)
}

// Merge adds what other tasks have disabled.
func Merge(into, from []Disabled) []Disabled {
	for _, d := range from {
		i := slices.IndexFunc(into, func(x Disabled) bool { return x.Plugin == d.Plugin })
		if i < 0 {
			into = append(into, d)
			continue
		}
		x := &into[i]
		if cmp.Or(cmp.Compare(d.Since, x.Since), cmp.Compare(d.Reason, x.Reason)) < 0 {
			x.Since, x.Reason = d.Since, d.Reason
		}
		x.Parts += d.Parts
		x.Aside += d.Aside
	}
	slices.SortFunc(into, func(a, b Disabled) int { return cmp.Compare(a.Plugin, b.Plugin) })
	return into
}
