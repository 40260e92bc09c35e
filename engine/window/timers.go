package window

import (
	"cmp"
	"container/heap"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// timerQueue holds the timers of one domain, earliest first. Those of one time wait in
// one bucket: windows of different keys end together, so there are far fewer times than
// timers. They come in order of their windows' ends (E9), so that what windows of a key
// share, the state of a process function, does not depend on how the queue came about.
// Deleting a timer only takes it off its pane's set; the entry is passed over when its
// turn comes.
type timerQueue struct {
	times   bucketHeap
	at      map[stream.Time]*timerBucket
	entries int // in all buckets, of set timers and of deleted ones
	spare   []*timerBucket
}

// timerBucket lists panes that want to be called at a time; those before next have been.
type timerBucket struct {
	t      stream.Time
	panes  []timer
	next   int
	sorted bool // the others are in order
}

// timer is a pane in its life with its window when the timer was set. A session may have grown since,
// but not past another one of its key.
type timer struct {
	*pane
	window stream.Window
	life   uint32
}

// set reports whether the timer is of the pane's life, and set.
func (x *timer) set(d trigger.Domain, t stream.Time) bool {
	return x.life == x.pane.life && slices.Contains(x.timers[d], t)
}

func (a timer) compare(b timer) int { return compareEnds(a.window, b.window) }

func compareEnds(a, b stream.Window) int {
	return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start))
}

type bucketHeap []*timerBucket

func (h bucketHeap) Len() int           { return len(h) }
func (h bucketHeap) Less(i, j int) bool { return h[i].t < h[j].t }
func (h bucketHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *bucketHeap) Push(x any)        { *h = append(*h, x.(*timerBucket)) }
func (h *bucketHeap) Pop() any {
	n := len(*h) - 1
	x := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	return x
}

// maxSpare bounds the buckets that are kept for new times.
const maxSpare = 64

func (q *timerQueue) add(t stream.Time, p *pane) {
	b := q.at[t]
	if b == nil {
		b = &timerBucket{}
		if n := len(q.spare); n > 0 {
			b, q.spare = q.spare[n-1], q.spare[:n-1]
		}
		b.t = t
		if q.at == nil {
			q.at = map[stream.Time]*timerBucket{}
		}
		q.at[t] = b
		heap.Push(&q.times, b)
	}
	x := timer{p, p.window, p.life}
	if n := len(b.panes); n == b.next {
		b.sorted = true
	} else if x.compare(b.panes[n-1]) < 0 {
		b.sorted = false
	}
	b.panes = append(b.panes, x)
	q.entries++
}

// due reports whether an entry at or before t is there; its timer may be deleted.
func (q *timerQueue) due(t stream.Time) bool { return len(q.times) > 0 && q.times[0].t <= t }

// take removes and returns the earliest timer at or before t that is still set.
func (q *timerQueue) take(d trigger.Domain, t stream.Time) (p *pane, at stream.Time, ok bool) {
	for q.due(t) {
		b := q.times[0]
		for b.next < len(b.panes) {
			if !b.sorted {
				slices.SortStableFunc(b.panes[b.next:], timer.compare)
				b.sorted = true
			}
			x := b.panes[b.next]
			b.panes[b.next] = timer{}
			b.next++
			q.entries--
			if x.set(d, b.t) {
				x.op.preserve(x.owner)
				x.unset(d, b.t)
				return x.pane, b.t, true
			}
		}
		heap.Pop(&q.times)
		delete(q.at, b.t)
		if len(q.spare) < maxSpare {
			b.panes, b.next = b.panes[:0], 0
			q.spare = append(q.spare, b)
		}
	}
	return nil, 0, false
}

// SetTimer and DeleteTimer are a pane's set of timers (trigger.Timers): registering
// one twice is one timer (S67).
func (p *pane) SetTimer(d trigger.Domain, t stream.Time) {
	if slices.Contains(p.timers[d], t) {
		return
	}
	p.timers[d] = append(p.timers[d], t)
	p.op.live[d]++
	q := &p.op.timers[d]
	if q.entries > 2*p.op.live[d]+minStale {
		q.sweep(d)
	}
	q.add(t, p)
}

// minStale is how many entries of deleted timers are not worth a sweep.
const minStale = 1024

// sweep drops the entries of deleted timers, when they have become most of the queue: a
// session that grows leaves one for each record.
func (q *timerQueue) sweep(d trigger.Domain) {
	old := q.times
	*q = timerQueue{}
	for _, b := range old {
		seen := map[*pane]bool{}
		for _, x := range b.panes[b.next:] {
			if !seen[x.pane] && x.set(d, b.t) {
				seen[x.pane] = true
				q.add(b.t, x.pane)
			}
		}
	}
}

func (p *pane) DeleteTimer(d trigger.Domain, t stream.Time) { p.unset(d, t) }

func (p *pane) unset(d trigger.Domain, t stream.Time) {
	i := slices.Index(p.timers[d], t)
	if i < 0 {
		return
	}
	last := len(p.timers[d]) - 1
	p.timers[d][i] = p.timers[d][last]
	p.timers[d] = p.timers[d][:last]
	p.op.live[d]--
}
