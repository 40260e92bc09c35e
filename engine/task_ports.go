package engine

import "context"

// ports are all ways of the task's output to sinks.
func (t *sourceTask) ports() []*portSink { return append(pointers(t.bad.to), edgePorts(t.edges)...) }

func (t *keyedTask) ports() []*portSink {
	out := pointers(t.results)
	out = append(out, pointers(t.late)...)
	out = append(out, pointers(t.refusals.failed)...)
	for i := range t.sides {
		out = append(out, pointers(t.sides[i].sinks)...)
	}
	return append(out, edgePorts(t.out.edges)...)
}

func edgePorts(edges []*edge) (out []*portSink) {
	for _, e := range edges {
		for i := range e.parts {
			out = append(out, pointers(e.parts[i].failed)...)
		}
		out = append(out, pointers(e.sinks)...)
		if e.local != nil {
			out = append(out, pointers(e.local.refusals.failed)...)
		}
	}
	return out
}

func pointers(ports []portSink) []*portSink {
	out := make([]*portSink, len(ports))
	for i := range ports {
		out[i] = &ports[i]
	}
	return out
}

// endPorts tells the sinks that the task has ended. They take what comes until all tasks
// have.
func endPorts(ports []*portSink) {
	for _, p := range ports {
		p.task.in <- block{from: p.number, end: true}
	}
}

// barrier sends a barrier to all that the task sends to, behind all that it has sent. The
// task has a turn.
func barrier(ctx context.Context, t *turn, id uint64, edges []*edge, ports []*portSink) error {
	for _, e := range edges {
		if e.router == nil {
			continue
		}
		b := e.pool.Get(nil)
		b.Barrier = id
		if err := e.router.Send(ctx, b); err != nil {
			return err
		}
	}
	for _, p := range ports {
		if err := p.task.send(ctx, t, block{from: p.number, barrier: id}); err != nil {
			return err
		}
	}
	return nil
}
