package window

import (
	"fmt"

	"tidemark/engine/trigger"
)

// Spec is a windowed step as the job describes it, with columns and functions resolved.
type Spec struct {
	GeneralConfig
	// Sources: the records come from sources, perhaps through steps without a window.
	Sources bool
	// HotKeys is how many keys of a slice are added up by those that send, if the step has a
	// key; 0: none.
	HotKeys int
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
	// Local: the step is over all keys, or has hot ones, and its senders add records up
	// first (P4).
	Local bool
	// Bulk: no trigger is asked, since the ends of windows alone decide.
	Bulk   bool
	Reason string
}

// Plan chooses how a step is run.
func Plan(s Spec) Choice {
	c := s.choose()
	reason := s.alone(c)
	c.Local = reason == "" && (len(s.Key) == 0 || s.HotKeys > 0)
	switch {
	case c.Local && len(s.Key) == 0:
		c.Reason += "; since one task has all keys, those that send to it add records up first"
	case c.Local:
		c.Reason += fmt.Sprintf("; since some keys may have a great part of all records, those that send add up the records of the first %d keys of each slice", s.HotKeys)
	case s.HotKeys > 0:
		c.Reason += "; hot_keys has no effect: " + reason
	}
	return c
}

// alone says why those that send may not add records up, if so. The results of other
// windows are not added up, since which task sends them depends on the parallelism, and with
// it the shape of sums would. Where plug-ins may be disabled, one task has to see their
// failures in order.
func (s *Spec) alone(c Choice) string {
	switch {
	case s.Spill != nil && !s.tiles():
		return "state may go to disk, and then only windows that lie end to end are added up beforehand"
	case !c.Bulk:
		return "windows do not fire at their ends alone"
	case s.Assigner.Merging():
		return "sessions have no end that is known beforehand"
	case !s.shareable():
		return "a function minds the order of records"
	case s.Guard != nil:
		return "one task must see all failures of a plug-in that may be disabled"
	case !s.Sources:
		return "the records are results of windows"
	}
	return ""
}

func (s *Spec) choose() Choice {
	g, _ := s.Assigner.(*grid)
	switch {
	case s.Spill != nil && !s.tiles():
		return s.chooseOnDisk()
	case s.countsSlide():
		return Choice{Contents: SliceRun, Reason: "windows of a number of records overlap and accumulators have a fixed size, so windows share slices"}
	case s.Evictor != nil:
		return Choice{Contents: Elements, Reason: "an evictor looks at single records"}
	case s.Join:
		return Choice{Contents: Elements, Reason: "a firing needs all records of both sides"}
	case s.needsRecords():
		return Choice{Contents: Elements, Reason: "a function needs all records of a window, in order of arrival"}
	case s.tiles():
		return Choice{Contents: Panes, Bulk: true, Reason: "windows that lie end to end do not overlap, so there is nothing to share between them; they fire together at their ends, and again for each late record that is allowed"}
	case s.sessions() && s.endsDecide():
		return Choice{Contents: Panes, Bulk: true, Reason: "sessions of a key do not overlap, and their ends alone decide when they fire; those that touch are merged"}
	case s.sliceable() && g.slide >= minSlicedSlide:
		return Choice{Contents: SliceRun, Bulk: true, Reason: "windows overlap and the functions do not mind the order of records, so windows share slices"}
	case s.shares() && g.slide >= minSlicedSlide && s.sharingPays():
		return Choice{Contents: SliceRun, Reason: "windows overlap and the functions do not mind the order of records, so windows share slices; the trigger decides for each key and window"}
	}
	if UserAssigner(s.Assigner) != nil {
		return Choice{Contents: Panes, Reason: "a plug-in says which windows a record is in, and the trigger decides for each key and window"}
	}
	return Choice{Contents: Panes, Reason: "the trigger decides for each key and window"}
}

// minSlicedSlide in ms is from where on the numbers of slices fit into their range for
// every time there is. Who slides by less does not have so many windows that it matters.
const minSlicedSlide = 8

// sliceable reports whether windows may share slices, whatever their slide.
func (s *Spec) sliceable() bool {
	g, aligned := s.Assigner.(*grid)
	return aligned && !g.clock && s.Evictor == nil && !s.Join && !s.needsRecords() && s.endsDecide() && s.shareable()
}

