package controller

import (
	"errors"
	"testing"

	"tidemark/internal/fault"
)

func TestLife(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []Event
		end    State
		last   Action
	}{
		{"a bounded job that ends", []Event{Start, Up, Done}, Finished, Nothing},
		{"a plug-in that does not compile", []Event{Start, Fail}, Failed, Nothing},
		{"a guest that fails", []Event{Start, Up, Fail}, Failed, Nothing},
		{"stopped while it runs", []Event{Start, Up, Stop, Halt}, Stopped, Nothing},
		{"a stop cancels", []Event{Start, Up, Stop}, Stopping, Cancel},
		{"a second stop cancels nothing more", []Event{Start, Up, Stop, Stop}, Stopping, Nothing},
		{"stopped while it starts", []Event{Start, Stop, Halt}, Stopped, Nothing},
		{"stopped while it starts, seen too late", []Event{Start, Stop, Up, Halt}, Stopped, Nothing},
		{"stopped before it starts", []Event{Stop}, Stopped, Nothing},
		{"the input ends first", []Event{Start, Up, Stop, Done}, Finished, Nothing},
		{"it fails while it stops", []Event{Start, Up, Stop, Fail}, Failed, Nothing},
		{"the process is told to end", []Event{Start, Up, Halt}, Stopped, Nothing},
		{"a crash before the start", []Event{Lost}, Interrupted, Nothing},
		{"a crash while it runs", []Event{Start, Up, Lost}, Interrupted, Nothing},
		{"a crash while it stops", []Event{Start, Up, Stop, Lost}, Interrupted, Nothing},
		{"an outside failure is waited out", []Event{Start, Up, Retry}, Restarting, Wait},
		{"and the job launches again", []Event{Start, Up, Retry, Again}, Starting, Launch},
		{"also one that did not come up the second time", []Event{Start, Up, Retry, Again, Retry}, Restarting, Wait},
		{"it ends well in the end", []Event{Start, Up, Retry, Again, Up, Done}, Finished, Nothing},
		{"a stop ends the wait", []Event{Start, Up, Retry, Stop, Halt}, Stopped, Nothing},
		{"the end of ctx is seen before the stop", []Event{Start, Up, Retry, Halt}, Stopped, Nothing},
		{"a crash while it waits", []Event{Start, Up, Retry, Lost}, Interrupted, Nothing},
		{"another process goes on with it", []Event{Start, Up, Resume}, Created, Launch},
		{"also if it was told that it is interrupted", []Event{Start, Up, Lost, Resume}, Created, Launch},
		{"a drain ends it as its input would", []Event{Start, Up, Drain, Done}, Finished, Nothing},
		{"which the engine has to be told", []Event{Start, Up, Drain}, Draining, Flush},
		{"once", []Event{Start, Up, Drain, Drain}, Draining, Nothing},
		{"a stop ends a drain that takes too long", []Event{Start, Up, Drain, Stop}, Stopping, Cancel},
		{"the host ends while it drains", []Event{Start, Up, Drain, Lost, Resume}, Created, Launch},
		{"it fails while it drains", []Event{Start, Up, Drain, Retry, Again, Up}, Running, Nothing},
		{"a start launches", []Event{Start}, Starting, Launch},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, do := Created, Nothing
			for _, e := range c.events {
				var err error
				if s, do, err = Next(s, e); err != nil {
					t.Fatal(err)
				}
			}
			if s != c.end || do != c.last {
				t.Errorf("ends as %s with action %q, want %s with %q", s, do, c.end, c.last)
			}
		})
	}
}

func TestAJobThatStopsIsNotStartedAgain(t *testing.T) {
	if _, _, err := Next(Finished, Resume); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("one that has finished goes on: %v", err)
	}
	for _, e := range []Event{Retry, Again, Resume} {
		if to, do, err := Next(Stopping, e); !errors.Is(err, fault.ErrConflict) {
			t.Errorf("%s: (%s, %q, %v)", e, to, do, err)
		}
	}
}

func TestEveryStateAndEvent(t *testing.T) {
	events := []Event{Start, Up, Stop, Done, Fail, Retry, Again, Halt, Lost, Resume, Drain}
	for _, s := range []State{Created, Starting, Running, Restarting, Draining, Stopping, Finished, Failed, Stopped, Interrupted} {
		allowed := 0
		for _, e := range events {
			to, do, err := Next(s, e)
			if err == nil {
				allowed++
				continue
			}
			if !errors.Is(err, fault.ErrConflict) || to != s || do != Nothing {
				t.Errorf("%s, %s: refused as (%s, %q, %v); a refusal changes nothing", s, e, to, do, err)
			}
		}
		want := 0
		if s == Interrupted || s == Stopped || s == Failed {
			want = 1 // it can be resumed
		}
		if s.Ended() != (allowed == want) {
			t.Errorf("%s: Ended is %v with %d events allowed", s, s.Ended(), allowed)
		}
	}
}
