package controller

import (
	"sync"

	"tidemark/engine"
)

// Change is told to a job's owner at each new state.
type Change struct {
	State State
	// In a state that has ended:
	Report engine.Report
	Err    error // why; nil for a finished job
}

// Life is the state of one job. Safe for concurrent use.
type Life struct {
	mu    sync.Mutex
	state State
	moved func(Change)
}

// NewLife begins a life as Created. moved may be nil; it is called at each change of
// state, in order and never twice at a time, and must not call the Life.
func NewLife(moved func(Change)) *Life {
	if moved == nil {
		moved = func(Change) {}
	}
	return &Life{state: Created, moved: moved}
}

// On lets an event happen. An error of class ErrConflict means that nothing did.
func (l *Life) On(e Event) (Action, error) { return l.on(e, engine.Report{}, nil) }

func (l *Life) on(e Event, report engine.Report, why error) (Action, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to, do, err := Next(l.state, e)
	if err != nil {
		return Nothing, err
	}
	if to != l.state {
		l.state = to
		l.moved(Change{State: to, Report: report, Err: why})
	}
	return do, nil
}

// State returns the state now.
func (l *Life) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}
