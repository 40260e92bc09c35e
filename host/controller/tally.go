package controller

import (
	"sync"
	"time"

	"tidemark/engine"
	"tidemark/internal/env"
)

// Tally is what has become of a job's checkpoints since its process started. Stored as JSON.
type Tally struct {
	Completed int64         `json:"completed"`
	Failed    int64         `json:"failed"`
	Restarts  int64         `json:"restarts"`           // runs that followed a failed one, or went on in another process
	Restored  uint64        `json:"restored,omitempty"` // the checkpoint that the last run began from; 0: none
	Last      uint64        `json:"last,omitempty"`     // the last one that was completed; 0: none yet
	At        time.Time     `json:"at,omitzero"`        // when it was
	Took      time.Duration `json:"took_ns,omitempty"`
	Bytes     int64         `json:"bytes,omitempty"`  // that were written for it
	Reused    int64         `json:"reused,omitempty"` // that it has taken over from earlier ones
	Why       string        `json:"why,omitempty"`    // the last one that failed did
}

// Counter counts what becomes of a job's checkpoints. Safe for concurrent use.
type Counter struct {
	clock env.Clock
	mu    sync.Mutex
	now   Tally
	runs  int
}

// NewCounter makes a counter.
func NewCounter(clock env.Clock) *Counter { return &Counter{clock: clock} }

// resume goes on with what an earlier process has counted of the job.
func (c *Counter) resume(t Tally) { c.now, c.runs = t, 1 }

// Begin takes note of a run.
func (c *Counter) Begin(from Origin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	c.now.Restored = 0
	if from.From != nil {
		c.now.Restored = from.From.Meta.ID
	}
	if c.runs > 1 {
		c.now.Restarts++
	}
}

// Observe takes note of an event of the engine.
func (c *Counter) Observe(e engine.Event) {
	k, ok := e.(engine.Checkpointed)
	if !ok {
		return
	}
	at := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.Err != nil {
		c.now.Failed++
		c.now.Why = k.Err.Error()
		return
	}
	c.now.Completed++
	c.now.Last, c.now.At, c.now.Took, c.now.Bytes, c.now.Reused = k.Number, at, k.Took, k.Bytes, k.Reused
}

// Now returns what was counted until now.
func (c *Counter) Now() *Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	return &now
}
