package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/engine/commit"
	"tidemark/engine/job"
	"tidemark/engine/state"
	"tidemark/internal/fault"
)

// keeper takes the checkpoints of a running job, one at a time. It has a goroutine of its
// own, and talks to tasks in messages only:
//
//	keeper ── message ──> source tasks: a barrier behind what they have sent
//	source task ── barrier ──> keyed tasks ── barrier ──> sinks: end of the epoch
//	every task ── its part ──> keeper: written as it comes
//	keeper: all parts there ── manifest: the decision (K7) ──> sinks: commit
//
// A task freezes its part and goes on; the keeper encodes it, in a turn of its own. Tasks
// that have ended tell what they were in the end, so that nothing waits for them.
type keeper struct {
	job   *Job
	log   *checkpoint.Log
	rules job.Checkpoint
	turn  *turn

	parts chan part
	wants chan want
	ticks chan struct{}
	over  chan struct{} // closed when no further checkpoint is taken

	last   uint64    // number of the last checkpoint that was begun
	begun  time.Time // when that was
	ended  time.Time // when it had come about or failed
	failed int       // checkpoints one after the other that did not come about
	goesOn uint64    // number of the one that the next run goes on from; 0: none
	stop   bool      // it is of the job's stop
	// before is the last one of this run that was published and is no savepoint; nil: there is
	// none that another may take over from.
	before *checkpoint.Checkpoint

	mu    sync.Mutex
	stats CheckpointReport
}

// want is a checkpoint that somebody waits for.
type want struct {
	kind checkpoint.Kind
	last bool // the job stops behind it
	done chan taken
}

// taken is what has become of one.
type taken struct {
	id  uint64
	err error
}

// final reports whether no other checkpoint follows. A job that cannot be stopped behind a
// savepoint goes on; where the stop is decided it is, with a last checkpoint or without.
func (w *want) final(err error) bool { return w.last && (err == nil || w.kind == checkpoint.Stop) }

// part is what a task contributes to a checkpoint.
type part struct {
	id    uint64
	who   any             // the task
	ready <-chan struct{} // closed when the part is complete; nil: it is
	// sections encodes the part, once, in the keeper's goroutine. A section is borrowed until
	// the next one is asked for; an error is the last. What is taken over is no section, and
	// noted in the argument; nil: nothing may be. nil: there are no sections.
	sections func(*takeover) iter.Seq2[checkpoint.Section, error]
	// published tells the task's part that later ones may take over from it; nil: nobody wants
	// to know.
	published func()
	// release lets go of what was frozen, last; nil: nothing was.
	release func() error
	// report adds the task's numbers to those of the job.
	report func(*merger)
	// commit has a sink show the rows of the epoch; nil: the task is none.
	commit func(context.Context) error
	err    error // why there is no part
}

// CheckpointReport is what a job says about its checkpoints.
type CheckpointReport struct {
	Completed int64         `json:"completed"`
	Failed    int64         `json:"failed"`
	Last      uint64        `json:"last,omitempty"`     // number of the last one that was completed
	At        time.Time     `json:"at,omitzero"`        // when that was
	Took      time.Duration `json:"took_ns,omitempty"`  // from its begin
	Bytes     int64         `json:"bytes,omitempty"`    // that were written for it
	Reused    int64         `json:"reused,omitempty"`   // that it has taken over from earlier ones
	Error     string        `json:"error,omitempty"`    // why the last one that failed did
	Restored  uint64        `json:"restored,omitempty"` // number of the one that the job began from
}

func newKeeper(j *Job, log *checkpoint.Log) *keeper {
	return &keeper{job: j, log: log, rules: *j.graph.Settings.Checkpoint, turn: j.newTurn(context.Background()),
		parts: make(chan part, partsEach*(len(j.feeds)+len(j.keyed)+len(j.sinks))), wants: make(chan want), ticks: make(chan struct{}, 1), over: make(chan struct{})}
}

// run takes checkpoints until ctx ends, or all tasks have ended, which enough tells. What it
// returns ends the job.
func (k *keeper) run(ctx context.Context, enough <-chan struct{}) error {
	defer k.clear()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-enough:
			cancel()
		case <-ctx.Done():
		}
	}()
	k.turn.ctx = ctx
	k.ended = k.now()
	k.begun = k.ended
	defer k.job.opts.Env.Clock.Tick(k.look(), func() {
		select {
		case k.ticks <- struct{}{}:
		default:
		}
	})()
	err := k.serve(ctx)
	close(k.over)
	if err == nil {
		<-ctx.Done() // a job that stops ends when it is told to
	}
	return err
}

