package window

import (
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// sliceGrid numbers the windows of a sliding assigner and the slices between all of
// their starts and ends (L1). Window k starts at offset + k × slide. It is pure.
//
// Where the slide divides the size, ends are starts: one slice a slide, slice k begins
// with window k. Elsewhere each slide has a second edge, where a window ends that began
// some slides before, and two slices:
//
//	slide    |------- k -------|------ k+1 ------|
//	edges    start     end     start     end
//	slices   |--2k-----|-2k+1--|--2k+2---|-2k+3--|
//
// With a slide above the size the second slice is the gap, which no window holds.
// Blocks are runs of one window's number of slices; block b begins with slice b × count,
// whatever the data are, so that sums of the same window always have the same shape (L4).
type sliceGrid struct {
	size, slide, offset stream.Time // offset is from 0 to below slide
	rest                stream.Time // from a window's start to the other edge of its slide; 0: none
	per                 int64       // slices a slide
	count               int64       // slices a window
	min, max            int64       // numbers of the windows whose starts are times (S32)
	bounded             bool        // min and max are limits of the numbers, not of time
}

const (
	// maxWindowNumber keeps sums and doubles of window numbers inside int64. Only slides
	// below 8 ms reach it, millions of years away.
	maxWindowNumber = 1 << 60
	// maxSpan bounds size and slide: 285,000 years, more than any duration in a job can
	// say, and little enough for sums of them.
	maxSpan stream.Time = 1 << 53
)

func newSliceGrid(size, slide, offset stream.Time) (sliceGrid, error) {
	if _, err := NewSliding(size, slide, offset, false); err != nil {
		return sliceGrid{}, fault.As(fault.ErrUser, err)
	}
	if size > maxSpan || slide > maxSpan {
		return sliceGrid{}, fault.Userf("size and slide must be at most %d ms", maxSpan)
	}
	g := sliceGrid{size: size, slide: slide, offset: (offset + slide) % slide, rest: size % slide, per: 1, count: int64(size / slide)}
	if g.rest > 0 {
		g.per, g.count = 2, 2*g.count+1
	}
	first, _ := g.divide(stream.MinTime)
	last, _ := g.divide(stream.MaxTime)
	g.min, g.max = max(first+1, -maxWindowNumber), min(last, maxWindowNumber)
	g.bounded = g.min > first+1 || g.max < last
	return g, nil
}

// divide returns the window that starts last at or before t, and how long before.
func (g *sliceGrid) divide(t stream.Time) (k int64, behind stream.Time) {
	k, behind = int64(t/g.slide), t%g.slide
	if behind < 0 {
		k, behind = k-1, behind+g.slide
	}
	if behind -= g.offset; behind < 0 {
		k, behind = k-1, behind+g.slide
	}
	return k, behind
}

// slice returns the number of the slice that holds t.
func (g *sliceGrid) slice(t stream.Time) int64 {
	k, behind := g.divide(t)
	if g.rest > 0 && behind >= g.rest {
		return 2*k + 1
	}
	return g.per * k
}

// check refuses a time whose slice has windows without numbers.
func (g *sliceGrid) check(slice int64, ts stream.Time) error {
	if _, last := g.windows(slice); g.bounded && (last < g.min || last > g.max) {
		return fault.Userf("event time %d ms is too far from 1970 for a slide of %d ms", ts, g.slide)
	}
	return nil
}

// windows returns the first and the last window that hold a slice; the first is behind
// the last where none does.
func (g *sliceGrid) windows(slice int64) (first, last int64) {
	first, last = slice-g.count+1, slice
	if g.per == 2 {
		first, last = (first+1)>>1, last>>1
	}
	return max(first, g.min), last
}

// bounds returns the first and the last slice of a window.
func (g *sliceGrid) bounds(k int64) (lo, hi int64) {
	lo = g.per * k
	return lo, lo + g.count - 1
}

// block returns the first slice of the block that holds a slice.
func (g *sliceGrid) block(slice int64) int64 {
	r := slice % g.count
	if r < 0 {
		r += g.count
	}
	return slice - r
}

// window returns the window with a number from min to max.
func (g *sliceGrid) window(k int64) stream.Window {
	start := g.offset + stream.Time(k)*g.slide
	return stream.Window{Start: start, End: start.Add(g.size)}
}

// span returns the times of a slice.
func (g *sliceGrid) span(slice int64) stream.Window {
	if g.per == 1 {
		start := g.offset + stream.Time(slice)*g.slide
		return stream.Window{Start: start, End: start.Add(g.slide)}
	}
	start := g.offset + stream.Time(slice>>1)*g.slide
	if slice&1 == 0 {
		return stream.Window{Start: start, End: start.Add(g.rest)}
	}
	return stream.Window{Start: start.Add(g.rest), End: start.Add(g.slide)}
}

// ended returns the last window with M <= wm, or a number below min.
func (g *sliceGrid) ended(wm stream.Time) int64 {
	if wm >= stream.MaxTime-1 { // ends beyond the end of time were cut there
		return g.max
	}
	k, _ := g.divide(wm.Sub(g.size - 1))
	return min(max(k, g.min-1), g.max)
}

// closed returns the last window whose state is gone at wm. A cleanup time of MaxTime
// never comes (S44).
func (g *sliceGrid) closed(wm, lateness stream.Time) int64 {
	return g.ended(min(wm, stream.MaxTime-1).Sub(lateness))
}

// due returns the earliest watermark at which a window behind those that have ended or
// closed ends or closes.
func (g *sliceGrid) due(ended, closed int64, lateness stream.Time) stream.Time {
	t := stream.MaxTime
	if ended < g.max {
		t = g.window(ended + 1).MaxTimestamp()
	}
	if closed < g.max {
		t = min(t, g.window(closed+1).Cleanup(lateness))
	}
	return t
}
