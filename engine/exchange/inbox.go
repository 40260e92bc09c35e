// Package exchange moves batches between tasks: bounded queues, one for each pair of
// sender and receiver, rows routed by key group, the order of a sender always kept.
//
// A receiver joins its senders in one of two ways. Ordered replay (T6) takes the row
// with the lowest (watermark before the row, split) next, whoever sent it, so that
// what a task sees is a function of the data alone. By arrival, batches come as they
// come and the senders' watermarks go through a valve (S14).
package exchange

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// place is where a sender stands in the order of an ordered replay: the watermark before
// its next row, that row's split, and its place in it. A sender's places only go up, and
// behind a batch it stands behind all rows of that batch.
type place struct {
	wm    stream.Time
	split stream.SplitID
	pos   int64  // of rows of a source, which are in order of it
	tie   []byte // of rows of a step
}

func (p place) before(q place) bool {
	switch {
	case p.wm != q.wm:
		return p.wm < q.wm
	case p.split != q.split:
		return p.split < q.split
	case p.pos != q.pos:
		return p.pos < q.pos
	}
	return bytes.Compare(p.tie, q.tie) < 0
}

// queue is what one sender has sent and the receiver not yet taken.
type queue struct {
	batches []*stream.Batch
	head    int           // rows already taken of the first batch
	tail    place         // where the sender stands after all that is queued
	closed  bool          // the sender has ended
	space   chan struct{} // tells the sender that a batch was taken
	marks   []mark        // barriers that have come and are not yet passed
	stopped bool          // by arrival: its barrier has been taken, and those of others have not come
	back    uint64        // how often the sender has become active; not in ordered replay
	joined  atomic.Uint64 // back, when the sender was last seen abreast of the combined time
}

func (q *queue) place() place {
	if len(q.batches) > 0 {
		b := q.batches[0]
		p := place{wm: b.WM[q.head], split: b.Split[q.head]}
		if len(b.Tie) > 0 {
			p.tie = b.Tie[q.head].Bytes(b.Blob)
		} else {
			p.pos = b.Pos[q.head]
		}
		return p
	}
	return q.tail
}

// Inbox is the receiving end of a task. Senders call Send and Close, each from
// its own goroutine; the task calls Next; anyone may post mail.
type Inbox struct {
	*Mailbox
	ordered bool
	depth   int // batches a queue holds, at most
	rows    int // rows of a merged batch, at most
	inputs  []int
	senders []*queue // by sender; does not change
	pool    *Pool

	mu      sync.Mutex
	queues  []*queue // of senders, and perhaps what was under way at a restore
	fifo    []int    // senders in order of arrival of their batches; not in ordered replay
	waiting []int    // of them, those that are stopped
	drained bool     // a sender's end was none of its input
	resumed bool     // the last queue holds what was under way at a restore

	// Of an ordered replay: the last barrier that the task was given, and the flights that are
	// not complete.
	cut     uint64
	flights []*Flight
	flight  *Flight // of the last cut, for the task
	combine combiner
	told    stream.Time // trailing watermark given to the task last, in ordered replay
}

// Config is what an inbox is made of.
type Config struct {
	// Inputs has, for each sender, the number of the operator's input that it feeds,
	// below 256.
	// Senders of one input are parallel channels of it.
	Inputs []int
	// Separate tells inputs that have a watermark each, combined by the minimum (S20),
	// as an interval join does; otherwise all senders are channels of one valve, as for
	// a union or a window join (S14, S115).
	Separate bool
	Ordered  bool
	Depth    int   // batches a queue holds, at most
	Rows     int   // rows of a merged batch, at most
	Pool     *Pool // gets back the batches that a merge has emptied
}

// NewInbox makes an inbox.
func NewInbox(c Config) *Inbox {
	in := &Inbox{ordered: c.Ordered, depth: c.Depth, rows: c.Rows, inputs: c.Inputs, pool: c.Pool, senders: make([]*queue, len(c.Inputs)), told: stream.MinTime, Mailbox: NewMailbox()}
	for i := range in.senders {
		in.senders[i] = &queue{tail: place{wm: stream.MinTime}, space: make(chan struct{}, 1)}
	}
	in.queues = slices.Clone(in.senders)
	in.combine = newCombiner(c.Inputs, c.Separate)
	return in
}

