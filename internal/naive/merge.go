package naive

import (
	"cmp"
	"slices"

	"tidemark/spec"
)

// touch is the rule of S45: overlapping or touching.
func touch(a, b spec.Span) bool { return a.Start <= b.End && b.Start <= a.End }

// cover is the smallest interval around both.
func cover(a, b spec.Span) spec.Span {
	return spec.Span{Start: min(a.Start, b.Start), End: max(a.End, b.End)}
}

// bySpan orders intervals by start, then end.
func bySpan(a, b spec.Span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
}

// merging is a job that is nothing but the merging of intervals.
type merging struct{}

func (merging) step(st *spec.Step, out *outcome) string {
	spans := slices.Clone(st.Merge)
	slices.SortFunc(spans, bySpan)
	var groups []spec.Merged
	for _, s := range spans {
		// In order of start, an interval can touch the last group or none.
		if n := len(groups); n > 0 && touch(groups[n-1].Into, s) {
			g := &groups[n-1]
			g.Into, g.From = cover(g.Into, s), append(g.From, s)
			continue
		}
		groups = append(groups, spec.Merged{Into: s, From: []spec.Span{s}})
	}
	for _, g := range groups {
		if len(g.From) > 1 {
			out.entry.Merged = append(out.entry.Merged, g)
			out.produced = true
		}
	}
	return ""
}
