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
	owner  []int // for each key group: the receiver
	to     []*Inbox
	pool   *Pool
	rest   func(wait func() error) error
	parts  [][]*stream.Batch // scratch: what goes to each receiver
	rows   [][]uint32        // scratch: and which rows of one batch
}

// NewRouter makes the router of one sender to all subtasks of a step. Where the sender has
// to wait for room in a queue, it does so in a call of rest.
func NewRouter(sender int, key []int, groups int, to []*Inbox, pool *Pool, rest func(wait func() error) error) *Router {
	r := &Router{sender: sender, key: key, owner: make([]int, groups), to: to, pool: pool, rest: rest, parts: make([][]*stream.Batch, len(to)), rows: make([][]uint32, len(to))}
	for g := range r.owner {
		r.owner[g] = stream.Subtask(g, len(to), groups)
	}
	return r
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
		r.deal(b)
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

// deal cuts a batch into one for each receiver. Their rows share its bytes: copying these
// would cost more than all the rest of sending (go test -bench Router ./engine/exchange).
func (r *Router) deal(b *stream.Batch) {
	for i := range r.rows {
		r.rows[i] = r.rows[i][:0]
	}
	for i, h := range b.Hash {
		to := r.owner[stream.KeyGroup(h, len(r.owner))]
		r.rows[to] = append(r.rows[to], uint32(i))
	}
	for i, rows := range r.rows {
		if len(rows) > 0 {
			r.parts[i] = append(r.parts[i], r.pool.Share(b, rows))
			continue
		}
		p := r.pool.Get(b)
		p.Follow(b)
		r.parts[i] = append(r.parts[i], p)
	}
	if b.N == 0 { // nobody has a share
		r.pool.Put(b)
	}
}

// Close tells all receivers that the sender has ended.
func (r *Router) Close() {
	for _, in := range r.to {
		in.Close(r.sender)
	}
}
