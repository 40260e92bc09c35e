package job

import (
	"fmt"
	"path/filepath"
	"slices"
)

// lint checks what holds between sections, and adds the default sinks.
func (r *reader) lint() {
	r.lintNames()
	r.lintTime()
	r.lintProcess()
	r.lintAlign()
	r.lintPeriods()
	r.lintSinks()
	r.defaultSinks()
	r.lintTargets()
	r.lintUnused()
}

// lintNames: sources, steps and sinks share one space of names, since they are
// operator ids.
func (r *reader) lintNames() {
	type user struct {
		what string
		at   place
	}
	seen := map[string]user{}
	check := func(what, name string, at place) {
		if first, ok := seen[name]; ok {
			where := first.at.set
			if where == "" {
				where = fmt.Sprintf("line %d", first.at.line)
			}
			r.report(at, "the name %s is taken by a %s in %s; sources, steps and sinks share one space of names", quote(name), first.what, where)
			return
		}
		seen[name] = user{what, at}
	}
	for _, s := range r.sources {
		check("source", s.ID, s.at)
	}
	for _, s := range r.steps {
		check("step", s.ID, s.at)
	}
	for _, s := range r.sinks {
		check("sink", s.ID, s.at)
	}
}

// lintTime: what waits for event time or for the end of the input gets it.
func (r *reader) lintTime() {
	for _, s := range r.steps {
		timeless := r.upstream(s, func(src *sourceSpec) bool { return src.Watermark.Kind == NoWatermark })
		if timeless != nil {
			none := fmt.Sprintf("source %s has watermark: none, so event time never moves", timeless.ID)
			switch {
			case s.Join != nil && s.Join.Kind == IntervalJoin:
				r.report(s.at, "steps.%s: %s, and an interval join needs it; give the source a watermark", s.ID, none)
			case s.Window == nil:
			case s.eventTime():
				r.report(s.windowAt, "steps.%s.window: %s, and no window ends; give the source a watermark, or the window time: processing", s.ID, none)
			case s.Trigger != nil && s.Trigger.byEventTime() != "":
				r.report(s.trigger, "steps.%s.trigger: %s; %s needs it: say time: processing, or give the source a watermark", s.ID, none, s.Trigger.byEventTime())
			}
		}
		if up := r.atTheEnd(s); up != nil {
			last := fmt.Sprintf("step %s has %s windows, which have no end: its results carry the last of all times, and", up.ID, up.Window.Kind)
			switch {
			case s.Join != nil && s.Join.Kind == IntervalJoin:
				r.report(s.at, "steps.%s: %s an interval join finds no times to compare; give step %s windows of time", s.ID, last, up.ID)
			case s.eventTime():
				r.report(s.windowAt, "steps.%s.window: %s a window of event time would hold them all in its last one; say {count: {size: 10}}, {global: {}}, or the window time: processing", s.ID, last)
			}
		}
		if s.Trigger == nil || s.Trigger.Kind != TriggerEndOfStream && (s.Trigger.Inner == nil || s.Trigger.Inner.Kind != TriggerEndOfStream) {
			continue
		}
		if endless := r.upstream(s, func(src *sourceSpec) bool { return !src.Bounded() }); endless != nil {
			r.report(s.trigger, "steps.%s.trigger: source %s is followed and has no end, so end_of_stream never fires; say {count: 10}, {continuous: 10s} …", s.ID, endless.ID)
		}
	}
}

// atTheEnd returns a step whose results s reads and whose windows have no end: a result
// carries its window's last time (S96), MAX there.
func (r *reader) atTheEnd(s *stepSpec) *stepSpec {
	for _, up := range r.behind(s) {
		if up.Window != nil && (up.Window.Kind == Global || up.Window.Kind == Count) {
			return up
		}
	}
	return nil
}

// behind returns the steps with windows, and the joins, whose results a step reads,
// directly or through steps that only pass them on.
func (r *reader) behind(s *stepSpec) []*stepSpec {
	var out []*stepSpec
	seen := map[*stepSpec]bool{}
	var find func(s *stepSpec)
	find = func(s *stepSpec) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, from := range s.From {
			switch up := r.stepOf(from); {
			case up == nil:
			case up.passes():
				find(up)
			default:
				out = append(out, up)
			}
		}
	}
	find(s)
	return out
}

