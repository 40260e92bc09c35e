package job

import (
	"cmp"
	"io/fs"
	"math"
	"slices"
	"strings"
)

// LoadOptions is what a job file may see of the world.
type LoadOptions struct {
	Name string // the file's name, as messages show it
	// Dir is the absolute directory that relative paths start from: that of the job
	// file, or on a host the job's own directory.
	Dir string
	// Env looks up variables; nil refuses them, as a host must.
	Env func(name string) (value string, ok bool)
	// Resolver finds functions and plug-ins.
	Resolver Resolver
	// Files is asked for the files that the job names; nil leaves that to the run.
	Files Files
	// Set holds overrides, each "key=value", the later ones stronger.
	Set []string

	// Host: the job comes from a tenant. Its sinks must lie below Dir, its file
	// sources below Inputs, and plug-ins are named by ref.
	Host   bool
	Inputs string // absolute directory; empty: no files may be read
}

// Files is the part of a file system that checks need; env.FS is one.
type Files interface {
	Stat(name string) (fs.FileInfo, error)
	Glob(pattern string) ([]string, error)
}

// reader is the state of one Load.
type reader struct {
	o         LoadOptions
	g         *Graph
	problems  Problems
	dropped   int // problems beyond maxProblems
	effective []Setting

	parallelism node // the job's, for steps that name none

	plugins []*pluginSpec
	sources []*sourceSpec
	steps   []*stepSpec
	sinks   []*sinkSpec
}

// sections is the shape of a job file at its top.
var sections = [...]string{"version", "job", "parallelism", "max_parallelism", "settings", "plugins", "sources", "steps", "sinks"}

// Load reads a job file. The error is of type Problems: all that is wrong at once.
// The same source and options give the same graph.
func Load(src []byte, o LoadOptions) (*Graph, error) {
	r := &reader{o: o, g: &Graph{}}
	root := r.parse(src)
	if root == nil {
		return nil, r.err()
	}
	if root.kind != mappingNode {
		r.report(root.at, "a job file is a mapping of %s, is %s", either(sections[:]), root.describe())
		return nil, r.err()
	}
	for _, set := range o.Set {
		r.override(root, set)
	}
	r.job(r.object(root, "", "", place{line: 1, col: 1}))
	r.lint()
	if err := r.err(); err != nil {
		return nil, err
	}
	r.assemble()
	return r.g, nil
}

// job reads the whole file. Sections are read in the order in which they refer to
// each other; a reference to something that is wrong itself is not reported again.
func (r *reader) job(o *object) {
	o.known = slices.Clone(sections[:])
	o.need("version", "this is version: 1")
	scalar(o, "version", version)
	o.need("job", "say job: and a name; result ids contain it")
	name, n := scalar(o, "job", text)
	if n != nil {
		r.checkName(n.at, "job", name)
	}
	r.g.Name = name
	groups, _ := scalar(o, "max_parallelism", integer(1, maxKeyGroups))
	if groups == 0 { // reported
		groups = maxKeyGroups
	}
	r.g.MaxParallelism = groups
	par, n := scalar(o, "parallelism", integer(1, maxKeyGroups))
	if n != nil {
		r.parallelism = *n
		if par > groups {
			r.report(n.at, "parallelism must be at most max_parallelism, which is %d, is %s", groups, quote(n.shown))
		}
	}
	r.g.Parallelism = par

	plugins := o.child("plugins")
	for _, e := range plugins.names("plug-in", maxNamed) {
		r.plugins = append(r.plugins, r.plugin(e))
	}
	o.need("sources", "a job reads at least one source")
	for _, e := range o.child("sources").names("source", maxNamed) {
		r.sources = append(r.sources, r.source(e))
	}
	o.need("steps", "a job has at least one step")
	for _, e := range o.child("steps").names("step", maxNamed) {
		r.steps = append(r.steps, r.declare(e))
	}
	r.claim()
	for _, s := range r.ordered() {
		r.noting(s, func() { r.step(s) })
	}
	for _, s := range r.steps {
		r.effective = append(r.effective, s.notes...)
	}
	o.need("sinks", "say where results go: {from: step, file: {path: out/results.jsonl}} or {from: step, stdout: {}}")
	for _, e := range o.child("sinks").names("sink", maxNamed) {
		r.sinks = append(r.sinks, r.sink(e))
	}
	r.settings(o.child("settings"))
	o.close()
}

func version(n *node) (int, string) {
	v, wrong := integer(math.MinInt64, math.MaxInt64)(n)
	if wrong != "" || v == 1 {
		return v, wrong
	}
	return 0, "must be 1, the only version there is, is " + n.describe()
}

// settings reads the job-wide knobs, after the sources: some only matter for inputs
// that are followed.
func (r *reader) settings(o *object) {
	s := &r.g.Settings
	o.when = bounded
	periodic, clocked := false, false // watermarks that go by the clock, times that do
	for _, src := range r.sources {
		if !src.Bounded() {
			o.when = followed
		}
		periodic = periodic || src.Watermark.Emit.Period > 0
		clocked = clocked || src.Watermark.Kind == IngestionWatermark
	}
	s.OrderReplay = o.when == bounded && !periodic && !clocked

	batch := o.child("batch")
	s.BatchRows, _ = scalar(batch, "rows", integer(1, maxBatchRows))
	if o.when == followed {
		s.Linger, _ = scalar(batch, "linger", duration(durationRule{most: maxLinger}))
	} else {
		batch.without("linger", "no input is followed, so no batch waits")
	}
	batch.close()
	s.QueueDepth, _ = scalar(o, "queue", integer(1, maxQueue))
	if o.when == followed || periodic || o.n.find("probe") == nil {
		s.Probe, _ = scalar(o, "probe", duration(durationRule{most: maxProbe}))
	} else {
		o.without("probe", "no input is followed and no watermark is periodic")
	}
	budget := o.child("bad_budget")
	count, _ := scalar(budget, "count", integer(0, maxBadRecords))
	s.BadBudget.Count = int64(count)
	s.BadBudget.Share, _ = scalar(budget, "share", share)
	budget.close()
	state, _ := scalar(o, "state_budget", size(minStateBudget, maxStateBudget))
	s.StateBudget = int64(state)
	r.state(o.child("state"))
	r.recovery(o)
	o.close()
}

// assemble makes the graph of what was read, once there is nothing wrong with it.
func (r *reader) assemble() {
	g := r.g
	for _, p := range r.plugins {
		g.Plugins = append(g.Plugins, p.Plugin)
	}
	for _, s := range r.sources {
		g.Sources = append(g.Sources, s.Source)
	}
	for _, s := range r.ordered() {
		g.Steps = append(g.Steps, s.Step)
	}
	for _, s := range r.sinks {
		g.Sinks = append(g.Sinks, s.Sink)
	}
	g.Effective = r.effective
	section := func(s Setting) int {
		top, _, _ := strings.Cut(s.Key, ".")
		return slices.Index(sections[:], top)
	}
	slices.SortStableFunc(g.Effective, func(a, b Setting) int { return cmp.Compare(section(a), section(b)) })
}
