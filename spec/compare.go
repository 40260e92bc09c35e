package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Diff compares what a run of s produced with what s expects, and returns the first
// difference in words, or "". The rules are those of README.md: rows and late records
// of a step are multisets, but the firings of one window keep their order, and so do
// those of one key where the rows show when they fired; a step without an entry must
// produce nothing, except in the alignment kinds, where it is not looked at. Entries
// of got are one a step; their order does not matter.
func Diff(s *Scenario, got []Entry) string {
	byStep := map[int]*Entry{}
	for i := range got {
		e := &got[i]
		switch {
		case e.AfterStep < ConfigStep || e.AfterStep >= len(s.Steps):
			return fmt.Sprintf("step %d: there is no such step, but it produced something", e.AfterStep)
		case byStep[e.AfterStep] != nil:
			return fmt.Sprintf("step %d: two entries", e.AfterStep)
		}
		byStep[e.AfterStep] = e
	}
	expected := map[int]*Entry{}
	for i := range s.Expect {
		expected[s.Expect[i].AfterStep] = &s.Expect[i]
	}
	unlistedCount := s.Job.Kind != KindAlignment && s.Job.Kind != KindSplitAlignment
	for step := ConfigStep; step < len(s.Steps); step++ {
		want, listed := expected[step]
		if !listed && !unlistedCount {
			continue
		}
		have := byStep[step]
		if have == nil {
			have = &Entry{AfterStep: step}
		}
		if !listed {
			want = &Entry{AfterStep: step}
		}
		if d := diffEntry(s, want, have); d != "" {
			return fmt.Sprintf("step %d%s: %s", step, describe(s, step), d)
		}
	}
	return ""
}

// describe shows the step, so that a difference can be read without the file.
func describe(s *Scenario, step int) string {
	if step < 0 {
		return " (configuration)"
	}
	return " " + text(s.Steps[step])
}

// diffEntry compares one step.
func diffEntry(s *Scenario, want, got *Entry) string {
	alignment := s.Job.Kind == KindAlignment || s.Job.Kind == KindSplitAlignment
	for _, f := range []struct {
		field string
		diff  string
	}{
		{"error", diffOne(orNone(want.Error), orNone(got.Error))},
		{"out", diffBag(texts(want.Out), texts(got.Out))},
		{"out, order of firings", diffOrder(s, want, got)},
		{"late", diffBag(texts(lateOf(s, want)), texts(lateOf(s, got)))},
		{"dropped", diffIf(s.Job.Kind != KindIntervalJoin, fmt.Sprint(want.Dropped), fmt.Sprint(got.Dropped))},
		{"events", diffIf(showsEvents(&s.Job), strings.Join(texts(want.Events), " "), strings.Join(texts(got.Events), " "))},
		{"state", diffOne(want.State.normal(), got.State.normal())},
		{"windows", diffBag(texts(want.Windows), texts(got.Windows))},
		{"merged", diffBag(mergedTexts(want.Merged), mergedTexts(got.Merged))},
		{"waiting", diffIf(alignment && want.Waiting != nil, sorted(want.Waiting), sorted(got.Waiting))},
		{"bounds", diffIf(alignment && want.Bounds != nil, boundsText(want.Bounds), boundsText(got.Bounds))},
		{"paused", diffIf(alignment && want.Paused != nil, sorted(want.Paused), sorted(got.Paused))},
		{"reader_waits", diffIf(alignment && want.ReaderWaits != nil, text(want.ReaderWaits), text(got.ReaderWaits))},
	} {
		if f.diff != "" {
			return f.field + ": " + f.diff
		}
	}
	return ""
}

// showsEvents reports whether a job's scenarios list what goes downstream.
func showsEvents(j *Job) bool {
	return j.CheckEvents || j.Kind == KindGenerator || j.Kind == KindCombiner
}

// lateOf returns the late records of e; only interval joins tell the input.
func lateOf(s *Scenario, e *Entry) []Late {
	if s.Job.Kind == KindIntervalJoin {
		return e.Late
	}
	late := slices.Clone(e.Late)
	for i := range late {
		late[i].Input = nil
	}
	return late
}

