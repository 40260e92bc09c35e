package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tidemark/engine/exchange"
	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
)

// keyedTask runs a step for some key groups: exchange, window, function, sink. One
// goroutine runs it and owns all of its state.
type keyedTask struct {
	job    *Job
	step   *stepSpec
	number int // among the subtasks of its step
	turn   *turn
	inbox  *exchange.Inbox
	pool   *exchange.Pool
	op     operator

	results  []portSink
	encoders []*result.Encoder // one for each of results
	late     []portSink
	sides    []sideOutput // of a process function
	records  map[result.TimeFormat]*result.RecordEncoder
	refusals refusals

	out     *forward        // to the steps that read this one
	line    *result.Encoder // for these: what a late or failed output shows as the record
	clocked bool            // something of the step goes by the clock

	values        []stream.Columns // results in the order of the job file, where the operator's differs
	rows, updates int64
	share         share // of the state budget
	// overflow sends output that has become much; set for the batch in work.
	overflow func([]portSink) error
	// drained is the watermark when no more of the input was read, MAX before: windows that it
	// had not passed fire without all of their records.
	drained  stream.Time
	ticked   error      // of a firing by the clock; ends the task
	asked    asked      // checkpoints
	restored bool       // the task goes on from a checkpoint
	final    *state.Cut // of the operator, when the task has ended; nil: it has not, or no checkpoints are taken
}

// run takes batches until all senders have ended or ctx has.
func (t *keyedTask) run(ctx context.Context) (err error) {
	defer func() {
		if err == nil {
			t.end()
		}
		t.asked.end(t, err)
		if cerr := errors.Join(t.op.Close(), t.out.close()); err == nil {
			err = cerr
		}
		t.inbox.End()
		endPorts(t.ports())
	}()
	t.turn.ctx = ctx
	if t.clocked {
		defer t.watchClock(ctx)()
	}
	if t.restored {
		if err := t.out.announce(ctx); err != nil {
			return err
		}
	}
	for {
		b, err := t.inbox.Next(ctx)
		if b == nil || err != nil {
			if err == nil {
				err = t.ticked
			}
			return err
		}
		if b.Barrier > 0 {
			err = t.takePart(ctx, b.Barrier)
		} else {
			err = t.process(ctx, b)
		}
		if err != nil {
			return fmt.Errorf("step %s: %w", t.step.ID, err)
		}
		t.pool.Put(b)
	}
}

// process works on one batch, inside a turn (K5), and sends what came of it.
func (t *keyedTask) process(ctx context.Context, b *stream.Batch) error {
	if err := t.turn.Begin(); err != nil {
		return err
	}
	defer t.turn.End(0)
	if t.job.opts.Complete {
		hold(b)
	}
	if t.step.Join != nil && t.step.Windowed() {
		t.step.join.arrange(b)
	}
	t.overflow = func(ports []portSink) error { return overflow(ctx, t.turn, ports) }
	if b.Drained {
		t.drained, t.out.drained = min(t.drained, t.op.Watermark()), true
	}
	err := t.clock()
	if err == nil {
		err = t.op.Process(b)
	}
	// What was computed before an error leaves all the same: the record that stopped
	// the job is easier to understand with what came before it.
	if ferr := t.flush(ctx); err == nil {
		err = ferr
	}
	if err != nil {
		return err
	}
	if err := t.out.flush(ctx, b.Trailing, b.Status); err != nil {
		return err
	}
	return t.share.set(t.op.Bytes() + t.op.onDisk())
}

// flush sends the output of a batch to the sinks.
func (t *keyedTask) flush(ctx context.Context) error {
	for _, ports := range [][]portSink{t.results, t.late, t.refusals.failed} {
		if err := flushPorts(ctx, t.turn, ports); err != nil {
			return err
		}
	}
	for i := range t.sides {
		if err := flushPorts(ctx, t.turn, t.sides[i].sinks); err != nil {
			return err
		}
	}
	return nil
}

// clock lets the operator see processing time: read once for a batch (T5). Timers fire
// when the clock is past their millisecond, so that a record in it is still in (S121).
func (t *keyedTask) clock() error {
	if !t.clocked {
		if t.step.Process != nil { // it is shown the clock
			t.op.Stamp(t.job.now())
		}
		return nil
	}
	now := t.job.now()
	if err := t.op.Clock(now - 1); err != nil {
		return err
	}
	t.op.Stamp(now)
	return nil
}

// clockTick is how often a step that goes by the clock looks at it when no record comes:
// the delay that it adds to a firing.
const clockTick = 10 * time.Millisecond

