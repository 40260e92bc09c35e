package watermark

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"tidemark/engine/stream"
)

// scenario is what of the schema in spec/README.md concerns generators and combiners.
type scenario struct {
	ID  string
	Job struct {
		Kind      string
		Combiner  string
		Inputs    int
		Generator struct {
			Type    string
			BoundMS stream.Time  `json:"bound_ms"`
			IdleMS  *stream.Time `json:"idle_timeout_ms"`
		}
	}
	Steps []struct {
		Record     *struct{ TS stream.Time }
		Watermark  *stream.Time
		Idle       *bool
		Input      *int
		Periodic   *stream.Time
		EndOfInput bool `json:"end_of_input"`
	}
	Expect []struct {
		AfterStep int `json:"after_step"`
		Events    []event
		Error     string
	}
}

type event struct {
	Watermark *stream.Time
	Status    string
}

func (e event) String() string {
	if e.Watermark != nil {
		return fmt.Sprintf("watermark %d", *e.Watermark)
	}
	return "status " + e.Status
}

func events(c Change) []event {
	var out []event
	wm := c.Watermark
	if c.Status == BecameActive {
		out = append(out, event{Status: "active"})
	}
	if c.Advanced {
		out = append(out, event{Watermark: &wm})
	}
	if c.Status == BecameIdle {
		out = append(out, event{Status: "idle"})
	}
	return out
}

func scenarios(t *testing.T, kind string) []scenario {
	b, err := os.ReadFile("../../spec/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(s scenario) bool { return s.Job.Kind != kind })
	if len(all) == 0 {
		t.Fatalf("no scenario of kind %s", kind)
	}
	return all
}

func (s *scenario) want(step int) []string {
	var out []string
	for _, e := range s.Expect {
		if e.AfterStep == step {
			for _, ev := range e.Events {
				out = append(out, ev.String())
			}
		}
	}
	return out
}

func check(t *testing.T, s *scenario, step int, got []event) {
	t.Helper()
	var texts []string
	for _, e := range got {
		texts = append(texts, e.String())
	}
	if !slices.Equal(texts, s.want(step)) {
		t.Errorf("step %d: got %q, want %q", step, texts, s.want(step))
	}
}

func TestCombinersFollowThePublishedScenarios(t *testing.T) {
	type combiner interface {
		Watermark(int, stream.Time) Change
		SetIdle(int, bool) Change
	}
	for _, s := range scenarios(t, "combiner") {
		t.Run(s.ID, func(t *testing.T) {
			var c combiner
			if s.Job.Combiner == "valve" {
				c = NewValve(s.Job.Inputs)
			} else {
				c = NewMin(s.Job.Inputs)
			}
			for i, step := range s.Steps {
				inputs := []int{}
				if step.Input != nil {
					inputs = append(inputs, *step.Input)
				} else {
					for n := range s.Job.Inputs {
						inputs = append(inputs, n)
					}
				}
				var got []event
				for _, in := range inputs {
					switch {
					case step.Watermark != nil:
						got = append(got, events(c.Watermark(in, *step.Watermark))...)
					case step.Idle != nil:
						got = append(got, events(c.SetIdle(in, *step.Idle))...)
					case step.EndOfInput:
						got = append(got, events(c.SetIdle(in, false))...)
						got = append(got, events(c.Watermark(in, stream.MaxTime))...)
					default:
						t.Fatalf("step %d is of no kind this test knows", i)
					}
				}
				check(t, &s, i, got)
			}
		})
	}
}

func TestGeneratorsFollowThePublishedScenarios(t *testing.T) {
	for _, s := range scenarios(t, "generator") {
		t.Run(s.ID, func(t *testing.T) {
			g := s.Job.Generator
			if g.BoundMS < 0 || g.IdleMS != nil && *g.IdleMS <= 0 {
				if len(s.Expect) != 1 || s.Expect[0].Error != "invalid_config" {
					t.Fatalf("the scenario expects %v", s.Expect)
				}
				return // refused when the job is loaded
			}
			b, out := NewBounded(g.BoundMS), NewOutput()
			var idle *Idleness
			if g.IdleMS != nil {
				idle = &Idleness{Timeout: *g.IdleMS}
			}
			for i, step := range s.Steps {
				var got []event
				switch {
				case step.Record != nil:
					b.Event(step.Record.TS)
					if idle != nil {
						idle.Event()
					}
					if g.Type == "punctuated" {
						got = events(out.Emit(b.Current()))
					}
				case step.Periodic != nil:
					if idle != nil && idle.Probe(*step.Periodic) {
						got = events(out.MarkIdle())
					} else if g.Type != "punctuated" {
						got = events(out.Emit(b.Current()))
					}
				case step.EndOfInput:
					got = events(out.End())
				default:
					t.Fatalf("step %d is of no kind this test knows", i)
				}
				check(t, &s, i, got)
			}
		})
	}
}
