package controller

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/host/catalog"
	"tidemark/host/registry"
	"tidemark/host/tenant"
	"tidemark/host/turns"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Options is what a Controller is made of.
type Options struct {
	Data     string // absolute; jobs lie below Data/jobs
	Inputs   string // absolute directory that jobs may read; empty: none
	Catalog  *catalog.Catalog
	Registry *registry.Registry
	Modules  Modules
	Turns    *turns.Turns // of the CPU, between all jobs
	Machine  env.Env
	Quota    tenant.Quota
	Log      *slog.Logger
}

// Controller runs the jobs of all tenants. Safe for concurrent use. Jobs of another
// tenant are unknown (ErrUnknown) in every method.
type Controller struct {
	o Options

	// mu is held for as long as memory takes, never across a disk: all tenants wait
	// for it.
	mu     sync.Mutex
	live   map[jobKey]*live
	claims map[jobKey]chan struct{} // see claim; closed when the claim ends
	closed bool
	work   sync.WaitGroup // one for each goroutine of a live job and for each claim
}

type jobKey struct {
	tenant tenant.ID
	id     catalog.JobID
}

// live is a job that this process runs, or has run since it started.
type live struct {
	life   *Life
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the goroutine has ended
	turns  *turns.Job

	// Guarded by Controller.mu.
	record   catalog.Job
	changed  chan struct{} // closed at the next change of state
	engine   *engine.Job   // set while it runs
	recovery *Recovery     // nil: it takes no checkpoints; the job's goroutine owns it
	counter  *Counter
	report   engine.Report // the last one that was seen
	warnings []string
	drained  bool // it was told to drain, by this run
}

const (
	// maxWarnings bounds what is kept of a job's warnings: each is said once, so more
	// are a flood.
	maxWarnings = 50
	// statusTimeout is how long a job may take to tell how far it is. Tasks answer
	// between batches, and a plug-in may take seconds for one.
	statusTimeout = 2 * time.Second
)

// states in which a job may have something running.
var alive = []string{string(Created), string(Starting), string(Running), string(Restarting), string(Draining), string(Stopping)}

// New makes a controller; nothing runs yet.
func New(o Options) (*Controller, error) {
	if !filepath.IsAbs(o.Data) || o.Inputs != "" && !filepath.IsAbs(o.Inputs) {
		panic("BUG: the controller wants absolute directories")
	}
	if err := o.Machine.FS.MkdirAll(filepath.Join(o.Data, "jobs"), 0o700); err != nil {
		return nil, fault.As(fault.ErrExternal, fmt.Errorf("job directory: %w", err))
	}
	return &Controller{o: o, live: map[jobKey]*live{}, claims: map[jobKey]chan struct{}{}}, nil
}

// Recover takes over the jobs of the last process: those with checkpoints go on, the others
// are marked as interrupted if they were alive. It returns how many there were of each. To be
// called before the first Submit.
func (c *Controller) Recover(ctx context.Context) (resumed, interrupted int, err error) {
	left, err := c.o.Catalog.JobsIn(ctx, append(slices.Clone(alive), string(Interrupted)))
	if err != nil {
		return 0, 0, err
	}
	for _, j := range left {
		was := State(j.State)
		why := c.resume(ctx, j)
		if why == nil {
			resumed++
			continue
		}
		if was == Interrupted {
			continue
		}
		to, _, err := Next(was, Lost)
		if err != nil {
			return 0, 0, fault.Corruptf("job %s of %s: %w", j.ID, j.Tenant, err)
		}
		j.Message = fmt.Sprintf("the host ended while the job was %s; %s", j.State, c.forOwner(j, why.Error()))
		j.State, j.Ended = string(to), c.o.Machine.Clock.Now()
		if err := c.o.Catalog.UpdateJob(ctx, j); err != nil {
			return 0, 0, err
		}
		interrupted++
		c.o.Log.Warn("job interrupted by the end of the last process", "tenant", j.Tenant, "job", j.ID, "why", why)
	}
	return resumed, interrupted, nil
}

