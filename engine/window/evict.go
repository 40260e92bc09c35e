package window

import (
	"errors"
	"math"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Evictor drops records of a pane's list when it fires (S84). Exactly one of Count,
// Keep and Delta is set.
type Evictor struct {
	Count int         // keep the last n (S85)
	Keep  stream.Time // ms: drop what is that much older than the newest (S86)
	Delta bool        // drop what is at least Threshold away from the last (S87)

	Threshold float64
	Abs       bool
	Col       int  // of the value that Delta compares
	After     bool // behind the function instead of before it (S89)
}

// errMixedTimes: a time evictor stands over records with and without timestamps (S86).
var errMixedTimes = fault.As(fault.ErrUser, errors.New("a time evictor needs records that all have a timestamp, or none"))

// evict marks the records to drop.
func (v *Evictor) evict(l *elements) (gone []bool, err error) {
	n := len(l.refs)
	gone = make([]bool, n)
	if n == 0 {
		return gone, nil
	}
	switch {
	case v.Count > 0:
		for i := range max(0, n-v.Count) {
			gone[i] = true
		}
	case v.Delta:
		last := l.value(l.refs[n-1], v.Col)
		for i, e := range l.refs {
			d := last - l.value(e, v.Col)
			if v.Abs {
				d = math.Abs(d)
			}
			gone[i] = d >= v.Threshold
		}
	default:
		if l.refs[0].time == stream.MinTime {
			return gone, nil
		}
		newest := stream.MinTime
		for _, e := range l.refs {
			if e.time == stream.MinTime {
				return nil, errMixedTimes
			}
			newest = max(newest, e.time)
		}
		for i, e := range l.refs {
			gone[i] = e.time <= newest.Sub(v.Keep)
		}
	}
	return gone, nil
}
