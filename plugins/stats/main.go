// Command stats is a plug-in: count, sum, minimum, maximum and mean of a column.
//
// It refuses NaN, which has no place in an order. Without values only count and sum
// have a meaning, 0; min, max and mean are null.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	value = tidemark.Float64("value")

	count   = tidemark.OutInt64("count")
	sum     = tidemark.OutFloat64("sum")
	minimum = tidemark.OutFloat64("min")
	maximum = tidemark.OutFloat64("max")
	mean    = tidemark.OutFloat64("mean")
)

// stats is the accumulator. min and max mean nothing while count is 0.
type stats struct {
	count         int64
	sum, min, max float64
}

var errNaN = errors.New("value is NaN")

// add takes in a batch of values.
func add(b tidemark.Batch[stats]) error {
	for i := range b.Len() {
		s, r := b.At(i)
		v := value.Of(r) + 0 // makes -0 a 0: which of the two came first must not show
		if v != v {
			return errNaN
		}
		// What is common comes first: see tidemark.BatchAggregate.
		if s.count > 0 {
			if v >= s.min {
				if v > s.max {
					s.max = v
				}
			} else {
				s.min = v
			}
		} else {
			s.min, s.max = v, v
		}
		s.count++
		s.sum += v
	}
	return nil
}

// Merge takes in the values behind o.
func (s *stats) Merge(o *stats) error {
	switch {
	case o.count == 0:
	case s.count == 0:
		*s = *o
	default:
		s.count += o.count
		s.sum += o.sum
		s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	}
	return nil
}

// Result writes the row.
func (s *stats) Result(w *tidemark.Out) error {
	count.Set(w, s.count)
	sum.Set(w, s.sum)
	if s.count > 0 {
		minimum.Set(w, s.min)
		maximum.Set(w, s.max)
		mean.Set(w, s.sum/float64(s.count))
	}
	return nil
}

var plugin = tidemark.BatchAggregate[stats](tidemark.Spec{
	Name: "stats", Version: "1.0.0",
	Inputs:           []tidemark.Input{value},
	Outputs:          []tidemark.Output{count, sum, minimum, maximum, mean},
	OrderInsensitive: true, // up to the rounding of sum and mean, hence not Exact
}, add)

func main() {}
