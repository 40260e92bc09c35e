package controller

import (
	"sync"
	"time"

	"tidemark/engine"
)

// Change is told to a job's owner at each new state.
type Change struct {
	State State
	// In Restarting, and in a state that has ended:
	Report engine.Report
	Err    error // why; nil for a finished job
	// In Restarting: how long it waits, and which start comes then, of how many.
	Wait              time.Duration
	Attempt, Attempts int
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
func (l *Life) On(e Event) (Action, error) { return l.on(e, Change{}) }

// on is On with what the owner is told beside the state.
func (l *Life) on(e Event, ch Change) (Action, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to, do, err := Next(l.state, e)
	if err != nil {
		return Nothing, err
	}
	if to != l.state {
		l.state = to
		ch.State = to
		l.moved(ch)
	}
	return do, nil
}

// State returns the state now.
func (l *Life) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}