// diffOrder compares the order of rows where the scenario defines it. Firings of one
// window of one key are always ordered. Between windows of a key the moment of firing
// decides; rows show it if they fire at their timestamp, out of a timer.
func diffOrder(s *Scenario, want, got *Entry) string {
	if s.Job.Kind == KindWindowJoin || s.Job.Kind == KindIntervalJoin {
		return "" // many rows a firing, without an order among them
	}
	if d := diffRuns(want.Out, got.Out, func(r Result) (run, item string) {
		return r.Key.String() + " " + r.Window.String(), r.Value.String()
	}); d != "" {
		return d
	}
	if want.AfterStep < 0 || s.Steps[want.AfterStep].Record != nil || !firesAtTimestamp(&s.Job) {
		return ""
	}
	return diffRuns(want.Out, got.Out, func(r Result) (run, item string) {
		return r.Key.String(), fmt.Sprint(r.TS)
	})
}

// firesAtTimestamp reports whether timers fire a window at the timestamp of its rows
// and at no other time.
func firesAtTimestamp(j *Job) bool {
	if j.Window == nil {
		return false
	}
	t := j.Trigger
	for t != nil && t.Type == "purging" {
		t = t.Inner
	}
	return t == nil || t.Type == "event_time" || t.Type == "processing_time" && j.Window.Time == "processing"
}

// diffRuns compares, for each run of rows, the sequence of their items.
func diffRuns(want, got []Result, split func(Result) (run, item string)) string {
	sequences := func(rows []Result) map[string]string {
		m := map[string]string{}
		for _, r := range rows {
			run, item := split(r)
			m[run] += " " + item
		}
		return m
	}
	w, g := sequences(want), sequences(got)
	for _, run := range slices.Sorted(maps.Keys(w)) {
		if w[run] != g[run] {
			return fmt.Sprintf("of %s want%s, got%s", run, w[run], g[run])
		}
	}
	return ""
}

// normal renders a state; one that holds nothing equals none.
func (s *State) normal() string {
	if s == nil {
		return "nothing"
	}
	n := State{Left: slices.Sorted(slices.Values(s.Left)), Right: slices.Sorted(slices.Values(s.Right))}
	panes := slices.Sorted(slices.Values(texts(s.Panes)))
	if len(panes)+len(n.Left)+len(n.Right) == 0 {
		return "nothing"
	}
	return strings.Join(panes, " ") + text(n)
}

// diffBag compares two multisets.
func diffBag(want, got []string) string {
	count := map[string]int{}
	for _, w := range want {
		count[w]++
	}
	for _, g := range got {
		count[g]--
	}
	var missing, extra []string
	for _, item := range slices.Sorted(maps.Keys(count)) {
		for n := count[item]; n > 0; n-- {
			missing = append(missing, item)
		}
		for n := count[item]; n < 0; n++ {
			extra = append(extra, item)
		}
	}
	switch {
	case missing == nil && extra == nil:
		return ""
	case missing == nil:
		return "got beyond what is wanted " + strings.Join(extra, " ")
	case extra == nil:
		return "missing " + strings.Join(missing, " ")
	}
	return "want " + strings.Join(missing, " ") + ", got " + strings.Join(extra, " ")
}

func diffOne(want, got string) string {
	if want == got {
		return ""
	}
	return "want " + orNone(want) + ", got " + orNone(got)
}

func diffIf(compared bool, want, got string) string {
	if !compared {
		return ""
	}
	return diffOne(want, got)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func sorted(names []string) string { return strings.Join(slices.Sorted(slices.Values(names)), " ") }

func mergedTexts(ms []Merged) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Into.String() + " from " + sorted(texts(m.From))
	}
	return out
}

func boundsText(m map[string]int64) string {
	var out []string
	for _, g := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s=%d", g, m[g]))
	}
	return strings.Join(out, " ")
}

// texts renders each of items as JSON.
func texts[T any](items []T) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = text(item)
	}
	return out
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: no JSON for a result: " + err.Error())
	}
	return string(b)
}
