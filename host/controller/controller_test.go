package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/engine/agg"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/host/catalog"
	"tidemark/host/registry"
	"tidemark/host/tenant"
	"tidemark/host/turns"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// site is a host's directory with the tenants a and b.
type site struct {
	data, inputs string
	cat          *catalog.Catalog
	reg          *registry.Registry
	modules      Modules
	files        env.FS
	quota        tenant.Quota
	atOnce       int // turns; 0: one for each processor
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{data: t.TempDir(), inputs: t.TempDir(), files: env.Real().FS, quota: tenant.DefaultQuota()}
	var err error
	if s.cat, err = catalog.Open(t.Context(), s.data, env.Real()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cat.Close() })
	for _, id := range []tenant.ID{"a", "b"} {
		if err := s.cat.CreateTenant(t.Context(), id, time.UnixMilli(1)); err != nil {
			t.Fatal(err)
		}
	}
	if s.reg, err = registry.Open(s.data, s.cat, env.Real(), s.quota, func(context.Context, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return s
}

// start makes a controller, as a process does when it starts.
func (s *site) start(t *testing.T) *Controller {
	t.Helper()
	machine := env.Real()
	machine.FS = s.files
	shares, err := turns.New(turns.Options{AtOnce: s.atOnce, Now: machine.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{
		Data: s.data, Inputs: s.inputs, Catalog: s.cat, Registry: s.reg, Modules: s.modules, Turns: shares,
		Machine: machine, Quota: s.quota, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// write puts an input where jobs may read it.
func (s *site) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.inputs, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The sequence of three records in one window of 10 s, and one that is bad.
const threeAndABadOne = `{"k":"x","t":1000}
{"k":"y","t":2000}
{"k":"x","t":3000}
{"k":
`

// jobFile counts by k. follow makes a job that never ends by itself.
func jobFile(input string, follow bool) string {
	return fmt.Sprintf(`version: 1
job: counts
sources:
  in:
    file: {path: %s, follow: %v}
    format: json
    schema: {k: string}
    time: {field: t, unit: ms}
    watermark: {out_of_orderness: 0s}
steps:
  by_k:
    from: in
    key: [k]
    window: {tumbling: 10s}
    aggregates: {n: {function: count}}
sinks:
  results: {from: by_k, file: {path: out/counts.jsonl}, time_format: ms}
`, input, follow)
}

const aMinute = time.Minute // longer than any of this takes

func submit(t *testing.T, c *Controller, id tenant.ID, name catalog.JobID, file string) View {
	t.Helper()
	v, created, err := c.Submit(t.Context(), id, name, []byte(file))
	if err != nil || !created {
		t.Fatalf("submit: created %v, %v", created, err)
	}
	return v
}

func read(t *testing.T, c *Controller, id tenant.ID, name catalog.JobID, port string, from int64) (string, *Rows) {
	t.Helper()
	rows, err := c.Results(t.Context(), id, name, port, "", from)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(rows)
	if err := errors.Join(err, rows.Close()); err != nil {
		t.Fatal(err)
	}
	return string(raw), rows
}

func closeAll(t *testing.T, c *Controller) {
	t.Helper()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantClass(t *testing.T, what string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("%s: %v, want the class %q", what, err, class)
	}
}

func TestAJobFromSubmitToDelete(t *testing.T) {
	s := newSite(t)
	c, ctx := s.start(t), t.Context()
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne)
	file := jobFile("in.jsonl", false)
	submit(t, c, "a", "one", file)
	v, err := c.WaitEnd(ctx, "a", "one", aMinute)
	if err != nil || State(v.State) != Finished {
		t.Fatalf("%s: %s, %v", v.State, v.Message, err)
	}
	if src := v.Report.Sources[0]; src.Read != 4 || src.Bad != 1 || src.Passed != 3 {
		t.Errorf("source %+v", src)
	}
	// One turn at least for each batch: one is read and one is computed.
	if v.CPU.Turns < 2 || v.CPU.Time <= 0 || v.CPU.Fuel != 0 {
		t.Errorf("its part of the CPU: %+v", v.CPU)
	}
	if v.Started.IsZero() || v.Ended.Before(v.Started) {
		t.Errorf("started %v, ended %v", v.Started, v.Ended)
	}
	rows, piece := read(t, c, "a", "one", "results", 0)
	for _, want := range []string{`"key":{"k":"x"},"window":{"start":0,"end":10000}`, `"value":{"n":2}`, `"value":{"n":1}`} {
		if !strings.Contains(rows, want) {
			t.Errorf("%s is not in\n%s", want, rows)
		}
	}
	if !piece.Complete || piece.Next != int64(len(rows)) || strings.Count(rows, "\n") != 2 {
		t.Errorf("complete %v, next %d, rows\n%s", piece.Complete, piece.Next, rows)
	}
	first := int64(strings.Index(rows, "\n") + 1)
	if rest, _ := read(t, c, "a", "one", "results", first); rest != rows[first:] {
		t.Errorf("from %d: %q", first, rest)
	}
	if bad, _ := read(t, c, "a", "one", "bad", 0); !strings.Contains(bad, `"split":"in.jsonl","line":4`) {
		t.Errorf("bad records: %s", bad)
	}

	if _, created, err := c.Submit(ctx, "a", "one", []byte(file)); created || err != nil {
		t.Errorf("the same again: created %v, %v", created, err)
	}
	_, _, err = c.Submit(ctx, "a", "one", []byte(file+"# changed\n"))
	wantClass(t, "another file under the same id", err, fault.ErrConflict)
	_, err = c.Stop(ctx, "a", "one", 0)
	wantClass(t, "stopping what has finished", err, fault.ErrConflict)
	_, err = c.Results(ctx, "a", "one", "results", "nobody", 0)
	wantClass(t, "results of a step that is not there", err, fault.ErrUnknown)
	_, err = c.Results(ctx, "a", "one", "results", "", 1<<40)
	wantClass(t, "a position behind the end", err, fault.ErrUser)
	_, err = c.Results(ctx, "a", "one", "rubbish", "", 0)
	wantClass(t, "a port that is not there", err, fault.ErrUser)

	if err := c.Delete(ctx, "a", "one"); err != nil {
		t.Fatal(err)
	}
	_, err = c.Get(ctx, "a", "one")
	wantClass(t, "after it was deleted", err, fault.ErrUnknown)
	if _, err := os.Stat(filepath.Join(s.data, "jobs", "a", "one")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its files are still there: %v", err)
	}
}

func TestForeignJobsAreUnknown(t *testing.T) {
	s := newSite(t)
	c, ctx := s.start(t), t.Context()
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne)
	submit(t, c, "a", "one", jobFile("in.jsonl", false))
	_, err := c.Get(ctx, "b", "one")
	wantClass(t, "get", err, fault.ErrUnknown)
	_, err = c.WaitEnd(ctx, "b", "one", aMinute)
	wantClass(t, "wait", err, fault.ErrUnknown)
	_, err = c.Stop(ctx, "b", "one", 0)
	wantClass(t, "stop", err, fault.ErrUnknown)
	_, err = c.Results(ctx, "b", "one", "results", "", 0)
	wantClass(t, "results", err, fault.ErrUnknown)
	wantClass(t, "delete", c.Delete(ctx, "b", "one"), fault.ErrUnknown)
	if list, err := c.List(ctx, "b"); err != nil || len(list) != 0 {
		t.Errorf("list: %v, %v", list, err)
	}
	submit(t, c, "b", "one", jobFile("in.jsonl", false)) // the id is free in b
}

func TestFilesAreConfined(t *testing.T) {
	s := newSite(t)
	c := s.start(t)
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne)
	for _, c2 := range []struct{ name, file, text string }{
		{"a source outside of the inputs", jobFile("../in.jsonl", false), "relative"},
		{"an absolute source", jobFile("/etc/passwd", false), "relative"},
		{"a sink that climbs", strings.Replace(jobFile("in.jsonl", false), "out/counts.jsonl", "../../x", 1), "job's own directory"},
		{"an absolute sink", strings.Replace(jobFile("in.jsonl", false), "out/counts.jsonl", "/tmp/x", 1), "job's own directory"},
		{"a variable of the host's environment", strings.Replace(jobFile("in.jsonl", false), "counts\n", "\"${HOME}\"\n", 1), "no variables"},
		{"a sink without a file", strings.Replace(jobFile("in.jsonl", false), "file: {path: out/counts.jsonl}", "stdout: {}", 1), "no standard output"},
	} {
		t.Run(c2.name, func(t *testing.T) {
			_, _, err := c.Submit(t.Context(), "a", "", []byte(c2.file))
			var problems job.Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), c2.text) {
				t.Errorf("got %v", err)
			}
		})
	}
	s.inputs = ""
	none := s.start(t)
	_, _, err := none.Submit(t.Context(), "a", "", []byte(jobFile("in.jsonl", false)))
	if err == nil || !strings.Contains(err.Error(), "inputs") {
		t.Errorf("a host without inputs must name the setting: %v", err)
	}
}