// serve takes checkpoints as they are wanted, and as their time comes.
func (k *keeper) serve(ctx context.Context) error {
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case w := <-k.wants:
			err = k.take(ctx, w.kind, w.last)
			if err != nil && ctx.Err() != nil {
				return nil // w finds that the job has ended
			}
			w.done <- taken{k.last, err}
			if w.final(err) {
				return nil
			}
		case <-k.ticks:
			if !due(k.now(), k.begun, k.ended, &k.rules) {
				continue
			}
			err = k.take(ctx, checkpoint.Periodic, false)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, checkpoint.ErrFenced):
			return err
		case err == nil:
			k.failed = 0
		default:
			if k.failed++; k.failed > k.rules.Tolerate {
				return fmt.Errorf("%d checkpoints have failed one after the other, settings.checkpoint.tolerate allows %d: %w", k.failed, k.rules.Tolerate, err)
			}
		}
	}
}

// Checkpoint takes a checkpoint now, behind one that is being taken. Any goroutine may call it
// while the job runs; the error says why there is none.
func (j *Job) Checkpoint(ctx context.Context, kind checkpoint.Kind) (id uint64, err error) {
	return j.checkpoint(ctx, want{kind: kind})
}

// HaltSaved is Halt with a savepoint: it, and what the job goes on from if nobody says
// otherwise, are of one moment, and what sinks show then is what was done until that moment.
// If there is no savepoint the job goes on as if nobody had asked.
func (j *Job) HaltSaved(ctx context.Context) (savepoint uint64, err error) {
	return j.checkpoint(ctx, want{kind: checkpoint.Savepoint, last: true})
}

// Halt prepares a running job for its stop: it takes a last checkpoint, so that what was done
// until then is shown and not done again, and waits for that for at most d. Without one, the
// job will go on from the last that there is. The caller ends the job's context next.
func (j *Job) Halt(ctx context.Context, d time.Duration) {
	if j.keeper != nil {
		_ = j.halt(ctx, d) // told and counted like any other
	}
}

