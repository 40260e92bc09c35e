// Package turns shares the CPU of a host out fairly: between tenants by their weights, and
// between the jobs of a tenant. Every task of a job holds a turn while it computes, and
// none while it waits for input, for room in a queue or for a sink; so tasks that wait for
// each other never do so over a turn, and whoever could compute gets one.
//
//	queue.go   who is next, and who has to give way: a value
//	turns.go   the lock around it, and tasks that wait
//
// A share is judged by the time for which turns were held. Fuel is exact, but only plug-ins
// burn it: by fuel alone a job without plug-ins would cost nothing. The time of a turn has
// noise where the machine does other work as well, but it has the same for everyone who
// holds a turn then. Fuel is kept beside it, and it says how often a plug-in is looked at.
//
// It starts no goroutine. The controller gives each job its Job; tasks call that.
package turns

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Turns is safe for concurrent use.
type Turns struct {
	now     func() time.Time
	weights map[string]int

	mu      sync.Mutex
	queue   Queue
	tenants map[string]*Share // as many as there are tenants
}

// Options is what a Turns is made of.
type Options struct {
	// AtOnce is how many turns may be held at the same time; 0: as many as Go uses
	// processors.
	AtOnce int
	// Weights are those of some tenants; others have 1.
	Weights map[string]int
	Now     func() time.Time
}

// New makes a Turns of which no turn is held.
func New(o Options) (*Turns, error) {
	if o.AtOnce == 0 {
		o.AtOnce = runtime.GOMAXPROCS(0)
	}
	if o.AtOnce < 0 {
		return nil, fmt.Errorf("turns at once: %d, must be 0 or more", o.AtOnce)
	}
	for name, w := range o.Weights {
		if w < 1 {
			return nil, fmt.Errorf("weight of tenant %s: %d, must be 1 or more", name, w)
		}
	}
	return &Turns{now: o.Now, weights: o.Weights, queue: NewQueue(o.AtOnce), tenants: map[string]*Share{}}, nil
}

// Job is the share of one job. Its methods are for the tasks of the job, from any of their
// goroutines.
type Job struct {
	turns *Turns
	share *Share
}

// Job adds a job of a tenant, which the caller closes.
func (t *Turns) Job(tenant string) *Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.tenants[tenant]
	if of == nil {
		of = t.queue.Tenant(max(1, t.weights[tenant]))
		t.tenants[tenant] = of
	}
	return &Job{t, t.queue.Job(of)}
}

// Close ends the job's share; its tasks have ended. Account may still be called.
func (j *Job) Close() {
	j.turns.mu.Lock()
	defer j.turns.mu.Unlock()
	j.turns.queue.Remove(j.share)
}

// Acquire waits for a turn; the caller returns it with Release. The error is that of ctx,
// whose end ends the waiting.
func (j *Job) Acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := j.turns
	t.mu.Lock()
	taken := t.queue.Take(j.share)
	var c *Claim
	if !taken {
		c = t.ask(j.share)
	}
	t.mu.Unlock()
	if taken {
		return nil
	}
	return t.wait(ctx, c)
}

// Yield charges what the caller's turn has used since it was last charged. If others are
// to go first, it returns the turn and waits for another one, like Acquire. After an error
// the caller has no turn.
func (j *Job) Yield(ctx context.Context, cpu time.Duration, fuel int64) error {
	t := j.turns
	t.mu.Lock()
	t.queue.Charge(j.share, cpu, fuel)
	if !t.queue.GiveWay(j.share) {
		t.mu.Unlock()
		return nil
	}
	t.queue.Return(j.share)
	c := t.ask(j.share)
	t.grant()
	t.mu.Unlock()
	return t.wait(ctx, c)
}

// Release charges what the caller's turn has used since it was last charged, and returns
// it.
func (j *Job) Release(cpu time.Duration, fuel int64) {
	t := j.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue.Charge(j.share, cpu, fuel)
	t.queue.Return(j.share)
	t.grant()
}

// ask, grant and wait are the parts of an Acquire. The caller of the first two holds mu.
func (t *Turns) ask(job *Share) *Claim {
	c := t.queue.Ask(job, t.now())
	c.ready = make(chan struct{})
	return c
}

// grant wakes those that a turn is free for: never more than one of them waits for it
// while it is free.
func (t *Turns) grant() {
	if t.queue.root.asking == 0 {
		return
	}
	now := t.now()
	for c := t.queue.Grant(now); c != nil; c = t.queue.Grant(now) {
		close(c.ready)
	}
}

func (t *Turns) wait(ctx context.Context, c *Claim) error {
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.queue.Withdraw(c, t.now()) { // it has just come: to the next
		t.queue.Return(c.job)
		t.grant()
	}
	return ctx.Err()
}

// Account is what the job has had until now. What a turn has used that is held is in it as
// of its last Yield.
func (j *Job) Account() Account {
	j.turns.mu.Lock()
	defer j.turns.mu.Unlock()
	return j.share.Account()
}

// Tenants are the accounts of all tenants that have had a job since the process started.
func (t *Turns) Tenants() map[string]Account {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]Account, len(t.tenants))
	for name, s := range t.tenants {
		out[name] = s.Account()
	}
	return out
}
