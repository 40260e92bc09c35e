package sim

import (
	"context"
	"runtime"
	"sync"
	"time"

	"tidemark/internal/env"
)

// Clock is a virtual clock: whoever sleeps moves it by as much and goes on at once, so
// that hours pass in no time and nothing waits. Safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep moves the clock by d and lets other goroutines run.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	runtime.Gosched()
	return ctx.Err()
}

// Tick never calls f: nothing passes time here but sleeping.
func (c *Clock) Tick(time.Duration, func()) (stop func()) { return func() {} }

var _ env.Clock = (*Clock)(nil)
