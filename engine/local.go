package engine

import (
	"context"
	"errors"
	"fmt"

	"tidemark/engine/exchange"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
)

// local is the way of one task to a step whose senders add records up first (P4). The task
// that sends owns it.
type local struct {
	*window.Local
	step   *stepSpec
	sender int // its number at the step's tasks
	key    []int
	edge   *edge
	tasks  []*exchange.Inbox

	refusals      refusals
	added, failed int64 // by this one, of what the step's report counts
}

// newLocal gives an edge the functions to add up with.
func (j *Job) newLocal(ctx context.Context, st *stepSpec, sender int, key []int, e *edge, tasks []*exchange.Inbox) (*local, error) {
	s, err := j.windowSpec(e.turn.of(ctx), st)
	if err != nil {
		return nil, fmt.Errorf("step %s: %w", st.ID, err)
	}
	if s.Process != nil { // it is shown firings, and a sender fires nothing
		if err := s.Process.Fn.Close(); err != nil {
			return nil, fmt.Errorf("step %s: %w", st.ID, err)
		}
	}
	l := &local{step: st, sender: sender, key: key, edge: e, tasks: tasks, refusals: j.newRefusals(st)}
	if l.Local, err = window.NewLocal(s, key, j.graph.Settings.OrderReplay, l.refused); err != nil {
		s.Process = nil
		return nil, errors.Join(fmt.Errorf("step %s: %w", st.ID, err), closeFunctions(&s))
	}
	return l, nil
}

// send takes a batch over.
func (l *local) send(ctx context.Context, b *stream.Batch) error {
	before := l.Added()
	batches, err := l.Process(b, downstream{l.edge.pool, l})
	l.count(l.Added()-before, 0)
	if ferr := flushPorts(ctx, l.edge.turn, l.refusals.failed); err == nil {
		err = ferr
	}
	if err != nil {
		return fmt.Errorf("step %s: %w", l.step.ID, err)
	}
	return l.edge.router.Send(ctx, batches...)
}

// count adds to what the sender has done itself, and to what the report shows.
func (l *local) count(added, refused int64) {
	l.added += added
	l.failed += refused
	l.step.added.Add(added)
	l.step.refused.Add(refused)
}

// refused takes a record that a function refuses.
func (l *local) refused(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	l.count(0, 1)
	return l.refusals.record(b, i, w, f)
}

// downstream is what the records that are added up need to know of their receiver.
type downstream struct {
	*exchange.Pool
	to *local
}

func (d downstream) Joined() uint64 { return exchange.Joined(d.to.tasks, d.to.sender) }

var _ window.Downstream = downstream{}

// fromSources reports whether the records of a step come from sources, perhaps through
// steps without a window.
func fromSources(g *job.Graph, st *job.Step) bool {
	for _, from := range st.From {
		for i := range g.Steps {
			if s := &g.Steps[i]; s.ID == from && (s.Window != nil || s.Join != nil || !fromSources(g, s)) {
				return false
			}
		}
	}
	return true
}
