package controller

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/env"
)

// Modules opens plug-ins by their file; ModuleCache does.
type Modules interface {
	// Describe reads a module without running it, and fills in p.Digest.
	Describe(p *job.Plugin) (job.FunctionInfo, error)
	// Aggregate compiles a module, or finds it compiled, and makes an instance.
	Aggregate(ctx context.Context, p *job.Plugin, a *job.Aggregate, kinds []stream.Kind) (udf.Aggregate, error)
	// The others likewise.
	Map(ctx context.Context, p *job.Plugin, m *job.Map, kinds []stream.Kind) (udf.Map, error)
	Assigner(ctx context.Context, p *job.Plugin, w *job.Window, kinds []stream.Kind) (udf.Assigner, error)
	Trigger(ctx context.Context, p *job.Plugin, t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error)
	Generator(ctx context.Context, p *job.Plugin, w *job.Watermark, kinds []stream.Kind) (udf.Generator, error)
	Process(ctx context.Context, p *job.Plugin, f *job.Process, kinds []stream.Kind, lists [][]stream.Kind) (udf.Process, error)
	Pair(ctx context.Context, p *job.Plugin, f *job.Apply, left, right []stream.Kind) (udf.Pair, error)
}

// LoadRequest says which job file is loaded and what it may see.
type LoadRequest struct {
	YAML    []byte
	Name    string   // of the file, for messages
	Dir     string   // absolute: what relative paths start from
	Set     []string // overrides "key=value"
	Machine env.Env
	Modules Modules
	// Env looks up variables of the job file; nil refuses them.
	Env func(name string) (value string, ok bool)
	// Tenant is set for a job that a tenant has submitted: its files are confined and
	// its plug-ins come from the registry.
	Tenant *Tenancy
}

// Tenancy is what a job of a tenant may touch beside its own directory.
type Tenancy struct {
	Inputs string // directory that it may read; empty: none
	// Find fills in the file of a plug-in by its ref.
	Find func(p *job.Plugin) error
}

// Loaded is a job that is right, as far as reading and looking can tell. It may be
// run once.
type Loaded struct {
	Graph   *job.Graph
	machine env.Env
	modules Modules
}

// Load reads and checks a job file; nothing runs. What is wrong with the file is an
// error of type job.Problems, all at once; then inputs that cannot be read are one of
// class fault.ErrUser.
func Load(ctx context.Context, r LoadRequest) (*Loaded, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := job.LoadOptions{
		Name: r.Name, Dir: r.Dir, Env: r.Env, Set: r.Set, Files: r.Machine.FS,
		Resolver: resolver{modules: r.Modules, tenant: r.Tenant},
	}
	if r.Tenant != nil {
		o.Host, o.Inputs = true, r.Tenant.Inputs
	}
	g, err := job.Load(r.YAML, o)
	if err != nil {
		return nil, err
	}
	if err := openInputs(r.Machine.FS, g.Sources); err != nil {
		return nil, err
	}
	return &Loaded{Graph: g, machine: r.Machine, modules: r.Modules}, nil
}

// resolver finds functions: the engine's own, and plug-ins in their files.
type resolver struct {
	engine.Builtins
	modules Modules
	tenant  *Tenancy
}

var _ job.Resolver = resolver{}

func (r resolver) Plugin(p *job.Plugin) (job.FunctionInfo, error) {
	if r.tenant != nil {
		if err := r.tenant.Find(p); err != nil {
			return job.FunctionInfo{}, err
		}
	}
	return r.modules.Describe(p)
}

// RunOptions is what one run of a job gets beside its graph.
type RunOptions struct {
	Stdin  io.Reader
	Stdout io.Writer
	// FirstStart and Complete are as in engine.Options.
	FirstStart time.Time
	Complete   bool
	Turns      engine.Turns
	// Recovery is where the job's checkpoints go, and where its runs begin: a run that fails
	// is followed by another as settings.restart says. Nil: there are no checkpoints, and
	// there is one run.
	Recovery *Recovery
	// Begins is told where each run begins, if there is a Recovery. May be nil.
	Begins func(Origin)
	// StateDir is as in engine.Options.
	StateDir string
	// Observe receives the engine's events; see engine.Options.
	Observe func(engine.Event)
	// Up receives the job when it is about to run, so that it can be asked for its
	// status from then on. May be nil.
	Up func(*engine.Job)
}

// errHostEnds is the cause of a context that ends because the host does.
var errHostEnds = errors.New("the host was shut down")

// Run runs the job until its input ends, it fails, or ctx ends, and takes life through
// its states. It returns when everything has stopped, with what the job has done and
// why it ended: nil for a finished job, the cause of ctx for one that was stopped.
func (l *Loaded) Run(ctx context.Context, life *Life, o RunOptions) (engine.Report, error) {
	if _, err := life.On(Start); err != nil {
		return engine.Report{}, err
	}
	// Whoever ends ctx asks for a stop, be it a signal or a request. It may come too
	// late; then the life refuses it, as it should.
	unhook := context.AfterFunc(ctx, func() { _, _ = life.On(Stop) })
	defer unhook()

	policy, known := job.Restart{}, func() bool { return false }
	if r := o.Recovery; r != nil { // else what a run had written would come twice
		policy, known = l.Graph.Settings.Restart, func() bool { return r.known }
	}
	return repeat(ctx, l.machine.Clock, policy, known, life, func(ctx context.Context, up func()) (engine.Report, error) {
		return l.run(ctx, up, o)
	})
}

// stopped reports whether err is what the end of ctx brought about: a running engine
// says the cause; what is called while a job starts (the listing of files, a
// compilation) knows ctx's own error only.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()))
}

func (l *Loaded) run(ctx context.Context, up func(), o RunOptions) (engine.Report, error) {
	if o.Observe == nil {
		o.Observe = func(engine.Event) {}
	}
	options := engine.Options{
		Env: l.machine, Stdin: o.Stdin, Stdout: o.Stdout, Plugins: l.modules, Turns: o.Turns,
		FirstStart: o.FirstStart, Complete: o.Complete, Observe: o.Observe, StateDir: o.StateDir,
	}
	if r := o.Recovery; r != nil {
		from, err := r.Next(ctx)
		if err != nil {
			return engine.Report{}, err
		}
		if o.Begins != nil {
			o.Begins(from)
		}
		options.Checkpoints, options.Restore, options.Meta = r.log, from.From, r.meta
		if c := from.From; c != nil {
			options.FirstStart = time.UnixMilli(int64(c.Meta.FirstStart))
		}
	}
	j, err := engine.New(ctx, l.Graph, options)
	if err != nil {
		return engine.Report{}, err
	}
	if o.Up != nil {
		o.Up(j)
	}
	up()
	var first sync.WaitGroup
	if r := o.Recovery; r != nil && r.chosen() {
		// From then on the next run goes on by itself: until there is one, it would have to be
		// told again. It fails like any other, and is told and counted like one.
		first.Go(func() { _, _ = j.Checkpoint(ctx, checkpoint.Periodic) }) // ends with the run
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var last sync.WaitGroup
	last.Add(1)
	unhook := context.AfterFunc(ctx, func() { // a stop: what was done until then is kept
		defer last.Done()
		j.Halt(run, haltTimeout)
		cancel(context.Cause(ctx))
	})
	report, err := j.Run(run)
	if unhook() {
		last.Done()
	}
	last.Wait()
	first.Wait()
	return report, err
}

// haltTimeout is how long a job that is stopped may take for its last checkpoint: somebody
// waits for it. Without one it goes on from the last that there is.
const haltTimeout = 5 * time.Second
