package engine

import (
	"context"
	"io"
	"sync/atomic"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/sink"
)

// sinkQueue bounds the blocks that wait for a sink; each holds the rows of one batch.
const sinkQueue = 8

// sinkBlocks is how many emptied blocks a sink keeps: those that wait, the one being
// written, and one for each of some tasks that fill them. A task that finds none grows a
// new one from nothing.
const sinkBlocks = sinkQueue + 8

// block is what is on its way to a sink: whole lines, or one of the other things.
type block struct {
	from    int // number of the sender
	lines   []byte
	rows    int
	barrier uint64 // the sender has taken its part of that checkpoint
	end     bool   // the sender has ended
	expects uint64 // that checkpoint is being taken
	given   bool   // with barrier: the sink has given the checkpoint up
	do      func() // what the keeper of the checkpoints has the sink do
}

// sinkTask owns a sink. One goroutine runs it; any number of senders send to it.
type sinkTask struct {
	spec    *job.Sink
	sink    sink.Sink // nil until openSinks
	in      chan block
	free    chan []byte // emptied blocks, for reuse
	rows    atomic.Int64
	done    atomic.Bool // committed
	broken  bool        // nothing is written any more
	barrier sinkBarrier
	keeper  *keeper // nil: no checkpoints are taken
}

func newSinkTask(spec *job.Sink) *sinkTask {
	return &sinkTask{spec: spec, in: make(chan block, sinkQueue), free: make(chan []byte, sinkBlocks)}
}

// send hands a block over; its memory is the sink's from here on. The sender gives its turn
// back for the time that it waits.
func (t *sinkTask) send(ctx context.Context, of *turn, b block) error {
	select {
	case t.in <- b:
		return nil
	default:
	}
	return of.rest(func() error {
		select {
		case t.in <- b:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// run writes until all senders have ended. After an error it goes on taking, so that
// nobody waits for it; failed is called once.
func (t *sinkTask) run(failed func(error)) {
	fail := func(err error) {
		t.broken = true
		failed(sinkError(t.spec, err))
	}
	for b := range t.in {
		if b.do != nil {
			b.do()
			continue
		}
		if b.lines != nil && !t.barrier.holds() { // nearly always
			if err := t.take(b); err != nil {
				fail(err)
			}
			continue
		}
		for _, b := range t.barrier.pass(b) {
			if err := t.take(b); err != nil {
				fail(err)
			}
		}
	}
}

// take writes a block, or ends the epoch.
func (t *sinkTask) take(b block) error {
	if t.broken {
		return nil
	}
	if b.barrier > 0 {
		return t.prepare(b.barrier, b.given)
	}
	err := t.sink.Write(b.lines)
	if err == nil && len(t.in) == 0 {
		err = t.sink.Flush()
	}
	if err != nil {
		return err
	}
	t.rows.Add(int64(b.rows))
	select {
	case t.free <- b.lines[:0]:
	default:
	}
	return nil
}

func (t *sinkTask) report() SinkReport {
	r := SinkReport{ID: t.spec.ID, From: t.spec.From.String(), Target: t.sink.Target(), Rows: t.rows.Load()}
	switch s := t.sink.(type) {
	case sink.InFile:
		if !t.done.Load() {
			r.Target = s.InProgress()
		}
	case *sink.Memory:
		r.Last = s.Last()
	}
	return r
}

// portSink is the way of one task's output to one sink: lines of the batch that is
// being worked on.
type portSink struct {
	task   *sinkTask
	number int // among the senders of the sink
	format result.TimeFormat
	lines  []byte
	rows   int
}

// portBytes is how much output a task gathers before it hands some of it over in the
// middle of a batch: a window of a million keys must not be encoded in memory as a whole.
const portBytes = 256 << 10

// overflow sends what has gathered if it is much.
func overflow(ctx context.Context, t *turn, ports []portSink) error {
	for i := range ports {
		if len(ports[i].lines) > portBytes {
			return flushPorts(ctx, t, ports)
		}
	}
	return nil
}

// flushPorts sends what has gathered.
func flushPorts(ctx context.Context, t *turn, ports []portSink) error {
	for i := range ports {
		p := &ports[i]
		if p.rows == 0 {
			continue
		}
		if err := p.task.send(ctx, t, block{from: p.number, lines: p.lines, rows: p.rows}); err != nil {
			return err
		}
		p.rows = 0
		select {
		case p.lines = <-p.task.free:
		default:
			p.lines = nil
		}
	}
	return nil
}

// sharedWriter lets several sinks write whole blocks to one stream.
type sharedWriter struct {
	turn chan struct{} // holds one token while somebody writes; a write may take long
	w    io.Writer
}

func newSharedWriter(w io.Writer) *sharedWriter { return &sharedWriter{make(chan struct{}, 1), w} }

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.w.Write(p)
}