// resume has a job of the last process go on from its checkpoints. The error says why it
// cannot.
func (c *Controller) resume(ctx context.Context, j catalog.Job) error {
	k := jobKey{j.Tenant, j.ID}
	to, _, err := Next(State(j.State), Resume)
	if err != nil {
		return err
	}
	if State(j.State) == Interrupted {
		// One that a host without checkpoints has left is not begun anew behind its owner's
		// back.
		if _, err := c.o.Machine.FS.Stat(c.checkpoints(k)); err != nil {
			return err
		}
	}
	loaded, err := c.load(ctx, k, j.YAML)
	if err != nil {
		return fmt.Errorf("it cannot go on: %w", err)
	}
	if loaded.Graph.Settings.Checkpoint == nil {
		return errors.New(startOver)
	}
	v, err := stored(j)
	if err != nil {
		return err
	}
	j.State, j.Message, j.Ended = string(to), "", time.Time{}
	if err := c.o.Catalog.UpdateJob(ctx, j); err != nil {
		return err
	}
	if !c.launch(k, loaded, j, Begin{Again: true}, v.Tally) {
		return errHostEnds
	}
	c.o.Log.Info("job goes on from the last process", "tenant", j.Tenant, "job", j.ID)
	return nil
}

// dir is where a job of a tenant writes.
func (c *Controller) dir(k jobKey) string {
	return filepath.Join(c.o.Data, "jobs", string(k.tenant), string(k.id))
}

// checkpoints is where those of a job of a tenant lie: not where it writes, since its results
// may have any name there.
func (c *Controller) checkpoints(k jobKey) string {
	return filepath.Join(c.o.Data, "checkpoints", string(k.tenant), string(k.id))
}

// log opens the checkpoints of a job of a tenant.
func (c *Controller) log(k jobKey) *checkpoint.Log {
	return checkpoint.Open(checkpoint.OpenLocal(c.o.Machine.FS, c.checkpoints(k)), c.o.Machine.Rand)
}

// load reads and checks the job file of a tenant.
func (c *Controller) load(ctx context.Context, k jobKey, yaml []byte) (*Loaded, error) {
	return Load(ctx, LoadRequest{
		YAML: yaml, Name: "job.yaml", Dir: c.dir(k), Machine: c.o.Machine, Modules: c.o.Modules,
		Tenant: &Tenancy{Inputs: c.o.Inputs, Find: func(p *job.Plugin) error {
			found, err := c.o.Registry.Resolve(ctx, k.tenant, p.Ref)
			if err != nil {
				return err
			}
			p.File, p.Digest = c.o.Registry.Path(found.Digest), found.Digest
			return nil
		}},
	})
}

// check is load within the tenant's quotas.
func (c *Controller) check(ctx context.Context, k jobKey, yaml []byte) (*Loaded, error) {
	if err := tenant.Charge("bytes of a job file", 0, int64(len(yaml)), c.o.Quota.JobBytes); err != nil {
		return nil, err
	}
	loaded, err := c.load(ctx, k, yaml)
	if err != nil {
		return nil, err
	}
	for _, s := range loaded.Graph.Steps {
		if err := tenant.Charge("parallelism of step "+s.ID, 0, int64(s.Parallelism), int64(c.o.Quota.Parallelism)); err != nil {
			return nil, err
		}
	}
	return loaded, tenant.Charge("bytes of state of a job (settings.state_budget)", 0, loaded.Graph.Settings.StateBudget, c.o.Quota.StateBytes)
}

// Submit checks a job file and starts the job. An empty id gets a random one. The
// same id with the same file returns the job that is there, and created is false.
// Errors: job.Problems for the file, ErrConflict for a taken id, ErrQuota.
func (c *Controller) Submit(ctx context.Context, id tenant.ID, name catalog.JobID, yaml []byte) (v View, created bool, err error) {
	if name == "" {
		if name, err = c.randomID(); err != nil {
			return View{}, false, err
		}
	}
	k := jobKey{id, name}
	loaded, err := c.check(ctx, k, yaml)
	if err != nil {
		return View{}, false, err
	}
	record, created, err := c.add(ctx, loaded, catalog.Job{
		Tenant: id, ID: name, Name: loaded.Graph.Name, YAML: yaml,
		State: string(Created), Outputs: outputsText(loaded.Graph), Created: c.o.Machine.Clock.Now(),
	})
	if err != nil {
		return View{}, false, err
	}
	v, err = c.view(ctx, record)
	return v, created, err
}

