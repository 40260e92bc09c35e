package controller

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/internal/env"
)

// fullDisk has no room for what is written to files with this base name, some times.
type fullDisk struct {
	env.FS
	base  string
	times *atomic.Int64
}

func (d fullDisk) Create(name string, flag int, perm os.FileMode) (env.File, error) {
	f, err := d.FS.Create(name, flag, perm)
	if err == nil && strings.HasPrefix(filepath.Base(name), d.base) {
		f = fullFile{f, d.times}
	}
	return f, err
}

type fullFile struct {
	env.File
	times *atomic.Int64
}

func (f fullFile) Write(p []byte) (int, error) {
	if f.times.Add(-1) >= 0 {
		return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}

// A disk is full for a while: the job waits and writes what it would have written. Without
// checkpoints it fails, as somebody may want to see what there is.
func TestAFullDiskIsWaitedOut(t *testing.T) {
	const settings = "version: 1\nsettings: {checkpoint: {}, restart: {initial: 1ms, max: 5ms, attempts: 3}}"
	for _, row := range []struct {
		name     string
		settings string
		full     int64 // writes that fail
		states   string
		runs     int
	}{
		{"never", settings, 0, "starting running finished", 1},
		{"twice", settings, 2, "starting running restarting starting running restarting starting running finished", 3},
		{"for too long", settings, 1000, "starting running" + strings.Repeat(" restarting starting running", 3) + " failed", 4},
		{"without checkpoints", "version: 1", 1, "starting running failed", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &site{inputs: t.TempDir()}
			s.write(t, "in.jsonl", threeAndABadOne)
			times := &atomic.Int64{}
			times.Store(row.full)
			machine := env.Real()
			machine.FS = fullDisk{machine.FS, "counts", times}
			loaded, err := Load(t.Context(), LoadRequest{YAML: []byte(strings.Replace(jobFile("in.jsonl", false), "version: 1", row.settings, 1)), Name: "job.yaml", Dir: s.inputs, Machine: machine})
			if err != nil {
				t.Fatal(err)
			}
			o := RunOptions{}
			runs := 0
			if loaded.Graph.Settings.Checkpoint != nil {
				log, err := OpenCheckpoints(machine, filepath.Join(s.inputs, "state"), nil)
				if err != nil {
					t.Fatal(err)
				}
				o.Recovery = NewRecovery(log, loaded.Graph, false, Begin{})
				defer func() {
					if err := o.Recovery.Close(); err != nil {
						t.Error(err)
					}
				}()
				o.Begins = func(Origin) { runs++ }
			} else {
				runs = 1
			}
			var states []string
			report, err := loaded.Run(t.Context(), NewLife(func(ch Change) { states = append(states, string(ch.State)) }), o)
			if got := strings.Join(states, " "); got != row.states || runs != row.runs {
				t.Errorf("%d runs, %s: %v; want %d, %s", runs, got, err, row.runs, row.states)
			}
			if (err == nil) != strings.HasSuffix(row.states, "finished") {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			rows, err := os.ReadFile(filepath.Join(s.inputs, "out", "counts.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(rows), "\n") != 2 || report.Sources[0].Read != 4 || report.Sinks[0].Rows != 2 {
				t.Errorf("read %d, rows %d:\n%s", report.Sources[0].Read, report.Sinks[0].Rows, rows)
			}
		})
	}
}

// A run that goes on from a checkpoint that somebody chose takes one of its own at once, so
// that the next one need not be told.
func TestAChosenBeginningIsKept(t *testing.T) {
	s := &site{inputs: t.TempDir()}
	s.write(t, "in.jsonl", threeAndABadOne)
	src := strings.Replace(followed("in.jsonl"), "interval: 10ms", "interval: 1h", 1)
	ran := 0
	// run runs the job until it has completed a checkpoint, and returns that.
	run := func(dir string, b Begin) (id uint64) {
		loaded, err := Load(t.Context(), LoadRequest{YAML: []byte(src), Name: "job.yaml", Dir: s.inputs, Machine: env.Real()})
		if err != nil {
			t.Fatal(err)
		}
		log, err := OpenCheckpoints(env.Real(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), aMinute)
		defer cancel()
		r := NewRecovery(log, loaded.Graph, false, b)
		ran++
		_, _ = loaded.Run(ctx, NewLife(nil), RunOptions{Recovery: r,
			Up: func(j *engine.Job) {
				if b.From == nil { // nobody asks for one otherwise
					go func() { _, _ = j.Checkpoint(ctx, checkpoint.Periodic) }()
				}
			},
			Observe: func(e engine.Event) {
				if c, ok := e.(engine.Checkpointed); ok && c.Err == nil {
					id = c.Number
					cancel()
				}
			}})
		if err := r.Close(); err != nil || id == 0 {
			t.Fatalf("run %d ends without a checkpoint: %v", ran, err)
		}
		return id
	}
	there, here := t.TempDir(), t.TempDir()
	run(there, Begin{})
	c, err := FindCheckpoint(t.Context(), env.Real(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := run(here, Begin{From: c})
	log, err := OpenCheckpoints(env.Real(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last, _, err := log.Last(t.Context()); err != nil || last == nil || last.Meta.ID != id {
		t.Errorf("the next run goes on from %+v, %v", last, err)
	}
}
