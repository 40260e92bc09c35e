package exchange

import (
	"context"

	"tidemark/engine/stream"
)

// Router is the sending end of one edge for one sender: it routes rows by key to the
// subtasks of a step. One goroutine uses it.
type Router struct {
	sender int
	key    []int // columns of the key
	groups int   // max_parallelism
	to     []*Inbox
	pool   *Pool
	rest   func(wait func() error) error
	parts  [][]*stream.Batch // scratch: what goes to each receiver
}

// NewRouter makes the router of one sender to all subtasks of a step. Where the sender has
// to wait for room in a queue, it does so in a call of rest.
func NewRouter(sender int, key []int, groups int, to []*Inbox, pool *Pool, rest func(wait func() error) error) *Router {
	return &Router{sender: sender, key: key, groups: groups, to: to, pool: pool, rest: rest, parts: make([][]*stream.Batch, len(to))}
}

// Straight is a rest for senders that hold nothing while they wait.
func Straight(wait func() error) error { return wait() }

// Send routes batches, which it takes over: one, or what a task makes of one that it has.
// Every receiver gets the trailing watermarks, also one that gets no row (T2).
func (r *Router) Send(ctx context.Context, batches ...*stream.Batch) error {
	for i := range r.parts {
		r.parts[i] = r.parts[i][:0]
	}
	for _, b := range batches {
		b.SetKeys(r.key)
		if len(r.to) == 1 {
			r.parts[0] = append(r.parts[0], b)
			continue
		}
		at := len(r.parts[0])
		for i := range r.parts {
			p := r.pool.Get(b)
			p.Follow(b)
			r.parts[i] = append(r.parts[i], p)
		}
		for i := range b.N {
			group := stream.KeyGroup(b.Hash[i], r.groups)
			r.parts[stream.Subtask(group, len(r.to), r.groups)][at].AppendRow(b, i)
		}
		r.pool.Put(b)
	}
	for i, p := range r.parts {
		if r.to[i].offer(r.sender, p) {
			continue
		}
		if err := r.rest(func() error { return r.to[i].Send(ctx, r.sender, p...) }); err != nil {
			return err
		}
	}
	return nil
}

// Close tells all receivers that the sender has ended.
func (r *Router) Close() {
	for _, in := range r.to {
		in.Close(r.sender)
	}
}
