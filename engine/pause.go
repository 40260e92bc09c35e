package engine

import (
	"fmt"
	"slices"

	"tidemark/engine/stream"
)

// pauses are the splits of a source task that must not be read now: those too far ahead of
// an alignment group, or ahead of any other while the state budget runs out, or all of them
// once it is passed (K8). The time for which a split was paused does not count as quiet
// (S12).
type pauses struct {
	splits []bool
	looked stream.Time // at the clock, last
	held   stream.Time // of the task in all, as of then: see sourceTask.held
}

// pause says which splits must not be read now. It is called before each round of
// reading: what is read in one goes on whatever it is (S27), so that a split is ahead of a
// bound by a batch at most.
func (t *sourceTask) pause(now stream.Time) {
	p := &t.pauses
	span := now - p.looked - (t.held - p.held) // what sendHeld has held counts already
	if slices.Contains(p.splits, true) {
		t.combined.Hold(span)
	}
	for i, paused := range p.splits {
		if paused {
			t.quiet(t.splits[i], span)
		}
	}
	p.looked, p.held = now, t.held
	p.splits = slices.Grow(p.splits[:0], len(t.splits))[:len(t.splits)]
	clear(p.splits)
	t.align(p.splits)
	t.crowd(p.splits)
}

// crowd marks the splits that are ahead while the state budget runs out. The split that is
// furthest behind in the whole job never is, nor are idle ones, which hold nothing back.
// Over the budget it marks all.
func (t *sourceTask) crowd(paused []bool) {
	if t.job.budget.over() {
		for i := range paused {
			paused[i] = true
		}
		return
	}
	low := stream.MaxTime
	for _, s := range t.splits {
		if !s.done && !s.out.Idle() {
			low = min(low, s.out.Last())
		}
	}
	low = t.job.budget.behind(t, low)
	if !t.job.budget.near() {
		return
	}
	for i, s := range t.splits {
		if s.done || s.out.Idle() || s.out.Last() <= low {
			continue
		}
		paused[i] = true
		if !t.job.budget.told.Swap(true) {
			t.job.observe(Warning{Operator: t.spec.ID, Message: fmt.Sprintf("the job's state takes %s of a budget of %s (settings.state_budget): splits that are ahead of others in event time wait, %s first",
				size(t.job.budget.held.Load()), size(t.job.budget.limit), s.name)})
		}
	}
}