func TestStopAndShutdown(t *testing.T) {
	s := newSite(t)
	c, ctx := s.start(t), t.Context()
	s.write(t, "in.jsonl", threeAndABadOne)
	submit(t, c, "a", "stopped", jobFile("in.jsonl", true))
	submit(t, c, "a", "cut", strings.Replace(jobFile("in.jsonl", true), "version: 1", "version: 1\nsettings: {checkpoint: off}", 1))
	_, err := c.Stop(ctx, "a", "nobody", 0)
	wantClass(t, "a job that is not there", err, fault.ErrUnknown)
	if err := c.Delete(ctx, "a", "stopped"); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("deleting a live job: %v", err)
	}
	v, err := c.Stop(ctx, "a", "stopped", aMinute)
	if err != nil || State(v.State) != Stopped {
		t.Fatalf("stop: %s, %v", v.State, err)
	}
	if again, err := c.Stop(ctx, "a", "stopped", aMinute); err != nil || State(again.State) != Stopped {
		t.Errorf("asked again: %s, %v", again.State, err)
	}
	if _, piece := read(t, c, "a", "stopped", "results", 0); piece.Complete {
		t.Error("a stopped job has published its output")
	}
	closeAll(t, c)
	// The process is gone; the next one finds what is left.
	next := s.start(t)
	defer closeAll(t, next)
	if resumed, n, err := next.Recover(ctx); err != nil || n != 0 || resumed != 0 {
		t.Errorf("an orderly end without checkpoints leaves nothing to recover: %d, %d, %v", resumed, n, err)
	}
	if v, err := next.Get(ctx, "a", "cut"); err != nil || State(v.State) != Interrupted || !strings.Contains(v.Message, "shut down") {
		t.Errorf("a job that ran at the shutdown: %s, %q, %v", v.State, v.Message, err)
	}
	if v, err := next.Get(ctx, "a", "stopped"); err != nil || State(v.State) != Stopped {
		t.Errorf("a stopped job: %s, %v", v.State, err)
	}
	_, err = next.Stop(ctx, "a", "cut", 0)
	wantClass(t, "stopping what was interrupted", err, fault.ErrConflict)
	if err := next.Delete(ctx, "a", "cut"); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Submit(ctx, "a", "", []byte(jobFile("in.jsonl", false))); !errors.Is(err, fault.ErrExternal) {
		t.Errorf("a controller that is closed: %v", err)
	}
}

