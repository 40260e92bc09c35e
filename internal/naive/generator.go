package naive

import "tidemark/spec"

// A generator makes watermarks of the timestamps it has seen (S3 to S13). It keeps
// the timestamps themselves and finds their maximum anew each time.
type generator struct {
	g       *spec.Generator
	bound   int64
	seen    []int64
	emitted int64
	marked  bool // the output is marked idle

	// S8: the countdown.
	sinceProbe bool   // a record came since the last probe
	quietSince *int64 // the first probe without a record
}

func newGenerator(g *spec.Generator) (machine, string) {
	if g.BoundMS < 0 || g.IdleTimeoutMS != nil && *g.IdleTimeoutMS <= 0 { // S3, S8
		return nil, spec.ErrInvalidConfig
	}
	bound := g.BoundMS
	if g.Type == "ascending" { // S4
		bound = 0
	}
	return &generator{g: g, bound: bound, emitted: minTime}, ""
}

func (g *generator) step(st *spec.Step, out *outcome) string {
	switch {
	case st.Record != nil:
		g.seen = append(g.seen, timestamp(st.Record))
		g.sinceProbe = true
		if g.g.Type == "punctuated" { // S5
			g.emit(g.value(), out)
		}
	case st.Periodic != nil:
		if g.quiet(*st.Periodic) {
			if !g.marked { // S10
				g.marked = true
				out.status(spec.StatusIdle)
			}
			return "" // S8: not probed
		}
		if g.g.Type != "punctuated" {
			g.emit(g.value(), out)
		}
	case st.EndOfInput: // S13
		g.emit(maxTime, out)
	}
	return ""
}

// quiet is the check of S8 at a probe.
func (g *generator) quiet(now int64) bool {
	if g.g.IdleTimeoutMS == nil {
		return false
	}
	switch {
	case g.sinceProbe:
		g.sinceProbe, g.quietSince = false, nil
		return false
	case g.quietSince == nil:
		g.quietSince = &now
		return false
	}
	return now-*g.quietSince > *g.g.IdleTimeoutMS
}

// value is the watermark of what was seen (S3).
func (g *generator) value() int64 {
	top := minTime + g.bound + 1
	for _, ts := range g.seen {
		top = max(top, ts)
	}
	return top - g.bound - 1
}

// emit sends a watermark that grows (S6); only such a one ends idleness (S11).
func (g *generator) emit(w int64, out *outcome) {
	if w <= g.emitted {
		return
	}
	g.emitted = w
	if g.marked {
		g.marked = false
		out.status(spec.StatusActive)
	}
	out.watermark(w)
}
