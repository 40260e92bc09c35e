package window

import "tidemark/engine/state"

// Spill is where an operator leaves the state that has no room in memory: what records and
// timers have not asked for in the longest time, until they do. Room is also made while panes
// fire. What comes back is deleted on disk, but for what process functions keep (coldStates).
// An operator and its process function open a backing each.
type Spill = state.Spill

// Names on disk begin with what they are of.
const (
	keyName   = 'k' // group, key: a key of the general operator
	timerName = 't' // domain, time, key: the first timer of one
	cellName  = 'c' // group, start of the window, key: a cell of the aligned operator
	pastNames = 'z'
)

// SpilledState tells what an operator has on disk: keys, or cells of a window and a key.
type SpilledState = state.Spilled

// What is not tumbling windows runs on the general operator where state may go to disk: it
// has all of a key in one place, which can leave and come back.

// chooseOnDisk is choose for that. Overlapping windows share slices where they do in memory,
// so that sums of floats have the same bits.
func (s *Spec) chooseOnDisk() Choice {
	c := Choice{Contents: Panes, Reason: "state may go to disk, a key with all of its windows at once"}
	switch {
	case s.Evictor != nil || s.Join || s.needsRecords():
		c.Contents = Elements
	case s.sharesOnDisk():
		c.Contents = SliceRun
		c.Reason += "; windows overlap and the functions do not mind the order of records, so windows of a key share slices"
	}
	return c
}

func (s *Spec) sharesOnDisk() bool {
	g, _ := s.Assigner.(*grid)
	return g != nil && g.slide >= minSlicedSlide && (s.sliceable() && !s.Trigger.MayPurge() || s.shares() && s.sharingPays())
}

func (s *Spec) newOnDisk(out Output) (part, error) {
	if s.sharesOnDisk() {
		return newSharing(*s, out)
	}
	return NewGeneral(s.GeneralConfig, out)
}
