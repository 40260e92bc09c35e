package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/host/controller"
	"tidemark/internal/fault"
)

// beginFlags say where a run begins, if not at the job's last checkpoint.
type beginFlags struct {
	fresh bool
	from  string
	drop  []string
}

func (b *beginFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&b.fresh, "fresh", false, "begin from nothing, whatever checkpoints there are")
	f.StringVar(&b.from, "from", "", "begin from this checkpoint or savepoint: its number, the path that checkpoint list shows, or a directory for the newest one there; also under a changed job file")
	f.StringArrayVar(&b.drop, "drop-state", nil, "with --from: give up the state of this operator, which the job does not have any more or has changed; may be repeated")
}

// recoveryOf opens the checkpoints of a job; nil: it takes none. dir is --state.
func recoveryOf(ctx context.Context, j *localJob, complete bool, dir string, b *beginFlags) (*controller.Recovery, string, error) {
	switch {
	case b.fresh && b.from != "":
		return nil, "", usagef("run: --fresh begins from nothing, and --from from a checkpoint; leave one out")
	case len(b.drop) > 0 && b.from == "":
		return nil, "", usagef("run: --drop-state belongs to --from CHECKPOINT: a run that goes on by itself takes all state over")
	case j.Graph.Settings.Checkpoint == nil && (b.fresh || b.from != ""):
		return nil, "", usagef("run: %s takes no checkpoints, so --fresh and --from mean nothing to it; say settings.checkpoint: {}", j.file)
	case j.Graph.Settings.Checkpoint == nil:
		return nil, "", nil
	}
	place, err := placeOf(j, dir)
	if err != nil {
		return nil, "", err
	}
	log, err := controller.OpenCheckpoints(j.machine, place, os.LookupEnv)
	if err != nil {
		return nil, "", err
	}
	begin := controller.Begin{Fresh: b.fresh, Drop: b.drop, Clock: j.machine.Clock}
	if b.from != "" {
		if begin.From, err = chosen(ctx, j, log, b.from); err != nil {
			return nil, "", fmt.Errorf("--from: %w", err)
		}
	}
	return controller.NewRecovery(log, j.Graph, complete, begin), place, nil
}

// chosen finds the checkpoint that --from names. What does not exist is a wrong flag.
func chosen(ctx context.Context, j *localJob, log *checkpoint.Log, name string) (c *checkpoint.Checkpoint, err error) {
	if id, nerr := strconv.ParseUint(name, 10, 64); nerr == nil {
		c, err = log.Load(ctx, id)
		return c, err
	}
	place, err := absolutePlace(name)
	if err != nil {
		return nil, err
	}
	return controller.FindCheckpoint(ctx, j.machine, place, os.LookupEnv)
}

// orElse adds, to why a run could not go on from its checkpoint, from where else it could.
func orElse(err error, file string, from controller.Origin) error {
	if errors.Is(err, fault.ErrCorrupt) || from.From != nil && errors.Is(err, fault.ErrUser) {
		return fmt.Errorf("%w\n  to begin from nothing say --fresh, and from another checkpoint --from: tidemark checkpoint list %s shows which there are", err, file)
	}
	return err
}

// describeRecovery prints where checkpoints go and what follows a failure.
func describeRecovery(w io.Writer, g *job.Graph, place string) {
	c, r := g.Settings.Checkpoint, g.Settings.Restart
	fmt.Fprintf(w, "checkpoints: every %s to %s, of which the last %d stay\n", job.FormatDuration(c.Interval), short(place), c.Retain)
	if r.Attempts > 0 {
		fmt.Fprintf(w, "  after a failure that may pass: again in %s, later in up to %s, at most %s\n", job.FormatDuration(r.Initial), job.FormatDuration(r.Max), count(int64(r.Attempts), "time"))
	}
	for i := range g.Sinks {
		if s := &g.Sinks[i]; s.Stdout {
			fmt.Fprintf(w, "  sink %s: standard output takes nothing back, so after a restart rows since the last checkpoint come again\n", s.ID)
		}
	}
	fmt.Fprintln(w)
}

// describeOrigin prints what a run goes on from.
func describeOrigin(w io.Writer, o controller.Origin) {
	for _, text := range o.Warnings {
		fmt.Fprintf(w, "tidemark: warning: a checkpoint is damaged, the one before is taken: %s\n", text)
	}
	if o.From == nil {
		return
	}
	m := &o.From.Meta
	fmt.Fprintf(w, "restored: %s\n", checkpointText(m))
	for _, s := range m.Summary {
		fmt.Fprintf(w, "  %s: %s\n", s.Key, s.Value)
	}
	for _, ch := range o.Changes {
		text := strings.TrimSpace(ch.Kind + " " + ch.ID)
		switch ch.Verdict {
		case job.Same:
		case job.Compatible:
			fmt.Fprintf(w, "  changed: %s: %s\n", text, strings.Join(ch.Differences, "; "))
		case job.Added:
			fmt.Fprintf(w, "  new: %s\n", text)
		default:
			fmt.Fprintf(w, "  state given up: %s\n", text)
		}
	}
	fmt.Fprintln(w)
}

// checkpointText names a checkpoint for people: checkpoint 12 of 14:03:22.
func checkpointText(m *checkpoint.Meta) string {
	what := "checkpoint"
	if m.Kind == checkpoint.Savepoint {
		what = "savepoint"
	}
	return fmt.Sprintf("%s %d of %s", what, m.ID, time.UnixMilli(int64(m.Taken)).Local().Format("2006-01-02 15:04:05"))
}

// writeTally prints what became of the checkpoints of a run.
func writeTally(w io.Writer, t *controller.Tally) {
	text := fmt.Sprintf("checkpoints: %s completed, %s failed", thousands(t.Completed), thousands(t.Failed))
	if t.Last > 0 {
		text += fmt.Sprintf("; the last one, %d, took %s for %s", t.Last, t.Took.Round(time.Microsecond), count(t.Bytes, "byte"))
	}
	if t.Restarts > 0 {
		text += fmt.Sprintf("; started again %s", count(t.Restarts, "time"))
	}
	fmt.Fprintln(w, text)
	if t.Failed > 0 {
		fmt.Fprintf(w, "  the last one that failed: %s\n", t.Why)
	}
}