// halt is Halt of a job that takes checkpoints. The error says why there is no last one.
func (j *Job) halt(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with ctx
		if j.opts.Env.Clock.Sleep(ctx, d) == nil {
			cancel(errTimeout)
		}
	}()
	_, err := j.checkpoint(ctx, want{kind: checkpoint.Stop, last: true})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (j *Job) checkpoint(ctx context.Context, w want) (id uint64, err error) {
	k := j.keeper
	if k == nil {
		return 0, fault.Conflictf("the job takes no checkpoints: settings.checkpoint is not set")
	}
	w.done = make(chan taken, 1)
	select {
	case k.wants <- w:
	case <-k.over:
		return 0, errEnded
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case t := <-w.done:
		return t.id, t.err
	case <-k.over:
		select {
		case t := <-w.done: // it was the last
			return t.id, t.err
		default:
			return 0, errEnded
		}
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

var errEnded = fault.As(fault.ErrConflict, errors.New("the job has ended"))

// due reports whether it is time for another checkpoint.
func due(now, begun, ended time.Time, rules *job.Checkpoint) bool {
	return now.Sub(begun) >= rules.Interval && now.Sub(ended) >= rules.MinPause
}

// Limits of how often the keeper looks whether it is time.
const (
	leastLook = 5 * time.Millisecond
	mostLook  = time.Second
)

func (k *keeper) look() time.Duration { return min(max(k.rules.Interval/10, leastLook), mostLook) }

func (k *keeper) now() time.Time { return k.job.opts.Env.Clock.Now() }

// take takes one checkpoint. Of a savepoint that is the last one there is a twin for the job
// itself, to go on from: a restart passes over savepoints.
func (k *keeper) take(ctx context.Context, kind checkpoint.Kind, last bool) error {
	k.begun = k.now()
	twin := last && kind == checkpoint.Savepoint
	size, err := k.attempt(ctx, kind, twin)
	k.ended = k.now()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && kind != checkpoint.Savepoint {
		k.goesOn, k.stop = k.last, kind == checkpoint.Stop
	}
	k.mu.Lock()
	if err == nil {
		k.stats.Completed++
		k.stats.Last, k.stats.At, k.stats.Took, k.stats.Bytes = k.last, k.ended, k.ended.Sub(k.begun), size.written
		k.stats.Reused = size.reused
	} else {
		k.stats.Failed++
		k.stats.Error = err.Error()
	}
	e := Checkpointed{Number: k.last, Kind: string(kind), Took: k.ended.Sub(k.begun), Bytes: size.written, Reused: size.reused, Err: err}
	k.mu.Unlock()
	k.job.observe(e)
	return err
}

// report is what the keeper has done so far. Any goroutine may call it.
func (k *keeper) report() *CheckpointReport {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.stats
	return &r
}

// sizes are the bytes of sections of a checkpoint.
type sizes struct{ written, reused int64 }

// attempt has all tasks take their parts, writes them, and decides.
func (k *keeper) attempt(ctx context.Context, kind checkpoint.Kind, twin bool) (size sizes, err error) {
	w := k.log.Begin(k.job.meta(kind))
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abandon(context.WithoutCancel(ctx)))
		}
	}()
	k.clear()
	k.last = w.Meta().ID
	if err := k.ask(ctx, k.last); err != nil {
		return sizes{}, err
	}
	missing := len(k.job.feeds) + len(k.job.keyed) + len(k.job.sinks)
	m := k.job.merger()
	commits := map[string]func(context.Context) error{}
	var from *takeover
	if kind != checkpoint.Savepoint {
		from = newTakeover(k.before)
	}
	var published []func()
	for missing > 0 {
		p, err := k.next(ctx)
		if err != nil {
			return sizes{}, err
		}
		if p.id != k.last {
			p.drop()
			continue
		}
		missing--
		if p.err != nil {
			return sizes{}, p.err
		}
		err = k.write(ctx, w, p, from, &size.written)
		p.drop()
		if err != nil {
			return sizes{}, err
		}
		if p.report != nil {
			p.report(m)
		}
		if p.published != nil {
			published = append(published, p.published)
		}
		if p.commit != nil {
			commits[p.who.(*sinkTask).spec.ID] = p.commit
		}
	}
	if from != nil {
		if size.reused, err = k.takeOver(w, from); err != nil {
			return sizes{}, err
		}
	}
	if err := k.publish(ctx, w, m.done()); err != nil {
		return sizes{}, err
	}
	if twin {
		if err := k.twin(ctx, w.Checkpoint()); err != nil {
			return sizes{}, err
		}
	} else if kind == checkpoint.Savepoint {
		return size, nil // a restart passes over it: what it has is decided with the next checkpoint
	}
	if from != nil {
		k.before = w.Checkpoint()
		for _, tell := range published {
			tell()
		}
	}
	for _, i := range k.job.epochsOf.Commit {
		show := commits[k.job.sinks[i].spec.ID]
		if show == nil { // all that could send to it has ended
			continue
		}
		if err := show(context.WithoutCancel(ctx)); err != nil { // a sink takes what comes until the keeper has ended
			if commit.Failed(commit.Commit) == commit.Restart { // the next start shows it
				k.job.fail(err)
			}
			return size, nil
		}
	}
	err = k.log.Retain(ctx, k.rules.Retain)
	switch {
	case errors.Is(err, checkpoint.ErrFenced):
		return size, err
	case err != nil && ctx.Err() == nil:
		// The checkpoint has come about all the same; the next one removes what is left.
		k.job.observe(Warning{Operator: "checkpoints", Message: "old ones cannot be removed: " + err.Error()})
	}
	return size, nil
}

// takeOver adds what the parts have taken over, and returns how many bytes that is.
func (k *keeper) takeOver(w *checkpoint.Writer, from *takeover) (n int64, err error) {
	for _, ref := range from.taken {
		if err := w.Reuse(ref); err != nil {
			k.before = nil // somebody has deleted it: the next one is whole
			return 0, err
		}
		n += ref.Size()
	}
	return n, nil
}

// publish writes what is the job's own, and decides.
func (k *keeper) publish(ctx context.Context, w *checkpoint.Writer, r Report) error {
	for _, s := range []checkpoint.Section{k.job.saveNames(), saveReport(r)} {
		if err := w.Add(ctx, s); err != nil {
			return err
		}
	}
	w.Meta().Summary = summary(&r)
	return w.Publish(ctx)
}

// twin has a checkpoint of the job's stop consist of what a savepoint consists of.
func (k *keeper) twin(ctx context.Context, of *checkpoint.Checkpoint) error {
	w := k.log.Begin(k.job.meta(checkpoint.Stop))
	w.Meta().Taken, w.Meta().Summary = of.Meta.Taken, of.Meta.Summary
	for _, ref := range of.Refs() {
		if err := w.Reuse(ref); err != nil {
			return errors.Join(err, w.Abandon(context.WithoutCancel(ctx)))
		}
	}
	if err := w.Publish(ctx); err != nil {
		return errors.Join(err, w.Abandon(context.WithoutCancel(ctx)))
	}
	return nil
}

var errTimeout = fault.As(fault.ErrExternal, errors.New("the checkpoint has taken too long (settings.checkpoint.timeout)"))

