package engine

import (
	"context"
	"errors"
	"fmt"

	"tidemark/engine/exchange"
	"tidemark/engine/expr"
	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// edge is the way of one task to one reader: stateless steps, then either the exchange or
// the sinks of the last stateless step. The task that sends owns it.
type edge struct {
	job    *Job
	reader string // the step and its input, or the step without a window whose sinks it feeds
	turn   *turn  // of the task that sends
	pool   *exchange.Pool
	parts  []statelessPart
	router *exchange.Router // nil: the way ends at sinks
	local  *local           // nil: records go to the reader as they are

	sinks   []portSink
	records *result.PassEncoder
}

// statelessPart is one stateless step on an edge.
type statelessPart struct {
	spec   *statelessSpec
	fn     udf.Stateless
	rows   udf.Rows
	answer udf.Mapped
	failed []portSink
	counts bool // this edge's records are counted: once, however many read the step
	own    statelessCounts
}

// statelessCounts is what became of the records of a stateless step, and how many came of
// them.
type statelessCounts struct{ filtered, failed, passed, made int64 }

// newEdge makes an edge from a task to a reader behind a chain of stateless steps.
func (j *Job) newEdge(ctx context.Context, chain []*statelessSpec, from sender, reader string) (*edge, error) {
	e := &edge{job: j, reader: reader, turn: from.cpu(), pool: from.store()}
	ctx = e.turn.of(ctx)
	for _, s := range chain {
		fn, err := j.newStatelessFunction(ctx, s)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("step %s: %w", s.step.ID, err), e.close())
		}
		if s.reader == "" {
			s.reader = reader
		}
		p := statelessPart{spec: s, fn: fn, counts: s.reader == reader}
		if p.counts {
			p.failed = j.portSinks(job.Port{Operator: s.step.ID, Name: "failed"})
		}
		for _, in := range s.info.Inputs {
			p.rows.Cols = append(p.rows.Cols, column(s.config.Schema, in.Name))
		}
		e.parts = append(e.parts, p)
	}
	return e, nil
}

// newStatelessFunction makes an instance of what a stateless step does.
func (j *Job) newStatelessFunction(ctx context.Context, s *statelessSpec) (udf.Stateless, error) {
	if s.step.Map != nil {
		return j.newMapped(ctx, s.step, s.config.Schema)
	}
	return expr.New(s.config)
}

// send takes a batch over. The task has a turn, unless the batch has no rows.
func (e *edge) send(ctx context.Context, b *stream.Batch) error {
	for i := range e.parts {
		if b.N == 0 {
			break // time and status pass through as they are
		}
		var err error
		if b, err = e.apply(&e.parts[i], b); err != nil {
			return fmt.Errorf("step %s: %w", e.parts[i].spec.step.ID, err)
		}
		if err := flushPorts(ctx, e.turn, e.parts[i].failed); err != nil {
			return err
		}
	}
	switch {
	case e.local != nil:
		return e.local.send(ctx, b)
	case e.router != nil:
		return e.router.Send(ctx, b)
	}
	for n := range e.sinks {
		p := &e.sinks[n]
		for i := range b.N {
			p.lines = e.records.Append(p.lines, b, i, p.format)
		}
		p.rows += b.N
	}
	e.pool.Put(b)
	return flushPorts(ctx, e.turn, e.sinks)
}

// apply runs one stateless step over a batch.
func (e *edge) apply(p *statelessPart, b *stream.Batch) (*stream.Batch, error) {
	p.rows.Batch, p.rows.Sel = b, p.rows.Sel[:0]
	for i := range b.N {
		p.rows.Sel = append(p.rows.Sel, uint32(i))
	}
	if err := p.fn.Apply(&p.rows, &p.answer); err != nil {
		return nil, err
	}
	for _, f := range p.answer.Refused {
		row := int(p.rows.Sel[f.Op])
		if p.spec.step.OnError != job.DeadLetter {
			return nil, refusal(f, "record %s", e.job.placeText(b, row))
		}
		for n := range p.failed {
			s := &p.failed[n]
			enc := result.NewRecordEncoder(e.job.origin(), p.spec.step.ID, nil, s.format)
			s.lines = enc.Failed(s.lines, b, row, stream.Global, f.Module, f.Error())
			s.rows++
		}
	}
	if p.counts {
		kept, refused := int64(distinctRows(p.answer.Of)), int64(len(p.answer.Refused))
		p.count(statelessCounts{filtered: int64(b.N) - kept - refused, failed: refused, passed: kept, made: int64(len(p.answer.Of))})
	}
	if m, ok := p.fn.(*mapped); ok && p.counts && m.breaker.Any() {
		p.spec.disabled.post(m.breaker)
	}
	info := p.fn.Info()
	out := e.pool.Get(nil)
	if err := p.answer.Into(out, b, &p.rows, &info); err != nil {
		return nil, err
	}
	e.pool.Put(b)
	return out, nil
}

// count adds to what the edge has done itself, and to what the report shows.
func (p *statelessPart) count(c statelessCounts) {
	p.own.filtered += c.filtered
	p.own.failed += c.failed
	p.own.passed += c.passed
	p.own.made += c.made
	p.spec.filtered.Add(c.filtered)
	p.spec.failed.Add(c.failed)
	p.spec.passed.Add(c.passed)
	p.spec.made.Add(c.made)
}

// distinctRows counts the records that something came of; of never goes down.
func distinctRows(of []uint32) int {
	n := 0
	for i, r := range of {
		if i == 0 || of[i-1] != r {
			n++
		}
	}
	return n
}

func (e *edge) close() error {
	if e.router != nil {
		e.router.Close()
	}
	var errs []error
	if e.local != nil {
		errs = append(errs, e.local.Close())
	}
	for i := range e.parts {
		errs = append(errs, e.parts[i].fn.Close())
	}
	return errors.Join(errs...)
}

// sendAll sends a batch along all edges of a task, which takes it over.
func sendAll(ctx context.Context, edges []*edge, pool *exchange.Pool, b *stream.Batch) error {
	for i, e := range edges {
		next := b
		if i+1 < len(edges) {
			next = pool.Copy(b)
		}
		if err := e.send(ctx, next); err != nil {
			return err
		}
	}
	if len(edges) == 0 {
		pool.Put(b)
	}
	return nil
}
