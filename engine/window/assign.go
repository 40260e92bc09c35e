package window

import (
	"errors"
	"fmt"
	"sort"
	"time"

	"tidemark/engine/stream"
)

// Assigner maps a record to its windows. Make it with one of the New functions; one
// goroutine uses it.
type Assigner interface {
	// Assign appends the record's windows to dst, the one that ends last first. now is
	// processing time, gap the record's own session gap. The errors are those below.
	Assign(dst []stream.Window, ts, now, gap stream.Time) ([]stream.Window, error)
	// EventTime: windows are judged by the watermark, and can be late (S41). Otherwise
	// they end by the clock, or not at all.
	EventTime() bool
	// Merging: windows of a key that touch become one (S45).
	Merging() bool
}

var (
	// ErrNoTimestamp: an event-time window was asked for a record without time (S2).
	ErrNoTimestamp = errors.New("the record has no timestamp")
	// ErrGap: a record's own session gap is not above 0 (S37).
	ErrGap = errors.New("the session gap of the record is not above 0")
)

// grid is tumbling and sliding windows (S31, S32); tumbling is a slide of one size.
type grid struct {
	size, slide, offset stream.Time
	clock               bool
}

// maxOverlap bounds the windows that hold one record (S32).
const maxOverlap = 10_000_000

// NewSliding returns windows of a size that start every slide ms, in event time or by
// the clock. Equal slide and size are tumbling windows.
func NewSliding(size, slide, offset stream.Time, clock bool) (Assigner, error) {
	switch {
	case size <= 0:
		return nil, fmt.Errorf("size must be above 0, is %d ms", size)
	case slide <= 0:
		return nil, fmt.Errorf("slide must be above 0, is %d ms", slide)
	case offset <= -slide || offset >= slide:
		return nil, fmt.Errorf("offset must lie between -%d and %d ms, is %d", slide, slide, offset)
	case size/slide > maxOverlap:
		return nil, fmt.Errorf("size is more than %d times slide", maxOverlap)
	}
	return &grid{size, slide, offset, clock}, nil
}

// NewTumbling returns windows of a size that lie end to end.
func NewTumbling(size, offset stream.Time, clock bool) (Assigner, error) {
	return NewSliding(size, size, offset, clock)
}

func (g *grid) Assign(dst []stream.Window, ts, now, _ stream.Time) ([]stream.Window, error) {
	if g.clock {
		ts = now
	} else if ts == stream.MinTime {
		return dst, ErrNoTimestamp
	}
	first := ts.Sub(g.size) // a window that holds ts starts behind this
	for start := stream.GridStart(ts, g.offset, g.slide); start > first; start = start.Sub(g.slide) {
		dst = append(dst, stream.Window{Start: start, End: start.Add(g.size)})
		if start == stream.MinTime {
			break
		}
	}
	return dst, nil
}

func (g *grid) EventTime() bool { return !g.clock }
func (g *grid) Merging() bool   { return false }

// tiling is windows in event time that lie end to end: each record is in one, and they end
// in the order in which they begin.
type tiling interface {
	// tile returns the window that holds a time, which is not MIN.
	tile(ts stream.Time) stream.Window
}

// tilingOf returns an assigner as a tiling, nil where it is none.
func tilingOf(a Assigner) tiling {
	switch a := a.(type) {
	case *grid:
		if !a.clock && a.slide == a.size {
			return a
		}
	case *day:
		return a
	}
	return nil
}

func (g *grid) tile(ts stream.Time) stream.Window {
	start := stream.GridStart(ts, g.offset, g.size)
	return stream.Window{Start: start, End: start.Add(g.size)}
}

// session gives each record a window of its own, up to the gap behind it (S36, S37).
type session struct {
	gap   stream.Time // 0: from the record
	clock bool
}

// NewSession returns sessions with a fixed gap in ms.
func NewSession(gap stream.Time, clock bool) (Assigner, error) {
	if gap <= 0 {
		return nil, fmt.Errorf("gap must be above 0, is %d ms", gap)
	}
	return session{gap, clock}, nil
}

// NewDynamicSession returns sessions whose gap stands in each record.
func NewDynamicSession(clock bool) Assigner { return session{0, clock} }

func (s session) Assign(dst []stream.Window, ts, now, gap stream.Time) ([]stream.Window, error) {
	if s.clock {
		ts = now
	}
	w, err := s.window(ts, gap)
	if err != nil {
		return dst, err
	}
	return append(dst, w), nil
}

// window is that of a record by itself.
func (s session) window(ts, gap stream.Time) (stream.Window, error) {
	if ts == stream.MinTime && !s.clock {
		return stream.Window{}, ErrNoTimestamp
	}
	if s.gap > 0 {
		gap = s.gap
	}
	if gap <= 0 {
		return stream.Window{}, ErrGap
	}
	return stream.Window{Start: ts, End: ts.Add(gap)}, nil
}

func (s session) EventTime() bool { return !s.clock }
func (s session) Merging() bool   { return true }

// global holds everything (S39). It is not an event-time assigner: nothing is late for
// it (S80).
type global struct{}

// NewGlobal returns the one window that never ends.
func NewGlobal() Assigner { return global{} }

func (global) Assign(dst []stream.Window, _, _, _ stream.Time) ([]stream.Window, error) {
	return append(dst, stream.Global), nil
}

func (global) EventTime() bool { return false }
func (global) Merging() bool   { return false }

// day is the calendar day in a zone: 23, 24 or 25 hours (S33).
type day struct {
	zone *time.Location
	last stream.Window // records of a day come together
}

// NewDay returns calendar days in a zone.
func NewDay(zone *time.Location) Assigner { return &day{zone: zone} }

func (d *day) Assign(dst []stream.Window, ts, _, _ stream.Time) ([]stream.Window, error) {
	if ts == stream.MinTime {
		return dst, ErrNoTimestamp
	}
	return append(dst, d.tile(ts)), nil
}

func (d *day) tile(ts stream.Time) stream.Window {
	if ts < d.last.Start || ts >= d.last.End {
		y, m, n := time.UnixMilli(int64(ts)).In(d.zone).Date()
		d.last = stream.Window{Start: d.first(y, m, n), End: d.first(y, m, n+1)}
	}
	return d.last
}

// first returns the first instant of a local day. Where midnight does not exist that
// is the jump; time.Date then gives a time on either side of it, so the instant is
// searched for: within a day of midnight the local date only goes up. Clocks are set at
// whole seconds; days that reach beyond the range of time end with it.
func (d *day) first(y int, m time.Month, n int) stream.Time {
	noon := time.Date(y, m, n, 12, 0, 0, 0, d.zone)
	y, m, n = noon.Date()
	from := noon.Add(-36 * time.Hour).Unix() // some time of the day before
	sec := from + int64(sort.Search(36*60*60, func(i int) bool {
		y2, m2, n2 := time.Unix(from+int64(i), 0).In(d.zone).Date()
		return y2 > y || y2 == y && (m2 > m || m2 == m && n2 >= n)
	}))
	switch {
	case sec > int64(stream.MaxTime)/1000:
		return stream.MaxTime
	case sec < int64(stream.MinTime)/1000:
		return stream.MinTime
	}
	return stream.Time(sec * 1000)
}

func (*day) EventTime() bool { return true }
func (*day) Merging() bool   { return false }
