// Command mean is a plug-in: count and mean of a column. It shows how the accumulators of
// a plug-in with a longer past become those of today.
package main

import (
	"errors"

	tidemark "tidemark/sdk/go"
)

var (
	value = tidemark.Float64("value")
	count = tidemark.OutInt64("count")
	mean  = tidemark.OutFloat64("mean")

	errCount = errors.New("a count is not a whole number")
)

// sums is the accumulator, schema 3.
type sums struct {
	count int64
	sum   float64
}

// Schema 1 kept the mean itself, and counted in floats.
type means struct{ mean, count float64 }

// Schema 2 kept the smallest value, too.
type lowest struct {
	sum   float64
	count int64
	_     float64
}

func (s *sums) Add(r tidemark.Row) error {
	s.count++
	s.sum += value.Of(r)
	return nil
}

func (s *sums) Merge(o *sums) error {
	s.count += o.count
	s.sum += o.sum
	return nil
}

func (s *sums) Result(w *tidemark.Out) error {
	count.Set(w, s.count)
	if s.count > 0 {
		mean.Set(w, s.sum/float64(s.count))
	}
	return nil
}

func fromMeans(old *means, now *sums) error {
	if !(old.count >= 0 && old.count < 1<<53 && old.count == float64(int64(old.count))) {
		return errCount
	}
	now.count, now.sum = int64(old.count), old.mean*old.count
	return nil
}

func fromLowest(old *lowest, now *sums) error {
	now.count, now.sum = old.count, old.sum
	return nil
}

var plugin = tidemark.FixedAggregate[sums](tidemark.Spec{
	Name: "mean", Version: "3.0.0",
	Inputs:           []tidemark.Input{value},
	Outputs:          []tidemark.Output{count, mean},
	OrderInsensitive: true,
	Schema:           3,
	Upgrades:         []tidemark.Upgrade{tidemark.UpgradeFrom(1, fromMeans), tidemark.UpgradeFrom(2, fromLowest)},
})

func main() {}