func (c *Controller) randomID() (catalog.JobID, error) {
	var raw [6]byte // 2^48 ids, for at most some hundred jobs of a tenant
	if _, err := io.ReadFull(c.o.Machine.Rand, raw[:]); err != nil {
		return "", fault.As(fault.ErrExternal, fmt.Errorf("job id: %w", err))
	}
	return catalog.JobID("job-" + hex.EncodeToString(raw[:])), nil
}

// claim waits until nobody else adds, deletes or looks for a job, and keeps the others
// out until release is called: what is in the catalogue, in memory and on disk under
// one id changes together, while other jobs go their way.
func (c *Controller) claim(ctx context.Context, k jobKey) (release func(), err error) {
	for {
		c.mu.Lock()
		other, taken := c.claims[k]
		if !taken {
			break
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer c.mu.Unlock()
	mine := make(chan struct{})
	c.claims[k] = mine
	counted := !c.closed // Close waits for those that came before it
	if counted {
		c.work.Add(1)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.claims, k)
		close(mine)
		if counted {
			c.work.Done()
		}
	}, nil
}

// find returns a job as it is recorded, and what this process has of it, if anything.
func (c *Controller) find(ctx context.Context, k jobKey) (catalog.Job, *live, error) {
	release, err := c.claim(ctx, k)
	if err != nil {
		return catalog.Job{}, nil, err
	}
	defer release()
	return c.claimed(ctx, k)
}

// claimed is find for the one who has the claim.
func (c *Controller) claimed(ctx context.Context, k jobKey) (catalog.Job, *live, error) {
	record, err := c.o.Catalog.Job(ctx, k.tenant, k.id)
	if err != nil {
		return catalog.Job{}, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.live[k]
	if l != nil {
		record = l.record
	}
	return record, l, nil
}

// add records a job and starts its goroutine.
func (c *Controller) add(ctx context.Context, loaded *Loaded, j catalog.Job) (catalog.Job, bool, error) {
	k := jobKey{j.Tenant, j.ID}
	release, err := c.claim(ctx, k)
	if err != nil {
		return catalog.Job{}, false, err
	}
	defer release()
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return catalog.Job{}, false, fault.As(fault.ErrExternal, errHostEnds)
	}
	kept, created, err := c.o.Catalog.AddJob(ctx, j, alive, c.o.Quota)
	if err != nil || !created {
		return kept, false, err
	}
	// A crash in the middle of a deletion may have left files.
	err = errors.Join(removeTree(c.o.Machine.FS, c.dir(k)), removeTree(c.o.Machine.FS, c.checkpoints(k)))
	if err == nil {
		err = c.o.Machine.FS.MkdirAll(c.dir(k), 0o700)
	}
	if err != nil {
		err = fmt.Errorf("job directory: %w", err)
	} else if !c.launch(k, loaded, j, Begin{}, Tally{}) {
		err = errHostEnds
	}
	if err != nil {
		return catalog.Job{}, false, errors.Join(fault.As(fault.ErrExternal, err),
			// Also if the client has gone meanwhile: a record without a job counts as running.
			c.o.Catalog.DeleteJob(context.WithoutCancel(ctx), j.Tenant, j.ID))
	}
	return kept, true, nil
}

// launch starts a job's goroutine; false means that the host ends. The caller has the
// claim. counted is what an earlier process has counted of it.
func (c *Controller) launch(k jobKey, loaded *Loaded, j catalog.Job, begin Begin, counted Tally) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	// The job outlives the request that brought it.
	run, cancel := context.WithCancelCause(context.Background())
	l := &live{cancel: cancel, done: make(chan struct{}), turns: c.o.Turns.Job(string(k.tenant)), record: j, changed: make(chan struct{}), counter: NewCounter(c.o.Machine.Clock)}
	if begin.Again {
		l.counter.resume(counted)
	}
	if loaded.Graph.Settings.Checkpoint != nil {
		l.recovery = NewRecovery(c.log(k), loaded.Graph, false, begin)
	}
	l.life = NewLife(func(ch Change) { c.moved(l, ch) })
	c.live[k] = l
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		defer close(l.done)
		defer cancel(nil)
		defer l.turns.Close()
		if l.recovery != nil {
			defer func() {
				if err := l.recovery.Close(); err != nil {
					c.o.Log.Error("checkpoints not closed", "tenant", k.tenant, "job", k.id, "error", err)
				}
			}()
		}
		// The error is in the record by now, which is how the owner learns of it.
		_, _ = loaded.Run(run, l.life, RunOptions{
			FirstStart: j.Created,
			Turns:      l.turns,
			Recovery:   l.recovery,
			StateDir:   filepath.Join(c.o.Data, "spilled", string(k.tenant), string(k.id)),
			Begins:     func(from Origin) { c.begins(l, from) },
			Observe:    func(e engine.Event) { c.observe(l, e) },
			Up: func(ej *engine.Job) {
				c.mu.Lock()
				defer c.mu.Unlock()
				l.engine = ej
			},
		})
	}()
	return true
}

