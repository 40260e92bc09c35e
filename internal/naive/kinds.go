package naive

import (
	"fmt"

	"tidemark/spec"
)

func buildIntervalJoin(r *random, s *spec.Scenario) {
	j := &s.Job
	j.LowerMS = r.between(-6, 5)
	j.UpperMS = j.LowerMS + r.between(0, 6)
	j.LowerInclusive, j.UpperInclusive = ptr(r.chance(65)), ptr(r.chance(65))
	j.LateOutput = r.chance(70)
	if r.chance(2) {
		j.UpperMS = j.LowerMS - 1
		return
	}
	lower, upper := j.Bounds()
	start := pick(r, int64(0), -30, 200)
	keys := []string{"ax", "bo"}[:r.between(1, 2)]
	times, inputs := edges{r: r}, newChannels(r, newMinimum(2), 2)
	for range r.between(8, 26) {
		n := r.below(100)
		input, open := inputs.open()
		switch {
		case !open:
		case n < 60:
			ts := times.near(inputs.at(start), 6)
			s.Steps = append(s.Steps, spec.Step{Input: &input, Record: &spec.Record{TS: &ts, Key: spec.Text(pick(r, keys...)), Value: spec.Int(r.between(1, 9))}})
			if input == 0 {
				times.add(ts, ts+lower, ts+upper)
			} else {
				times.add(ts, ts-lower, ts-upper)
			}
		case n < 85:
			if step, ok := inputs.step(times.near(inputs.at(start), 6)); ok {
				s.Steps = append(s.Steps, step)
			}
		case n < 94:
			s.Steps = append(s.Steps, spec.Step{Probe: true})
		default:
			s.Steps = append(s.Steps, spec.Step{CheckpointRestore: true})
		}
	}
	switch {
	case r.chance(3):
		s.Steps = append(s.Steps, spec.Step{Record: &spec.Record{Key: spec.Text("ax"), Value: spec.Int(1)}, Input: ptr(0)})
	case r.chance(30):
		s.Steps = append(s.Steps, inputs.finish()...)
		s.Steps = append(s.Steps, spec.Step{Probe: true})
	}
}

func buildGenerator(r *random, s *spec.Scenario) {
	g := &spec.Generator{Type: pick(r, "bounded", "bounded", "ascending", "punctuated")}
	if g.Type != "ascending" {
		g.BoundMS = r.between(0, 10)
	}
	if r.chance(70) {
		g.IdleTimeoutMS = ptr(r.between(1, 30))
	}
	s.Job.Generator = g
	if r.chance(4) {
		if g.IdleTimeoutMS != nil && r.chance(50) {
			g.IdleTimeoutMS = ptr(r.between(-1, 0))
		} else {
			g.Type, g.BoundMS = "bounded", -1
		}
		return
	}
	times := edges{r: r}
	start, now := pick(r, int64(0), -30, 1000), r.between(0, 10)
	quietSince, recorded := int64(0), true // S8: since the last probe
	for range r.between(8, 24) {
		switch n := r.below(100); {
		case n < 35:
			ts := times.near(start, 20)
			times.add(ts)
			s.Steps = append(s.Steps, spec.Step{Record: &spec.Record{TS: &ts, Key: spec.Text("ax"), Value: spec.Int(1)}})
			quietSince, recorded = 0, true
		case n < 92:
			now += r.between(1, 9)
			switch {
			case recorded:
				recorded = false
			case quietSince == 0:
				quietSince = now
			case g.IdleTimeoutMS != nil && r.chance(70):
				now = max(now, quietSince+*g.IdleTimeoutMS+r.between(0, 1))
			}
			s.Steps = append(s.Steps, spec.Step{Periodic: ptr(now)})
		default:
			s.Steps = append(s.Steps, spec.Step{CheckpointRestore: true})
		}
	}
	if r.chance(40) {
		s.Steps = append(s.Steps, spec.Step{EndOfInput: true})
	}
}