func TestACrashLeavesInterruptedJobs(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	for _, j := range []struct {
		id    catalog.JobID
		state State
	}{{"made", Created}, {"starting", Starting}, {"running", Running}, {"stopping", Stopping}, {"done", Finished}} {
		if _, _, err := s.cat.AddJob(ctx, catalog.Job{Tenant: "a", ID: j.id, YAML: []byte("x"), State: string(j.state)}, nil, s.quota); err != nil {
			t.Fatal(err)
		}
	}
	c := s.start(t)
	defer closeAll(t, c)
	// Their file is none, so they cannot go on.
	if resumed, n, err := c.Recover(ctx); err != nil || n != 4 || resumed != 0 {
		t.Fatalf("resumed %d, marked %d, %v", resumed, n, err)
	}
	for id, want := range map[catalog.JobID]State{"made": Interrupted, "starting": Interrupted, "running": Interrupted, "stopping": Interrupted, "done": Finished} {
		v, err := c.Get(ctx, "a", id)
		if err != nil || State(v.State) != want {
			t.Errorf("%s is %s, %v; want %s", id, v.State, err, want)
		}
		if want == Interrupted && (!strings.Contains(v.Message, "the host ended while the job was") || v.Ended.IsZero()) {
			t.Errorf("%s: %q, ended %v", id, v.Message, v.Ended)
		}
	}
}