// moved records a new state of a live job, and then lets others see it: what a client
// has been told, a crash does not take back. Its Life calls it, so there is one call
// at a time for a job.
func (c *Controller) moved(l *live, ch Change) {
	c.mu.Lock()
	now := c.o.Machine.Clock.Now()
	r := l.record
	r.State = string(ch.State)
	if ch.State == Starting && r.Started.IsZero() {
		r.Started = now
	}
	switch ch.State {
	case Restarting:
		r.Message = c.forOwner(r, ch.WhyAgain())
		l.warn(r.Message)
	case Starting:
		r.Message, l.drained = "", false
	case Draining:
		l.drained = true
	}
	if ch.State.Ended() {
		r.Ended = now
		switch ch.State {
		case Interrupted:
			r.Message = "the host was shut down while the job was running; " + startOver
			if l.recovery != nil {
				r.Message = "the host was shut down while the job was running; it goes on when the host starts again"
			}
		case Failed:
			r.Message = c.forOwner(r, ch.Err.Error())
		case Finished:
			if l.drained {
				r.Message = "drained: windows whose time had not come gave rows of the kind incomplete"
			}
		}
	}
	if ch.State.Ended() || ch.State == Restarting {
		if ch.Report.Sources != nil { // else the engine was never built
			l.report = ch.Report
		}
		l.engine = nil
	}
	r.Report = l.account()
	c.mu.Unlock()

	log := c.o.Log.With("tenant", r.Tenant, "job", r.ID, "state", r.State)
	// This must be written even while everything is being cancelled.
	if err := c.o.Catalog.UpdateJob(context.Background(), r); err != nil {
		log.Error("job state not recorded", "error", err)
	}
	if r.Message != "" {
		log = log.With("message", r.Message)
	}
	log.Info("job")

	c.mu.Lock()
	defer c.mu.Unlock()
	l.record = r
	close(l.changed)
	l.changed = make(chan struct{})
}

// startOver tells the owner of an interrupted job what is left and what to do.
const startOver = "what it had written stays unpublished. Submit it again under another id: it starts from the beginning"

// forOwner takes the host's own directories out of a text that a tenant will read.
func (c *Controller) forOwner(j catalog.Job, text string) string {
	k := jobKey{j.Tenant, j.ID}
	text = strings.ReplaceAll(text, c.dir(k)+string(filepath.Separator), "")
	text = strings.ReplaceAll(text, c.checkpoints(k), "checkpoints")
	if c.o.Inputs != "" {
		text = strings.ReplaceAll(text, c.o.Inputs+string(filepath.Separator), "")
	}
	return text
}

// account is what is stored of a job's report.
func (l *live) account() []byte {
	raw, err := json.Marshal(account{l.report, l.warnings, l.turns.Account(), *l.counter.Now()})
	if err != nil {
		panic("BUG: report: " + err.Error())
	}
	return raw
}

type account struct {
	Report   engine.Report `json:"report"`
	Warnings []string      `json:"warnings,omitempty"`
	CPU      turns.Account `json:"cpu"`
	Tally    Tally         `json:"checkpoints"`
}