// watchClock has the task look at the clock now and then, from its own goroutine. An
// error is kept and ends the task at its next batch, which is posted for that.
func (t *keyedTask) watchClock(ctx context.Context) (stop func()) {
	var waiting atomic.Bool // one tick at a time: a task that is busy for long needs no more
	over := false
	halt := t.job.opts.Env.Clock.Tick(clockTick, func() {
		if waiting.Swap(true) {
			return
		}
		t.inbox.Post(func() {
			waiting.Store(false)
			if over || t.ticked != nil {
				return
			}
			if err := t.tick(ctx); err != nil {
				t.ticked = fmt.Errorf("step %s: %w", t.step.ID, err)
				t.job.fail(t.ticked)
			}
		})
	})
	return func() {
		halt()
		over = true // what still lies in the mailbox finds the operator closed
	}
}

// tick looks at the clock, inside a turn, and sends what has fired.
func (t *keyedTask) tick(ctx context.Context) error {
	if err := t.turn.Begin(); err != nil {
		return err
	}
	defer t.turn.End(0)
	t.overflow = func(ports []portSink) error { return overflow(ctx, t.turn, ports) }
	err := t.clock()
	if ferr := t.flush(ctx); err == nil {
		err = ferr
	}
	if err != nil {
		return err
	}
	return t.out.flush(ctx, stream.MinTime, stream.Same)
}

// hold keeps time at its start until the input has ended: the complete result (T7).
// It is held here and not in the source, so that several splits are read in the same
// order with and without it: a window that lost no record has the same value in both
// results, to the last bit of a float.
func hold(b *stream.Batch) {
	for i := range b.WM {
		b.WM[i] = stream.MinTime
	}
	if b.Trailing < stream.MaxTime {
		b.Trailing = stream.MinTime
	}
}

// Rows writes result rows (window.Output).
func (t *keyedTask) Rows(r *result.Rows) error {
	switch two := *r; {
	case t.step.Process != nil || t.step.Apply != nil || t.step.pairs():
		two.Values = t.valuesOf(&r.Values[0])
		if r = &two; r.Side > 0 {
			return t.side(r)
		}
	case t.step.order != nil:
		t.values = t.values[:0]
		for _, at := range t.step.order {
			t.values = append(t.values, r.Values[at])
		}
		two.Values = t.values
		r = &two
	}
	return t.write(r)
}

// write sends result rows to the sinks and to the steps that read them.
func (t *keyedTask) write(r *result.Rows) error {
	t.rows += int64(r.N)
	if t.drained != stream.MaxTime {
		t.incomplete(r)
	}
	for _, k := range r.Kind {
		if k == result.Update {
			t.updates++
		}
	}
	encode(t.results, t.encoders, r)
	if len(t.out.edges) > 0 {
		t.out.rows(r, func(dst []byte, i int) []byte {
			line := t.line.Append(dst, r, i)
			return line[:len(line)-1] // no newline inside another record's line
		})
	}
	return t.overflow(t.results)
}

// incomplete marks the rows of windows whose time had not come when no more of the input was
// read. The kinds are the receiver's for the call.
func (t *keyedTask) incomplete(r *result.Rows) {
	for i, k := range r.Kind {
		if k != result.NoKind && r.Window[i].MaxTimestamp() > t.drained {
			r.Kind[i] = result.Incomplete
		}
	}
}

// encode writes rows as lines for each of some sinks, which have an encoder each.
func encode(sinks []portSink, encoders []*result.Encoder, r *result.Rows) {
	for i := range sinks {
		p := &sinks[i]
		for n := range r.N {
			p.lines = encoders[i].Append(p.lines, r, n)
		}
		p.rows += r.N
	}
}

func (t *keyedTask) addEdge(e *edge)       { t.out.edges = append(t.out.edges, e) }
func (t *keyedTask) store() *exchange.Pool { return t.out.pool }
func (t *keyedTask) cpu() *turn            { return t.turn }

// Late writes a late record.
func (t *keyedTask) Late(b *stream.Batch, i int, w stream.Window, wm stream.Time) error {
	for n := range t.late {
		p := &t.late[n]
		p.lines = t.records[p.format].Late(p.lines, b, i, w, wm)
		p.rows++
	}
	return t.overflow(t.late)
}

// Refused takes a record that user code refused.
func (t *keyedTask) Refused(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	return t.refusals.record(b, i, w, f)
}

// RefusedPane takes a pane whose result could not be computed.
func (t *keyedTask) RefusedPane(key []byte, w stream.Window, f *udf.Failure) error {
	return t.refusals.pane(key, w, f)
}

// report is the task's part of the step's report.
func (t *keyedTask) report() StepReport {
	return StepReport{ID: t.step.ID, Watermark: t.op.Watermark(), Panes: t.op.held(), State: t.op.Bytes(), Disk: t.op.onDisk(), Rows: t.rows, Updates: t.updates, Inputs: t.op.ledgers(t.step.From), Disabled: t.op.disabled()}
}

var _ window.Output = (*keyedTask)(nil)
