package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

// Run runs one test of a job and returns what differs from what it expects, in words; ""
// if nothing does. An error says that the test itself makes no sense for this job: it is
// of class fault.ErrUser where the file is to blame.
func (t *JobTest) Run(ctx context.Context, g *job.Graph, plugins engine.Plugins) (diff string, err error) {
	splits, err := t.splits(g)
	if err != nil {
		return "", err
	}
	start := time.UnixMilli(0)
	if t.Clock != nil {
		start = time.UnixMilli(int64(*t.Clock))
	}
	clock := sim.NewClock(start.UTC())
	o := engine.Options{Env: env.Env{Clock: clock, FS: noFiles{}}, Plugins: plugins, FirstStart: start}
	m, err := engine.NewManual(ctx, t.graph(g), o, splits)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r := &jobRun{test: t, graph: g, job: m, clock: clock, out: map[string][]output{}}
	return r.run(ctx)
}

// splits collects the splits of each source that the test names, and checks the names.
func (t *JobTest) splits(g *job.Graph) (map[string][]string, error) {
	splits := map[string][]string{}
	var names []string
	for i := range g.Sources {
		names = append(names, g.Sources[i].ID)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.Source != "" && !slices.Contains(names, s.Source):
			return nil, fault.Userf("line %d: the job has no source %q, only %s", s.line, s.Source, strings.Join(names, ", "))
		case s.Source == "" && len(names) == 1:
			s.Source = names[0]
		case s.Source == "" && (s.Records != nil || s.Split != ""):
			return nil, fault.Userf("line %d: source is missing, one of %s", s.line, strings.Join(names, ", "))
		}
		if s.Records != nil && s.Split == "" {
			s.Split = onlySplit
		}
		if s.Split != "" && !slices.Contains(splits[s.Source], s.Split) {
			splits[s.Source] = append(splits[s.Source], s.Split)
		}
	}
	for _, n := range names {
		if len(splits[n]) == 0 {
			splits[n] = []string{onlySplit} // it holds time back until the test says something of it
		}
	}
	return splits, nil
}

// onlySplit is what the split of a source is called if the test gives it no name.
const onlySplit = "records"

// graph is the job with what a test changes: event times are what the test says, however
// far from now, unless it has a clock of its own.
func (t *JobTest) graph(g *job.Graph) *job.Graph {
	changed := *g
	changed.Sources = slices.Clone(g.Sources)
	for i := range changed.Sources {
		s := &changed.Sources[i]
		s.Time.Plausible = false
		if t.Clock == nil {
			s.Time.MaxFuture = 0
		}
		if t.Generator != nil && !*t.Generator {
			s.Watermark = job.Watermark{Kind: job.BoundedWatermark, Emit: job.Emit{Every: math.MaxInt}, WhenAllIdle: job.HoldWhenAllIdle}
		}
	}
	return &changed
}

// jobRun is a test in progress.
type jobRun struct {
	test  *JobTest
	graph *job.Graph
	job   *engine.Manual
	clock *sim.Clock
	out   map[string][]output // by what it is: rows, late, bad, failed; since the last expectation
}

