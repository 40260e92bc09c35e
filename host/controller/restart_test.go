package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

// policy waits 1 s, 3 s, 9 s, 10 s, at most five times.
var policy = job.Restart{Attempts: 5, Initial: time.Second, Factor: 3, Max: 10 * time.Second, ResetAfter: time.Minute}

var errDisk = fault.Externalf("no space left")

func TestWhichFailedRunIsFollowedByAnother(t *testing.T) {
	for _, row := range []struct {
		name   string
		health Health
		err    error
		ran    time.Duration
		wait   time.Duration // 0: none follows
		next   Health
	}{
		{"the first failure", Health{}, errDisk, 5 * time.Second, time.Second, Health{1, true}},
		{"the second one waits longer", Health{1, true}, errDisk, 5 * time.Second, 3 * time.Second, Health{2, true}},
		{"the third one again", Health{2, true}, errDisk, 5 * time.Second, 9 * time.Second, Health{3, true}},
		{"no wait is longer than max", Health{3, true}, errDisk, 5 * time.Second, 10 * time.Second, Health{4, true}},
		{"nor after it", Health{4, true}, errDisk, 5 * time.Second, 10 * time.Second, Health{5, true}},
		{"after so many attempts it has failed", Health{5, true}, errDisk, 5 * time.Second, 0, Health{5, true}},
		{"just too short a time of health", Health{5, true}, errDisk, time.Minute - 1, 0, Health{5, true}},
		{"a time of health is a new beginning", Health{5, true}, errDisk, time.Minute, time.Second, Health{1, true}},
		{"a first start that fails is told", Health{}, errDisk, 0, 0, Health{}},
		{"a later one that does not come up is tried again", Health{1, true}, errDisk, 0, 3 * time.Second, Health{2, true}},
		{"a record that a function refuses comes again", Health{}, fault.Userf("refused"), 5 * time.Second, 0, Health{0, true}},
		{"a plug-in that trapped does so again", Health{}, fault.As(fault.ErrGuest, errors.New("trap")), 5 * time.Second, 0, Health{0, true}},
		{"a quota stays what it is", Health{}, fault.Quotaf("too much"), 5 * time.Second, 0, Health{0, true}},
		{"damaged bytes stay damaged", Health{}, fault.Corruptf("checksum"), 5 * time.Second, 0, Health{0, true}},
		{"someone else has taken the job over", Health{}, fault.Conflictf("fenced"), 5 * time.Second, 0, Health{0, true}},
		{"damage found by way of a disk", Health{}, fault.As(fault.ErrExternal, fault.Corruptf("checksum")), 5 * time.Second, 0, Health{0, true}},
		{"a bug of ours", Health{}, errors.New("?"), 5 * time.Second, 0, Health{0, true}},
		{"a cause is found through what is said of it", Health{}, fmt.Errorf("sink out: %w", errDisk), 5 * time.Second, time.Second, Health{1, true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			next, wait, again := row.health.Next(policy, row.err, row.ran)
			if next != row.next || wait != row.wait || again != (row.wait > 0) {
				t.Errorf("%+v, %s, %t; want %+v, %s", next, wait, again, row.next, row.wait)
			}
		})
	}
	if next, wait, again := (Health{Known: true}).Next(job.Restart{}, errDisk, time.Hour); again || wait != 0 || next.Failed != 0 {
		t.Errorf("without a policy: %+v, %s, %t", next, wait, again)
	}
	far := job.Restart{Attempts: 1 << 20, Initial: time.Hour, Factor: 100, Max: 24 * time.Hour, ResetAfter: time.Minute}
	if _, wait, _ := (Health{1 << 19, true}).Next(far, errDisk, time.Second); wait != far.Max {
		t.Errorf("after many attempts: %s", wait)
	}
}

// A script is what becomes of one run after another: for how long each runs, 0 if it does
// not come up, and its error.
type script []struct {
	ran time.Duration
	err error
}

// known: the first run goes on from a checkpoint, which a time below 0 stands for.
func (s script) known() bool { return s[0].ran < 0 }

// play runs a script to its end and tells the states on the way. Of a job that is started
// more often than that it fails the test.
func play(ctx context.Context, t *testing.T, clock *sim.Clock, policy job.Restart, life *Life, s script) (runs int, err error) {
	t.Helper()
	if _, err := life.On(Start); err != nil {
		t.Fatal(err)
	}
	_, err = repeat(ctx, clock, policy, func() bool { return s.known() }, life, func(ctx context.Context, up func()) (engine.Report, error) {
		if runs == len(s) {
			t.Fatal("it was started once too often")
		}
		run := s[runs]
		runs++
		if run.ran > 0 {
			up()
			_ = clock.Sleep(ctx, run.ran)
		}
		return engine.Report{}, run.err
	})
	return runs, err
}

