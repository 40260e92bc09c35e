package controller

import "tidemark/internal/fault"

// State is where a job is in its life. Stored and shown: never change a text.
type State string

const (
	// Created: accepted and recorded; nothing has been opened.
	Created State = "created"
	// Starting: plug-ins are being compiled and the engine is being built.
	Starting State = "starting"
	// Running: the engine's tasks run.
	Running State = "running"
	// Restarting: a run has failed for a reason that may pass, and the next one waits for
	// its time.
	Restarting State = "restarting"
	// Draining: it ends as if its input did, because someone asked for that; what was read is
	// worked on, and windows whose time had not come give rows of the kind incomplete.
	Draining State = "draining"
	// Stopping: a stop has been asked for and some task has not ended yet. A module
	// that is being compiled holds a job here.
	Stopping State = "stopping"
	// Finished: the input ended, and every row has been published.
	Finished State = "finished"
	// Failed: it ended with an error, which the job's message tells.
	Failed State = "failed"
	// Stopped: it ended because someone asked; nothing was fired.
	Stopped State = "stopped"
	// Interrupted: the host went away while it was alive.
	Interrupted State = "interrupted"
)

// Ended reports whether nothing happens any more by itself.
func (s State) Ended() bool {
	switch s {
	case Finished, Failed, Stopped, Interrupted:
		return true
	}
	return false
}

// Event is what can happen to a job.
type Event string

const (
	Start Event = "start" // its turn has come
	Up    Event = "up"    // the engine runs
	Stop  Event = "stop"  // someone asks it to end
	Drain Event = "drain" // someone asks it to end as if its input did
	Done  Event = "done"  // the engine returned without an error
	Fail  Event = "fail"  // loading or running ended with an error
	Retry Event = "retry" // likewise, and the policy has it start again
	Again Event = "again" // the wait before that is over
	Halt  Event = "halt"  // the engine returned because it was stopped
	Lost  Event = "lost"  // the host found it alive in its records when it started
	// Resume: likewise, or interrupted, and it can go on from a checkpoint; or someone has one
	// that has ended go on.
	Resume Event = "resume"
)

// Action is what the caller has to do after a transition.
type Action string

const (
	Nothing Action = ""
	Launch  Action = "launch" // load the job and start the engine
	Wait    Action = "wait"   // let the time pass that the policy says; then Again
	Flush   Action = "flush"  // have the engine drain
	Cancel  Action = "cancel" // end the context that the engine runs under
)

// transitions is the whole life. What is not listed is refused.
var transitions = map[State]map[Event]struct {
	to State
	do Action
}{
	Created:    {Start: {Starting, Launch}, Stop: {Stopped, Nothing}, Lost: {Interrupted, Nothing}, Resume: {Created, Launch}},
	Starting:   {Up: {Running, Nothing}, Fail: {Failed, Nothing}, Retry: {Restarting, Wait}, Halt: {Stopped, Nothing}, Stop: {Stopping, Cancel}, Lost: {Interrupted, Nothing}, Resume: {Created, Launch}},
	Running:    {Done: {Finished, Nothing}, Fail: {Failed, Nothing}, Retry: {Restarting, Wait}, Halt: {Stopped, Nothing}, Stop: {Stopping, Cancel}, Drain: {Draining, Flush}, Lost: {Interrupted, Nothing}, Resume: {Created, Launch}},
	Restarting: {Again: {Starting, Launch}, Halt: {Stopped, Nothing}, Stop: {Stopping, Cancel}, Lost: {Interrupted, Nothing}, Resume: {Created, Launch}},
	// One that fails while it drains goes on from its checkpoint and drains no more: whoever
	// asked is told that it was started again.
	Draining: {Done: {Finished, Nothing}, Fail: {Failed, Nothing}, Retry: {Restarting, Wait}, Halt: {Stopped, Nothing}, Stop: {Stopping, Cancel}, Drain: {Draining, Nothing}, Lost: {Interrupted, Nothing}, Resume: {Created, Launch}},
	// The end of the input may win the race against a stop: then all rows are out,
	// and that is what is said. An engine that comes up meanwhile stays in stopping.
	// A second stop changes nothing. It is not started again, whatever it fails of.
	Stopping: {Up: {Stopping, Nothing}, Done: {Finished, Nothing}, Fail: {Failed, Nothing}, Halt: {Stopped, Nothing}, Stop: {Stopping, Nothing}, Lost: {Interrupted, Nothing}},
	// Nothing happens any more by itself.
	Interrupted: {Resume: {Created, Launch}},
	Stopped:     {Resume: {Created, Launch}},
	Failed:      {Resume: {Created, Launch}},
}

// Next is the state machine: pure. An event that makes no sense in a state is an
// error of class ErrConflict, and the state stays.
func Next(s State, e Event) (State, Action, error) {
	t, ok := transitions[s][e]
	if !ok {
		return s, Nothing, fault.Conflictf("a job that is %s cannot %s", s, e)
	}
	return t.to, t.do, nil
}
