// Command triggers are built-in triggers as a plug-in, chosen by an argument, for the tests
// of hosts: they give the rows of the built-in ones. A record whose value is 13 is refused,
// one of 14 ends the instance, and timers do so if the arguments say so.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	value = tidemark.Int64("value").Nullable()

	kind     = tidemark.ParamString("kind").Required()
	n        = tidemark.ParamInt64("n")
	interval = tidemark.ParamInt64("interval")
	clock    = tidemark.ParamBool("clock")
	abs      = tidemark.ParamBool("abs")
	purge    = tidemark.ParamBool("purge")
	broken   = tidemark.ParamString("broken") // timer: a timer fails; moody: so do some values

	state = tidemark.FixedState[words]()

	errKind   = errors.New("no such kind")
	errLuck   = errors.New("unlucky")
	errBroken = errors.New("the timer is broken")
)

// words are a count, or what is pending, or a reference value.
type words struct {
	there bool
	v     int64
}

func domain() tidemark.Domain {
	if clock.Value() {
		return tidemark.ProcessingTime
	}
	return tidemark.EventTime
}

func said(v tidemark.Verdict) tidemark.Verdict {
	if purge.Value() && v == tidemark.Fire {
		return tidemark.FireAndPurge
	}
	return v
}

func element(p *tidemark.Pane) (tidemark.Verdict, error) {
	v := value.Of(p.Row())
	if broken.Value() == "moody" {
		switch v {
		case 13:
			return 0, errLuck
		case 14:
			panic("out of luck")
		}
	}
	s, _ := state.Get(p)
	switch kind.Value() {
	case "count":
		if s.v++; s.v >= n.Value() {
			state.Clear(p)
			return said(tidemark.Fire), nil
		}
		state.Set(p, s)
	case "delta":
		d := v - s.v
		if abs.Value() && d < 0 {
			d = -d
		}
		if s.there && d <= n.Value() {
			return tidemark.Continue, nil
		}
		state.Set(p, words{true, v})
		if s.there {
			return said(tidemark.Fire), nil
		}
	case "event_time", "continuous":
		if kind.Value() == "continuous" && clock.Value() {
			if !s.there {
				arm(p, next(p, p.Now()))
			}
			return tidemark.Continue, nil
		}
		if p.Last() <= p.Watermark() {
			return said(tidemark.Fire), nil
		}
		p.SetTimer(tidemark.EventTime, p.Last())
		if kind.Value() == "continuous" && !s.there {
			arm(p, next(p, p.Time()))
		}
	}
	return tidemark.Continue, nil
}

func next(p *tidemark.Pane, t tidemark.Timestamp) tidemark.Timestamp {
	i := tidemark.Timestamp(interval.Value())
	return later(p, t-t%i)
}

// later is one interval later, at most the window's end.
func later(p *tidemark.Pane, t tidemark.Timestamp) tidemark.Timestamp {
	sum := t + tidemark.Timestamp(interval.Value())
	if sum < t {
		return p.Last()
	}
	return min(sum, p.Last())
}

func arm(p *tidemark.Pane, t tidemark.Timestamp) {
	state.Set(p, words{true, int64(t)})
	p.SetTimer(domain(), t)
}

func timer(p *tidemark.Pane) (tidemark.Verdict, error) {
	if broken.Value() == "timer" {
		return 0, errBroken
	}
	atEnd := p.Domain() == tidemark.EventTime && p.Time() == p.Last()
	switch kind.Value() {
	case "event_time":
		if atEnd {
			return said(tidemark.Fire), nil
		}
	case "continuous":
		s, _ := state.Get(p)
		switch {
		case p.Domain() != domain():
			return tidemark.Continue, nil
		case atEnd:
			return said(tidemark.Fire), nil
		case !s.there || s.v != int64(p.Time()):
			return tidemark.Continue, nil
		case p.Time() < p.Last():
			arm(p, later(p, p.Time()))
		default:
			state.Clear(p)
		}
		return said(tidemark.Fire), nil
	}
	return tidemark.Continue, nil
}

func gone(p *tidemark.Pane) error {
	switch kind.Value() {
	case "event_time":
		p.DeleteTimer(tidemark.EventTime, p.Last())
	case "continuous":
		if s, there := state.Get(p); there {
			p.DeleteTimer(domain(), tidemark.Timestamp(s.v))
		}
	}
	return nil
}

func merge(p *tidemark.Pane, old tidemark.Merged) error {
	s, _ := state.Get(p)
	o, there := state.Get(old)
	switch kind.Value() {
	case "count":
		state.Set(p, words{true, s.v + o.v})
	case "event_time":
		if p.Last() > p.Watermark() {
			p.SetTimer(tidemark.EventTime, p.Last())
		}
	case "continuous":
		if there && (!s.there || o.v < s.v) {
			arm(p, tidemark.Timestamp(o.v))
		}
	}
	return nil
}

var plugin = tidemark.Triggers(tidemark.TriggerSpec{
	Name: "triggers", Version: "1.0.0",
	Inputs: []tidemark.Input{value},
	Params: []tidemark.Param{kind, n, interval, clock, abs, purge, broken},
	State:  state,
	Configure: func() error {
		switch kind.Value() {
		case "count", "delta", "event_time", "continuous":
			return nil
		}
		return errKind
	},
	Element: element, Timer: timer, Clear: gone, Merge: merge,
})

func main() {}
