package exchange

import (
	"cmp"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// A barrier says which of a sender's batches belong to the cut of a checkpoint. A task takes
// its part of the cut between two batches. Nobody waits for event time, nor for an input that
// sends nothing (K2).
//
// By arrival that is when a barrier has come from every sender that has not ended; until then
// a sender's batches behind its barrier wait.
//
// In an ordered replay they cannot wait, since the merge may need them to go on. There the
// task takes its part when the first barrier has come, before anything behind it. What the
// queues hold then that lies before the barriers, and what comes from other senders until
// theirs, is under way: part of the cut, too. After a restore it comes from a queue of its
// own (Resume), which knows nothing of senders: so they may be others, and the receivers too.

// mark is a barrier of a sender that has come.
type mark struct {
	id     uint64
	behind int // batches of the queue that are before it
}

// aligned returns the barrier, by arrival, when all senders stand behind it, and lets them
// go on. A sender that stands at the barrier of a checkpoint which another was never asked
// for, since it was given up, goes on to its next one.
func (in *Inbox) aligned() *stream.Batch {
	for {
		low, high := ^uint64(0), uint64(0)
		for _, q := range in.queues {
			switch {
			case q.stopped:
				low, high = min(low, q.marks[0].id), max(high, q.marks[0].id)
			case !q.closed || len(q.batches) > 0:
				return nil
			}
		}
		if high == 0 {
			return nil
		}
		for _, q := range in.queues {
			if q.stopped && q.marks[0].id == low {
				q.stopped, q.marks = false, nil
			}
		}
		in.fifo = append(in.waiting, in.fifo...)
		in.waiting = nil
		if low == high {
			return in.barrier(low)
		}
	}
}

// arrived returns the next barrier, in an ordered replay, when it has come from one sender.
func (in *Inbox) arrived() *stream.Batch {
	next := uint64(0)
	for _, q := range in.queues {
		if len(q.marks) > 0 && (next == 0 || q.marks[0].id < next) {
			next = q.marks[0].id
		}
	}
	if next == 0 {
		return nil
	}
	in.cut = next
	in.flight = in.depart()
	return in.barrier(in.cut)
}

func (in *Inbox) barrier(id uint64) *stream.Batch {
	b := in.pool.Get(nil)
	b.Barrier = id
	return b
}

// Flight is the rows that were under way to a task of an ordered replay when it took its part
// of a checkpoint. They are complete when Done is closed: only then may Rows be read.
type Flight struct {
	Rows state.Writer
	Done chan struct{}

	id   uint64
	wait []bool // senders whose barrier has not come
	left int    // of them
}

// Flight returns the rows under way to the cut whose barrier Next has returned last; by
// arrival there are none.
func (in *Inbox) Flight() *Flight {
	in.mu.Lock()
	defer in.mu.Unlock()
	f := in.flight
	in.flight = nil
	return f
}

// depart starts to gather the rows that lie before the barriers of a cut: in the moment that
// the task comes to it, so that nothing is taken or sent in between.
func (in *Inbox) depart() *Flight {
	f := &Flight{Done: make(chan struct{}), id: in.cut, wait: make([]bool, len(in.queues))}
	for i, q := range in.queues {
		batches := q.batches
		switch {
		case len(q.marks) > 0: // of f, or of a later one: then it was never asked for f
			batches = batches[:q.marks[0].behind]
			if q.marks[0].id == f.id {
				q.marks = q.marks[1:]
			}
		case !q.closed && !(in.resumed && i == len(in.queues)-1):
			f.wait[i] = true
			f.left++
		}
		head := q.head
		for _, b := range batches {
			f.add(i, b, head)
			head = 0
		}
	}
	if in.flights = append(in.flights, f); f.left == 0 {
		in.landed()
	}
	return f
}

func (f *Flight) add(sender int, b *stream.Batch, first int) {
	f.Rows.U32(uint32(sender))
	f.Rows.Batch(b, first)
}

// fly notes a batch of a sender for the flights that wait for it.
func (in *Inbox) fly(sender int, b *stream.Batch) {
	for _, f := range in.flights {
		if f.wait[sender] {
			f.add(sender, b, 0)
		}
	}
}

// land notes that nothing comes from a sender any more for flights up to a number.
func (in *Inbox) land(sender int, id uint64) {
	for _, f := range in.flights {
		if f.id <= id && f.wait[sender] {
			f.wait[sender] = false
			f.left--
		}
	}
	in.landed()
}

// landed ends the flights that are complete.
func (in *Inbox) landed() {
	in.flights = slices.DeleteFunc(in.flights, func(f *Flight) bool {
		if f.left == 0 {
			close(f.Done)
		}
		return f.left == 0
	})
}

// Flying is rows that were under way, with the sender that they came from: of two at the
// same place the one with the lower number comes first.
type Flying struct {
	Sender int
	Rows   *stream.Batch
}

// ReadFlight reads the rows of a Flight.
func ReadFlight(r *state.Reader) (out []Flying) {
	for !r.Done() {
		f := Flying{Sender: int(r.U32()), Rows: new(stream.Batch)}
		r.Batch(f.Rows)
		out = append(out, f)
	}
	return out
}

// Resume gives the inbox of a new task of an ordered replay the rows that were under way,
// before anything is sent: those of all tasks of its step, of which it takes the ones that
// mine says. They are sorted into one queue by their places.
func (in *Inbox) Resume(under []Flying, mine func(hash uint64) bool) {
	type row struct {
		place
		sender, at int
		b          *stream.Batch
	}
	var rows []row
	for _, f := range under {
		q := queue{batches: []*stream.Batch{f.Rows}}
		for q.head = range f.Rows.N {
			if mine(f.Rows.Hash[q.head]) {
				rows = append(rows, row{q.place(), f.Sender, q.head, f.Rows})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(x, y row) int {
		switch {
		case x.before(y.place):
			return -1
		case y.before(x.place):
			return 1
		}
		return cmp.Compare(x.sender, y.sender)
	})
	q := &queue{tail: place{wm: stream.MaxTime, split: stream.LastSplit}, closed: true}
	var b *stream.Batch
	for _, r := range rows {
		if b == nil || b.N == in.rows || b.Heavy() || b.Source != r.b.Source || b.Input != r.b.Input || b.Partial != r.b.Partial {
			b = in.pool.Get(r.b)
			q.batches = append(q.batches, b)
		}
		b.AppendRow(r.b, r.at)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.queues, in.resumed = append(in.queues, q), true
}
