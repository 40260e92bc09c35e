package watermark

import (
	"maps"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Coordinator holds the readers of each alignment group together in event time (S22): it
// takes their reports and says how far they may read. It decides only; that reports come
// and bounds go every update interval is the caller's part.
type Coordinator struct {
	groups map[string]*alignGroup
}

type alignGroup struct {
	drift     stream.Time
	reports   map[string]stream.Time // by reader
	bound     stream.Time
	announced bool // bound is in force
}

// NewCoordinator makes a coordinator of groups with their maximum drift in ms, at least 0.
func NewCoordinator(maxDrift map[string]stream.Time) (*Coordinator, error) {
	c := &Coordinator{groups: map[string]*alignGroup{}}
	for _, name := range slices.Sorted(maps.Keys(maxDrift)) {
		if maxDrift[name] < 0 {
			return nil, fault.Userf("alignment group %s: maximum drift must not be negative, is %d ms", name, maxDrift[name])
		}
		c.groups[name] = &alignGroup{drift: maxDrift[name], reports: map[string]stream.Time{}}
	}
	return c, nil
}

// Report takes what a reader of a group reports (see Reader.Report) and returns the
// bound in force, MAX if none is yet: so a new reader need not wait for the next
// announcement to learn it.
func (c *Coordinator) Report(group, reader string, wm stream.Time) (bound stream.Time) {
	g := c.groups[group]
	g.reports[reader] = wm
	if !g.announced {
		return stream.MaxTime
	}
	return g.bound
}

// Announce computes the bound of each group that somebody has reported to, and calls
// announce with it, in order of the groups' names. A bound may be lower than the one
// before (S24).
func (c *Coordinator) Announce(announce func(group string, bound stream.Time)) {
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		if len(g.reports) == 0 {
			continue
		}
		low := stream.MaxTime
		for _, wm := range g.reports {
			low = min(low, wm)
		}
		g.bound, g.announced = low.Add(g.drift), true
		announce(name, g.bound)
	}
}

// Reader is one reader of an alignment group with its splits: it decides which of them
// stop reading (S25, S26). Stopping is all it does; what was read goes on (S27), and
// whoever is stopped is not idle (S12): the caller takes the time out of the countdown.
type Reader struct {
	bound    stream.Time // MAX until one is known
	combined stream.Time
	idle     bool
	splits   []readerSplit
}

type readerSplit struct {
	wm       stream.Time
	finished bool
}

// NewReader makes a reader without splits. One that cannot pause a split is refused,
// unless its splits may be left unaligned: then only the reader as a whole is stopped.
func NewReader(canPause, allowUnaligned bool) (*Reader, error) {
	if !canPause && !allowUnaligned {
		return nil, fault.Userf("the source cannot pause single splits, so that they cannot be aligned: allow unaligned splits, or take the source out of its group (S26)")
	}
	return &Reader{bound: stream.MaxTime, combined: stream.MinTime}, nil
}

// Add adds a split and returns its number.
func (r *Reader) Add() int {
	r.splits = append(r.splits, readerSplit{wm: stream.MinTime})
	return len(r.splits) - 1
}

// Split takes the watermark of split i.
func (r *Reader) Split(i int, wm stream.Time) { r.splits[i].wm = max(r.splits[i].wm, wm) }

// Finish forgets split i.
func (r *Reader) Finish(i int) { r.splits[i].finished = true }

// Combined takes the reader's own watermark, the output of the combiner of its splits,
// and whether it is idle.
func (r *Reader) Combined(wm stream.Time, idle bool) { r.combined, r.idle = wm, idle }

// Bound takes a bound of the coordinator.
func (r *Reader) Bound(bound stream.Time) { r.bound = bound }

// Paused reports whether split i must not be read now.
func (r *Reader) Paused(i int) bool {
	return !r.splits[i].finished && r.splits[i].wm > r.bound
}

// Waits reports whether the reader as a whole must not read now.
func (r *Reader) Waits() bool { return r.combined > r.bound }

// Report returns what the reader tells the coordinator: its watermark, or MAX while it
// is idle, and once it has ended, when its watermark is MAX (S23). ok is false as long
// as it has had no watermark: then it tells nothing (S22).
func (r *Reader) Report() (wm stream.Time, ok bool) {
	switch {
	case r.combined == stream.MinTime:
		return 0, false
	case r.idle:
		return stream.MaxTime, true
	}
	return r.combined, true
}

// Snapshot writes reports and bounds; a restore goes on with them (S105).
func (c *Coordinator) Snapshot(w *state.Writer) {
	w.Len(len(c.groups))
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		w.Bytes([]byte(name))
		w.I64(int64(g.bound))
		w.Bool(g.announced)
		w.Len(len(g.reports))
		for _, reader := range slices.Sorted(maps.Keys(g.reports)) {
			w.Bytes([]byte(reader))
			w.I64(int64(g.reports[reader]))
		}
	}
}

// Restore takes the state of a Snapshot. Groups that there are no longer are passed over.
func (c *Coordinator) Restore(r *state.Reader) {
	for range r.Len() {
		g := c.groups[string(r.Bytes())]
		if g == nil {
			g = &alignGroup{reports: map[string]stream.Time{}}
		}
		g.bound, g.announced = stream.Time(r.I64()), r.Bool()
		for range r.Len() {
			reader := string(r.Bytes())
			g.reports[reader] = stream.Time(r.I64())
		}
	}
}

// Snapshot writes the state of the reader and its splits.
func (r *Reader) Snapshot(w *state.Writer) {
	w.I64(int64(r.bound))
	w.I64(int64(r.combined))
	w.Bool(r.idle)
	w.Len(len(r.splits))
	for _, s := range r.splits {
		w.I64(int64(s.wm))
		w.Bool(s.finished)
	}
}

// Restore takes the state of a Snapshot, splits included.
func (r *Reader) Restore(from *state.Reader) {
	r.bound, r.combined, r.idle = stream.Time(from.I64()), stream.Time(from.I64()), from.Bool()
	r.splits = nil
	for range from.Len() {
		r.splits = append(r.splits, readerSplit{stream.Time(from.I64()), from.Bool()})
	}
}
