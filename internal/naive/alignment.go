package naive

import (
	"slices"

	"tidemark/spec"
)

// An alignment holds groups of readers together (S22 to S25).
type alignment struct {
	groups  map[string]spec.Group
	readers []*reader        // in the order of their first report
	bounds  map[string]int64 // in force
}

// A reader is what the coordinator knows of one that has reported.
type reader struct {
	group, name string
	watermark   int64
	idle        bool
}

func newAlignment(groups map[string]spec.Group) *alignment {
	return &alignment{groups: groups, bounds: map[string]int64{}}
}

func (a *alignment) step(st *spec.Step, out *outcome) string {
	switch {
	case st.Report != nil:
		a.report(st.Report)
	case st.Announce:
		out.entry.Bounds = a.announce()
	default:
		return ""
	}
	out.produced = true
	out.entry.Waiting = []string{}
	for _, r := range a.readers {
		// S25. A reader without records does not read anyway.
		bound, inForce := a.bounds[r.group]
		if inForce && r.watermark > bound {
			if r.idle {
				out.doubt("S12, S25: an idle reader beyond the bound")
				continue
			}
			out.entry.Waiting = append(out.entry.Waiting, r.group+"/"+r.name)
		}
	}
	slices.Sort(out.entry.Waiting)
	return ""
}

func (a *alignment) report(rep *spec.Report) {
	i := slices.IndexFunc(a.readers, func(r *reader) bool { return r.group == rep.Group && r.name == rep.Reader })
	switch {
	case rep.Watermark == nil && i < 0:
		return // S22: without a watermark it is not part of the minimum
	case rep.Watermark == nil:
		a.readers[i].idle = true // S23
	case i < 0:
		a.readers = append(a.readers, &reader{group: rep.Group, name: rep.Reader, watermark: *rep.Watermark})
	default:
		a.readers[i].watermark, a.readers[i].idle = *rep.Watermark, false // S24
	}
}

// announce computes the bound of each group that somebody reported to (S22).
func (a *alignment) announce() map[string]int64 {
	for _, group := range a.readers {
		low := int64(maxTime)
		for _, r := range a.readers {
			if r.group == group.group && !r.idle { // S23: an idle one counts as MAX
				low = min(low, r.watermark)
			}
		}
		a.bounds[group.group] = satAdd(low, a.groups[group.group].MaxDriftMS)
	}
	bounds := map[string]int64{}
	for g, b := range a.bounds {
		bounds[g] = b
	}
	return bounds
}

// A splitAlignment pauses the splits of one reader (S26).
type splitAlignment struct {
	splits    map[string]int64 // those that are not finished; MIN: no watermark yet
	combined  int64
	bound     int64
	announced bool
}

func newSplitAlignment(names []string) *splitAlignment {
	s := &splitAlignment{splits: map[string]int64{}, combined: minTime}
	for _, n := range names {
		s.splits[n] = minTime
	}
	return s
}

func (s *splitAlignment) step(st *spec.Step, out *outcome) string {
	switch {
	case st.Watermark != nil:
		if _, there := s.splits[st.Split]; !there {
			return ""
		}
		s.splits[st.Split] = max(s.splits[st.Split], *st.Watermark)
		low := int64(maxTime)
		for _, w := range s.splits {
			low = min(low, w)
		}
		s.combined = max(s.combined, low) // S20
	case st.SplitFinished != "":
		delete(s.splits, st.SplitFinished) // S20: does not raise the output
	case st.MaxDesired != nil:
		s.bound, s.announced = *st.MaxDesired, true
	default:
		return ""
	}
	out.produced = true
	out.entry.Paused = []string{}
	for name, w := range s.splits {
		if s.announced && w > s.bound {
			out.entry.Paused = append(out.entry.Paused, name)
		}
	}
	slices.Sort(out.entry.Paused)
	waits := s.announced && s.combined > s.bound
	out.entry.ReaderWaits = &waits
	return ""
}