func TestQuotas(t *testing.T) {
	s := newSite(t)
	s.quota.Running, s.quota.Parallelism, s.quota.JobBytes, s.quota.StateBytes = 1, 2, 2000, 1<<30
	c, ctx := s.start(t), t.Context()
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne)
	follow := jobFile("in.jsonl", true)
	submit(t, c, "a", "first", follow)
	_, _, err := c.Submit(ctx, "a", "second", []byte(follow))
	wantClass(t, "a second running job", err, fault.ErrQuota)
	submit(t, c, "b", "first", follow) // a limit hits its owner only
	_, _, err = c.Submit(ctx, "b", "wide", []byte("parallelism: 3\n"+follow))
	wantClass(t, "too parallel", err, fault.ErrQuota)
	_, _, err = c.Submit(ctx, "b", "large", []byte("settings: {state_budget: 1025MiB}\n"+follow))
	wantClass(t, "too much state", err, fault.ErrQuota)
	_, _, err = c.Submit(ctx, "b", "long", []byte(follow+strings.Repeat("#", 2000)))
	wantClass(t, "too long a job file", err, fault.ErrQuota)
}

// stuck stands for a plug-in that counts, and whose add does not return until it is
// let go.
type stuck struct {
	udf.Aggregate
	entered chan struct{}
	release chan struct{}
}

const stuckDigest = "0000000000000000000000000000000000000000000000000000000000000000"

// oneModule gives the same instance whatever is asked for.
func (oneModule) Map(context.Context, *job.Plugin, *job.Map, []stream.Kind) (udf.Map, error) {
	panic("BUG: it is an aggregate")
}

func (oneModule) Generator(context.Context, *job.Plugin, *job.Watermark, []stream.Kind) (udf.Generator, error) {
	panic("BUG: it is an aggregate")
}

type oneModule struct{ instance udf.Aggregate }

func (m oneModule) Describe(p *job.Plugin) (job.FunctionInfo, error) {
	p.Digest = stuckDigest
	return job.FunctionInfo{Outputs: m.instance.Info().Outputs}, nil
}

func (m oneModule) Aggregate(context.Context, *job.Plugin, *job.Aggregate, []stream.Kind) (udf.Aggregate, error) {
	return m.instance, nil
}

func (oneModule) Assigner(context.Context, *job.Plugin, *job.Window, []stream.Kind) (udf.Assigner, error) {
	panic("BUG: it is an aggregate")
}

func (oneModule) Trigger(context.Context, *job.Plugin, *job.Trigger, []stream.Kind) (udf.Trigger, error) {
	panic("BUG: it is an aggregate")
}

func (oneModule) Process(context.Context, *job.Plugin, *job.Process, []stream.Kind, [][]stream.Kind) (udf.Process, error) {
	panic("BUG: it is an aggregate")
}

func (oneModule) Pair(context.Context, *job.Plugin, *job.Apply, []stream.Kind, []stream.Kind) (udf.Pair, error) {
	panic("BUG: it is an aggregate")
}

func (s *stuck) Add(accs *udf.Accs, rows *udf.Rows) error {
	close(s.entered)
	<-s.release
	return s.Aggregate.Add(accs, rows)
}

