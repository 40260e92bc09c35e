package controller

import (
	"context"
	"errors"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/host/catalog"
	"tidemark/host/tenant"
	"tidemark/internal/fault"
)

// Saved is a checkpoint or a savepoint of a job, as its owner sees it.
type Saved struct {
	ID      uint64
	Kind    checkpoint.Kind
	Taken   time.Time
	Bytes   int64
	Summary []checkpoint.KeyValue // how far the job was
	Damaged string                // why it cannot be read; then there is no more than this
}

// Savepoint has a running job write a savepoint, which stays until the job is deleted, and
// waits for it. The job goes on meanwhile. ErrConflict: it does not run, or takes no
// checkpoints.
func (c *Controller) Savepoint(ctx context.Context, id tenant.ID, name catalog.JobID) (Saved, error) {
	j, err := c.running(ctx, jobKey{id, name})
	if err != nil {
		return Saved{}, err
	}
	taken, err := j.Checkpoint(ctx, checkpoint.Savepoint)
	if err != nil {
		return Saved{}, err
	}
	return c.savedAs(ctx, jobKey{id, name}, taken)
}

// running is the engine of a job that runs, or is about to.
func (c *Controller) running(ctx context.Context, k jobKey) (*engine.Job, error) {
	record, l, err := c.find(ctx, k)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, notRunning(record)
	}
	if err := c.started(ctx, l); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.engine == nil {
		return nil, notRunning(l.record)
	}
	return l.engine, nil
}

// savedAs finds a checkpoint that was just taken.
func (c *Controller) savedAs(ctx context.Context, k jobKey, number uint64) (Saved, error) {
	all, err := c.Saved(ctx, k.tenant, k.id)
	if err != nil {
		return Saved{}, err
	}
	for _, s := range all {
		if s.ID == number {
			return s, nil
		}
	}
	return Saved{}, fault.Conflictf("savepoint %d of job %s has gone", number, k.id)
}

func notRunning(j catalog.Job) error {
	return fault.Conflictf("job %s is %s: a savepoint is taken of a job that runs", j.ID, j.State)
}

// Saved lists the checkpoints and savepoints of a job, the oldest first.
func (c *Controller) Saved(ctx context.Context, id tenant.ID, name catalog.JobID) ([]Saved, error) {
	if _, err := c.o.Catalog.Job(ctx, id, name); err != nil {
		return nil, err
	}
	list, err := c.log(jobKey{id, name}).List(ctx)
	if err != nil {
		return nil, err
	}
	var out []Saved
	for _, e := range list {
		if e.Err != nil {
			out = append(out, Saved{Damaged: c.forOwner(catalog.Job{Tenant: id, ID: name}, e.Err.Error())})
			continue
		}
		m := &e.Meta
		out = append(out, Saved{ID: m.ID, Kind: m.Kind, Taken: time.UnixMilli(int64(m.Taken)), Bytes: e.Size, Summary: m.Summary})
	}
	return out, nil
}

// StopSaved is Stop behind a savepoint: nothing that the job does comes between. If there is
// none the job goes on, and the error says why.
func (c *Controller) StopSaved(ctx context.Context, id tenant.ID, name catalog.JobID, d time.Duration) (View, Saved, error) {
	j, err := c.running(ctx, jobKey{id, name})
	if err != nil {
		return View{}, Saved{}, err
	}
	// Behind the savepoint the job takes no others: it is stopped whatever becomes of who asked.
	ctx = context.WithoutCancel(ctx)
	taken, err := j.HaltSaved(ctx)
	if err != nil {
		return View{}, Saved{}, err
	}
	v, err := c.Stop(ctx, id, name, d)
	if errors.Is(err, fault.ErrConflict) { // it has ended meanwhile
		if record, cerr := c.o.Catalog.Job(ctx, id, name); cerr == nil {
			v, err = stored(record)
		}
	}
	if err != nil {
		return View{}, Saved{}, err
	}
	saved, err := c.savedAs(ctx, jobKey{id, name}, taken)
	return v, saved, err
}

// started waits until a job does not start any more: what comes behind its submission is meant
// for the job that runs.
func (c *Controller) started(ctx context.Context, l *live) error {
	for {
		c.mu.Lock()
		changed := l.changed
		c.mu.Unlock()
		if s := l.life.State(); s != Created && s != Starting {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Drain asks a running job to end as if its input did, and waits for that for at most d: what
// was read is worked on, all windows fire, and the job is finished. ErrConflict: it does not
// run.
func (c *Controller) Drain(ctx context.Context, id tenant.ID, name catalog.JobID, d time.Duration) (View, error) {
	record, l, err := c.find(ctx, jobKey{id, name})
	if err != nil {
		return View{}, err
	}
	if l == nil {
		_, _, err := Next(State(record.State), Drain)
		return View{}, err
	}
	if err := c.started(ctx, l); err != nil {
		return View{}, err
	}
	do, err := l.life.On(Drain)
	if err != nil {
		return View{}, err
	}
	if do == Flush {
		c.mu.Lock()
		running := l.engine
		c.mu.Unlock()
		if running == nil { // it has ended meanwhile
			return c.waitEnd(ctx, record, l, d)
		}
		if err := running.Drain(); err != nil {
			return View{}, err
		}
	}
	return c.waitEnd(ctx, record, l, d)
}
