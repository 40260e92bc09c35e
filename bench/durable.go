package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/internal/env"
)

// durable is a job with built-in functions, run in this process. It keeps checkpoints in a
// directory, and goes on from the last one there.
type durable struct {
	text string   // the job file
	set  []string // as of --set
	dir  string   // for checkpoints; empty: none are kept
	rows io.Writer
	// every is after how many lines a checkpoint is taken; one that is due while another is
	// being taken comes behind it. 0: none are.
	every int64
	turns engine.Turns       // nil: nobody watches
	watch func(engine.Event) // may be nil
}

// builtins resolves jobs without plug-ins.
type builtins struct{ engine.Builtins }

func (builtins) Plugin(p *job.Plugin) (job.FunctionInfo, error) {
	return job.FunctionInfo{}, fmt.Errorf("the plug-in %s: there are built-in functions only", p.Name)
}

// run runs the job until it or ctx ends.
func (d *durable) run(ctx context.Context) (report engine.Report, err error) {
	machine, set := env.Real(), d.set
	options := engine.Options{Env: machine, Stdin: strings.NewReader(""), Stdout: d.rows, Turns: d.turns, FirstStart: time.Now()}
	if d.dir != "" {
		set = append([]string{"settings.checkpoint.interval=24h"}, set...) // lines say when, not time
		log := checkpoint.Open(checkpoint.OpenLocal(machine.FS, d.dir), machine.Rand)
		defer func() { err = errors.Join(err, log.Close()) }()
		if err := log.Claim(ctx); err != nil {
			return report, err
		}
		last, warnings, err := log.Last(ctx)
		if err != nil || len(warnings) > 0 {
			return report, errors.Join(err, fmt.Errorf("warnings of the checkpoints: %v", warnings))
		}
		options.Checkpoints, options.Restore = log, last
	}
	g, err := job.Load([]byte(d.text), job.LoadOptions{Name: "job.yaml", Dir: d.dir, Resolver: builtins{}, Files: machine.FS, Set: set})
	if err != nil {
		return report, err
	}
	due, asked := make(chan struct{}, 1), int64(0)
	options.Observe = func(e engine.Event) {
		if p, ok := e.(engine.Progress); ok && d.every > 0 && p.Read/d.every > asked {
			asked = p.Read / d.every
			select {
			case due <- struct{}{}:
			default:
			}
		}
		if d.watch != nil {
			d.watch(e)
		}
	}
	j, err := engine.New(ctx, g, options)
	if err != nil {
		return report, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range due {
			_, _ = j.Checkpoint(ctx, checkpoint.Periodic) // who needs it sees whether there is one; it is refused at the job's end
		}
	}()
	report, err = j.Run(ctx)
	close(due)
	<-done
	return report, err
}