// passes reports whether a step only passes records on.
func (s *Step) passes() bool { return s.Window == nil && s.Join == nil }

// eventTime reports whether the windows of a step end by the watermark.
func (s *Step) eventTime() bool {
	w := s.Window
	return w != nil && w.Time == EventTime && w.Kind != Global && w.Kind != Count
}

// upstream returns a source that a step reads, directly or through others, and that is.
func (r *reader) upstream(s *stepSpec, is func(*sourceSpec) bool) *sourceSpec {
	seen := map[*stepSpec]bool{}
	var find func(s *stepSpec) *sourceSpec
	find = func(s *stepSpec) *sourceSpec {
		if seen[s] {
			return nil
		}
		seen[s] = true
		for _, from := range s.From {
			if src := r.sourceOf(from); src != nil {
				if is(src) {
					return src
				}
			} else if up := r.stepOf(from); up != nil {
				if src := find(up); src != nil {
					return src
				}
			}
		}
		return nil
	}
	return find(s)
}

// updated says why results of a step may come again in another version, or "".
func (r *reader) updated(s *stepSpec) string {
	switch {
	case s.passes():
		for _, up := range r.behind(s) {
			if why := r.updated(up); why != "" {
				return why
			}
		}
	case s.Window == nil:
	case s.AllowedLateness > 0:
		return fmt.Sprintf("allowed_lateness is %s; set that to 0s or take updates", FormatDuration(s.AllowedLateness))
	case !s.fires().once():
		return "a window may fire several times; take updates, or a trigger that fires once"
	}
	return ""
}

// understood reports whether enough of a step was read to know what it is.
func (s *stepSpec) understood() bool { return s.Window != nil || s.out != nil }

// late reports whether a step can refuse a record because it is late.
func (s *Step) late() bool { return s.eventTime() || s.Join != nil && s.Join.Kind == IntervalJoin }

// lintPeriods: watermarks are made at probes, so not more often.
func (r *reader) lintPeriods() {
	for _, s := range r.sources {
		if p := s.Watermark.Emit.Period; p > 0 && r.g.Settings.Probe > p {
			r.report(s.emit.at, "sources.%s.watermark.emit must be at least settings.probe, which is %s, is %s",
				s.ID, FormatDuration(r.g.Settings.Probe), FormatDuration(p))
		}
	}
}

// ports lists what sinks may read, the results of steps first.
func (r *reader) ports() []string {
	var out []string
	for _, s := range r.steps {
		out = append(out, s.ID)
		if s.Process != nil {
			for _, side := range s.Process.Side {
				out = append(out, s.ID+"."+side.Name)
			}
		}
	}
	for _, s := range r.steps {
		if s.late() {
			out = append(out, s.ID+".late")
		}
		if s.OnError == DeadLetter {
			out = append(out, s.ID+".failed")
		}
	}
	for _, s := range r.sources {
		out = append(out, s.ID+".bad")
	}
	return out
}

// lintSinks: what sinks read exists, and they can take it.
func (r *reader) lintSinks() {
	for _, s := range r.sinks {
		if s.from == nil {
			continue
		}
		path := "sinks." + s.ID
		step, source := r.stepOf(s.From.Operator), r.sourceOf(s.From.Operator)
		switch name := s.From.Name; {
		case step != nil && (name == "" || step.side(name) != nil):
			step.read = step.read || name == ""
			if why := r.updated(step); s.OnlyLast && why != "" {
				r.report(s.at, "%s.only_final: results of %s may be updated, since %s", path, s.From, why)
			}
			continue
		case step != nil && name == "failed" && step.OnError == failStep:
			r.report(s.from.at, "%s.from: %s writes nothing: on_error is fail; say on_error: dead_letter in steps.%s", path, quote(s.from.shown), step.ID)
		case step != nil && name == "late" && step.understood() && !step.late():
			r.report(s.from.at, "%s.from: %s writes nothing: nothing is late in a step without windows of event time", path, quote(s.from.shown))
		case step != nil && step.process != nil && step.Process == nil && name != "late" && name != "failed": // what it gives is not known
		case step != nil && (name == "late" || name == "failed"), source != nil && name == "bad":
		case source != nil && name == "":
			r.report(s.from.at, "%s.from: %s is a source; a sink writes the results of a step%s", path, quote(s.from.shown), hint("", r.ports()))
		default:
			fix := hint(s.from.text, r.ports())
			if s.from.filled {
				fix = ""
			}
			r.report(s.from.at, "%s.from: there is no output %s%s", path, quote(s.from.shown), fix)
		}
		if s.OnlyLast {
			r.report(s.at, "%s.only_final has no effect: only results of steps are updated", path)
		}
	}
}

