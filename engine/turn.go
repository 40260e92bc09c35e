package engine

import (
	"context"
	"time"

	"tidemark/engine/udf"
	"tidemark/internal/env"
)

// turn is a task's right to use the CPU (K5). A task takes it for each batch: to read and
// route it, or to work on it and send what comes of it. It never has it while it waits, for a
// queue, a sink or input: tasks that wait for each other could not go on if one waited for
// the turn of the other. What stays outside is a copy of rows at most: a merge of inboxes, a
// write.
//
// Begin and End nest: a plug-in's call is in the turn of the batch that it is made for, and
// takes one of its own where there is none, as at the start of a job. One goroutine uses
// it, the task's; before that, the one that makes the job.
type turn struct {
	turns Turns // nil: there is only this job
	clock env.Clock
	ctx   context.Context // of the task: its end ends the waiting
	depth int             // of Begins
	held  bool
	since time.Time // what was used before was charged
	fuel  int64     // not charged yet
}

var _ udf.Turn = (*turn)(nil)

// newTurn makes the turn of a task. ctx counts until the task has one of its own.
func (j *Job) newTurn(ctx context.Context) *turn {
	return &turn{turns: j.opts.Turns, clock: j.opts.Env.Clock, ctx: ctx}
}

// of returns a context for functions of the task.
func (t *turn) of(ctx context.Context) context.Context {
	if t.turns == nil {
		return ctx
	}
	return udf.WithTurn(ctx, t)
}

// Begin implements udf.Turn.
func (t *turn) Begin() error {
	if t.depth == 0 {
		if err := t.take(); err != nil {
			return err
		}
	}
	t.depth++
	return nil
}

// End implements udf.Turn.
func (t *turn) End(fuel int64) {
	t.fuel += fuel
	t.depth--
	if t.depth == 0 {
		t.give()
	}
}

// Yield implements udf.Turn.
func (t *turn) Yield(fuel int64) error {
	t.fuel += fuel
	if t.turns == nil {
		return nil
	}
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if !t.held { // lost on the way: see rest
		return t.take()
	}
	now := t.clock.Now()
	if err := t.turns.Yield(t.ctx, now.Sub(t.since), t.fuel); err != nil {
		t.held, t.fuel = false, 0
		return err
	}
	t.since, t.fuel = t.clock.Now(), 0
	return nil
}

// rest gives the turn back, if the task has it, for the time that f takes, which waits.
func (t *turn) rest(f func() error) error {
	if !t.held {
		return f()
	}
	t.give()
	if err := f(); err != nil {
		return err
	}
	return t.take()
}

func (t *turn) take() error {
	if t.turns == nil {
		return nil
	}
	if err := t.turns.Acquire(t.ctx); err != nil {
		return err
	}
	t.held, t.since = true, t.clock.Now()
	return nil
}

// give returns the turn, if the task has it: after an error of a Yield or a rest it has
// not.
func (t *turn) give() {
	if !t.held {
		return
	}
	t.held = false
	t.turns.Release(t.clock.Now().Sub(t.since), t.fuel)
	t.fuel = 0
}
