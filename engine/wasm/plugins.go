package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Opener opens the file of a plug-in. Errors have class fault.ErrUser if the job
// names something that is not there.
type Opener func(p *job.Plugin) (io.ReadCloser, error)

// Files opens plug-ins by their path.
func Files(files env.FS) Opener {
	return func(p *job.Plugin) (io.ReadCloser, error) {
		f, err := files.Open(p.File)
		if err != nil {
			return nil, fileError(err)
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = &fs.PathError{Op: "open", Path: p.File, Err: errors.New("is a directory")}
		}
		if err != nil {
			return nil, errors.Join(fault.As(fault.ErrUser, err), f.Close())
		}
		return f, nil
	}
}

// fileError classes an error of a file that a job names.
func fileError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fault.As(fault.ErrUser, err)
	}
	return fault.As(fault.ErrExternal, err)
}

// maxIdle bounds how many modules stay compiled in memory that no job uses: the next
// preview or restart of a job usually asks for the same one. A module of Go has about
// 10 MiB of machine code.
const maxIdle = 4

// Plugins makes instances of plug-ins. Modules are compiled once per digest and
// shared between jobs. Safe for concurrent use.
type Plugins struct {
	compiler guest.Compiler
	open     Opener
	observe  func(Call) // of authors' tools; nil elsewhere

	mu      sync.Mutex
	modules map[string]*shared // by digest: those in use and maxIdle more
	idle    []*shared          // the longest idle first
}

// shared is a module with the number of its users.
type shared struct {
	digest string
	ready  chan struct{} // closed when module and err are set
	module *guest.Module
	images images
	err    error
	users  int
}

// close frees a module, and what its instances begin from.
func (s *shared) close(ctx context.Context) error {
	s.images.close()
	return s.module.Close(ctx)
}

// NewPlugins returns a Plugins over a compiler, which the caller closes after it.
func NewPlugins(c guest.Compiler, open Opener) *Plugins {
	return &Plugins{compiler: c, open: open, modules: map[string]*shared{}}
}

// Close frees idle modules. All functions were closed before.
func (ps *Plugins) Close(ctx context.Context) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var errs []error
	for _, s := range ps.idle {
		errs = append(errs, s.close(ctx))
		delete(ps.modules, s.digest)
	}
	ps.idle = nil
	return errors.Join(errs...)
}

// Describe is the plug-in half of a job.Resolver: it checks the module without
// running it, fills in p.Digest and says what its function reads, gives and takes. A
// digest that is already there must be the module's.
func (ps *Plugins) Describe(p *job.Plugin) (job.FunctionInfo, error) {
	f, err := ps.open(p)
	if err != nil {
		return job.FunctionInfo{}, err
	}
	m, err := binary.Read(f)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = fault.As(fault.ErrExternal, cerr)
	}
	if err == nil {
		err = binary.Check(m)
	}
	if err != nil {
		return job.FunctionInfo{}, err
	}
	if p.Digest != "" && p.Digest != m.Digest {
		return job.FunctionInfo{}, fault.Userf("the module is sha256:%s, not sha256:%s", m.Digest, p.Digest)
	}
	p.Digest = m.Digest
	manifest, err := m.Manifest()
	if err != nil {
		return job.FunctionInfo{}, err
	}
	info := describe(manifest)
	for _, u := range manifest.Upgrades() {
		info.Upgrades = append(info.Upgrades, u.Schema)
	}
	return info, nil
}

// describe turns a manifest into what the loading of a job asks. A parameter without
// default has a Default of kind 0.
func describe(m *abi.Manifest) job.FunctionInfo {
	if a := m.Aggregate; a != nil {
		return job.FunctionInfo{Inputs: jobInputs(a.Inputs), Params: jobParams(a.Params), Outputs: fields(a.Outputs), OrderInsensitive: a.OrderInsensitive, Fixed: a.Width > 0, Schema: a.Schema}
	}
	if p := m.Pair; p != nil {
		return job.FunctionInfo{Kind: job.PairKind, Params: jobParams(p.Params), Outputs: fields(p.Outputs), Pair: &job.PairInfo{Left: jobInputs(p.Left), Right: jobInputs(p.Right)}}
	}
	if g := m.Generator; g != nil {
		return job.FunctionInfo{Kind: job.GeneratorKind, Inputs: jobInputs(g.Inputs), Params: jobParams(g.Params), Schema: g.Schema}
	}
	if f := m.Map; f != nil {
		return job.FunctionInfo{Kind: job.MapKind, Inputs: jobInputs(f.Inputs), Params: jobParams(f.Params), Outputs: fields(f.Outputs)}
	}
	if t := m.Trigger; t != nil {
		return job.FunctionInfo{Kind: job.TriggerKind, Inputs: jobInputs(t.Inputs), Params: jobParams(t.Params), Trigger: &job.TriggerInfo{MayPurge: t.MayPurge, Merges: t.Merges}, Schema: t.Schema}
	}
	if a := m.Assigner; a != nil {
		return job.FunctionInfo{Kind: job.AssignerKind, Inputs: jobInputs(a.Inputs), Params: jobParams(a.Params), Assigner: &job.AssignerInfo{Merges: a.Merges}}
	}
	p := m.Process
	d := &job.ProcessInfo{KeyState: p.KeyState, WindowState: p.WindowState}
	for _, l := range p.Lists {
		d.Lists = append(d.Lists, jobInputs(l))
	}
	for _, s := range p.Side {
		d.Side = append(d.Side, job.SideOutput{Name: s.Name, Outputs: fields(s.Outputs)})
	}
	return job.FunctionInfo{Kind: job.ProcessKind, Inputs: jobInputs(p.Inputs), Params: jobParams(p.Params), Outputs: fields(p.Outputs), Process: d, Schema: p.Schema}
}

