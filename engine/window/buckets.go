package window

import (
	"slices"
	"sort"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// bucket is one window with its panes: a table for each key group that has any.
// Windows of an aligned assigner are shared by all keys, so a bucket is also the
// timer of all its panes: one entry, however many keys there are.
type bucket struct {
	window stream.Window
	tables []*state.Cells // by key group; nil where no key was seen
	cold   *coldTables    // what is on disk; nil: nothing was ever looked for there
}

// buckets holds the open windows in order of time. Aligned windows of one step do
// not overlap, so order of start, end and cleanup are the same.
type buckets struct {
	lateness stream.Time
	groups   int

	open  []*bucket
	fired int // open[:fired] have been reached by the watermark; the others are pending
	last  *bucket
}

// find returns the bucket of a window, making it if it is new. wm says on which side
// of the watermark it is. Called per record; nearly always the same as the last one.
func (s *buckets) find(w stream.Window, wm stream.Time) *bucket {
	if s.last != nil && s.last.window == w {
		return s.last
	}
	i := sort.Search(len(s.open), func(i int) bool { return s.open[i].window.Start >= w.Start })
	if i == len(s.open) || s.open[i].window.Start != w.Start {
		s.open = slices.Insert(s.open, i, &bucket{window: w, tables: make([]*state.Cells, s.groups)})
		if w.MaxTimestamp() <= wm {
			s.fired++ // past its end already: nothing is due but its cleanup
		}
	}
	s.last = s.open[i]
	return s.last
}

// due returns the earliest watermark at which something happens: the next window's
// end or the oldest window's cleanup.
func (s *buckets) due() stream.Time {
	d := stream.MaxTime
	if len(s.open) > 0 {
		d = s.open[0].window.Cleanup(s.lateness)
	}
	if s.fired < len(s.open) {
		d = min(d, s.open[s.fired].window.MaxTimestamp())
	}
	return d
}

// nextToFire returns the earliest pending window whose end wm has reached, and takes
// it off the pending ones; nil when there is none.
func (s *buckets) nextToFire(wm stream.Time) *bucket {
	if s.fired == len(s.open) || s.open[s.fired].window.MaxTimestamp() > wm {
		return nil
	}
	s.fired++
	return s.open[s.fired-1]
}

// nextToClean removes and returns the oldest window whose cleanup time wm has
// reached; nil when there is none. A cleanup time of MaxTime never comes (S44).
func (s *buckets) nextToClean(wm stream.Time) *bucket {
	if len(s.open) == 0 {
		return nil
	}
	b := s.open[0]
	if c := b.window.Cleanup(s.lateness); c > wm || c == stream.MaxTime {
		return nil
	}
	s.open = slices.Delete(s.open, 0, 1)
	s.fired--
	if s.last == b {
		s.last = nil
	}
	return b
}

// panes counts the cells of all open windows.
func (s *buckets) panes() int64 {
	n := int64(0)
	for _, b := range s.open {
		for _, t := range b.tables {
			if t == nil {
				continue
			}
			for slot := range t.Len() {
				if t.Rows(slot) > 0 {
					n++
				}
			}
		}
	}
	return n
}
