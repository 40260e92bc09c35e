package controller

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"tidemark/engine/job"
	"tidemark/host/catalog"
	"tidemark/host/tenant"
	"tidemark/internal/fault"
)

// Continue says how a job that has ended goes on.
type Continue struct {
	YAML []byte   // a changed job file; nil: the one it has
	From uint64   // the checkpoint or savepoint to go on from; 0: the last checkpoint
	Drop []string // operators whose state is given up
}

// GoOn starts a job that was stopped, has failed or was interrupted once more, from a
// checkpoint or savepoint of its own, under its job file or a changed one. Errors: job.Problems
// for the file; ErrUser for state that would be lost; ErrConflict for a job that has not ended,
// has finished, or has no checkpoint; ErrUnknown; ErrQuota.
func (c *Controller) GoOn(ctx context.Context, id tenant.ID, name catalog.JobID, how Continue) (View, error) {
	k := jobKey{id, name}
	release, err := c.claim(ctx, k)
	if err != nil {
		return View{}, err
	}
	defer release()
	record, l, err := c.claimed(ctx, k)
	if err != nil {
		return View{}, err
	}
	if !State(record.State).Ended() {
		return View{}, fault.Conflictf("job %s is %s: it can go on when it has ended", name, record.State)
	}
	to, _, err := Next(State(record.State), Resume)
	if err != nil {
		return View{}, err
	}
	if l != nil {
		<-l.done // it has ended, so its goroutine is about to
	}
	if how.YAML == nil {
		how.YAML = record.YAML
	}
	loaded, err := c.check(ctx, k, how.YAML)
	if err != nil {
		return View{}, err
	}
	begin, err := c.beginAt(ctx, k, loaded.Graph, how)
	if err != nil {
		return View{}, err
	}
	if err := c.mayRun(ctx, id); err != nil {
		return View{}, err
	}
	v, err := stored(record)
	if err != nil {
		return View{}, err
	}
	record.Name, record.YAML, record.Outputs = loaded.Graph.Name, how.YAML, outputsText(loaded.Graph)
	record.State, record.Message, record.Ended = string(to), "", time.Time{}
	if err := c.o.Catalog.UpdateJob(ctx, record); err != nil {
		return View{}, err
	}
	if !c.launch(k, loaded, record, begin, v.Tally) {
		return View{}, fault.As(fault.ErrExternal, errHostEnds)
	}
	return c.view(ctx, record)
}

// beginAt finds where a job goes on, and checks that its state fits the job.
func (c *Controller) beginAt(ctx context.Context, k jobKey, g *job.Graph, how Continue) (Begin, error) {
	b := Begin{Drop: how.Drop, Again: true}
	if g.Settings.Checkpoint == nil {
		return b, fault.Userf("the job file says settings.checkpoint: off, so there is nothing to go on from")
	}
	var err error
	if how.From > 0 {
		b.From, err = c.log(k).Load(ctx, how.From)
	} else {
		b.From, _, err = c.log(k).Last(ctx)
	}
	if err != nil {
		return b, err
	}
	if b.From == nil {
		return b, fault.Conflictf("job %s has no checkpoint to go on from; submit it under another id", k.id)
	}
	was, err := operatorsOf(b.From)
	if err != nil {
		return b, err
	}
	_, err = job.Takeover(was, describeJob(g, false), how.Drop)
	return b, err
}

// mayRun charges one more running job.
func (c *Controller) mayRun(ctx context.Context, id tenant.ID) error {
	all, err := c.o.Catalog.Jobs(ctx, id)
	if err != nil {
		return err
	}
	running := int64(0)
	for _, j := range all {
		if slices.Contains(alive, j.State) {
			running++
		}
	}
	return tenant.Charge("running jobs", running, 1, int64(c.o.Quota.Running))
}

// outputsText is what is stored of the outputs of a graph.
func outputsText(g *job.Graph) []byte {
	text, err := json.Marshal(outputsOf(g))
	if err != nil {
		panic("BUG: outputs: " + err.Error())
	}
	return text
}
