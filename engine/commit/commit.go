// Package commit decides what becomes of the epochs of a job (K7). It is pure: it is told
// what checkpoints and sinks say, and says what is to be done.
//
// An epoch goes this way:
//
//	prepare    every sink makes its rows durable, and nobody sees them
//	write      the checkpoint is written, and at last its manifest
//	decide     of a job with a transactional sink: its transaction is committed
//	commit     the other sinks show their rows
//
// The decision is the manifest. A transactional sink cannot show later what it has
// prepared (a transaction ends when its process does), so that where there is one, it is
// the last resource: its transaction carries the number of the epoch, and is the decision.
// That can hold for one sink of a job only.
package commit

import (
	"strings"

	"tidemark/internal/fault"
)

// Plan says who decides about the epochs of a job, and in which order its sinks commit.
type Plan struct {
	// Decider is the id of the sink whose transaction decides; "" the manifest does.
	Decider string
	// Commit are the indices of all sinks, in the order in which they commit after the
	// manifest is there. The decider comes first: when it fails, no other may commit.
	Commit []int
}

// Sink is a sink of a job, as far as a plan must know it.
type Sink struct {
	ID            string
	Transactional bool // its rows are seen when a transaction ends that cannot outlive the process
}

// NewPlan makes the plan of a job. A second transactional sink is an error of class
// fault.ErrUser.
func NewPlan(sinks []Sink) (Plan, error) {
	var p Plan
	var deciders []string
	for i, s := range sinks {
		if s.Transactional {
			deciders = append(deciders, s.ID)
			p.Commit = append([]int{i}, p.Commit...)
		} else {
			p.Commit = append(p.Commit, i)
		}
	}
	if len(deciders) > 1 {
		return Plan{}, fault.Userf("sinks %s are transactional, and a job can have one such sink: two transactions cannot be committed as one; let the others write at least once, or make a job for each", strings.Join(deciders, " and "))
	}
	if len(deciders) == 1 {
		p.Decider = deciders[0]
	}
	return p, nil
}

// Stage is a part of the way of an epoch.
type Stage int

// The stages, in order.
const (
	Prepare Stage = iota
	Write
	Decide
	Commit
)

// Verdict is what a job does after an error.
type Verdict int

const (
	// GoOn: the epoch fails, and its rows go with the next one.
	GoOn Verdict = iota
	// Restart: the job starts again. It finds out then what was decided.
	Restart
)

// Failed decides what an error at a stage means for the job. The checkpoint may well be
// there although writing it has failed, if only the answer was lost. That does no harm:
// nothing is undone while the job runs, and a start that finds the manifest commits what
// it names. Everywhere else the job must not go on: a sink that cannot prepare has lost
// rows, whether a transaction was committed is known to the broker alone, and an epoch
// that is decided has to be shown before the next.
func Failed(at Stage) Verdict {
	if at == Write {
		return GoOn
	}
	return Restart
}
