package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// graph loads the job of jobFile after some replacements, given in pairs.
func graph(t *testing.T, replace ...string) *job.Graph {
	t.Helper()
	s := &site{inputs: t.TempDir()}
	s.write(t, "in.jsonl", threeAndABadOne)
	src := strings.NewReplacer(replace...).Replace(jobFile("in.jsonl", false))
	loaded, err := Load(t.Context(), LoadRequest{YAML: []byte(src), Name: "job.yaml", Dir: s.inputs, Machine: env.Real()})
	if err != nil {
		t.Fatal(err)
	}
	// The paths of one job are the same in all of its runs.
	g := loaded.Graph
	for i := range g.Sinks {
		g.Sinks[i].File = filepath.Join("/out", filepath.Base(g.Sinks[i].File))
	}
	return g
}

// process is what one process has of a job: it claims, begins and takes checkpoints.
type process struct {
	*Recovery
	t *testing.T
}

func newProcess(t *testing.T, dir string, g *job.Graph, b Begin) process {
	t.Helper()
	log, err := OpenCheckpoints(env.Real(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return process{NewRecovery(log, g, false, b), t}
}

// next begins a run, and returns the id of the checkpoint that it goes on from, or 0.
func (p process) next() (uint64, Origin) {
	p.t.Helper()
	o, err := p.Next(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	if o.From == nil {
		return 0, o
	}
	return o.From.Meta.ID, o
}

// take publishes a checkpoint of the job with a section of each operator.
func (p process) take(kind checkpoint.Kind) *checkpoint.Checkpoint {
	p.t.Helper()
	meta := p.meta
	meta.Kind = kind
	w := p.log.Begin(meta)
	for _, o := range meta.Operators {
		if err := w.Add(p.t.Context(), checkpoint.Section{Operator: o.ID, Kind: o.Kind, Version: 1, Body: []byte(o.ID)}); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := w.Publish(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return w.Checkpoint()
}

func (p process) end() {
	p.t.Helper()
	if err := p.Close(); err != nil {
		p.t.Fatal(err)
	}
}

func wantFrom(t *testing.T, what string, got, want uint64) {
	t.Helper()
	if got != want {
		t.Errorf("%s goes on from checkpoint %d, want %d (0: from nothing)", what, got, want)
	}
}

// busyClock is a clock on which something happens at the n-th sleep.
type busyClock struct {
	env.Clock
	sleeps, at int
	then       func()
}

func (c *busyClock) Sleep(context.Context, time.Duration) error {
	if c.sleeps++; c.sleeps == c.at {
		c.then()
	}
	return nil
}

func TestAStartWaitsForAProcessThatEnds(t *testing.T) {
	dir, g := filepath.Join(t.TempDir(), "state"), graph(t)
	for _, row := range []struct {
		name string
		ends int // at which sleep of the next process the first one ends, 0: never
		want error
	}{
		{"one that is about to end", 7, nil},
		{"one that lives", 0, fault.ErrConflict},
	} {
		first := newProcess(t, dir, g, Begin{})
		first.next()
		clock := &busyClock{Clock: env.Real().Clock, at: row.ends, then: first.end}
		second := newProcess(t, dir, g, Begin{Clock: clock})
		if _, err := second.Next(t.Context()); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if most := int(patience / askEvery); clock.sleeps == 0 || clock.sleeps > most || row.ends == 0 && clock.sleeps < most {
			t.Errorf("%s: it has slept %d times", row.name, clock.sleeps)
		}
		second.end()
		first.end()
	}
	// Without a clock nobody waits.
	first := newProcess(t, dir, g, Begin{})
	first.next()
	if _, err := newProcess(t, dir, g, Begin{}).Next(t.Context()); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("without a clock: %v", err)
	}
	first.end()
}

func TestRunsGoOnFromTheLastCheckpoint(t *testing.T) {
	dir, g := filepath.Join(t.TempDir(), "state"), graph(t)
	p := newProcess(t, dir, g, Begin{})
	id, _ := p.next()
	wantFrom(t, "the first run", id, 0)
	id, _ = p.next()
	wantFrom(t, "one behind a failure before any checkpoint", id, 0)
	p.take(checkpoint.Periodic)
	second := p.take(checkpoint.Periodic).Meta.ID
	p.take(checkpoint.Savepoint)
	id, _ = p.next()
	wantFrom(t, "one behind a failure", id, second)
	p.end()

	p = newProcess(t, dir, g, Begin{})
	id, _ = p.next()
	wantFrom(t, "another process", id, second)
	third := p.take(checkpoint.Periodic)
	p.end()

	p = newProcess(t, dir, g, Begin{Fresh: true})
	id, _ = p.next()
	wantFrom(t, "a fresh start", id, 0)
	id, _ = p.next()
	wantFrom(t, "one behind its failure", id, 0)
	p.end()
	p = newProcess(t, dir, g, Begin{})
	id, _ = p.next()
	wantFrom(t, "a run behind a fresh start without a checkpoint", id, 0)
	p.end()

	p = newProcess(t, dir, g, Begin{From: third})
	id, _ = p.next()
	wantFrom(t, "a chosen one", id, third.Meta.ID)
	p.end()
	p = newProcess(t, dir, g, Begin{})
	id, _ = p.next()
	wantFrom(t, "a run behind a chosen start without a checkpoint", id, third.Meta.ID)
	p.end()
}

func TestOneProcessAtATime(t *testing.T) {
	dir, g := t.TempDir(), graph(t)
	p := newProcess(t, dir, g, Begin{})
	p.next()
	defer p.end()
	if _, err := newProcess(t, dir, g, Begin{}).Next(t.Context()); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a second process: %v", err)
	}
}

func TestADamagedCheckpointIsPassedOver(t *testing.T) {
	dir, g := t.TempDir(), graph(t)
	p := newProcess(t, dir, g, Begin{})
	p.next()
	first := p.take(checkpoint.Periodic).Meta.ID
	file := filepath.Join(dir, p.take(checkpoint.Periodic).Refs()[0].File())
	p.end()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	p = newProcess(t, dir, g, Begin{})
	defer p.end()
	id, o := p.next()
	wantFrom(t, "a run", id, first)
	if len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], file) {
		t.Errorf("the warnings do not name %s: %q", file, o.Warnings)
	}
}

func TestAChangedJobDoesNotGoOnByItself(t *testing.T) {
	dir := t.TempDir()
	p := newProcess(t, dir, graph(t), Begin{})
	p.next()
	c := p.take(checkpoint.Periodic)
	p.end()

	changed := graph(t, "tumbling: 10s}", "tumbling: 10s, allowed_lateness: 1s}")
	p = newProcess(t, dir, changed, Begin{})
	_, err := p.Next(t.Context())
	p.end()
	want := "the job has changed since its last checkpoint: step by_k (allowed_lateness was 0s, is 1s) is compatible. To take its state over say --from " + c.Path() + ", to begin from nothing --fresh"
	if !errors.Is(err, fault.ErrUser) || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}

	p = newProcess(t, dir, changed, Begin{From: c})
	id, o := p.next()
	wantFrom(t, "the changed job, told so", id, c.Meta.ID)
	if len(o.Changes) != len(c.Meta.Operators) {
		t.Errorf("the changes are not told: %+v", o.Changes)
	}
	next := p.take(checkpoint.Periodic).Meta.ID
	p.end()
	p = newProcess(t, dir, changed, Begin{})
	id, _ = p.next()
	wantFrom(t, "its next run", id, next)
	p.end()

	// How fast it runs, and where its checkpoints go, is no change.
	p = newProcess(t, dir, graph(t, "tumbling: 10s}", "tumbling: 10s, allowed_lateness: 1s}", "job: counts", "job: counts\nparallelism: 3\nsettings: {batch: {rows: 5}}"), Begin{})
	id, _ = p.next()
	wantFrom(t, "a run at another parallelism", id, next)
	p.end()
}

func TestStateThatIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	p := newProcess(t, dir, graph(t), Begin{})
	p.next()
	c := p.take(checkpoint.Savepoint)
	p.end()
	changed := graph(t, "function: count", "function: max, columns: {value: t}", "k: string}", "k: string, t: int64}")

	p = newProcess(t, dir, changed, Begin{From: c})
	_, err := p.Next(t.Context())
	if !errors.Is(err, fault.ErrUser) || strings.Count(err.Error(), "--drop-state") != 2 || !strings.Contains(err.Error(), c.Path()) {
		t.Errorf("without a word: %v", err)
	}
	p.end()

	p = newProcess(t, dir, changed, Begin{From: c, Drop: []string{"in", "by_k"}})
	for _, what := range []string{"the first run", "one behind a failure before any checkpoint"} {
		id, o := p.next()
		wantFrom(t, what, id, c.Meta.ID)
		for _, op := range []string{"in", "by_k"} {
			if n := len(o.From.Find(op, job.StepOperator)) + len(o.From.Find(op, job.SourceOperator)); n != 0 {
				t.Errorf("%s has %d sections of %s", what, n, op)
			}
		}
		if n := len(o.From.Find("results", job.SinkOperator)); n != 1 {
			t.Errorf("%s has %d sections of a sink whose state was not given up", what, n)
		}
	}
	p.end()
}

// A checkpoint of another job's log, as of a copy, is one to begin from, and no more.
func TestACheckpointFromElsewhere(t *testing.T) {
	there, here, g := t.TempDir(), t.TempDir(), graph(t)
	p := newProcess(t, there, g, Begin{})
	p.next()
	for range 4 {
		p.take(checkpoint.Periodic)
	}
	c := p.take(checkpoint.Savepoint)
	p.end()

	p = newProcess(t, here, g, Begin{From: c})
	for _, what := range []string{"the first run", "one behind a failure before any checkpoint"} {
		id, _ := p.next()
		wantFrom(t, what, id, c.Meta.ID)
	}
	own := p.take(checkpoint.Periodic)
	id, o := p.next()
	wantFrom(t, "one behind a checkpoint of its own", id, own.Meta.ID)
	if o.From.Path() != own.Path() {
		t.Errorf("it goes on from %s", o.From.Path())
	}
	p.end()
}

func TestFindCheckpoint(t *testing.T) {
	dir, g := t.TempDir(), graph(t)
	p := newProcess(t, dir, g, Begin{})
	p.next()
	first, second := p.take(checkpoint.Periodic), p.take(checkpoint.Savepoint)
	p.end()
	for _, row := range []struct {
		name string
		id   uint64
		err  error
	}{
		{first.Path(), first.Meta.ID, nil},
		{second.Path(), second.Meta.ID, nil},
		{dir, second.Meta.ID, nil},
		{filepath.Join(dir, "log-000000009999"), 0, fault.ErrUnknown},
		{filepath.Join(dir, "log-000000000001"), 0, fault.ErrUnknown}, // a claim
		{t.TempDir(), 0, fault.ErrUnknown},
		{filepath.Join(dir, "none"), 0, fault.ErrUnknown},
	} {
		c, err := FindCheckpoint(t.Context(), env.Real(), row.name, nil)
		if !errors.Is(err, row.err) || err == nil && c.Meta.ID != row.id {
			t.Errorf("%s: %v, want checkpoint %d, %v", row.name, err, row.id, row.err)
		}
	}
}
