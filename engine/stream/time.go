package stream

import "math"

// Time is event time (or, where said, processing time) in milliseconds since
// 1970-01-01T00:00:00Z. Negative values are dates before 1970 and legal.
type Time int64

const (
	// MinTime is where every watermark starts (S7). As a record's timestamp it
	// means "no timestamp" (S2).
	MinTime Time = math.MinInt64
	// MaxTime is the watermark of an input that has ended (S13).
	MaxTime Time = math.MaxInt64
)

// Add returns t+d, saturating at MinTime and MaxTime: a wrapped sum would clean
// up windows at once (S40).
func (t Time) Add(d Time) Time {
	s := t + d
	switch {
	case d > 0 && s < t:
		return MaxTime
	case d < 0 && s > t:
		return MinTime
	}
	return s
}

// Sub returns t-d, saturating like Add.
func (t Time) Sub(d Time) Time {
	s := t - d
	switch {
	case d > 0 && s > t:
		return MinTime
	case d < 0 && s < t:
		return MaxTime
	}
	return s
}

// GridStart returns the start of the grid cell of the given size that holds t,
// with a floored modulus so that times before 1970 fall into the right cell (S30).
// size must be above 0. At the end of the range the start saturates at MinTime.
func GridStart(t, offset, size Time) Time {
	r := (t%size - offset%size) % size // no term can overflow
	if r < 0 {
		r += size
	}
	return t.Sub(r)
}