// sessions reports whether windows are sessions in event time.
func (s *Spec) sessions() bool {
	a, ok := s.Assigner.(session)
	return ok && !a.clock
}

// tiles reports whether windows lie end to end and fire at their ends.
func (s *Spec) tiles() bool {
	return tilingOf(s.Assigner) != nil && s.endsDecide() && s.Evictor == nil && !s.Join && !s.needsRecords()
}

// needsRecords reports whether some function looks at the records of a window.
func (s *Spec) needsRecords() bool {
	return len(s.Whole) > 0 || s.Table != nil || s.Process.lists()
}

// endsDecide reports whether only the ends of windows make them fire; a purge then
// never meets a live window (P2).
func (s *Spec) endsDecide() bool {
	return trigger.IsEventTime(s.Trigger) || s.Lateness == 0 && trigger.IsPurgingEventTime(s.Trigger)
}

// countsSlide reports whether the step has sliding count windows (S82) that can be made
// of slices (L9).
func (s *Spec) countsSlide() bool {
	_, counts := trigger.IsCount(s.Trigger)
	if _, all := s.Assigner.(global); !all || !counts || s.Evictor == nil || s.Evictor.Count == 0 || s.Evictor.After {
		return false
	}
	if s.Join || s.needsRecords() {
		return false
	}
	for _, f := range s.Functions {
		if f.Agg.Info().Width == 0 {
			return false
		}
	}
	return true
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

// New makes the operator that Plan chooses. It takes key groups that stand at different
// times.
func New(s Spec, out Output) (Operator, error) {
	return newStaggered(out, func(out Output) (part, error) { return s.plain(out) })
}

// plain makes the operator that Plan chooses, whose key groups all stand at its time.
func (s Spec) plain(out Output) (part, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	switch c := Plan(s); {
	case s.Spill != nil && !s.tiles():
		return s.newOnDisk(out)
	case s.countsSlide():
		slide, _ := trigger.IsCount(s.Trigger)
		return NewCounts(CountsConfig{Size: int64(s.Evictor.Count), Slide: slide, Key: s.Key, DropNullKey: s.DropNullKey,
			Functions: s.Functions, Process: s.Process, Fine: s.Fine, Guard: s.Guard, Groups: s.Groups}, out)
	case c.Contents == SliceRun:
		o, _, err := s.sliced(out)
		return o, err
	case c.Bulk && s.sessions():
		return NewSessions(SessionsConfig{Gap: s.Assigner.(session).gap, GapCol: s.GapCol, Lateness: s.Lateness, Key: s.Key, DropNullKey: s.DropNullKey,
			Functions: s.Functions, Process: s.Process, SetAside: s.SetAside, Fine: s.Fine, Guard: s.Guard, Groups: s.Groups}, out)
	case c.Bulk:
		return NewAligned(Config{Windows: s.Assigner, Lateness: s.Lateness, Key: s.Key, DropNullKey: s.DropNullKey,
			Functions: s.Functions, Process: s.Process, Fine: s.Fine, Guard: s.Guard, Groups: s.Groups, Spill: s.Spill}, out)
	}
	return NewGeneral(s.GeneralConfig, out)
}

// NewSliced makes an operator with slices wherever the rules allow them; ok is false
// where they do not. Tests run slides on it for which the plan does without.
func NewSliced(s Spec, out Output) (o Operator, ok bool, err error) { return s.sliced(out) }

func (s Spec) sliced(out Output) (o part, ok bool, err error) {
	switch {
	case s.shares():
		o, err = newSharing(s, out)
		return o, true, err
	case !s.sliceable():
		return nil, false, nil
	}
	g := s.Assigner.(*grid)
	o, err = NewSlices(SlicesConfig{Size: g.size, Slide: g.slide, Offset: g.offset, Lateness: s.Lateness, Key: s.Key, DropNullKey: s.DropNullKey,
		Functions: s.Functions, Process: s.Process, Fine: s.Fine, Guard: s.Guard, Groups: s.Groups}, out)
	return o, true, err
}