func TestARunIsRepeated(t *testing.T) {
	for _, row := range []struct {
		name   string
		script script
		states string
		took   time.Duration // all of it, waits included
		err    error
	}{
		{"it ends", script{{time.Second, nil}}, "starting running finished", time.Second, nil},
		{"a disk is full for a while", script{{time.Second, errDisk}, {0, errDisk}, {2 * time.Second, nil}},
			"starting running restarting starting restarting starting running finished", (1 + 1 + 3 + 2) * time.Second, nil},
		{"a disk stays full", script{{time.Second, errDisk}, {0, errDisk}, {0, errDisk}, {0, errDisk}, {0, errDisk}, {0, errDisk}},
			"starting running restarting starting restarting starting restarting starting restarting starting restarting starting failed", (1 + 1 + 3 + 9 + 10 + 10) * time.Second, errDisk},
		{"a wrong path", script{{0, errDisk}}, "starting failed", 0, errDisk},
		{"it goes on from another process, and a disk is full", script{{-1, errDisk}, {time.Second, nil}}, "starting restarting starting running finished", 2 * time.Second, nil},
		{"another reason the second time", script{{time.Second, errDisk}, {time.Second, fault.Userf("refused")}},
			"starting running restarting starting running failed", 3 * time.Second, fault.ErrUser},
	} {
		t.Run(row.name, func(t *testing.T) {
			begin := time.UnixMilli(0)
			clock := sim.NewClock(begin)
			var states []string
			life := NewLife(func(ch Change) { states = append(states, string(ch.State)) })
			runs, err := play(t.Context(), t, clock, policy, life, row.script)
			if got := strings.Join(states, " "); got != row.states || runs != len(row.script) || !errors.Is(err, row.err) {
				t.Errorf("%d runs, %v: %s; want %s", runs, err, got, row.states)
			}
			if took := clock.Now().Sub(begin); took != row.took {
				t.Errorf("took %s, want %s", took, row.took)
			}
		})
	}
}

// What the owner is told while a job waits says why, and when it goes on.
func TestAWaitIsTold(t *testing.T) {
	var told []string
	life := NewLife(func(ch Change) {
		if ch.State == Restarting {
			told = append(told, ch.WhyAgain())
		}
	})
	_, err := play(t.Context(), t, sim.NewClock(time.UnixMilli(0)), policy, life, script{{1, errDisk}, {1, errDisk}, {1, nil}})
	want := []string{
		"no space left; starts again from the last checkpoint in 1s, for the 1. time of at most 5",
		"no space left; starts again from the last checkpoint in 3s, for the 2. time of at most 5",
	}
	if err != nil || !slices.Equal(told, want) {
		t.Errorf("%v: %q", err, told)
	}
}

// A stop during the wait ends it, be it that of the job's owner or that of the process.
func TestAStopEndsTheWait(t *testing.T) {
	owner := errors.New("interrupted")
	for _, row := range []struct {
		name  string
		end   func(*Life, context.CancelCauseFunc) // called when the job waits
		state State
		err   error
	}{
		{"a signal", func(_ *Life, cancel context.CancelCauseFunc) { cancel(owner) }, Stopped, owner},
		{"the owner", func(l *Life, cancel context.CancelCauseFunc) {
			if do, err := l.On(Stop); do != Cancel || err != nil {
				t.Errorf("a stop gives %q, %v", do, err)
			}
			cancel(nil)
		}, Stopped, context.Canceled},
		{"the owner, as the wait ends", func(l *Life, cancel context.CancelCauseFunc) {
			_, _ = l.On(Stop)
			go cancel(nil) // before or after the job looks whether it may go on
		}, Stopped, context.Canceled},
		{"the host", func(_ *Life, cancel context.CancelCauseFunc) { cancel(errHostEnds) }, Interrupted, errHostEnds},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			clock := &stoppedWhileWaiting{Clock: sim.NewClock(time.UnixMilli(0))}
			life := NewLife(nil)
			clock.wait = func() { row.end(life, cancel) }
			if _, err := life.On(Start); err != nil {
				t.Fatal(err)
			}
			_, err := repeat(ctx, clock, policy, func() bool { return false }, life, func(_ context.Context, up func()) (engine.Report, error) {
				up()
				return engine.Report{}, errDisk
			})
			if life.State() != row.state || !errors.Is(err, row.err) {
				t.Errorf("%s, %v; want %s, %v", life.State(), err, row.state, row.err)
			}
		})
	}
}

// stoppedWhileWaiting is a clock during whose first wait something happens.
type stoppedWhileWaiting struct {
	*sim.Clock
	wait func()
}

func (c *stoppedWhileWaiting) Sleep(ctx context.Context, d time.Duration) error {
	c.wait()
	return c.Clock.Sleep(ctx, d)
}
