package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"tidemark/engine"
	"tidemark/engine/timestamp"
	"tidemark/host/controller"
	"tidemark/internal/fault"
)

func newRunCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run JOB.yaml",
		Short: "run a job file to the end of its input",
		Long: "Runs a job file. Rows of stdout sinks go to standard output; the settings that matter, warnings and\n" +
			"the ledger go to standard error. With settings.checkpoint a run goes on from the last checkpoint of its job,\n" +
			"whatever ended the run before; --fresh and --from say otherwise. Ctrl-C stops without firing anything, a second one ends at once.",
		Example: "  tidemark run configs/quakes.yaml\n  tidemark run configs/quakes.yaml --complete --set sinks.results.file.path=out/complete.jsonl",
		Args:    exactly(1, "a job file"),
	}
	out := outputFlag(cmd, asTable, asJSON, asYAML)
	cmd.Flags().Lookup("output").Usage = "form of the ledger: table, json, yaml"
	set := setFlag(cmd)
	cmd.Flags().BoolVar(&o.complete, "complete", false, "hold time to the end of the input: the complete result, nothing late")
	cmd.Flags().IntVar(&o.batchRows, "batch-rows", 0, "rows of a batch, in place of settings.batch.rows; results do not depend on it")
	state := stateFlag(cmd)
	o.begin.add(cmd.Flags())
	cmd.Flags().StringVar(&o.profile, "cpu-profile", "", "write a CPU profile of the run to this file; its labels name job, operator and task")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.form, o.set, o.state = *out, *set, *state
		if cmd.Flags().Changed("batch-rows") {
			o.set = append(o.set, fmt.Sprintf("settings.batch.rows=%d", o.batchRows))
		}
		return runJob(cmd.Context(), args[0], o, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

type runOptions struct {
	form      form
	set       []string
	complete  bool
	batchRows int
	state     string
	profile   string
	begin     beginFlags
}

func runJob(ctx context.Context, file string, o runOptions, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	j, err := openJob(ctx, file, o.set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if len(j.Graph.Plugins) > 0 && !supervised() {
		return supervise(ctx)
	}
	if o.complete {
		for i := range j.Graph.Sources {
			if s := &j.Graph.Sources[i]; !s.Bounded() {
				return usagef("--complete: source %s is followed, so there is no end to hold time to", s.ID)
			}
		}
	}
	recovery, place, err := recoveryOf(ctx, j, o.complete, o.state, &o.begin)
	if err != nil {
		return err
	}
	screen := newScreen(stderr)
	if o.form == asTable {
		describeStart(screen, j, o.complete)
		if recovery != nil {
			describeRecovery(screen, j.Graph, place)
		}
	}
	if j.noCache != nil {
		screen.line("tidemark: warning: compiled plug-ins cannot be kept, so each run compiles them: %v; XDG_CACHE_HOME may name a directory that can be written", j.noCache)
	}
	first, err := firstStart(j, o.state)
	if err != nil {
		screen.line("tidemark: warning: %v; records ahead of their time are judged by this start", err)
		first = time.Now()
	}
	var up atomic.Bool
	var report engine.Report
	var from controller.Origin
	tally := controller.NewCounter(j.machine.Clock)
	life := controller.NewLife(func(ch controller.Change) {
		if ch.State == controller.Restarting {
			screen.line("tidemark: warning: job %s failed: %s", j.Graph.Name, ch.WhyAgain())
		}
	})
	err = profiled(o.profile, func() (err error) {
		report, err = j.Run(ctx, life, controller.RunOptions{
			Stdin: stdin, Stdout: stdout, FirstStart: first, Complete: o.complete, Recovery: recovery, StateDir: spilled(j, o.state),
			Begins: func(origin controller.Origin) {
				from = origin
				tally.Begin(from)
				if o.form == asTable {
					describeOrigin(screen, from)
				}
			},
			Observe: func(e engine.Event) {
				tally.Observe(e)
				screen.observe(e)
			},
			Up: func(*engine.Job) { up.Store(true) },
		})
		return err
	})
	if recovery != nil {
		err = errors.Join(err, recovery.Close())
	}
	screen.clear()
	if !up.Load() { // nothing ran: the files are wrong, or a plug-in did not start
		if recovery != nil {
			err = orElse(err, j.file, from)
		}
		return err
	}
	interrupted := errors.Is(err, context.Canceled) && context.Cause(ctx) == errInterrupted
	if o.form != asTable {
		err = errors.Join(err, o.form.emit(stderr, report))
	} else {
		writeLedger(screen, &report, err == nil)
		hidden := "not published"
		if recovery != nil {
			hidden = "what no checkpoint covers is not published"
		}
		if err == nil {
			hidden = ""
		}
		writeOutputs(screen, &report, hidden)
		if recovery != nil {
			writeTally(screen, tally.Now())
		}
	}
	switch {
	case err == nil:
		return nil
	case interrupted:
		then := ""
		if recovery != nil {
			then = "; the next run goes on from the last checkpoint"
		}
		screen.line("stopped: nothing was fired%s", then)
		return fmt.Errorf("job %s: %w", j.Graph.Name, errInterrupted)
	}
	err = fmt.Errorf("job %s failed: %w", j.Graph.Name, err)
	if errors.Is(err, timestamp.ErrUnit) && nothingPassed(&report) {
		return err // the job file is wrong, as preview says, too
	}
	return failedError{err}
}

// nothingPassed reports whether a job ended before any record had reached a step.
func nothingPassed(r *engine.Report) bool {
	return !slices.ContainsFunc(r.Sources, func(s engine.SourceReport) bool { return s.Passed > 0 })
}

// firstStart returns when this job was first started.
func firstStart(j *localJob, dir string) (time.Time, error) {
	if dir == "" {
		dir = stateDir()
	}
	if dir == "" {
		return time.Time{}, fault.Externalf("there is no home directory to remember the first start of the job in; say --state DIR")
	}
	return controller.FirstStart(j.machine, dir, j.path, j.Graph.Name)
}

// spilled is where the job keeps state that has no room in memory; empty: nowhere, which is an
// error only for a job that asks for it.
func spilled(j *localJob, dir string) string {
	if dir = cmp.Or(dir, stateDir()); dir == "" {
		return ""
	}
	return controller.StateDir(dir, j.path, j.Graph.Name)
}