// begins takes note of where a run of a job begins.
func (c *Controller) begins(l *live, from Origin) {
	l.counter.Begin(from)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range from.Warnings {
		l.warn("a checkpoint is damaged, the one before is taken: " + c.forOwner(l.record, text))
	}
}

func (c *Controller) observe(l *live, e engine.Event) {
	l.counter.Observe(e)
	w, ok := e.(engine.Warning)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l.warn(c.forOwner(l.record, w.Operator+": "+w.Message))
}

// warn keeps a warning for the owner. The caller holds Controller.mu.
func (l *live) warn(text string) {
	if len(l.warnings) < maxWarnings {
		l.warnings = append(l.warnings, text)
	}
}

// View is a job as its owner sees it.
type View struct {
	catalog.Job
	Report   engine.Report
	Warnings []string
	CPU      turns.Account // what it has had until now
	Tally    Tally         // of its checkpoints and restarts
	Outputs  []Output
	// Silent: the job is running and did not tell how far it is in time, so Report is
	// the last that is known. A plug-in that takes seconds for a batch does this.
	Silent bool
}

// Get returns a job with its report: of a running job, the one of now.
func (c *Controller) Get(ctx context.Context, id tenant.ID, name catalog.JobID) (View, error) {
	record, err := c.o.Catalog.Job(ctx, id, name)
	if err != nil {
		return View{}, err
	}
	return c.view(ctx, record)
}

