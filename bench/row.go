package main

import (
	"math"
	"strconv"
)

// Row is a line of the table: one figure, and what is demanded of it. Demands are upper
// bounds: less is better for all that is measured here.
type Row struct {
	Group   string // a workload's name, or what an extra measure is about; lines of a group stand together
	Measure string // what was measured, and against what
	Unit    Unit
	// Must fails the run when Measured is above it, Goal is only shown; 0: nothing is demanded.
	Must, Goal float64
	Measured   float64
	// CPU is what one run took, in s, and Peak its largest resident memory in bytes; 0: not told.
	CPU  float64
	Peak int64
}

// Unit says how the figures of a row are written, to as many digits as mean something.
type Unit string

const (
	Ratio        Unit = "x" // of a reference, or of another run
	Mebibytes    Unit = "MiB"
	Bytes        Unit = "B"
	Milliseconds Unit = "ms"
	Seconds      Unit = "s"
)

// digits is how many a figure has behind the point.
func (u Unit) digits() int {
	if u == Ratio || u == Seconds {
		return 2
	}
	return 0
}

// text writes a figure with its unit.
func (u Unit) text(v float64) string {
	text := strconv.FormatFloat(v, 'f', u.digits(), 64)
	if u == Ratio {
		return text + "x"
	}
	return text + " " + string(u)
}

// demand writes an upper bound as the target says it: 1.5x, 300 MiB.
func (u Unit) demand(v float64) string {
	switch {
	case v == 0:
		return ""
	case u == Ratio:
		return "≤ " + strconv.FormatFloat(v, 'f', -1, 64) + "x"
	default:
		return "≤ " + strconv.FormatFloat(v, 'f', -1, 64) + " " + string(u)
	}
}

// above tells whether the figure as it is written is above what is demanded, if anything is: what
// the table says can be read from it, and further digits mean nothing.
func (r *Row) above(most float64) bool {
	scale := math.Pow10(r.Unit.digits())
	return most > 0 && math.Round(r.Measured*scale) > math.Round(most*scale)
}

// Missed tells whether the row fails the run.
func (r *Row) Missed() bool { return r.above(r.Must) }

// verdict is the last word on a row: nothing where nothing is demanded.
func (r *Row) verdict() string {
	switch {
	case r.Missed():
		return "MISSED must"
	case r.above(r.Goal):
		return "ok, goal missed"
	case r.Must > 0 || r.Goal > 0:
		return "ok"
	}
	return ""
}