func jobInputs(columns []abi.Column) (out []job.Input) {
	for _, c := range columns {
		out = append(out, job.Input{Name: c.Name, Kinds: []stream.Kind{stream.Kind(c.Kind)}})
	}
	return out
}

func jobParams(params []abi.Param) (out []job.Param) {
	for _, p := range params {
		q := job.Param{Name: p.Name, Kind: stream.Kind(p.Kind), Required: p.Required}
		if d := p.Default; p.HasDefault {
			q.Default = job.Arg{Name: p.Name, Kind: q.Kind, Int: d.Int, Float: d.Float, Bool: d.Bool, Str: d.Str}
		}
		out = append(out, q)
	}
	return out
}

// Aggregate makes an instance of p for one subtask: it compiles the module unless
// that was done, starts the guest and configures it with a's arguments. kinds are the
// kinds of the columns that are bound to the inputs. The end of ctx also ends the calls
// of the instance.
func (ps *Plugins) Aggregate(ctx context.Context, p *job.Plugin, a *job.Aggregate, kinds []stream.Kind) (udf.Aggregate, error) {
	agg := &aggregate{}
	if err := ps.start(ctx, p, &agg.worker, func(m *abi.Manifest) error { return agg.bind(m.Aggregate, a, kinds) }); err != nil {
		return nil, err
	}
	if agg.applies {
		return &applier{aggregate: agg}, nil
	}
	return agg, nil
}

// Process does the same for a process function. lists are the kinds of the columns that
// are bound to its lists.
func (ps *Plugins) Process(ctx context.Context, p *job.Plugin, f *job.Process, kinds []stream.Kind, lists [][]stream.Kind) (udf.Process, error) {
	fn := &process{}
	if err := ps.start(ctx, p, &fn.worker, func(m *abi.Manifest) error { return fn.bind(m.Process, f, kinds, lists) }); err != nil {
		return nil, err
	}
	return fn, nil
}

// Pair does the same for a pair function. left and right are the kinds of the columns that
// are bound to its inputs.
func (ps *Plugins) Pair(ctx context.Context, p *job.Plugin, f *job.Apply, left, right []stream.Kind) (udf.Pair, error) {
	fn := &pair{}
	if err := ps.start(ctx, p, &fn.worker, func(m *abi.Manifest) error { return fn.bind(m.Pair, f, left, right) }); err != nil {
		return nil, err
	}
	return fn, nil
}

// Generator does the same for a watermark generator.
func (ps *Plugins) Generator(ctx context.Context, p *job.Plugin, w *job.Watermark, kinds []stream.Kind) (udf.Generator, error) {
	fn := &generator{}
	if err := ps.start(ctx, p, &fn.worker, func(m *abi.Manifest) error { return fn.bind(m.Generator, w, kinds) }); err != nil {
		return nil, err
	}
	fn.ticks = fn.inst.Has(guest.Tick)
	return fn, nil
}

// Map does the same for a function of single records.
func (ps *Plugins) Map(ctx context.Context, p *job.Plugin, m *job.Map, kinds []stream.Kind) (udf.Map, error) {
	fn := &mapper{}
	if err := ps.start(ctx, p, &fn.worker, func(d *abi.Manifest) error { return fn.bind(d.Map, m, kinds) }); err != nil {
		return nil, err
	}
	return fn, nil
}

// Trigger does the same for a trigger.
func (ps *Plugins) Trigger(ctx context.Context, p *job.Plugin, t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error) {
	fn := &trigger{}
	if err := ps.start(ctx, p, &fn.worker, func(m *abi.Manifest) error { return fn.bind(m.Trigger, t, kinds) }); err != nil {
		return nil, err
	}
	return fn, nil
}

// Assigner does the same for a window assigner.
func (ps *Plugins) Assigner(ctx context.Context, p *job.Plugin, w *job.Window, kinds []stream.Kind) (udf.Assigner, error) {
	fn := &assigner{}
	if err := ps.start(ctx, p, &fn.worker, func(m *abi.Manifest) error { return fn.bind(m.Assigner, w, kinds) }); err != nil {
		return nil, err
	}
	return fn, nil
}

