package naive_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/naive"
	"tidemark/spec"
)

// generated is how many scenarios the tests look at.
const generated = 5000

// A tally says of a group of scenarios how many there are and how many of them
// produce what.
type tally struct{ scenarios, out, late, dropped, events, state, refused int }

// groups names what a scenario stands for.
func groups(s *spec.Scenario) []string {
	j := &s.Job
	names := []string{"all", "kind " + j.Kind}
	if j.Window == nil || j.Kind == spec.KindAssign {
		return names
	}
	window := "windows " + j.Window.Type
	if j.Window.Time == "processing" {
		window += " on the clock"
	}
	names = append(names, window)
	for t := j.Trigger; t != nil; t = t.Inner {
		names = append(names, "trigger "+t.Type)
	}
	if j.Trigger == nil {
		names = append(names, "trigger by default")
	}
	if j.Evictor != nil {
		names = append(names, fmt.Sprintf("evictor %s after=%t", j.Evictor.Type, j.Evictor.After))
	}
	if j.Function != "" {
		names = append(names, "function "+j.Function)
	}
	if j.AllowedLatenessMS > 0 {
		names = append(names, "with lateness")
	}
	if j.InputCount() > 1 {
		names = append(names, "with several inputs")
	}
	if !j.IsKeyed() {
		names = append(names, "over all keys")
	}
	return names
}

func (t *tally) add(s *spec.Scenario) {
	tick := func(n *int, is func(e *spec.Entry) bool) {
		for i := range s.Expect {
			if is(&s.Expect[i]) {
				*n++
				return
			}
		}
	}
	t.scenarios++
	tick(&t.out, func(e *spec.Entry) bool {
		return len(e.Out)+len(e.Windows)+len(e.Merged)+len(e.Waiting)+len(e.Paused) > 0
	})
	tick(&t.late, func(e *spec.Entry) bool { return len(e.Late) > 0 })
	tick(&t.dropped, func(e *spec.Entry) bool { return e.Dropped > 0 })
	tick(&t.events, func(e *spec.Entry) bool { return len(e.Events) > 0 })
	tick(&t.state, func(e *spec.Entry) bool {
		return e.State != nil && len(e.State.Panes)+len(e.State.Left)+len(e.State.Right) > 0
	})
	tick(&t.refused, func(e *spec.Entry) bool { return e.Error != "" })
}

