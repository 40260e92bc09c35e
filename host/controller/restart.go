package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Health is what the restart policy knows of a job: a value, and its decision is pure.
type Health struct {
	// Failed is how many runs have failed since the job was last well.
	Failed int
	// Known: the job has run before, in this process or another, so that files and modules
	// are most likely right. What fails at its first start is told at once: somebody waits.
	Known bool
}

// final are the classes of errors that the same input, the same module or the same bytes
// bring about again.
var final = []error{fault.ErrUser, fault.ErrGuest, fault.ErrQuota, fault.ErrCorrupt, fault.ErrConflict, fault.ErrDenied, fault.ErrUnknown}

// passes reports whether what a run failed of may be over the next time. An error without a
// class is a bug of ours, which is not.
func passes(err error) bool {
	for _, class := range final {
		if errors.Is(err, class) {
			return false
		}
	}
	return errors.Is(err, fault.ErrExternal)
}

// Next decides what follows a run that failed with err, ran being how long the engine ran; 0:
// it never came up. again says that the job is to start once more, after wait.
func (h Health) Next(p job.Restart, err error, ran time.Duration) (next Health, wait time.Duration, again bool) {
	h.Known = h.Known || ran > 0
	if ran > 0 && ran >= p.ResetAfter {
		h.Failed = 0
	}
	if !h.Known || !passes(err) || h.Failed >= p.Attempts {
		return h, 0, false
	}
	wait = p.Initial
	for range h.Failed {
		if wait = time.Duration(min(float64(wait)*p.Factor, float64(p.Max))); wait >= p.Max {
			break
		}
	}
	h.Failed++
	return h, min(wait, p.Max), true
}

// WhyAgain says, of a change to Restarting, what failed and what comes, for people.
func (ch Change) WhyAgain() string {
	return fmt.Sprintf("%v; starts again from the last checkpoint in %s, for the %d. time of at most %d", ch.Err, job.FormatDuration(ch.Wait), ch.Attempt, ch.Attempts)
}

// repeat runs a job, and again as policy says, and takes its life from Starting to its end.
// once runs it until it ends, and calls up when the engine is about to; known reports whether
// it goes on from a run of another process.
func repeat(ctx context.Context, clock env.Clock, policy job.Restart, known func() bool, life *Life, once func(ctx context.Context, up func()) (engine.Report, error)) (engine.Report, error) {
	var health Health
	for {
		var began time.Time
		report, err := once(ctx, func() {
			began = clock.Now()
			if _, err := life.On(Up); err != nil {
				panic("BUG: " + err.Error())
			}
		})
		var ran time.Duration
		if !began.IsZero() {
			ran = max(clock.Now().Sub(began), 1)
		}
		event, err := ending(ctx, err)
		if event == Fail {
			var wait time.Duration
			var again bool
			health.Known = health.Known || known()
			if health, wait, again = health.Next(policy, err, ran); again {
				change := Change{Report: report, Err: err, Wait: wait, Attempt: health.Failed, Attempts: policy.Attempts}
				if _, lerr := life.on(Retry, change); lerr == nil { // else someone has asked it to stop
					if clock.Sleep(ctx, wait) == nil {
						if _, lerr := life.On(Again); lerr == nil {
							continue
						}
						<-ctx.Done() // someone has asked it to stop, and is about to end ctx
					}
					event, err = ending(ctx, ctx.Err())
				}
			}
		}
		if _, lerr := life.on(event, Change{Report: report, Err: err}); lerr != nil {
			panic("BUG: " + lerr.Error())
		}
		return report, err
	}
}

// ending says what the end of a run is to the life of its job, and why it came: of a job
// that was stopped, the cause of ctx.
func ending(ctx context.Context, err error) (Event, error) {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return Done, nil
	case !stopped(ctx, err):
		return Fail, err
	case errors.Is(cause, errHostEnds):
		return Lost, cause
	default:
		return Halt, cause
	}
}
