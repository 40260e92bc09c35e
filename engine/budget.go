package engine

import (
	"errors"
	"sync"
	"sync/atomic"

	"tidemark/engine/stream"
)

// budget is what the tasks of a job may hold of state, all together (K8). As it runs out,
// in this order:
//
//  1. near the limit, splits that are ahead of the one that is furthest behind are not
//     read. That one always is, so time goes on, windows close, and there is room again.
//     In an ordered replay the next row is that split's anyway.
//  2. (Spilling to disk belongs here, once there are checkpoints.)
//  3. beyond the limit the job stops, with an error that says what holds so much. What it
//     has written stays; windows that are open do not fire.
//
// Tasks tell what they hold after each batch, so the limit may be passed by what one batch
// of each brings. Safe for concurrent use.
type budget struct {
	limit int64
	held  atomic.Int64

	told atomic.Bool // that splits wait

	mu     sync.Mutex
	lowest map[*sourceTask]stream.Time // watermark of its split that is furthest behind; MAX: it reads none
}

// nearShare of the limit is where splits begin to wait: the rows that are on their way then
// still find room.
const nearShare = 0.75

// errOverBudget stops a job. Job.Run says more.
var errOverBudget = errors.New("over the state budget")

func newBudget(limit int64) *budget {
	return &budget{limit: limit, lowest: map[*sourceTask]stream.Time{}}
}

// near reports whether splits that are ahead should wait.
func (b *budget) near() bool { return float64(b.held.Load()) > nearShare*float64(b.limit) }

// share is what one task holds of a budget.
type share struct {
	of   *budget
	held int64
}

// set says how much the task holds now.
func (s *share) set(bytes int64) error {
	held := s.of.held.Add(bytes - s.held)
	if s.held = bytes; held > s.of.limit {
		return errOverBudget
	}
	return nil
}

// behind takes the watermark of the split of a task that is furthest behind, MAX if it
// reads none, and returns the lowest of all tasks.
func (b *budget) behind(t *sourceTask, wm stream.Time) stream.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lowest[t] = wm
	for _, w := range b.lowest {
		wm = min(wm, w)
	}
	return wm
}
