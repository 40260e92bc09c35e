package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

// hoardingJob counts in windows of ten seconds, of which that from 20 s on gets a key for
// each record, and then counts those counts.
const hoardingJob = `version: 1
job: hoard
sources:
  in: {file: {path: "in-*.jsonl"}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 1s}}
steps:
  s: {from: in, key: [k], window: {tumbling: 10s}, aggregates: {n: {function: count}, all: {function: sum, columns: {value: v}}}}
  z: {from: s, key: [n], window: {tumbling: 20s}, aggregates: {m: {function: count}}}
sinks:
  rows: {from: s, file: {path: out/rows.jsonl}}
  sums: {from: z, file: {path: out/sums.jsonl}}
`

// hoard is its input: four files, of which the first has nothing but records of the end, so
// that whoever reads it is far ahead.
func hoard() *sim.FS {
	files := sim.NewFS(env.Real().Clock)
	var ahead strings.Builder
	for i := range 200 {
		ahead.WriteString(record(fmt.Sprint("k", i%5), 60_000+i*100, 1))
	}
	files.Put("/job/in-0.jsonl", []byte(ahead.String()))
	for f := 1; f < 4; f++ {
		var text strings.Builder
		for i := range 100 {
			text.WriteString(record(fmt.Sprint("k", i%5), i*200, i))
		}
		for i := range 400 {
			text.WriteString(record(fmt.Sprintf("key-%d-%d", f, i), 20_000+i*25, i))
		}
		for i := range 200 {
			text.WriteString(record(fmt.Sprint("k", i%5), 30_000+i*200, i))
		}
		files.Put(fmt.Sprintf("/job/in-%d.jsonl", f), []byte(text.String()))
	}
	return files
}

// saved lists the kinds of the checkpoints of a job, the oldest first.
func saved(t *testing.T, files *sim.FS) (kinds []checkpoint.Kind) {
	t.Helper()
	list, err := checkpoint.Open(checkpoint.OpenLocal(files, "/job/state"), env.Real().Rand).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		kinds = append(kinds, e.Meta.Kind)
	}
	return kinds
}

// overBudget checks the error of a job that was over its budget.
func overBudget(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, fault.ErrQuota) {
		t.Fatalf("the error is %v", err)
	}
	for _, text := range append(texts, " (settings.state_budget); step s has ", "window 1970-01-01T00:00:20.000Z to 1970-01-01T00:00:30.000Z has ", "the key with most in one piece is ") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
}