// List returns a tenant's jobs, the newest first, without asking them how far they are.
func (c *Controller) List(ctx context.Context, id tenant.ID) ([]View, error) {
	records, err := c.o.Catalog.Jobs(ctx, id)
	if err != nil {
		return nil, err
	}
	views := make([]View, len(records))
	for i, r := range records {
		if views[i], err = stored(r); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// stored makes a view of what is in the catalogue.
func stored(r catalog.Job) (View, error) {
	v := View{Job: r}
	var a account
	for _, part := range []struct {
		raw  []byte
		into any
	}{{r.Outputs, &v.Outputs}, {r.Report, &a}} {
		if len(part.raw) == 0 {
			continue
		}
		if err := json.Unmarshal(part.raw, part.into); err != nil {
			return View{}, fault.Corruptf("job %s of %s: %w", r.ID, r.Tenant, err)
		}
	}
	v.Report, v.Warnings, v.CPU, v.Tally = a.Report, a.Warnings, a.CPU, a.Tally
	return v, nil
}

// view adds to a record what only the running job knows.
func (c *Controller) view(ctx context.Context, r catalog.Job) (View, error) {
	c.mu.Lock()
	l := c.live[jobKey{r.Tenant, r.ID}]
	if l == nil {
		c.mu.Unlock()
		return stored(r)
	}
	r, running := l.snapshot()
	c.mu.Unlock()
	if running == nil {
		return stored(r)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	go func() { // ends with ctx: a job that has ended answers no more
		select {
		case <-l.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	report := running.Status(ctx)

	c.mu.Lock()
	// The last report that is whole says more than one with gaps.
	if l.engine != nil && len(report.Busy) == 0 {
		l.report = report
	}
	r, running = l.snapshot()
	c.mu.Unlock()
	v, err := stored(r)
	v.Silent = running != nil && len(report.Busy) > 0
	return v, err
}

// snapshot returns the record as it is now, and the engine if it runs. The caller
// holds Controller.mu.
func (l *live) snapshot() (catalog.Job, *engine.Job) {
	r := l.record
	r.Report = l.account()
	return r, l.engine
}

// Live returns a view of each job that this process runs or has run, for metrics.
func (c *Controller) Live(ctx context.Context) []View {
	c.mu.Lock()
	records := make([]catalog.Job, 0, len(c.live))
	for _, l := range c.live {
		records = append(records, l.record)
	}
	c.mu.Unlock()
	views := make([]View, len(records))
	var asked sync.WaitGroup
	for i, r := range records {
		asked.Go(func() {
			v, err := c.view(ctx, r)
			if err != nil {
				v = View{Job: r, Silent: true}
			}
			views[i] = v
		})
	}
	asked.Wait()
	return views
}

// WaitEnd waits until a job has ended, ctx ends or d has passed, and returns it as it
// is then.
func (c *Controller) WaitEnd(ctx context.Context, id tenant.ID, name catalog.JobID, d time.Duration) (View, error) {
	record, l, err := c.find(ctx, jobKey{id, name})
	if err != nil {
		return View{}, err
	}
	return c.waitEnd(ctx, record, l, d)
}

// waitEnd is WaitEnd for a job that was found: it may be deleted meanwhile.
func (c *Controller) waitEnd(ctx context.Context, record catalog.Job, l *live, d time.Duration) (View, error) {
	if l == nil {
		return stored(record)
	}
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with wait
		_ = c.o.Machine.Clock.Sleep(wait, d)
		cancel()
	}()
	for waiting := d > 0; ; {
		c.mu.Lock()
		record = l.record
		changed := l.changed
		c.mu.Unlock()
		if !waiting || State(record.State).Ended() {
			break
		}
		select {
		case <-changed:
		case <-wait.Done():
			waiting = false
		}
	}
	if err := ctx.Err(); err != nil {
		return View{}, err
	}
	return c.view(ctx, record)
}

// Stop asks a job to end without firing anything, and waits for that for at most d.
// The view then says stopped, or stopping if a task has not come back. ErrConflict:
// it has ended otherwise already.
func (c *Controller) Stop(ctx context.Context, id tenant.ID, name catalog.JobID, d time.Duration) (View, error) {
	record, l, err := c.find(ctx, jobKey{id, name})
	if err != nil {
		return View{}, err
	}
	if l == nil {
		_, _, err := Next(State(record.State), Stop)
		if State(record.State) == Stopped {
			err = nil // a client that got no answer asks again
		}
		if err != nil {
			return View{}, err
		}
		return stored(record)
	}
	do, err := l.life.On(Stop)
	if err != nil && l.life.State() != Stopped {
		return View{}, err
	}
	if do == Cancel {
		l.cancel(nil)
	}
	return c.waitEnd(ctx, record, l, d)
}

// Delete forgets a job that has ended, with all that it wrote. ErrConflict: it has
// not ended.
func (c *Controller) Delete(ctx context.Context, id tenant.ID, name catalog.JobID) error {
	k := jobKey{id, name}
	release, err := c.claim(ctx, k)
	if err != nil {
		return err
	}
	defer release()
	record, l, err := c.claimed(ctx, k)
	if err != nil {
		return err
	}
	if !State(record.State).Ended() {
		return fault.Conflictf("job %s is %s: stop it first", name, record.State)
	}
	if l != nil {
		<-l.done // it has ended, so its goroutine is about to
	}
	if err := c.o.Catalog.DeleteJob(ctx, id, name); err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.live, k)
	c.mu.Unlock()
	return fault.As(fault.ErrExternal, errors.Join(removeTree(c.o.Machine.FS, c.dir(k)), removeTree(c.o.Machine.FS, c.checkpoints(k))))
}

// Results opens an output of a job from a position on. of names the step or source
// where several have that port.
func (c *Controller) Results(ctx context.Context, id tenant.ID, name catalog.JobID, port, of string, from int64) (*Rows, error) {
	record, err := c.o.Catalog.Job(ctx, id, name)
	if err != nil {
		return nil, err
	}
	v, err := stored(record)
	if err != nil {
		return nil, err
	}
	out, err := choose(v.Outputs, port, of)
	if err != nil {
		return nil, err
	}
	return openRows(c.o.Machine.FS, out.Path, from, State(record.State) == Finished)
}

// Close stops all jobs and waits for them until ctx ends; then it names those that
// have not ended. No job can be submitted any more.
func (c *Controller) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	for _, l := range c.live {
		l.cancel(errHostEnds)
	}
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last job and claim, or with the process
		c.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var stuck []error
	for k, l := range c.live {
		if !State(l.record.State).Ended() {
			stuck = append(stuck, fmt.Errorf("job %s of %s has not ended", k.id, k.tenant))
		}
	}
	return errors.Join(stuck...)
}

// removeTree removes a directory with all that is in it; one that is not there is
// fine.
func removeTree(files env.FS, dir string) error {
	entries, err := files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = removeTree(files, path)
		} else {
			err = files.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return files.Remove(dir)
}
