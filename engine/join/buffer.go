package join

import (
	"container/heap"
	"slices"
	"sort"
	"sync/atomic"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// keyState is what the join keeps of one key.
type keyState struct {
	key   []byte
	since stream.Time // what time its key group stood at when it came
	sides [2]buffer
	epoch atomic.Uint32        // number of the last cut that has it, or came before it
	asked state.Link[keyState] // see cold
}

// empty reports whether nothing is kept of the key.
func (k *keyState) empty() bool { return len(k.sides[0].list())+len(k.sides[1].list()) == 0 }

// write writes the key, and of its records what is not in their columns.
func (k *keyState) write(w *state.Writer, stores *[2]*store) {
	w.Bytes(k.key)
	for s := range k.sides {
		list, st := k.sides[s].list(), stores[s]
		w.Len(len(list))
		for _, e := range list {
			w.I64(int64(e.time))
			w.Bool(e.paired)
			w.U32(uint32(st.split[e.row]))
			w.I64(st.pos[e.row])
		}
	}
}

// buffer is the records of one key and side, by time and among equal times by arrival.
// All records of a side are kept equally long, so they go from the front.
type buffer struct {
	owner   *keyState
	side    uint8
	entries []entry
	head    int // entries before it have gone

	due stream.Time // when the first entry goes; while the buffer is in a queue
	at  int         // place in the queue, -1: in none
}

// entry is one record.
type entry struct {
	time   stream.Time
	row    uint32 // of the side's store
	paired bool   // met a partner
	null   bool   // is part of no pair: a column that must not be null is so
}

func (b *buffer) list() []entry { return b.entries[b.head:] }

// insert puts a record behind all that are not later, and returns its place in list.
// Records come nearly in order, so hardly any are moved.
func (b *buffer) insert(e entry) int {
	n := len(b.entries)
	for n > b.head && b.entries[n-1].time > e.time {
		if n-b.head > 16 { // far from the end: search
			n = b.head + sort.Search(len(b.list()), func(i int) bool { return b.list()[i].time > e.time })
			break
		}
		n--
	}
	b.entries = slices.Insert(b.entries, n, e)
	return n - b.head
}

// between returns the places from lo to hi of the records whose time has reached an
// interval and not passed it: either is false up to some time and true from there on.
func (b *buffer) between(reached, passed func(stream.Time) bool) (lo, hi int) {
	list := b.list()
	lo = sort.Search(len(list), func(i int) bool { return reached(list[i].time) })
	hi = lo + sort.Search(len(list)-lo, func(i int) bool { return passed(list[lo+i].time) })
	return lo, hi
}

// drop removes the first n records. The room before the head is used again once it is
// half of all, so that dropping does not copy the list each time.
func (b *buffer) drop(n int) {
	b.head += n
	switch {
	case b.head == len(b.entries):
		b.entries, b.head = b.entries[:0], 0
	case b.head > 32 && 2*b.head > len(b.entries):
		b.entries = b.entries[:copy(b.entries, b.list())]
		b.head = 0
	}
}

// queue is the buffers that hold something, the one whose first record goes next first:
// one timer a key and side instead of one a record.
type queue []*buffer

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

func (q *queue) Push(x any) {
	b := x.(*buffer)
	b.at = len(*q)
	*q = append(*q, b)
}

func (q *queue) Pop() any {
	old := *q
	n := len(old) - 1
	b := old[n]
	b.at, old[n], *q = -1, nil, old[:n]
	return b
}

// set puts a buffer where its first record belongs, or takes it out if it has none.
func (q *queue) set(b *buffer, retain stream.Time) {
	if len(b.list()) == 0 {
		if b.at >= 0 {
			heap.Remove(q, b.at)
		}
		return
	}
	b.due = b.list()[0].time.Add(retain)
	if since := b.owner.since; b.due <= since { // it waits for the next step of time (S67)
		b.due = since.Add(1)
	}
	if b.at < 0 {
		heap.Push(q, b)
	} else {
		heap.Fix(q, b.at)
	}
}