func TestAPluginThatDoesNotReturn(t *testing.T) {
	s := newSite(t)
	count, err := agg.New("count", nil)
	if err != nil {
		t.Fatal(err)
	}
	guest := &stuck{Aggregate: count, entered: make(chan struct{}), release: make(chan struct{})}
	s.modules = oneModule{guest}
	c, ctx := s.start(t), t.Context()
	submit(t, c, "a", "one", withPlugin(t, s))
	<-guest.entered

	v, err := c.Get(ctx, "a", "one")
	if err != nil || !v.Silent || State(v.State) != Running {
		t.Errorf("while it hangs: silent %v, %s, %v", v.Silent, v.State, err)
	}
	v, err = c.Stop(ctx, "a", "one", time.Millisecond)
	if err != nil || State(v.State) != Stopping {
		t.Errorf("stop says %s, %v; it must not claim that the job has ended", v.State, err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Close(gone); err == nil || !strings.Contains(err.Error(), "job one of a has not ended") {
		t.Errorf("closing names who does not end: %v", err)
	}
	close(guest.release)
	if v, err = c.WaitEnd(ctx, "a", "one", aMinute); err != nil || State(v.State) != Stopped {
		t.Errorf("after it has returned: %s, %v", v.State, err)
	}
	closeAll(t, c)
}

// slowStart is a plug-in whose compilation ends with its context only.
type slowStart struct {
	oneModule
	entered chan struct{}
}

func (m slowStart) Aggregate(ctx context.Context, _ *job.Plugin, _ *job.Aggregate, _ []stream.Kind) (udf.Aggregate, error) {
	close(m.entered)
	<-ctx.Done()
	return nil, fmt.Errorf("compile plug-in p: %w", ctx.Err())
}

// withPlugin is jobFile with an aggregate of the plug-in that oneModule knows.
func withPlugin(t *testing.T, s *site) string {
	t.Helper()
	s.write(t, "in.jsonl", `{"k":"x","t":1000}`+"\n")
	if _, _, err := s.cat.AddPlugin(t.Context(), "a", catalog.Plugin{Name: "stuck", Version: "1", Digest: stuckDigest, Manifest: []byte(`{}`)}, s.quota); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(jobFile("in.jsonl", false), "{n: {function: count}}", "{n: {plugin: p}}", 1) + "plugins: {p: {ref: stuck@1}}\n"
}

func TestAnEndWhileTheJobStarts(t *testing.T) {
	for _, row := range []struct {
		name    string
		end     func(t *testing.T, c *Controller)
		want    State
		message string
	}{
		{"a stop", func(t *testing.T, c *Controller) {
			if _, err := c.Stop(t.Context(), "a", "one", aMinute); err != nil {
				t.Error(err)
			}
		}, Stopped, ""},
		{"the end of the host", closeAll, Interrupted, "shut down"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSite(t)
			count, err := agg.New("count", nil)
			if err != nil {
				t.Fatal(err)
			}
			slow := slowStart{oneModule{count}, make(chan struct{})}
			s.modules = slow
			c := s.start(t)
			defer closeAll(t, c)
			submit(t, c, "a", "one", withPlugin(t, s))
			<-slow.entered
			row.end(t, c)
			v, err := c.WaitEnd(t.Context(), "a", "one", aMinute)
			if err != nil || State(v.State) != row.want || !strings.Contains(v.Message, row.message) {
				t.Errorf("%s, %q, %v; want %s", v.State, v.Message, err, row.want)
			}
		})
	}
}

// Whoever ends the context learns their own reason from Run, also while the job starts.
func TestRunTellsTheCauseOfAnEarlyEnd(t *testing.T) {
	s := newSite(t)
	s.write(t, "in.jsonl", threeAndABadOne)
	loaded, err := Load(t.Context(), LoadRequest{YAML: []byte(strings.Replace(jobFile("in.jsonl", false), "out/", "", 1)), Name: "job.yaml", Dir: s.inputs, Machine: env.Real(), Modules: s.modules})
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("a reason of one's own")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	life := NewLife(nil)
	if _, err := loaded.Run(ctx, life, RunOptions{}); !errors.Is(err, reason) || life.State() != Stopped {
		t.Errorf("%s, %v", life.State(), err)
	}
}

// slowDisk takes its time to remove what is in a directory.
type slowDisk struct {
	env.FS
	below   string
	entered chan struct{} // receives a value when a removal begins
	release chan struct{}
}

func (d slowDisk) Remove(name string) error {
	if strings.HasPrefix(name, d.below) {
		d.entered <- struct{}{}
		<-d.release
	}
	return d.FS.Remove(name)
}

func TestASlowDeletionHoldsUpNobodyElse(t *testing.T) {
	s := newSite(t)
	const most = 100 // files of a job
	disk := slowDisk{env.Real().FS, filepath.Join(s.data, "jobs", "a", "one"), make(chan struct{}, most), make(chan struct{})}
	s.files = disk
	ctx, cancel := context.WithTimeout(t.Context(), aMinute)
	defer cancel()
	c := s.start(t)
	defer closeAll(t, c)
	s.write(t, "in.jsonl", threeAndABadOne)
	file := jobFile("in.jsonl", false)
	submit(t, c, "a", "one", file)
	if _, err := c.WaitEnd(ctx, "a", "one", aMinute); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() { first <- c.Delete(ctx, "a", "one") }()
	<-disk.entered

	others := make(chan error, 1)
	go func() {
		_, _, err := c.Submit(ctx, "b", "one", []byte(file))
		v, werr := c.WaitEnd(ctx, "b", "one", aMinute)
		if err = errors.Join(err, werr); err == nil && State(v.State) != Finished {
			err = fmt.Errorf("the other tenant's job is %s", v.State)
		}
		_, gerr := c.Get(ctx, "a", "one")
		if !errors.Is(gerr, fault.ErrUnknown) {
			err = errors.Join(err, fmt.Errorf("a job that is being deleted: %v", gerr))
		}
		others <- errors.Join(err, c.Delete(ctx, "b", "one"))
	}()
	select {
	case err := <-others:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("another tenant waits for the deletion")
	}

	// The id is free when the files are gone, not before: a new job keeps its own.
	second := make(chan error, 1)
	go func() { second <- c.Delete(ctx, "a", "one") }()
	gone, leave := context.WithCancel(ctx)
	leave()
	if err := c.Delete(gone, "a", "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("an impatient client: %v", err)
	}
	close(disk.release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-second; !errors.Is(err, fault.ErrUnknown) {
		t.Errorf("the second deletion: %v", err)
	}
	submit(t, c, "a", "one", file)
	if v, err := c.WaitEnd(ctx, "a", "one", aMinute); err != nil || State(v.State) != Finished {
		t.Errorf("the job that has the id now: %s, %v", v.State, err)
	}
}

func TestAFailedJobTellsWhyWithoutTheHostsPaths(t *testing.T) {
	s := newSite(t)
	c := s.start(t)
	defer closeAll(t, c)
	// Ten bad records against a budget of none.
	s.write(t, "in.jsonl", strings.Repeat("rubbish\n", 10))
	submit(t, c, "a", "one", jobFile("in.jsonl", false)+"settings: {bad_budget: {count: 0, share: 0}}\n")
	v, err := c.WaitEnd(t.Context(), "a", "one", aMinute)
	if err != nil || State(v.State) != Failed || v.Message == "" || strings.Contains(v.Message, s.data) || strings.Contains(v.Message, s.inputs) {
		t.Errorf("%s, %q, %v", v.State, v.Message, err)
	}
}

func TestRowsOfARunningJobAreWholeLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.jsonl")
	long := strings.Repeat("x", 100<<10) // longer than the piece that is looked at
	for _, c := range []struct {
		name, published, progress string
		want                      string
		complete                  bool
	}{
		{"nothing yet", "", "", "", false},
		{"half a line", "", "abc", "", false},
		{"a line and a half", "", "abc\nde", "abc\n", false},
		{"a line and a long half", "", "abc\n" + long, "abc\n", false},
		{"published", "abc\nde\n", "", "abc\nde\n", true},
		{"published, with one in progress from before", "abc\n", "x\n", "abc\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, text := range map[string]string{path: c.published, path + ".inprogress": c.progress} {
				if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				if text != "" {
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			rows, err := openRows(env.Real().FS, path, 0, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(rows)
			if err := errors.Join(err, rows.Close()); err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want || rows.Complete != c.complete || rows.Next != int64(len(c.want)) {
				t.Errorf("%q, complete %v, next %d; want %q, %v", got, rows.Complete, rows.Next, c.want, c.complete)
			}
		})
	}
}
