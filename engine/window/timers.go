package window

import (
	"container/heap"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// timer is an entry of a queue: a time at which a pane wants to be called. Deleting a
// timer only takes it off its pane's set; the entry is passed over when its turn comes.
type timer struct {
	t    stream.Time
	pane *pane
	// window is the pane's when the timer was set. A session may have grown since, but not
	// past another one of its key.
	window stream.Window
}

// timerQueue holds the timers of one domain, earliest first. Those of one time come in
// order of their windows' ends (E9), so that what windows of a key share, the state of a
// process function, does not depend on how the queue came about.
type timerQueue []timer

func (q timerQueue) Len() int { return len(q) }
func (q timerQueue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	if a.t != b.t {
		return a.t < b.t
	}
	return a.window.End < b.window.End || a.window.End == b.window.End && a.window.Start < b.window.Start
}
func (q timerQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *timerQueue) Push(x any)   { *q = append(*q, x.(timer)) }
func (q *timerQueue) Pop() any {
	old := *q
	n := len(old) - 1
	x := old[n]
	old[n] = timer{}
	*q = old[:n]
	return x
}

// due reports whether an entry at or before t is there; its timer may be deleted.
func (q timerQueue) due(t stream.Time) bool { return len(q) > 0 && q[0].t <= t }

// take removes and returns the earliest timer at or before t that is still set.
func (q *timerQueue) take(d trigger.Domain, t stream.Time) (timer, bool) {
	for q.due(t) {
		x := heap.Pop(q).(timer)
		if x.pane.unset(d, x.t) {
			return x, true
		}
	}
	return timer{}, false
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
	if len(*q) > 2*p.op.live[d]+minStale {
		q.sweep(d)
	}
	heap.Push(q, timer{t, p, p.window})
}

// minStale is how many entries of deleted timers are not worth a sweep.
const minStale = 1024

// sweep drops the entries of deleted timers, when they have become most of the queue: a
// session that grows leaves one for each record.
func (q *timerQueue) sweep(d trigger.Domain) {
	seen := map[timer]bool{}
	kept := (*q)[:0]
	for _, x := range *q {
		if !seen[x] && slices.Contains(x.pane.timers[d], x.t) {
			seen[x] = true
			kept = append(kept, x)
		}
	}
	clear((*q)[len(kept):])
	*q = kept
	heap.Init(q)
}

func (p *pane) DeleteTimer(d trigger.Domain, t stream.Time) { p.unset(d, t) }

func (p *pane) unset(d trigger.Domain, t stream.Time) bool {
	i := slices.Index(p.timers[d], t)
	if i < 0 {
		return false
	}
	last := len(p.timers[d]) - 1
	p.timers[d][i] = p.timers[d][last]
	p.timers[d] = p.timers[d][:last]
	p.op.live[d]--
	return true
}
