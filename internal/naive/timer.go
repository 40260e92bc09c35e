package naive

import (
	"cmp"
	"slices"

	"tidemark/spec"
)

// A timer is a callback for a window of a key (S67).
type timer struct {
	key  spec.Value
	span spec.Span
	at   int64
}

// takeEarliest removes and returns the earliest timer that is due at t.
func takeEarliest(timers *[]timer, t int64) (timer, bool) {
	if len(*timers) == 0 {
		return timer{}, false
	}
	best := slices.MinFunc(*timers, func(a, b timer) int { return cmp.Compare(a.at, b.at) })
	if best.at > t {
		return timer{}, false
	}
	deleteTimer(timers, best)
	return best, true
}

func deleteTimer(timers *[]timer, t timer) {
	*timers = slices.DeleteFunc(*timers, func(x timer) bool { return x == t })
}

func addTimer(timers *[]timer, t timer) {
	if !slices.Contains(*timers, t) { // S67: a set
		*timers = append(*timers, t)
	}
}

// inFlight reports whether the window is neither merged into another nor cleaned up.
func (s scope) inFlight() bool { return s.op.find(s.p.key, s.p.span) == s.p }

func (s scope) max() int64           { return maxTimestamp(s.p.span) }
func (s scope) timer(at int64) timer { return timer{key: s.p.key, span: s.p.span, at: at} }
func (s scope) addEvent(at int64)    { addTimer(&s.op.eventTimers, s.timer(at)) }
func (s scope) deleteEvent(at int64) { deleteTimer(&s.op.eventTimers, s.timer(at)) }
func (s scope) deleteClock(at int64) { deleteTimer(&s.op.clockTimers, s.timer(at)) }

func (s scope) addClock(at int64) {
	if at <= s.op.now && !s.op.clockMoves {
		s.op.out.doubt("S103, S121: a processing timer of the past")
	}
	addTimer(&s.op.clockTimers, s.timer(at))
}

// addCleanup registers the timer of S44, unless it is the end of time.
func (s scope) addCleanup() {
	switch at := s.op.cleanup(s.p.span); {
	case at == maxTime:
	case s.op.assigner.eventTime():
		s.addEvent(at)
	default:
		s.addClock(at)
	}
}

func (s scope) deleteCleanup() {
	if s.op.assigner.eventTime() {
		s.deleteEvent(s.op.cleanup(s.p.span))
	} else {
		s.deleteClock(s.op.cleanup(s.p.span))
	}
}

// checkTimers doubts a step after which a window has no cleanup timer: its trigger
// deleted a timer of its own at the same time, and timers are a set (S67).
func (op *operator) checkTimers() {
	for _, p := range op.panes {
		at := op.cleanup(p.span)
		timers := op.clockTimers
		if op.assigner.eventTime() {
			timers = op.eventTimers
		}
		if at != maxTime && !slices.Contains(timers, timer{key: p.key, span: p.span, at: at}) {
			op.out.doubt("S67: a trigger deleted the cleanup timer")
		}
	}
}
