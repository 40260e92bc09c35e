package job

import (
	"slices"
	"time"
)

// Disable turns a plug-in of a step off that keeps failing: after so many failures within
// a time of events, counted for each key group, or for each file where a plug-in takes
// single records. Until then, and for what would need it from then on, the step does what
// dead_letter says.
type Disable struct {
	Failures int
	Within   time.Duration
}

// maxFailures bounds how many failures may have to come: their times are kept, for each
// plug-in and key group.
const maxFailures = 10_000

// disablePlugin is the word of the job file.
const disablePlugin = "disable_plugin"

// Plugins are the plug-ins that a step calls: for a record, for a firing of a window, and
// to ask when there is one.
func (s *Step) Plugins() (adds, fires []string, trigger string) {
	for _, a := range s.Aggregates {
		if a.Plugin != "" && !slices.Contains(adds, a.Plugin) {
			adds = append(adds, a.Plugin)
		}
	}
	fires = slices.Clone(adds)
	if s.Process != nil {
		fires = append(fires, s.Process.Plugin)
	}
	if s.Apply != nil {
		fires = append(fires, s.Apply.Plugin)
	}
	if s.Map != nil {
		adds = append(adds, s.Map.Plugin)
	}
	if s.Window != nil && s.Window.Plugin != "" {
		adds = append(adds, s.Window.Plugin)
	}
	for t := s.Trigger; t != nil; t = t.Inner {
		if t.Kind == TriggerPlugin {
			trigger = t.Plugin
		}
	}
	return adds, fires, trigger
}

// onError reads the policy of a step, a word or
//
//	on_error: {disable_plugin: {failures: 100, within: 10m}}
func (r *reader) onError(s *stepSpec, o *object) {
	const say = "say {disable_plugin: {failures: 100, within: 10m}}"
	n := o.n.find("on_error")
	if n == nil || n.kind != mappingNode {
		if n != nil && n.text == disablePlugin {
			o.get("on_error")
			r.report(n.at, "%s: %s needs to know after how many failures, and within which time; %s", o.sub("on_error"), disablePlugin, say)
			s.OnError = DeadLetter
			return
		}
		s.OnError, _ = scalar(o, "on_error", choice(failStep, DeadLetter))
		return
	}
	s.OnError = DeadLetter
	c := o.child("on_error")
	c.need(disablePlugin, say)
	if d := c.child(disablePlugin); d.n != nil {
		d.need("failures", "say after how many failures, such as 100")
		d.need("within", "say within which time of events, such as 10m")
		s.Disable = &Disable{}
		s.Disable.Failures, _ = scalar(d, "failures", integer(1, maxFailures))
		s.Disable.Within, _ = scalar(d, "within", duration(durationRule{}))
		d.close()
	}
	c.close()
	r.lintDisable(s, n)
}

// lintDisable: there is a plug-in to disable, and its failures can be counted.
func (r *reader) lintDisable(s *stepSpec, n *node) {
	path := "steps." + s.ID + ".on_error"
	has := func(key string) bool { return s.o.n.find(key) != nil }
	adds, fires, trigger := s.Plugins()
	switch {
	case s.Disable == nil:
	case len(adds)+len(fires) == 0 && trigger == "" && !s.asksPlugins() &&
		!(has("map") && s.Map == nil || has("apply") && s.Apply == nil || has("process") && s.Process == nil || has("trigger") && s.Trigger == nil):
		r.report(n.at, "%s: there is no plug-in to disable in the step; say dead_letter", path)
	case has("map"):
		for _, from := range s.From {
			if by := r.tasksBehind(from); by != "" {
				r.report(n.at, "%s: what a map is shown of step %s comes from tasks whose number may change, so that nobody can say after which failures it is disabled; say dead_letter", path, by)
				return
			}
		}
	}
}

// asksPlugins reports whether an aggregate names a plug-in, known or not.
func (s *stepSpec) asksPlugins() bool {
	aggs := s.o.n.find("aggregates")
	return aggs != nil && slices.ContainsFunc(aggs.entries, func(e entry) bool { return e.value.find("plugin") != nil })
}

// tasksBehind returns the step with tasks of its own that the records of an operator come
// from; empty if they come from sources alone.
func (r *reader) tasksBehind(id string) string {
	s := r.stepOf(id)
	switch {
	case s == nil:
		return ""
	case s.Join != nil || s.Window != nil:
		return id
	}
	for _, from := range s.From {
		if by := r.tasksBehind(from); by != "" {
			return by
		}
	}
	return ""
}
