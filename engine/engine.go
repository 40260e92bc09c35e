package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tidemark/engine/exchange"
	"tidemark/engine/job"
	"tidemark/engine/sink"
	"tidemark/engine/stream"
)

// Job is one job, planned and ready to run once. New makes it, Run runs it; Status may
// be called at any time from any goroutine.
type Job struct {
	graph *job.Graph
	opts  Options

	sources []*sourceSpec
	feeds   []*sourceTask
	steps   []*stepSpec

	feedsByID  map[string]*feed
	stateless  map[string]*statelessSpec // by step
	alignments map[string]*alignment     // by group
	fail       context.CancelCauseFunc   // ends the run
	keyed      []*keyedTask
	sinks      []*sinkTask

	budget *budget

	splitMu sync.Mutex
	splits  []string // shown names by split id

	eventMu sync.Mutex
}

// New plans a job: it finds the splits, opens the sinks and makes the functions, so
// that what can be known to be wrong is an error before a record is read. The job owns
// what it opened; call Run, or Discard.
func New(ctx context.Context, g *job.Graph, o Options) (*Job, error) {
	if o.Stdout != nil {
		o.Stdout = newSharedWriter(o.Stdout)
	}
	j := &Job{graph: g, opts: o, feedsByID: map[string]*feed{}, stateless: map[string]*statelessSpec{}, alignments: map[string]*alignment{}, budget: newBudget(g.Settings.StateBudget)}
	if err := j.plan(ctx); err != nil {
		return nil, errors.Join(err, j.Discard())
	}
	return j, nil
}

// Discard closes a job that will not run. What its sinks hold stays in progress.
func (j *Job) Discard() error {
	var errs []error
	for _, t := range j.keyed {
		errs = append(errs, t.op.Close(), t.out.close())
	}
	for _, t := range j.feeds {
		for _, e := range t.edges {
			errs = append(errs, e.close())
		}
		for _, s := range t.splits {
			errs = append(errs, s.close())
		}
		if t.user != nil {
			errs = append(errs, t.user.Close())
		}
	}
	for _, t := range j.sinks {
		errs = append(errs, t.sink.Abort())
	}
	return errors.Join(errs...)
}

// Run runs the job to the end of its input, or until ctx ends: then it stops without
// firing anything, and the error is that of ctx. The report is valid in either case.
// When Run returns every goroutine of the job has ended.
func (j *Job) Run(ctx context.Context) (Report, error) {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j.fail = cancel
	var writers, tasks sync.WaitGroup
	for _, t := range j.sinks {
		writers.Go(func() { j.labelled(run, writing, t.spec.ID, 0, func(context.Context) { t.run(cancel) }) })
	}
	start := func(w work, operator string, number int, what func(context.Context) error) {
		tasks.Go(func() {
			j.labelled(run, w, operator, number, func(ctx context.Context) {
				if err := what(ctx); err != nil {
					cancel(err)
				}
			})
		})
	}
	for _, t := range j.keyed {
		start(computing, t.step.ID, t.number, t.run)
	}
	for _, t := range j.feeds {
		start(reading, t.spec.ID, t.index, t.run)
	}
	tasks.Wait()
	for _, t := range j.sinks {
		close(t.in)
	}
	writers.Wait()

	err := context.Cause(run)
	if errors.Is(err, errOverBudget) {
		err = j.overBudget()
	}
	if err == nil {
		err = j.commit()
	} else {
		j.abort()
	}
	return j.report(), err
}

// onlyEpoch is the number of the one epoch of a job that takes no checkpoints.
const onlyEpoch = 1

// commit publishes all sinks: first every one makes its rows durable, then they are
// shown, so that a full disk shows none of them (K7).
func (j *Job) commit() error {
	pending := make([][]byte, len(j.sinks))
	for i, t := range j.sinks {
		var err error
		if pending[i], err = t.sink.Prepare(onlyEpoch, true); err != nil {
			j.abort()
			return sinkError(t.spec, err)
		}
	}
	for i, t := range j.sinks {
		if err := t.sink.Commit(pending[i]); err != nil {
			for _, rest := range j.sinks[i+1:] {
				_ = rest.sink.Abort() // stays in progress, with all of its rows
			}
			return sinkError(t.spec, err)
		}
		t.done.Store(true)
	}
	return nil
}

// abort ends the sinks without publishing. A sink that failed before fails again
// here, which adds nothing.
func (j *Job) abort() {
	for _, t := range j.sinks {
		_ = t.sink.Abort()
	}
}

func sinkError(s *job.Sink, err error) error { return fmt.Errorf("sink %s: %w", s.ID, err) }

// Status asks every task what it has done. A task answers between two batches; one
// that does not before ctx ends is named in Busy, and its numbers are left out.
func (j *Job) Status(ctx context.Context) Report {
	type answer struct {
		source *SourceReport
		step   *StepReport
	}
	answers := make(chan answer, len(j.feeds)+len(j.keyed)) // room for all: no task waits for a reader
	asked := 0
	ask := func(box *exchange.Mailbox, f func()) {
		if box.Post(f) {
			asked++
		}
	}
	for _, t := range j.feeds {
		ask(t.mail, func() { r := t.report(); answers <- answer{source: &r} })
	}
	for _, t := range j.keyed {
		ask(t.inbox.Mailbox, func() { r := t.report(); answers <- answer{step: &r} })
	}
	m := j.merger()
	for range asked {
		select {
		case a := <-answers:
			if a.source != nil {
				m.source(*a.source)
			} else {
				m.step(*a.step)
			}
		case <-ctx.Done():
			return m.done()
		}
	}
	return m.done()
}

// report is Status for a job whose tasks have ended.
func (j *Job) report() Report {
	m := j.merger()
	for _, t := range j.feeds {
		m.source(t.report())
	}
	for _, t := range j.keyed {
		m.step(t.report())
	}
	return m.done()
}

func (j *Job) observe(e Event) {
	if j.opts.Observe == nil {
		return
	}
	j.eventMu.Lock()
	defer j.eventMu.Unlock()
	j.opts.Observe(e)
}

func (j *Job) now() stream.Time { return stream.Time(j.opts.Env.Clock.Now().UnixMilli()) }

// splitName returns the shown name of a split.
func (j *Job) splitName(id stream.SplitID) string {
	j.splitMu.Lock()
	defer j.splitMu.Unlock()
	return j.splits[id]
}

// placeText is where a record was read, for people.
func (j *Job) placeText(b *stream.Batch, i int) string {
	if len(b.Tie) > 0 { // a step's result has no line
		return "of step " + j.splitName(b.Split[i])
	}
	return fmt.Sprintf("%s:%d", j.splitName(b.Split[i]), b.Pos[i])
}

// newSplit numbers a split. Bounded inputs are numbered once, in order, before the job
// runs; splits of followed inputs as they are found.
func (j *Job) newSplit(name string) stream.SplitID {
	j.splitMu.Lock()
	defer j.splitMu.Unlock()
	j.splits = append(j.splits, name)
	return stream.SplitID(len(j.splits) - 1)
}

// openSink opens the target of a sink.
func (j *Job) openSink(s *job.Sink) (sink.Sink, error) {
	switch {
	case s.Stdout:
		return sink.NewStream(j.opts.Stdout, "stdout"), nil
	case s.Memory > 0:
		return sink.NewMemory(s.Memory), nil
	}
	f, err := sink.OpenFile(j.opts.Env.FS, s.File, sink.FileOptions{}, sink.Restored{})
	if err != nil {
		return nil, sinkError(s, err)
	}
	return f, nil
}
