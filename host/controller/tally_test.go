package controller

import (
	"errors"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/internal/sim"
)

func TestTally(t *testing.T) {
	at := time.UnixMilli(5000)
	c := NewCounter(sim.NewClock(at))
	begin := func(id uint64) {
		o := Origin{}
		if id > 0 {
			o.From = &checkpoint.Checkpoint{Meta: checkpoint.Meta{ID: id}}
		}
		c.Begin(o)
	}
	begin(0)
	c.Observe(engine.Warning{Operator: "in", Message: "not of a checkpoint"})
	c.Observe(engine.Checkpointed{Number: 1, Took: time.Second, Bytes: 10})
	c.Observe(engine.Checkpointed{Number: 2, Took: 2 * time.Second, Bytes: 20})
	c.Observe(engine.Checkpointed{Number: 3, Took: 9 * time.Second, Bytes: 99, Err: errors.New("no space left")})
	want := Tally{Completed: 2, Failed: 1, Last: 2, At: at, Took: 2 * time.Second, Bytes: 20, Why: "no space left"}
	if got := *c.Now(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	begin(2)
	want.Restarts, want.Restored = 1, 2
	if got := *c.Now(); got != want {
		t.Errorf("behind a failure: %+v, want %+v", got, want)
	}

	// In the next process it goes on, and a run from nothing restores nothing.
	next := NewCounter(sim.NewClock(at))
	next.resume(want)
	next.Begin(Origin{})
	want.Restarts, want.Restored = 2, 0
	if got := *next.Now(); got != want {
		t.Errorf("in the next process: %+v, want %+v", got, want)
	}
}
