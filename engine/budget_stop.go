package engine

import (
	"context"
	"errors"
	"fmt"
)

// A job with checkpoints that passes its state budget stops where it can go on from under a
// larger one (K8):
//
//	a task is over the limit ──> sources read nothing more
//	──> what is on its way in queues is worked on, as always ──> a last checkpoint
//	──> sinks show what it decides ──> the error
//
// The barriers of that checkpoint pass all sources, which stand still (K2). In an ordered
// replay a source can wait for room in a queue whose receiver needs another source to go on,
// and that one stands: therefore no sender waits for room any more. More state than the
// limit is what came of those queues.
//
// A job whose sources had all come to their end before may finish meanwhile, and then it has.

// stopOverBudget ends the job, with a last checkpoint, when it is over its budget. It returns
// when it has, or ctx ends, or all tasks have ended, which enough tells.
func (j *Job) stopOverBudget(ctx context.Context, enough <-chan struct{}) {
	select {
	case <-j.budget.passed:
	case <-enough:
		return
	case <-ctx.Done():
		return
	}
	j.observe(Warning{Operator: "checkpoints", Message: "the job's state is over its budget (settings.state_budget): nothing more is read, and a last one is taken"})
	for _, t := range j.keyed {
		t.inbox.Widen()
	}
	err := j.halt(ctx, j.keeper.rules.Timeout)
	if errors.Is(err, errEnded) { // so have all tasks, or the job ends for another reason
		return
	}
	j.budget.unsaved = err
	j.fail(errOverBudget)
}

// goesOn says from where a job that was over its budget can go on, and how. All its
// goroutines have ended.
func (j *Job) goesOn() string {
	k := j.keeper
	switch {
	case k.stop:
		return fmt.Sprintf(". Checkpoint %d was taken at the stop: with a larger settings.state_budget the job goes on from it, and nothing is lost or done twice", k.goesOn)
	case k.goesOn > 0:
		return fmt.Sprintf(". No checkpoint could be taken at the stop: %v. With a larger settings.state_budget the job goes on from the one before, %d", j.budget.unsaved, k.goesOn)
	}
	return fmt.Sprintf(". No checkpoint could be taken at the stop: %v. There is none before, so the job begins anew", j.budget.unsaved)
}

// stand keeps a source of an ordered replay where it is, once the job is over its budget, and
// takes part in checkpoints meanwhile. By arrival all splits are paused: see crowd.
func (t *sourceTask) stand(ctx context.Context) error {
	for t.job.budget.over() {
		t.mail.Answer()
		if err := t.takePart(ctx); err != nil {
			return err
		}
		select {
		case <-t.mail.Wake():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
