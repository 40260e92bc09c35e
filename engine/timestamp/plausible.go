package timestamp

import (
	"errors"
	"fmt"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Values outside of these bounds are implausible for a stream that was not made up
// by hand.
const (
	earliest = stream.Time(631152000000)              // 1990-01-01
	ahead    = stream.Time(366 * 24 * 60 * 60 * 1000) // a year from now
)

// ErrUnit is in the error of Plausible: the job declares the wrong unit.
var ErrUnit = errors.New("implausible times")

// Plausible checks the first times of a split against now: if all of them are
// outside of 1990 to a year from now as the unit has it, but all inside in another
// of s, ms, us and ns, the unit is wrong, and the error (ErrUnit and fault.ErrUser) names the likely
// one. Small numbers, as in tests, fit no unit and pass. Units of text always pass.
//
// It takes times that Parse gave, not tokens: what the floor to milliseconds cost
// does not matter against 37 years.
func (a *Assigner) Plausible(times []stream.Time, now stream.Time) error {
	if !a.number || len(times) == 0 {
		return nil
	}
	latest := now.Add(ahead)
	for _, t := range times {
		if earliest <= t && t <= latest {
			return nil
		}
	}
	for _, unit := range [...]string{"s", "ms", "us", "ns"} {
		by := shifts[unit] - a.shift
		fits := true
		for _, t := range times {
			t = scale(t, by)
			fits = fits && earliest <= t && t <= latest
		}
		if fits {
			return fault.As(fault.ErrUser, fault.As(ErrUnit, fmt.Errorf("time field %s: read in %s the first value is %s, read in %s it would be %s: is the unit %s meant?",
				a.field, a.unit, Date(times[0]), unit, Date(scale(times[0], by)), unit)))
		}
	}
	return nil
}

// scale returns t × 10^by, saturating.
func scale(t stream.Time, by int) stream.Time {
	for ; by < 0; by++ {
		t /= 10
	}
	for ; by > 0; by-- {
		if t > stream.MaxTime/10 || t < stream.MinTime/10 {
			return stream.MaxTime
		}
		t *= 10
	}
	return t
}
