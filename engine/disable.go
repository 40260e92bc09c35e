package engine

import (
	"sync"

	"tidemark/engine/breaker"
	"tidemark/engine/job"
	"tidemark/engine/window"
)

// newBreaker makes the breaker of one task of a step; nil where no plug-in is disabled.
func newBreaker(st *job.Step) *breaker.Breaker {
	if st.Disable == nil {
		return nil
	}
	return breaker.New(breaker.Limit{Failures: st.Disable.Failures, Within: ms(st.Disable.Within)})
}

// newGuard is newBreaker for a step with windows, with what it stands before.
func newGuard(st *job.Step, groups int) *window.Guard {
	b := newBreaker(st)
	if b == nil {
		return nil
	}
	g := &window.Guard{Breaker: b, Groups: groups}
	g.Adds, g.Fires, g.Trigger = st.Plugins()
	return g
}

// board is where the edges that run a step post what their breakers have disabled, for the
// report: an edge belongs to the task that sends.
type board struct {
	mu     sync.Mutex
	posted map[*breaker.Breaker][]breaker.Disabled
}

func (b *board) post(by *breaker.Breaker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.posted == nil {
		b.posted = map[*breaker.Breaker][]breaker.Disabled{}
	}
	b.posted[by] = by.Disabled()
}

func (b *board) list() (out []breaker.Disabled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.posted {
		out = breaker.Merge(out, d)
	}
	return out
}