// Over its budget a job stops with a checkpoint of what it was then, however often it is
// started again; under a larger one it goes on from there, and gives what an undisturbed run
// gives. Also where several tasks read files that are far from each other, through queues
// with room for one batch.
func TestOverItsBudgetAJobStopsWithACheckpoint(t *testing.T) {
	for _, row := range []struct{ parallelism, queue, every int }{{1, 1, 20}, {2, 1, 20}, {4, 1, 7}, {4, 3, 0}} {
		t.Run(fmt.Sprintf("parallelism %d, queue %d", row.parallelism, row.queue), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			base := attempt{files: hoard(), yaml: hoardingJob, set: []string{fmt.Sprint("parallelism=", row.parallelism), fmt.Sprint("settings.queue=", row.queue), "settings.batch.rows=10", "settings.state_budget=1GiB"}}
			clean, err := base.run(ctx)
			if err != nil {
				t.Fatal(err)
			}
			a := base
			a.files, a.every, a.set = hoard(), row.every, append([]string{"settings.state_budget=32KiB"}, base.set[:3]...)
			last := uint64(0)
			for n := range 3 {
				r, err := a.run(ctx)
				c := r.report.Checkpoints
				overBudget(t, err, " KiB, its budget is 32.0 KiB", fmt.Sprintf(". Checkpoint %d was taken at the stop: with a larger settings.state_budget the job goes on from it", c.Last))
				kinds := saved(t, a.files)
				if kinds[len(kinds)-1] != checkpoint.Stop || c.Last <= last || c.Restored != last || r.taken != int(c.Completed) {
					t.Fatalf("run %d, of a job that stood at checkpoint %d: %v, %+v", n, last, kinds, c)
				}
				if row.every > 0 && n == 0 && (r.taken < 2 || kinds[0] != checkpoint.Periodic) {
					t.Errorf("it is behind no periodic one: %v", kinds)
				}
				if s := r.report.Steps[0]; s.State < 24<<10 || s.State > 256<<10 || s.Inputs[0].Open == 0 {
					t.Errorf("run %d: %d bytes of state, %+v", n, s.State, s.Inputs[0])
				}
				last = c.Last
				a.files = a.files.Kill()
			}
			a.set = base.set
			a.every = 0
			r, err := a.run(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if r.report.Checkpoints.Restored != last {
				t.Errorf("it goes on from checkpoint %d, not %d", r.report.Checkpoints.Restored, last)
			}
			if got, want := outputs(t, a.files), outputs(t, base.files); fmt.Sprint(got) != fmt.Sprint(want) || len(want["rows.jsonl"]) < 1200 {
				t.Errorf("rows\n%s\nwant\n%s", text(got), text(want))
			}
			if got, want := ledger(r.report), ledger(clean.report); got != want {
				t.Errorf("ledger\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// The same of a job that takes records as they come, with senders that add records up in one
// case: its sinks show what the last checkpoint decides.
func TestOverItsBudgetAFollowedJobStopsWithACheckpoint(t *testing.T) {
	for _, add := range []string{"", "hot_keys: 4, "} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		yaml := strings.NewReplacer("out_of_orderness: 1s", "out_of_orderness: 200s", "window: {tumbling: 10s}", add+"window: {tumbling: 10s}").Replace(hoardingJob)
		yaml = strings.NewReplacer("  sums: {from: z, file: {path: out/sums.jsonl}}\n", "", "  z: {from: s, key: [n], window: {tumbling: 20s}, aggregates: {m: {function: count}}}\n", "").Replace(yaml)
		base := attempt{files: hoard(), yaml: yaml, set: []string{"parallelism=3", "settings.queue=1", "settings.batch.rows=10"}}
		if _, err := base.run(ctx); err != nil {
			t.Fatal(err)
		}
		a := base
		a.files = hoard()
		a.yaml = strings.Replace(yaml, `"in-*.jsonl"`, `"in-*.jsonl", follow: true`, 1)
		a.set, a.every = append([]string{"settings.state_budget=32KiB"}, base.set...), 20
		for n := range 2 {
			r, err := a.run(ctx)
			if !errors.Is(err, fault.ErrQuota) || !strings.Contains(err.Error(), fmt.Sprintf(". Checkpoint %d was taken at the stop", r.report.Checkpoints.Last)) {
				t.Fatalf("%srun %d: %v", add, n, err)
			}
			if kinds := saved(t, a.files); kinds[len(kinds)-1] != checkpoint.Stop {
				t.Fatalf("%srun %d: %v", add, n, kinds)
			}
			if read := r.report.Sources[0].Read; read == 0 || read == 2300 {
				t.Errorf("%srun %d: %d records are read", add, n, read)
			}
			a.files = a.files.Kill()
		}
		a.set, a.every, a.drain = base.set, 0, 2300
		if _, err := a.run(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := finals(t, a.files), finals(t, base.files); fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 1200 {
			t.Errorf("%sgot\n%v\nwant\n%v", add, got, want)
		}
	}
}

// Random jobs that are stopped by their budget, and go on under one half as large again each
// time and at another parallelism, leave behind what a run leaves that had enough.
func TestStopsOverTheBudgetChangeNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	jobs, stops := some(graphs), 0
	for seed := range uint64(jobs) {
		d := dice{rand.New(rand.NewPCG(seed, 3))}
		yaml, files := d.replay()
		base := attempt{files: files.Kill(), yaml: yaml, set: []string{fmt.Sprint("settings.batch.rows=", []int{1, 3, 10}[d.IntN(3)]), fmt.Sprint("settings.queue=", 1+d.IntN(4))}}
		if seed%4 == 0 && !strings.Contains(yaml, "kind: interval") { // the budget counts what is on disk
			base.disk = t.TempDir()
		}
		clean, err := base.run(ctx)
		if err != nil {
			t.Fatalf("seed %d, undisturbed: %v\n%s", seed, err, yaml)
		}
		a := base
		a.files = files.Kill()
		for budget := 4 << 10; ; budget += budget / 2 {
			a.set = append([]string{fmt.Sprintf("settings.state_budget=%dB", budget), fmt.Sprint("parallelism=", 1+d.IntN(4))}, base.set...)
			r, err := a.run(ctx)
			if err == nil {
				if got, want := outputs(t, a.files), outputs(t, base.files); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d, budget %d: got\n%s\nwant\n%s\nof\n%s %v", seed, budget, text(got), text(want), yaml, a.set)
				}
				if got, want := ledger(r.report), ledger(clean.report); got != want {
					t.Fatalf("seed %d, budget %d: ledger\n%s\nwant\n%s\nof\n%s %v", seed, budget, got, want, yaml, a.set)
				}
				break
			}
			if !errors.Is(err, fault.ErrQuota) || r.taken != 1 || !strings.Contains(err.Error(), fmt.Sprintf("Checkpoint %d was taken at the stop", r.report.Checkpoints.Last)) {
				t.Fatalf("seed %d, budget %d: %d checkpoints, %v\n%s %v", seed, budget, r.taken, err, yaml, a.set)
			}
			stops++
			a.files = a.files.Kill()
		}
	}
	t.Logf("%d jobs, %d stops", jobs, stops)
	if stops < jobs/2 {
		t.Errorf("%d jobs were stopped %d times", jobs, stops)
	}
}

// ofCheckpoint reports whether a file is one of a checkpoint, and not of the log's own.
func ofCheckpoint(name string) bool {
	return strings.HasPrefix(name, "/job/state/") && !strings.HasPrefix(name, "/job/state/log-")
}

// Where no last checkpoint comes about the error says why, and from where the job goes on.
func TestAStopOverTheBudgetWithoutACheckpoint(t *testing.T) {
	set := []string{"settings.batch.rows=10", "settings.state_budget=32KiB", "settings.checkpoint.tolerate=0", "settings.checkpoint.timeout=10m"}
	full := func(on *atomic.Bool) sim.Fault {
		return func(c sim.Call) (out sim.Outcome) {
			if on.Load() && c.Op == sim.OpWrite && ofCheckpoint(c.Name) {
				out.Err = syscall.ENOSPC
			}
			return out
		}
	}
	t.Run("full from the start", func(t *testing.T) {
		a := attempt{files: hoard(), yaml: hoardingJob, set: set}
		var on atomic.Bool
		on.Store(true)
		a.files.Inject(full(&on))
		_, err := a.run(t.Context())
		overBudget(t, err, ". No checkpoint could be taken at the stop: ", "no space left on device. There is none before, so the job begins anew")
	})
	t.Run("full behind the first", func(t *testing.T) {
		a := attempt{files: hoard(), yaml: hoardingJob, set: set}
		r, err := a.run(t.Context())
		overBudget(t, err, " was taken at the stop")
		before := r.report.Checkpoints.Last
		var on atomic.Bool
		on.Store(true)
		a.files = a.files.Kill()
		a.files.Inject(full(&on))
		_, err = a.run(t.Context())
		overBudget(t, err, ". No checkpoint could be taken at the stop: ", fmt.Sprint("no space left on device. With a larger settings.state_budget the job goes on from the one before, ", before))
		on.Store(false)
		a.files, a.set = a.files.Kill(), set[:1]
		r, err = a.run(t.Context())
		if err != nil || r.report.Checkpoints.Restored != before || r.report.Sources[0].Read != 2300 {
			t.Errorf("the next run: %v, %+v", err, r.report.Checkpoints)
		}
	})
	t.Run("slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := attempt{files: hoard(), yaml: hoardingJob, set: set}
			a.files.Inject(func(c sim.Call) (out sim.Outcome) {
				if c.Op == sim.OpWrite && ofCheckpoint(c.Name) && c.Nth == 1 {
					out.Delay = 20 * time.Minute
				}
				return out
			})
			_, err := a.run(t.Context())
			overBudget(t, err, ". No checkpoint could be taken at the stop: the checkpoint has taken too long (settings.checkpoint.timeout). There is none before")
		})
	})
}