// defaultSinks gives every late, failed and bad output that no sink reads a place:
// a file beside the first results file, or else the newest rows in memory.
func (r *reader) defaultSinks() {
	dir := ""
	for _, s := range r.sinks {
		if s.File != "" && !r.special(s.File) {
			dir = filepath.Dir(s.File)
			break
		}
	}
	add := func(operator, port string, at place) {
		from := Port{operator, port}
		if slices.ContainsFunc(r.sinks, func(s *sinkSpec) bool { return s.From == from }) {
			return
		}
		s := &sinkSpec{at: at, Sink: Sink{ID: from.String(), From: from, Format: JSON, Default: true, TimeFormat: timeRFC3339}}
		if dir == "" {
			s.Memory = memoryRows
			r.note("sinks."+s.ID, fmt.Sprintf("{memory: %d}", memoryRows), place{})
		} else {
			s.File = filepath.Join(dir, s.ID+".jsonl")
			shown := s.File
			if rel, err := filepath.Rel(r.o.Dir, s.File); err == nil && filepath.IsLocal(rel) {
				shown = rel
			}
			r.note("sinks."+s.ID, fmt.Sprintf("{file: {path: %s}}", shown), place{})
		}
		r.sinks = append(r.sinks, s)
	}
	for _, s := range r.steps {
		if s.late() {
			add(s.ID, "late", s.at)
		}
		if s.OnError == DeadLetter {
			add(s.ID, "failed", s.at)
		}
		if s.Process != nil {
			for _, side := range s.Process.Side {
				add(s.ID, side.Name, s.at)
			}
		}
	}
	for _, s := range r.sources {
		add(s.ID, "bad", s.at)
	}
}

// special reports whether path is there and no regular file, such as /dev/null:
// nothing is to lie beside it.
func (r *reader) special(path string) bool {
	if r.o.Files == nil {
		return false
	}
	info, err := r.o.Files.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// lintTargets: each file is written by one sink and read by no source.
func (r *reader) lintTargets() {
	written := map[string]*sinkSpec{}
	for _, s := range r.sinks {
		if s.File == "" || r.special(s.File) {
			continue
		}
		at, path := s.at, "sinks."+s.ID+".file.path"
		if s.path != nil {
			at = s.path.at
		}
		if first, ok := written[s.File]; ok {
			if s.Default { // the place to change is that of the sink in the job file
				first, s = s, first
				at, path = s.path.at, "sinks."+s.ID+".file.path"
				r.report(at, "%s is where the output %s goes, which has no sink of its own; name another file", path, first.ID)
				continue
			}
			r.report(at, "%s: sink %s writes the same file; name another", path, first.ID)
			continue
		}
		written[s.File] = s
		if s.Default {
			if wrong := r.unwritable(s.File); wrong != "" {
				r.report(at, "the output %s goes to %s, which cannot be written: %s; give it a sink of its own", s.ID, filepath.Base(s.File), wrong)
			}
		}
		for _, src := range r.sources {
			if src.File == nil || src.File.Path == "-" {
				continue
			}
			reads := slices.Contains(src.files, s.File) || src.File.Path == s.File
			if src.File.Glob {
				if match, err := filepath.Match(src.File.Path, s.File); err == nil && match {
					reads = true
				}
			}
			if reads {
				r.report(at, "%s: source %s would read what is written there; name another file", path, src.ID)
			}
		}
		r.lintEpochs(s, at, path)
	}
}

// lintUnused: what nothing reads has no effect.
func (r *reader) lintUnused() {
	for _, p := range r.plugins {
		if !p.used {
			r.report(p.at, "plug-in %s is not used by any step; leave it out", p.Name)
		}
	}
	for _, s := range r.sources {
		if !s.used {
			r.report(s.at, "source %s is not read by any step; leave it out", s.ID)
		}
	}
	for _, s := range r.steps {
		if !s.read {
			r.report(s.at, "the results of step %s are written nowhere; add a sink: {from: %s, file: {path: %s.jsonl}}", s.ID, s.ID, s.ID)
		}
	}
}