func (r *jobRun) run(ctx context.Context) (string, error) {
	var failed error
	for i := range r.test.Steps {
		s := &r.test.Steps[i]
		if failed != nil {
			return fmt.Sprintf("step %d (line %d): the job has failed before: %v", i+1, s.line, failed), nil
		}
		var bad *recordError
		if failed = r.do(ctx, s); errors.As(failed, &bad) {
			return "", fault.As(fault.ErrUser, bad.error)
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err := r.take(); err != nil {
			return "", err
		}
		if s.Expect == nil {
			continue
		}
		diffs, err := r.compare(s.Expect, failed)
		if err != nil {
			return "", err
		}
		if len(diffs) > 0 {
			return fmt.Sprintf("step %d (line %d):\n    %s", i+1, s.line, strings.ReplaceAll(strings.Join(diffs, "\n"), "\n", "\n    ")), nil
		}
		if failed != nil && i+1 < len(r.test.Steps) {
			return fmt.Sprintf("step %d: the job has ended with an error, so nothing can follow", i+2), nil
		}
		if failed != nil {
			return "", nil
		}
	}
	diffs, err := r.compare(&expectation{}, failed)
	if err != nil || len(diffs) == 0 {
		return "", err
	}
	return "behind the last step that expects something:\n    " + strings.ReplaceAll(strings.Join(diffs, "\n"), "\n", "\n    "), nil
}

// recordError is a record of the test that cannot be written as one.
type recordError struct{ error }

func (r *jobRun) do(ctx context.Context, s *jobStep) error {
	switch {
	case s.Records != nil:
		var text []byte
		for i := range s.Records {
			if s.Records[i].Kind != yaml.ScalarNode && r.source(s.Source).Format.Kind != job.JSON {
				return &recordError{fmt.Errorf("line %d: records of a source that reads %s are lines of text", s.Records[i].Line, r.source(s.Source).Format.Kind)}
			}
			line, err := recordLine(&s.Records[i])
			if err != nil {
				return &recordError{err}
			}
			text = append(text, line...)
		}
		return r.job.Feed(ctx, s.Source, s.Split, text)
	case s.CheckpointRestore:
		return r.job.Restore(ctx)
	case s.advance > 0:
		return r.advance(ctx, s.advance)
	}
	for i := range r.graph.Sources {
		id := r.graph.Sources[i].ID
		var err error
		switch {
		case s.Source != "" && s.Source != id:
		case s.Watermark != nil:
			err = r.job.Watermark(ctx, id, stream.Time(*s.Watermark))
		case s.Idle:
			err = r.job.Idle(ctx, id, s.Split)
		case s.EndOfInput:
			err = r.job.End(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *jobRun) source(id string) *job.Source {
	i := slices.IndexFunc(r.graph.Sources, func(s job.Source) bool { return s.ID == id })
	return &r.graph.Sources[i]
}

// advance moves the clock on, one probe interval after the other, as it would pass.
func (r *jobRun) advance(ctx context.Context, d time.Duration) error {
	for d > 0 {
		part := min(d, r.graph.Settings.Probe)
		if err := r.clock.Sleep(ctx, part); err != nil {
			return err
		}
		d -= part
		if err := r.job.Tick(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take sorts what has come out of the job since the last step.
func (r *jobRun) take() error {
	taken := r.job.Take()
	var ports []job.Port
	for p := range taken {
		ports = append(ports, p)
	}
	slices.SortFunc(ports, func(a, b job.Port) int { return strings.Compare(a.String(), b.String()) })
	for _, p := range ports {
		what := p.Name
		if what != "late" && what != "bad" && what != "failed" {
			what = "rows" // results, and side outputs, whose rows say which
		}
		for _, line := range taken[p] {
			v, err := parseJSON(line)
			if err != nil {
				return fmt.Errorf("output %s: %w: %s", p, err, line)
			}
			o := output{text: line, value: v, order: fmt.Sprintf("%s %d", p, len(r.out[what]))}
			if fields, ok := v.(map[string]any); ok && what == "rows" {
				o.order = p.String() + show(fields["key"])
			}
			r.out[what] = append(r.out[what], o)
		}
	}
	return nil
}

// compare looks at everything that came out since it was last called.
func (r *jobRun) compare(e *expectation, failed error) ([]string, error) {
	var all []string
	for _, k := range []struct {
		what   string
		wanted []yaml.Node
	}{{"rows", e.Rows}, {"late", e.Late}, {"bad", e.Bad}, {"failed", e.Failed}} {
		diffs, err := compareRows(k.what, k.wanted, r.out[k.what])
		if err != nil {
			return nil, fault.As(fault.ErrUser, err)
		}
		all = append(all, diffs...)
	}
	r.out = map[string][]output{}
	switch {
	case failed != nil && e.Error == "":
		all = append(all, fmt.Sprintf("the job failed: %v", failed))
	case failed == nil && e.Error != "":
		all = append(all, fmt.Sprintf("error: want %q, but the job goes on", e.Error))
	case failed != nil && !strings.Contains(failed.Error(), e.Error):
		all = append(all, fmt.Sprintf("error: want %q\n       got  %v", e.Error, failed))
	}
	return all, nil
}

// noFiles is the file system of a test: there is nothing.
type noFiles struct{}

func (noFiles) Open(string) (env.File, error)                     { return nil, fs.ErrNotExist }
func (noFiles) Create(string, int, fs.FileMode) (env.File, error) { return nil, fs.ErrPermission }
func (noFiles) Stat(string) (fs.FileInfo, error)                  { return nil, fs.ErrNotExist }
func (noFiles) ReadDir(string) ([]fs.DirEntry, error)             { return nil, fs.ErrNotExist }
func (noFiles) Glob(string) ([]string, error)                     { return nil, nil }
func (noFiles) MkdirAll(string, fs.FileMode) error                { return fs.ErrPermission }
func (noFiles) Rename(string, string) error                       { return fs.ErrPermission }
func (noFiles) Remove(string) error                               { return fs.ErrPermission }
func (noFiles) Link(string, string) error                         { return fs.ErrPermission }
func (noFiles) Lock(string) (io.Closer, error)                    { return nil, fs.ErrPermission }
func (noFiles) SyncDir(string) error                              { return fs.ErrPermission }