func buildCombiner(r *random, s *spec.Scenario) {
	s.Job.Combiner, s.Job.Inputs = pick(r, "valve", "min"), int(r.between(1, 4))
	inputs, times := newChannels(r, newCombiner(s.Job.Combiner, s.Job.Inputs), s.Job.Inputs), edges{r: r}
	inputs.restless = 40
	start := pick(r, int64(0), -20)
	for range r.between(8, 28) {
		if r.chance(8) {
			s.Steps = append(s.Steps, spec.Step{CheckpointRestore: true})
			continue
		}
		at := times.near(inputs.at(start), 15)
		if r.chance(30) { // S18: just reaches the output
			at = inputs.at(start) + r.between(-1, 1)
		}
		times.add(at)
		step, ok := inputs.step(at)
		if !ok {
			return
		}
		if step.Watermark != nil && step.Input == nil {
			step.Input = ptr(0)
		}
		s.Steps = append(s.Steps, step)
	}
}

func buildAlignment(r *random, s *spec.Scenario) {
	s.Job.Groups = map[string]spec.Group{}
	groups := []string{"g1", "g2"}[:r.between(1, 2)]
	for _, g := range groups {
		s.Job.Groups[g] = spec.Group{MaxDriftMS: r.between(0, 12)}
	}
	last := map[string]int64{} // of readers that are active
	for range r.between(8, 24) {
		if r.chance(40) {
			s.Steps = append(s.Steps, spec.Step{Announce: true})
			continue
		}
		report := &spec.Report{Group: pick(r, groups...), Reader: fmt.Sprintf("r%d", r.below(3))}
		name := report.Group + "/" + report.Reader
		low, active := last[name]
		switch {
		case r.chance(15):
			report.Idle = true
			delete(last, name)
		case active: // S25: does not decrease
			report.Watermark = ptr(low + r.between(0, 10))
		default:
			report.Watermark = ptr(r.between(-10, 30))
		}
		if r.chance(1) {
			report.Watermark, report.Idle = ptr(int64(maxTime-5)), false // S23: the bound saturates
		}
		if report.Watermark != nil {
			last[name] = *report.Watermark
			if *report.Watermark > maxTime/2 {
				s.Steps = append(s.Steps, spec.Step{Report: report}, spec.Step{Announce: true})
				return
			}
		}
		s.Steps = append(s.Steps, spec.Step{Report: report})
	}
}

func buildSplitAlignment(r *random, s *spec.Scenario) {
	s.Job.Splits = []string{"p0", "p1", "p2"}[:r.between(1, 3)]
	left := append([]string(nil), s.Job.Splits...)
	last := map[string]int64{}
	for range r.between(8, 24) {
		n := r.below(100)
		i := r.below(len(left))
		name := left[i]
		switch {
		case n < 60:
			// Only what grows: whether another watermark is an update is not said.
			last[name] += r.between(1, 6)
			s.Steps = append(s.Steps, spec.Step{Split: name, Watermark: ptr(last[name])})
		case n < 94:
			s.Steps = append(s.Steps, spec.Step{MaxDesired: ptr(last[name] + r.between(-2, 2))})
		case len(left) > 1:
			left = append(left[:i], left[i+1:]...)
			s.Steps = append(s.Steps, spec.Step{SplitFinished: name})
		}
	}
}

func buildAssign(r *random, s *spec.Scenario) {
	w := &walk{r: r, job: &s.Job, unit: 1}
	w.start = pick(r, int64(0), -40, 1_600_000_000_000)
	w.window()
	if w.job.Window.Time == "processing" {
		s.Job.StartProcessingTime = r.between(-20, 20)
	}
	for range r.between(4, 10) {
		rec := &spec.Record{TS: ptr(w.start + r.between(-20, 80)*w.unit + r.between(-1, 1))}
		if w.job.Window.Type == "dynamic_session" {
			rec.GapMS = ptr(r.between(1, 9))
		}
		s.Steps = append(s.Steps, spec.Step{Record: rec})
	}
	if r.chance(10) {
		last := s.Steps[len(s.Steps)-1].Record
		last.TS = nil
	}
}

func buildMerge(r *random, s *spec.Scenario) {
	for range r.between(4, 8) {
		spans, seen := []spec.Span{}, map[spec.Span]bool{}
		for range r.between(1, 6) {
			start := r.between(-10, 30)
			span := spec.Span{Start: start, End: start + r.between(0, 6)}
			if !seen[span] { // whether equal intervals merge is not said
				spans, seen[span] = append(spans, span), true
			}
		}
		s.Steps = append(s.Steps, spec.Step{Merge: spans})
	}
}