// next waits for the next part.
func (k *keeper) next(ctx context.Context) (part, error) {
	for {
		select {
		case p := <-k.parts:
			return p, nil
		case <-ctx.Done():
			return part{}, ctx.Err()
		case <-k.ticks:
			if k.now().Sub(k.begun) >= k.rules.Timeout {
				return part{}, errTimeout
			}
		}
	}
}

// ask tells all tasks that a checkpoint is to be taken: sinks first, so that they know of it
// when its barriers come.
func (k *keeper) ask(ctx context.Context, id uint64) error {
	for _, t := range k.job.sinks {
		if err := t.send(ctx, k.turn, block{expects: id}); err != nil {
			return err
		}
	}
	for _, t := range k.job.keyed {
		if !t.inbox.Post(func() { t.asked.ask(id, t) }) {
			return errMail
		}
	}
	for _, t := range k.job.feeds {
		if !t.mail.Post(func() { t.asked.ask(id, t) }) {
			return errMail
		}
	}
	return nil
}

var errMail = fault.As(fault.ErrExternal, errors.New("a task answers no messages: it is inside a call that does not return"))

// await waits until a part is complete.
func (k *keeper) await(ctx context.Context, ready <-chan struct{}) error {
	for ready != nil {
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-k.ticks:
			if k.now().Sub(k.begun) >= k.rules.Timeout {
				return errTimeout
			}
		}
	}
	return nil
}

// write encodes a part and writes it. What a section takes to encode is a turn of the
// keeper's; others have theirs while it is written.
func (k *keeper) write(ctx context.Context, w *checkpoint.Writer, p part, from *takeover, size *int64) error {
	if p.sections == nil {
		return nil
	}
	if err := k.await(ctx, p.ready); err != nil {
		return err
	}
	if err := k.turn.Begin(); err != nil {
		return err
	}
	for s, err := range p.sections(from) {
		k.turn.End(0)
		if err == nil {
			err = w.Add(ctx, s)
		}
		if err == nil {
			err = k.turn.Begin()
		}
		if err != nil {
			return err
		}
		*size += int64(len(s.Body))
	}
	k.turn.End(0)
	return nil
}

// partsEach is how many parts of each task there is room for: that of the checkpoint that is
// being taken, and some of others that were given up.
const partsEach = 4

// give hands a part to the keeper. No task waits for that: without room the part is dropped,
// and its checkpoint fails.
func (k *keeper) give(p part) {
	select {
	case k.parts <- p:
	default:
		p.drop()
	}
}

// clear drops parts of checkpoints that were given up.
func (k *keeper) clear() {
	for len(k.parts) > 0 {
		p := <-k.parts
		p.drop()
	}
}

// drop lets go of what a part has frozen.
func (p *part) drop() {
	if p.release != nil {
		_ = p.release() // of a snapshot that was read, or that nobody wants
	}
}

// asked is what a task knows of checkpoints that it was asked for and has not given its part
// of.
type asked struct {
	ids   []uint64
	last  uint64 // that it has given its part of: a barrier may come before the message
	ended bool   // the task does nothing any more
}

// taker is a task that takes part in checkpoints.
type taker interface {
	// part returns what the task is now.
	part(id uint64) part
	keeper() *keeper
}

// ask notes a checkpoint; a task that has ended gives its part at once.
func (a *asked) ask(id uint64, t taker) {
	if id <= a.last {
		return
	}
	if a.ended {
		t.keeper().give(t.part(id))
		return
	}
	a.ids = append(a.ids, id)
}

// end gives the parts that were asked for and not given, of a task that has done all it had
// to do. One that was stopped, perhaps in the middle of a batch, has none to give.
func (a *asked) end(t taker, err error) {
	if err != nil {
		return
	}
	a.ended = true
	for _, id := range a.ids {
		t.keeper().give(t.part(id))
	}
	a.ids = nil
}

// given notes that the task has given its part of a checkpoint.
func (a *asked) given(id uint64) {
	a.last = id
	for len(a.ids) > 0 && a.ids[0] <= id {
		a.ids = a.ids[1:]
	}
}

// these are sections that lie in memory as they are.
func these(sections ...checkpoint.Section) func(*takeover) iter.Seq2[checkpoint.Section, error] {
	return func(*takeover) iter.Seq2[checkpoint.Section, error] {
		return func(yield func(checkpoint.Section, error) bool) {
			for _, s := range sections {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

func sectionOf(operator, kind string, number int, w *state.Writer) checkpoint.Section {
	return checkpoint.Section{Operator: operator, Kind: kind, Number: uint32(number), Version: stateVersion, Body: w.Buf}
}

// Versions of the layout of the bodies that this package writes. Stored.
const (
	stateVersion = 1 // of all others
	splitVersion = 2 // of splits; 1: without what is kept of files before
)
