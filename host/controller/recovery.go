package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Begin says where a job begins. The zero value: from its own last checkpoint, or from
// nothing if there is none.
type Begin struct {
	Fresh bool                   // from nothing, whatever there is
	From  *checkpoint.Checkpoint // from this one, which may be another job's
	Drop  []string               // operators whose state in From is given up
	// Again: the job has run before, so that a run which does not come up for an outside
	// reason is followed by another.
	Again bool
	// Clock, if there is one, lets the first run wait for patience where another process holds
	// the log: one that was killed a moment ago may not be quite gone, or the process of its job.
	Clock env.Clock
}

// patience is how long that is, and askEvery how often the log is asked for.
const (
	patience = 2 * time.Second
	askEvery = 50 * time.Millisecond
)

// Origin is where one run of the engine begins.
type Origin struct {
	From     *checkpoint.Checkpoint // nil: from nothing
	Warnings []string               // damaged checkpoints that were passed over
	Changes  []job.Change           // what has changed since, with Begin.From
}

// Recovery decides from which checkpoint each run of a job goes on: the first one as Begin
// says, those behind a failure from the last that there is. It belongs to the goroutine that
// runs the job. Close it.
type Recovery struct {
	log   *checkpoint.Log
	start Begin
	meta  checkpoint.Meta
	ops   []job.Operator
	runs  int
	known bool // the job has run before this process
}

// NewRecovery makes the recovery of a job whose checkpoints are in log. complete is as in
// RunOptions.
func NewRecovery(log *checkpoint.Log, g *job.Graph, complete bool, start Begin) *Recovery {
	ops := describeJob(g, complete)
	return &Recovery{log: log, start: start, ops: ops, meta: metaOf(g, ops), known: start.Again}
}

// Close lets other processes run the job.
func (r *Recovery) Close() error { return r.log.Close() }

// describeJob describes a job with the layouts that the engine chooses.
func describeJob(g *job.Graph, complete bool) []job.Operator {
	return job.Describe(g, complete, func(s *job.Step) string { return layoutOf(g, s) })
}

// layoutOf says how the engine keeps the windows of a step. Stored in checkpoints.
func layoutOf(g *job.Graph, s *job.Step) string {
	c := engine.PlanOf(g, s)
	text := string(c.Contents)
	if c.Bulk {
		text += ", by ends"
	}
	if c.Local {
		text += ", added up by senders"
	}
	return text
}

// metaOf is what each checkpoint says of its job.
func metaOf(g *job.Graph, ops []job.Operator) checkpoint.Meta {
	m := checkpoint.Meta{Job: g.Name, Plan: job.Digest(ops), MaxParallelism: g.MaxParallelism}
	for i := range ops {
		o := &ops[i]
		info := checkpoint.OperatorInfo{ID: o.ID, Kind: o.Kind, Parallelism: 1, Description: o.Text()}
		switch o.Kind {
		case job.SourceOperator, job.JobOperator:
			info.Parallelism = g.Parallelism
		case job.StepOperator:
			n := slices.IndexFunc(g.Steps, func(s job.Step) bool { return s.ID == o.ID })
			info.Parallelism = g.Steps[n].Parallelism
		}
		m.Operators = append(m.Operators, info)
	}
	for _, p := range g.Plugins {
		m.Plugins = append(m.Plugins, checkpoint.PluginInfo{Name: p.Name, Digest: p.Digest, Schema: p.Schema})
	}
	return m
}

// operatorsOf reads what a checkpoint says of its job.
func operatorsOf(c *checkpoint.Checkpoint) ([]job.Operator, error) {
	var out []job.Operator
	for _, info := range c.Meta.Operators {
		o, err := job.ParseOperator(info.ID, info.Kind, info.Description)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", c.Path(), err)
		}
		out = append(out, o)
	}
	return out, nil
}

// Next claims the log for another run, so that no earlier one can publish any more, and
// decides where that begins.
func (r *Recovery) Next(ctx context.Context) (Origin, error) {
	first := r.runs == 0
	r.runs++
	o, err := r.next(ctx, first)
	for waited := time.Duration(0); first && r.start.Clock != nil && errors.Is(err, fault.ErrConflict) && waited < patience; waited += askEvery {
		if serr := r.start.Clock.Sleep(ctx, askEvery); serr != nil {
			return Origin{}, serr
		}
		o, err = r.next(ctx, first)
	}
	r.known = r.known || err == nil && o.From != nil
	return o, err
}

// chosen reports whether the run that begins goes on from a checkpoint that somebody chose.
func (r *Recovery) chosen() bool { return r.runs == 1 && r.start.From != nil }

func (r *Recovery) next(ctx context.Context, first bool) (o Origin, err error) {
	switch {
	case first && r.start.Fresh:
		return o, r.log.ClaimFrom(ctx, 0)
	case first && r.start.From != nil:
		return r.from(ctx)
	}
	if err := r.log.Claim(ctx); err != nil {
		return o, err
	}
	// Behind the claim: before it, an earlier run could still publish one.
	if o.From, o.Warnings, err = r.log.Last(ctx); err != nil {
		return o, err
	}
	if first {
		return o, r.sameJob(o.From)
	}
	// What this process began from may still be the last: of another log, or with state that
	// was given up.
	if from := r.start.From; from != nil && (o.From == nil || o.From.Path() == from.Path()) {
		o.From = from.Without(r.start.Drop)
	}
	return o, nil
}

// from begins at a checkpoint that somebody chose.
func (r *Recovery) from(ctx context.Context) (o Origin, err error) {
	c := r.start.From
	was, err := operatorsOf(c)
	if err != nil {
		return o, err
	}
	if o.Changes, err = job.Takeover(was, r.ops, r.start.Drop); err != nil {
		return o, fmt.Errorf("checkpoint %s: %w", c.Path(), err)
	}
	own, err := r.owns(ctx, c)
	if err != nil {
		return o, err
	}
	base := uint64(0)
	if own {
		base = c.Meta.ID
	}
	o.From = c.Without(r.start.Drop)
	return o, r.log.ClaimFrom(ctx, base)
}

// owns reports whether a checkpoint is one of the job's own log.
func (r *Recovery) owns(ctx context.Context, c *checkpoint.Checkpoint) (bool, error) {
	list, err := r.log.List(ctx)
	return slices.ContainsFunc(list, func(e checkpoint.Entry) bool { return e.Path == c.Path() }), err
}

// sameJob refuses to go on by itself from a checkpoint of a job that was another one: whether
// its state is to be taken over is for people to say.
func (r *Recovery) sameJob(c *checkpoint.Checkpoint) error {
	if c == nil || c.Meta.Plan == r.meta.Plan {
		return nil
	}
	was, err := operatorsOf(c)
	if err != nil {
		return err
	}
	var changed []string
	for _, ch := range job.Compare(was, r.ops) {
		if ch.Verdict != job.Same {
			text := strings.TrimSpace(ch.Kind + " " + ch.ID)
			if len(ch.Differences) > 0 {
				text += " (" + strings.Join(ch.Differences, "; ") + ")"
			}
			changed = append(changed, fmt.Sprintf("%s is %s", text, ch.Verdict))
		}
	}
	return fault.Userf("the job has changed since its last checkpoint: %s. To take its state over say --from %s, to begin from nothing --fresh", strings.Join(changed, "; "), c.Path())
}
