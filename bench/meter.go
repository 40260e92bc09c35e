package main

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"tidemark/engine"
)

// meter lets all tasks of a job compute at once, and notes what the turns of its step, which
// are those of batches, took of the CPU: that of the thread that had the turn, so that what else
// runs on the machine, or in the process, does not count.
type meter struct {
	mu    sync.Mutex
	begun map[int]time.Duration // what a thread had used before its turn
	turns []spent
	err   error
}

// spent is what a turn took.
type spent struct {
	ended time.Time
	cpu   time.Duration
}

var _ engine.Turns = (*meter)(nil)

// ofStep reports whether a turn is that of a subtask of a step: its goroutine's label says
// so (engine/label.go).
func ofStep(ctx context.Context) bool {
	work, _ := pprof.Label(ctx, "work")
	return work == "step"
}

// Acquire implements engine.Turns.
func (m *meter) Acquire(ctx context.Context) error {
	if !ofStep(ctx) {
		return ctx.Err()
	}
	runtime.LockOSThread()
	m.mu.Lock()
	defer m.mu.Unlock()
	thread, cpu, err := threadCPU()
	if m.begun == nil {
		m.begun = map[int]time.Duration{}
	}
	m.begun[thread], m.err = cpu, errors.Join(m.err, err)
	return ctx.Err()
}

// Release implements engine.Turns.
func (m *meter) Release(time.Duration, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	thread, cpu, err := threadCPU()
	before, ours := m.begun[thread]
	if !ours {
		return
	}
	delete(m.begun, thread)
	runtime.UnlockOSThread()
	m.turns, m.err = append(m.turns, spent{time.Now(), cpu - before}), errors.Join(m.err, err)
}

// Yield implements engine.Turns. Nobody else waits for the turn.
func (m *meter) Yield(ctx context.Context, _ time.Duration, _ int64) error { return ctx.Err() }
