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
//  2. with a disk for state (settings.state), which the limit counts, too, each task has left
//     there long before what has no room in its part of the memory: see window.Spill.
//  3. beyond the limit the job stops, with an error that says what holds so much. What it
//     has written stays; windows that are open do not fire. With checkpoints it takes a last
//     one before, to go on from under a larger limit: see budget_stop.go.
//
// Tasks tell what they hold after each batch, so the limit may be passed by what one batch
// of each brings, and with a last checkpoint by what is on its way in queues. Safe for
// concurrent use.
type budget struct {
	limit int64
	held  atomic.Int64

	told atomic.Bool // that splits wait

	// passed is closed when the limit is passed; nil: whoever passes it ends the job. most is
	// what was held then.
	passed chan struct{}
	once   sync.Once
	most   int64
	// unsaved is why there is no checkpoint of the stop.
	unsaved error

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
		return s.of.pass(held)
	}
	return nil
}

// pass notes that so much is held, more than the limit. An error ends the job at once.
func (b *budget) pass(held int64) error {
	if b.passed == nil {
		return errOverBudget
	}
	b.once.Do(func() {
		b.most = held
		close(b.passed)
	})
	return nil
}

// over reports whether the limit has been passed, in a job that stops with a checkpoint.
func (b *budget) over() bool {
	select {
	case <-b.passed:
		return true
	default:
		return false
	}
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