func TestGenerate(t *testing.T) {
	tallies := map[string]*tally{}
	for seed := range uint64(generated) {
		s := naive.Generate(seed)
		if d := spec.Diff(&s, naive.Evaluate(&s)); d != "" {
			t.Fatalf("seed %d evaluates to two results: %s", seed, d)
		}
		restored := spec.WithRestoreAfterEveryStep(s)
		if d := spec.Diff(&restored, naive.Evaluate(&restored)); d != "" {
			t.Fatalf("seed %d with restores: %s", seed, d)
		}
		for _, name := range groups(&s) {
			if tallies[name] == nil {
				tallies[name] = &tally{}
			}
			tallies[name].add(&s)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		t.Logf("%-42s %+v", name, *tallies[name])
	}
	for name, want := range least {
		got := tallies[name]
		if got == nil {
			t.Errorf("%s: none at all", name)
			continue
		}
		for _, c := range []struct {
			what       string
			got, share int // least percent of the group
		}{
			{"produce rows", got.out, want.out}, {"have late records", got.late, want.late}, {"drop records", got.dropped, want.dropped},
			{"send watermarks", got.events, want.events}, {"show state", got.state, want.state}, {"end in an error", got.refused, want.refused},
		} {
			if c.got*100 < c.share*got.scenarios {
				t.Errorf("%s: %d of %d %s, want %d %%", name, c.got, got.scenarios, c.what, c.share)
			}
		}
		if got.scenarios < want.scenarios {
			t.Errorf("%s: %d scenarios, want %d", name, got.scenarios, want.scenarios)
		}
	}
}

// least is what keeps the generator from growing vacuous: how many scenarios of each
// group there are among all at least, and in percent of the group how many produce
// what. The groups of a trigger that never fires and of windows that are never late
// say so by their zeros.
var least = map[string]tally{
	"all": {scenarios: generated, out: 60, late: 8, dropped: 5, events: 70, state: 30, refused: 2},

	"kind window":          {scenarios: 2500, out: 70, late: 12, dropped: 6, state: 40, refused: 2},
	"kind cogroup":         {scenarios: 200, out: 60, dropped: 10, state: 40, refused: 2},
	"kind window_join":     {scenarios: 200, out: 35, dropped: 10, state: 35, refused: 2},
	"kind interval_join":   {scenarios: 300, out: 60, late: 25, state: 50, refused: 3},
	"kind generator":       {scenarios: 200, events: 85, refused: 3},
	"kind combiner":        {scenarios: 300, events: 90},
	"kind alignment":       {scenarios: 100, out: 70},
	"kind split_alignment": {scenarios: 60, out: 80},
	"kind assign":          {scenarios: 60, out: 90, refused: 3},
	"kind merge":           {scenarios: 30, out: 80},

	"windows tumbling":                     {scenarios: 500, out: 65, late: 18, dropped: 10, state: 30},
	"windows tumbling on the clock":        {scenarios: 100, out: 65, state: 30},
	"windows sliding":                      {scenarios: 500, out: 60, late: 12, dropped: 8, state: 30},
	"windows sliding on the clock":         {scenarios: 60, out: 45, state: 25},
	"windows session":                      {scenarios: 500, out: 65, late: 12, dropped: 8, state: 35},
	"windows session on the clock":         {scenarios: 100, out: 55, state: 35},
	"windows dynamic_session":              {scenarios: 150, out: 60, late: 8, dropped: 6, state: 35},
	"windows dynamic_session on the clock": {scenarios: 30, out: 40, state: 25},
	"windows day":                          {scenarios: 80, out: 55, late: 12, dropped: 6, state: 25},
	"windows global":                       {scenarios: 200, out: 60, state: 40},
	"windows count_tumbling":               {scenarios: 80, out: 60, state: 25},
	"windows count_sliding":                {scenarios: 200, out: 70, state: 40},

	"trigger by default":                 {scenarios: 800, out: 65, late: 8, dropped: 5},
	"trigger event_time":                 {scenarios: 300, out: 65, late: 10, dropped: 6},
	"trigger processing_time":            {scenarios: 100, out: 45},
	"trigger continuous_event_time":      {scenarios: 300, out: 65, late: 8, dropped: 8},
	"trigger continuous_processing_time": {scenarios: 150, out: 50},
	"trigger count":                      {scenarios: 300, out: 55},
	"trigger delta":                      {scenarios: 90, out: 40},
	"trigger purging":                    {scenarios: 600, out: 60},
	"trigger processing_timeout":         {scenarios: 150, out: 70},
	"trigger count_or_timeout":           {scenarios: 250, out: 70, late: 8, dropped: 6},
	"trigger end_of_stream":              {scenarios: 80, out: 50},
	"trigger never":                      {scenarios: 20},

	"evictor count after=false": {scenarios: 60, out: 60}, "evictor count after=true": {scenarios: 40, out: 60},
	"evictor time after=false": {scenarios: 60, out: 55}, "evictor time after=true": {scenarios: 40, out: 55},
	"evictor delta after=false": {scenarios: 60, out: 50}, "evictor delta after=true": {scenarios: 40, out: 55},

	"function count": {scenarios: 200, out: 65}, "function sum": {scenarios: 300, out: 65}, "function min": {scenarios: 150, out: 65},
	"function max": {scenarios: 150, out: 65}, "function avg": {scenarios: 150, out: 65}, "function list": {scenarios: 300, out: 65},
	"function sorted_list": {scenarios: 150, out: 65}, "function context": {scenarios: 200, out: 60},

	"with lateness":       {scenarios: 1500, out: 65, late: 7, dropped: 5},
	"with several inputs": {scenarios: 900, out: 55},
	"over all keys":       {scenarios: 120, out: 65, dropped: 12},
}

// TestGenerateReachesFiringsOfLateRecords counts what a tally does not see: records
// that are late but allowed fire their window again (S43), sessions grow by merging
// (S45), and one step fires several windows.
func TestGenerateReachesFiringsOfLateRecords(t *testing.T) {
	var again, merged, several int
	for seed := range uint64(generated) {
		s := naive.Generate(seed)
		if s.Job.Kind != spec.KindWindow || s.Job.Trigger != nil || s.Job.Window.Time == "processing" {
			continue
		}
		var isAgain, isMerged, isSeveral bool
		for _, e := range s.Expect {
			if e.AfterStep == spec.ConfigStep {
				continue
			}
			windows := map[spec.Span]bool{}
			for _, row := range e.Out {
				windows[row.Window] = true
				isAgain = isAgain || s.Steps[e.AfterStep].Record != nil && !row.Window.None
				isMerged = isMerged || s.Job.Window.Type == "session" && row.Window.End-row.Window.Start > s.Job.Window.GapMS
			}
			isSeveral = isSeveral || len(windows) > 1
		}
		again, merged, several = again+count(isAgain), merged+count(isMerged), several+count(isSeveral)
	}
	t.Logf("late records fire again in %d scenarios, merged sessions fire in %d, several windows at once in %d", again, merged, several)
	if again < 80 || merged < 80 || several < 150 {
		t.Error("want 80, 80 and 150 at least")
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestGenerateIsAFunctionOfTheSeed also shows that a scenario survives its JSON, in
// which failures are reported.
func TestGenerateIsAFunctionOfTheSeed(t *testing.T) {
	for seed := range uint64(500) {
		first, second := text(t, naive.Generate(seed)), text(t, naive.Generate(seed))
		if first != second {
			t.Fatalf("seed %d gives two scenarios:\n%s\n%s", seed, first, second)
		}
		back, err := spec.Read(strings.NewReader("[" + first + "]"))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, first)
		}
		if again := text(t, back[0]); again != first {
			t.Fatalf("seed %d reads back as\n%s\nwant\n%s", seed, again, first)
		}
	}
}

func text(t *testing.T, s spec.Scenario) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