// start puts a guest to work: bind takes from the manifest what it needs.
func (ps *Plugins) start(ctx context.Context, p *job.Plugin, w *worker, bind func(*abi.Manifest) error) error {
	s, err := ps.acquire(ctx, p)
	if err != nil {
		return fmt.Errorf("plug-in %s: %w", p.Name, err)
	}
	w.name, w.module, w.observe = p.Name, s.module, ps.observe
	if err := bind(s.module.Manifest()); err != nil {
		ps.release(s)
		return fmt.Errorf("plug-in %s: %w", p.Name, err)
	}
	if t := udf.TurnOf(ctx); t != nil {
		ctx = guest.WithTurn(ctx, t)
	}
	w.images, w.args = &s.images, w.params.key()
	w.ctx, w.release = ctx, sync.OnceFunc(func() { ps.release(s) })
	if err := w.start(); err != nil {
		w.release()
		return err
	}
	return nil
}

// bind takes the description of the module, which the job was checked against: errors mean
// that the module is another one.
func (a *aggregate) bind(d *abi.Aggregate, with *job.Aggregate, kinds []stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no aggregate")
	}
	a.info = udf.Info{Width: d.Width, OrderInsensitive: d.OrderInsensitive, Exact: d.Exact, Schema: d.Schema}
	if a.info.Inputs, a.inputs, err = bindColumns(d.Inputs, kinds); err != nil {
		return err
	}
	a.info.Outputs, a.applies = fields(d.Outputs), d.Apply
	a.hasText = slices.ContainsFunc(d.Outputs, func(c abi.Column) bool { return c.Kind == abi.String })
	a.params, err = newParams(d.Params, with.Args)
	return err
}

// bindColumns checks the kinds of the columns that are bound to inputs.
func bindColumns(declared []abi.Column, kinds []stream.Kind) (inputs []udf.Input, layout []column, err error) {
	if len(kinds) != len(declared) {
		return nil, nil, fault.Userf("takes %d columns, %d are bound", len(declared), len(kinds))
	}
	for i, c := range declared {
		if kinds[i] != stream.Kind(c.Kind) {
			return nil, nil, fault.Userf("input %s takes %s, the bound column is %s", c.Name, c.Kind, kinds[i])
		}
		inputs = append(inputs, udf.Input{Name: c.Name, Kind: kinds[i], Nullable: c.Nullable})
		layout = append(layout, column{c.Kind, c.Nullable})
	}
	return inputs, layout, nil
}

func fields(columns []abi.Column) (out []stream.Field) {
	for _, c := range columns {
		out = append(out, stream.Field{Name: c.Name, Kind: stream.Kind(c.Kind)})
	}
	return out
}

// acquire returns the compiled module of p and counts one user more.
func (ps *Plugins) acquire(ctx context.Context, p *job.Plugin) (*shared, error) {
	if p.Digest == "" {
		panic("BUG: plug-in " + p.Name + " has no digest: it was not described")
	}
	for {
		ps.mu.Lock()
		s, ok := ps.modules[p.Digest]
		if !ok {
			s = &shared{digest: p.Digest, ready: make(chan struct{})}
			ps.modules[p.Digest] = s
		}
		if i := slices.Index(ps.idle, s); i >= 0 {
			ps.idle = slices.Delete(ps.idle, i, i+1)
		}
		s.users++
		ps.mu.Unlock()

		if !ok {
			if s.module, s.err = ps.compile(ctx, p); s.err != nil {
				ps.forget(s)
			}
			close(s.ready)
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			ps.release(s)
			return nil, ctx.Err()
		}
		if s.err == nil {
			return s, nil
		}
		ps.release(s)
		// Somebody else's compilation was called off: that is no reason for us.
		if ctx.Err() == nil && (errors.Is(s.err, context.Canceled) || errors.Is(s.err, context.DeadlineExceeded)) {
			continue
		}
		return nil, s.err
	}
}

func (ps *Plugins) compile(ctx context.Context, p *job.Plugin) (*guest.Module, error) {
	f, err := ps.open(p)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	_, err = io.Copy(&file, io.LimitReader(f, abi.MaxModuleBytes+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fault.As(fault.ErrExternal, err)
	}
	m, err := ps.compiler.Compile(ctx, file.Bytes())
	if err != nil {
		return nil, err
	}
	if m.Digest() != p.Digest {
		return nil, errors.Join(fault.Userf("the module has changed since the job was checked: it is sha256:%s, it was sha256:%s", m.Digest(), p.Digest),
			m.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// forget makes the next one try again.
func (ps *Plugins) forget(s *shared) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	delete(ps.modules, s.digest)
}

// release counts one user less. Modules that nobody uses stay for a while.
func (ps *Plugins) release(s *shared) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	s.users--
	if s.users > 0 {
		return
	}
	select {
	case <-s.ready:
	default: // the one who compiles is a user
		panic("BUG: a module without users is being compiled")
	}
	if s.err != nil {
		return
	}
	ps.idle = append(ps.idle, s)
	if len(ps.idle) > maxIdle {
		old := ps.idle[0]
		ps.idle = slices.Delete(ps.idle, 0, 1)
		delete(ps.modules, old.digest)
		_ = old.close(context.Background()) // frees memory; it has no way to fail that helps anyone
	}
}
