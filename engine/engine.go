package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tidemark/engine/checkpoint"
	"tidemark/engine/commit"
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
	spill  *spill // nil: all state is in memory

	keeper   *keeper   // nil: no checkpoints are taken
	restored *restored // nil: the job begins
	epochsOf commit.Plan
	ended    bool // it begins from a checkpoint that was its last: nothing is left but to show it

	splitMu sync.Mutex
	splits  []splitName // by number

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
	err := j.openDisk()
	if err == nil {
		err = j.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, j.Discard())
	}
	return j, nil
}

// prepare plans the job, and has it go on from its checkpoint if there is one.
func (j *Job) prepare(ctx context.Context) (err error) {
	if c := j.opts.Restore; c != nil {
		if j.restored, err = readRestored(ctx, c, j.graph); err != nil {
			return err
		}
		j.splits = slices.Clone(j.restored.names)
		j.ended = c.Meta.Kind == checkpoint.Final
		if l := j.opts.Checkpoints; l != nil {
			l.After(c.Meta.ID)
		}
	}
	if err := j.planSinks(); err != nil {
		return err
	}
	if j.ended {
		return j.openSinks(ctx)
	}
	if err := j.plan(ctx); err != nil {
		return err
	}
	if j.opts.Checkpoints != nil && j.graph.Settings.Checkpoint != nil {
		j.keeper = newKeeper(j, j.opts.Checkpoints)
		if c := j.opts.Restore; c != nil {
			j.keeper.stats.Restored, j.keeper.goesOn = c.Meta.ID, c.Meta.ID
		}
		for _, t := range j.sinks {
			t.keeper = j.keeper
		}
	}
	if j.restored != nil {
		if err := j.load(ctx); err != nil {
			return err
		}
	}
	return j.openSinks(ctx)
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
		if t.sink != nil {
			errs = append(errs, t.sink.Abort())
		}
	}
	return errors.Join(append(errs, j.closeDisk())...)
}

// Run runs the job to the end of its input, or until ctx ends: then it stops without
// firing anything, and the error is that of ctx. The report is valid in either case.
// When Run returns every goroutine of the job has ended.
func (j *Job) Run(ctx context.Context) (Report, error) {
	if j.ended {
		err := j.showEnd(ctx)
		return j.endReport(), err
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j.fail = cancel
	if j.keeper != nil {
		j.budget.passed = make(chan struct{})
	}
	var writers, tasks, keeping sync.WaitGroup
	for _, t := range j.sinks {
		writers.Go(func() { j.labelled(run, writing, t.spec.ID, 0, func(context.Context) { t.run(cancel) }) })
	}
	start := func(group *sync.WaitGroup, w work, operator string, number int, what func(context.Context) error) {
		group.Go(func() {
			j.labelled(run, w, operator, number, func(ctx context.Context) {
				if err := what(ctx); err != nil {
					cancel(err)
				}
			})
		})
	}
	for _, t := range j.keyed {
		start(&tasks, computing, t.step.ID, t.number, t.run)
	}
	for _, t := range j.feeds {
		start(&tasks, reading, t.spec.ID, t.index, t.run)
	}
	enough := make(chan struct{})
	if j.keeper != nil {
		start(&keeping, saving, "", 0, func(ctx context.Context) error { return j.keeper.run(ctx, enough) })
		keeping.Go(func() { j.stopOverBudget(run, enough) })
	}
	tasks.Wait()
	close(enough)
	keeping.Wait()
	for _, t := range j.sinks {
		close(t.in)
	}
	writers.Wait()

	err := context.Cause(run)
	if errors.Is(err, errOverBudget) {
		err = j.overBudget()
	}
	if derr := j.closeDisk(); err == nil {
		err = derr
	}
	if err == nil {
		err = j.commit(context.WithoutCancel(ctx))
	} else {
		j.abort()
	}
	return j.report(), err
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
	return j.splits[id].name
}

// splitCount is how many splits have a number.
func (j *Job) splitCount() int {
	j.splitMu.Lock()
	defer j.splitMu.Unlock()
	return len(j.splits)
}

// isStep reports whether a split is a step: all of its tasks send rows of it.
func (j *Job) isStep(id stream.SplitID) bool {
	j.splitMu.Lock()
	defer j.splitMu.Unlock()
	return slices.ContainsFunc(j.graph.Steps, func(s job.Step) bool { return s.ID == j.splits[id].operator })
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
func (j *Job) newSplit(operator, name string) stream.SplitID {
	j.splitMu.Lock()
	defer j.splitMu.Unlock()
	j.splits = append(j.splits, splitName{operator, name})
	return stream.SplitID(len(j.splits) - 1)
}

// openSink opens the target of a sink.
func (j *Job) openSink(s *job.Sink, from sink.Restored) (sink.Sink, error) {
	switch {
	case s.Stdout:
		return sink.NewStream(j.opts.Stdout, "stdout"), nil
	case s.Memory > 0:
		return sink.NewMemory(s.Memory), nil
	}
	f, err := sink.OpenFile(j.opts.Env.FS, s.File, sink.FileOptions{PerEpoch: j.epochs()}, from)
	if err != nil {
		return nil, sinkError(s, err)
	}
	return f, nil
}

// epochs reports whether readers see rows as soon as it is decided about them: of a job with
// checkpoints that does not end by itself.
func (j *Job) epochs() bool {
	return j.opts.Checkpoints != nil && slices.ContainsFunc(j.graph.Sources, func(s job.Source) bool { return !s.Bounded() })
}
