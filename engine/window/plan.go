package window

import (
	"tidemark/engine/trigger"
)

// Spec is a windowed step as the job describes it, with columns and functions resolved.
type Spec struct {
	GeneralConfig
	Groups int // number of key groups, max_parallelism
}

// Contents is how a pane keeps what it has taken (P1).
type Contents string

const (
	Panes    Contents = "pane"     // one accumulator a pane
	SliceRun Contents = "slice"    // overlapping windows share accumulators of slices
	Elements Contents = "elements" // the list of records
)

// Choice is the physical plan of a step: a pure function of its Spec (P1–P3).
type Choice struct {
	Contents Contents
	// Bulk: windows fire by bucket and not pane by pane, since their ends alone decide.
	Bulk   bool
	Reason string
}

// Plan chooses how a step is run.
func Plan(s Spec) Choice {
	g, aligned := s.Assigner.(*grid)
	switch {
	case s.Evictor != nil:
		return Choice{Contents: Elements, Reason: "an evictor looks at single records"}
	case s.Join:
		return Choice{Contents: Elements, Reason: "a firing needs all records of both sides"}
	case len(s.Whole) > 0 || s.Table != nil:
		return Choice{Contents: Elements, Reason: "a function needs all records of a window, in order of arrival"}
	case aligned && !g.clock && g.slide == g.size && trigger.IsEventTime(s.Trigger):
		return Choice{Contents: Panes, Bulk: true, Reason: "tumbling windows do not overlap, so there is nothing to share between them; they fire together at their ends, and again for each late record that is allowed"}
	case aligned && !g.clock && s.endsDecide() && s.shareable():
		return Choice{Contents: SliceRun, Bulk: true, Reason: "windows overlap and the functions do not mind the order of records, so windows share slices"}
	}
	return Choice{Contents: Panes, Reason: "the trigger decides for each key and window"}
}

// endsDecide reports whether only the ends of windows make them fire; a purge then
// never meets a live window (P2).
func (s *Spec) endsDecide() bool {
	return trigger.IsEventTime(s.Trigger) || s.Lateness == 0 && trigger.IsPurgingEventTime(s.Trigger)
}

// shareable reports whether all functions give the same in any order (P2).
func (s *Spec) shareable() bool {
	for _, f := range s.Functions {
		if !f.Agg.Info().OrderInsensitive {
			return false
		}
	}
	return true
}

// New makes the operator that Plan chooses.
func New(s Spec, out Output) (Operator, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	switch c := Plan(s); {
	case c.Contents == SliceRun:
		g := s.Assigner.(*grid)
		return NewSlices(SlicesConfig{Size: g.size, Slide: g.slide, Offset: g.offset, Lateness: s.Lateness, Key: s.Key, DropNullKey: s.DropNullKey,
			Functions: s.Functions, Groups: s.Groups}, out)
	case c.Bulk:
		g := s.Assigner.(*grid)
		return NewAligned(Config{Size: g.size, Offset: g.offset, Lateness: s.Lateness, Key: s.Key, DropNullKey: s.DropNullKey,
			Functions: s.Functions, Groups: s.Groups}, out)
	}
	return NewGeneral(s.GeneralConfig, out)
}