// Send hands batches over: those that a sender has made of one batch of its own, mostly
// just one. It waits while the sender's queue is full, once for all of them.
//
// A batch without rows tells how far the sender has got; in ordered replay it takes no
// room, so it never waits. That, and that every sender sends to all receivers after each
// of its batches, is why bounded queues cannot deadlock: a receiver waits for a sender that
// is behind the rows it holds, and following such waits one gets ever further behind. If a
// sender waited between batches of one call, a receiver would hold rows that are ahead of
// what the others know of it.
func (in *Inbox) Send(ctx context.Context, sender int, batches ...*stream.Batch) error {
	for !in.offer(sender, batches) {
		select {
		case <-in.senders[sender].space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Widen has no sender wait for room any more, now and later. A job that reads nothing more
// calls it: a receiver may hold rows that come behind those of a sender that goes no further,
// and whoever waits for room at that receiver would never get it. A queue then has a batch
// more than its depth, or what comes of the batches in the queues of its sender. Any
// goroutine may call it.
func (in *Inbox) Widen() {
	in.mu.Lock()
	in.depth = math.MaxInt
	in.mu.Unlock()
	for _, q := range in.senders {
		q.makeRoom()
	}
}

// makeRoom lets a sender that waits look again.
func (q *queue) makeRoom() {
	select {
	case q.space <- struct{}{}:
	default:
	}
}

// offer is Send if there is room.
func (in *Inbox) offer(sender int, batches []*stream.Batch) bool {
	if !in.put(in.senders[sender], sender, batches) {
		return false
	}
	in.Notify()
	return true
}

// put queues batches, all or none of them.
func (in *Inbox) put(q *queue, sender int, batches []*stream.Batch) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	told := func(b *stream.Batch) bool { return in.ordered && b.N == 0 }
	if len(q.batches) >= in.depth && slices.ContainsFunc(batches, func(b *stream.Batch) bool { return !told(b) && b.Barrier == 0 }) {
		return false
	}
	for _, b := range batches {
		in.drained = in.drained || b.Drained
		if b.Barrier > 0 && in.ordered {
			in.land(sender, b.Barrier)
			if b.Barrier > in.cut {
				q.marks = append(q.marks, mark{b.Barrier, len(q.batches)})
			}
			in.pool.Put(b)
			continue
		}
		q.tail = place{wm: b.Trailing, split: b.Next, pos: b.NextPos}
		if told(b) {
			in.pool.Put(b)
			continue
		}
		b.Input = uint8(in.inputs[sender])
		if len(in.flights) > 0 {
			in.fly(sender, b)
		}
		q.batches = append(q.batches, b)
		if !in.ordered {
			in.fifo = append(in.fifo, sender)
		}
	}
	return true
}

// Close tells that the sender sends nothing any more. If its input has come to an end
// its last batch had the trailing watermark MAX and Next LastSplit.
func (in *Inbox) Close(sender int) {
	in.mu.Lock()
	in.senders[sender].closed = true
	in.land(sender, ^uint64(0))
	in.mu.Unlock()
	in.Notify()
}

// Next waits for the next batch and answers mail meanwhile; nil means that all
// senders have ended. A batch with a Barrier stands for those of all senders: the task takes
// its part of the cut before it calls Next again. Each row carries in WM the combined watermark that the task
// sees it at, and Trailing is the combined watermark behind the rows. The batch is
// the task's, which returns it to the pool.
func (in *Inbox) Next(ctx context.Context) (*stream.Batch, error) {
	for {
		in.Answer()
		in.mu.Lock()
		b, end := in.next()
		in.mu.Unlock()
		if b != nil || end {
			return b, nil
		}
		select {
		case <-in.Wake():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next returns what the task gets next, nil if that is not there yet.
func (in *Inbox) next() (b *stream.Batch, end bool) {
	if in.ordered {
		return in.merge()
	}
	return in.arrive()
}

// take removes the first batch of a queue and lets its sender go on.
func (in *Inbox) take(q *queue) *stream.Batch {
	b := q.batches[0]
	q.batches[0] = nil
	q.batches = q.batches[1:]
	q.head = 0
	for i := range q.marks {
		q.marks[i].behind = max(q.marks[i].behind-1, 0)
	}
	q.makeRoom()
	return b
}

// arrive takes the batch that came first and combines its watermarks with those of the
// other senders. One that changes nothing and has no rows is passed over.
func (in *Inbox) arrive() (b *stream.Batch, end bool) {
	for {
		if b := in.aligned(); b != nil {
			return b, false
		}
		if len(in.fifo) == 0 {
			return nil, in.allClosed()
		}
		s := in.fifo[0]
		in.fifo = in.fifo[1:]
		q := in.queues[s]
		if q.stopped {
			in.waiting = append(in.waiting, s)
			continue
		}
		b := in.take(q)
		if b.Barrier > 0 {
			q.stopped = true
			q.marks = append(q.marks, mark{id: b.Barrier})
			in.pool.Put(b)
			continue
		}
		if b.Status == stream.BecameActive {
			q.back++
		}
		for i, wm := range b.WM {
			in.combine.watermark(s, wm)
			b.WM[i] = in.combine.out()
		}
		news := in.combine.tell(s, b)
		if in.combine.abreast(s) {
			q.joined.Store(q.back)
		}
		if news || b.N > 0 {
			b.Drained = in.drained && b.Trailing == stream.MaxTime
			return b, false
		}
		in.pool.Put(b)
	}
}

// merge takes rows in order of their places as far as they are known to be next: up to
// the place of a sender that has nothing queued.
func (in *Inbox) merge() (b *stream.Batch, end bool) {
	if b := in.arrived(); b != nil {
		return b, false
	}
	if last := len(in.queues) - 1; in.resumed && len(in.queues[last].batches) == 0 {
		in.queues, in.resumed = in.queues[:last], false
	}
	if len(in.queues) == 1 && len(in.queues[0].batches) > 0 && in.queues[0].head == 0 { // nothing to merge: whole batches
		b = in.take(in.queues[0])
		return in.trailing(b, b.Trailing), false
	}
	for {
		lo, next := in.lowest()
		q := in.queues[lo]
		if len(q.batches) == 0 || b != nil && (b.N == in.rows || b.Heavy()) {
			wm := q.place().wm
			if b == nil && wm > in.told {
				b = in.pool.Get(nil)
			}
			if b == nil {
				return nil, in.allClosed()
			}
			return in.trailing(b, wm), false
		}
		src := q.batches[0]
		if b == nil {
			b = in.pool.Get(src)
		}
		if b.Source != src.Source || b.Input != src.Input || b.Partial != src.Partial {
			return in.trailing(b, q.place().wm), false // they have columns of their own
		}
		for q.head < src.N && b.N < in.rows && !b.Heavy() && !in.passed(lo, next) {
			b.AppendRow(src, q.head)
			q.head++
		}
		if q.head == src.N {
			in.take(q)
			in.pool.Put(src)
		}
	}
}

// lowest returns the sender that is furthest behind, and the next one, -1 if there is
// only one. Of two at the same place, as when a source is read in two ways, the one with
// the lower number comes first.
func (in *Inbox) lowest() (lo, next int) {
	next = -1
	for i := 1; i < len(in.queues); i++ {
		switch p := in.queues[i].place(); {
		case p.before(in.queues[lo].place()):
			lo, next = i, lo
		case next < 0 || p.before(in.queues[next].place()):
			next = i
		}
	}
	return lo, next
}

// passed reports whether another sender comes before the next row of one.
func (in *Inbox) passed(sender, other int) bool {
	if other < 0 {
		return false
	}
	p, q := in.queues[sender].place(), in.queues[other].place()
	return q.before(p) || other < sender && !p.before(q)
}

// trailing gives a batch its watermark for the time after its rows.
func (in *Inbox) trailing(b *stream.Batch, wm stream.Time) *stream.Batch {
	b.Trailing, b.Drained = wm, in.drained && wm == stream.MaxTime
	in.told = max(in.told, wm)
	return b
}

// Joined returns how many times a sender had become active when it was last seen abreast
// of the combined time: from then on, until it is idle again, that time does not pass the
// sender's. Any goroutine may call it.
func (in *Inbox) Joined(sender int) uint64 { return in.senders[sender].joined.Load() }

// Joined is what all of several receivers of a sender have seen.
func Joined(by []*Inbox, sender int) uint64 {
	least := by[0].Joined(sender)
	for _, in := range by[1:] {
		least = min(least, in.Joined(sender))
	}
	return least
}

func (in *Inbox) allClosed() bool {
	for i := range in.queues {
		if !in.queues[i].closed {
			return false
		}
	}
	return true
}

// Snapshot writes what the inbox knows of its senders' time: part of the task's cut
// (S105).
func (in *Inbox) Snapshot(w *state.Writer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	w.Len(len(in.inputs))
	w.I64(int64(in.told))
	in.combine.snapshot(w)
	for _, q := range in.senders {
		w.U64(q.back)
		w.U64(q.joined.Load())
	}
}

// Restore takes the state of a Snapshot, before anything is sent. Senders that are others in
// number say again where they stand: then there is nothing to know of them yet.
func (in *Inbox) Restore(snapshot []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	r := state.NewReader(snapshot)
	if n := r.Len(); n != len(in.inputs) {
		return nil
	}
	in.told = stream.Time(r.I64())
	in.combine.restore(r)
	for _, q := range in.senders {
		q.back = r.U64()
		q.joined.Store(r.U64())
	}
	return r.Err()
}

// Poll is Next for a caller that does not wait: nil means that nothing is there.
func (in *Inbox) Poll() *stream.Batch {
	in.mu.Lock()
	defer in.mu.Unlock()
	b, _ := in.next()
	return b
}
