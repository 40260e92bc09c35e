package main

import "strconv"

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

// text writes a figure with its unit.
func (u Unit) text(v float64) string {
	switch u {
	case Ratio:
		return strconv.FormatFloat(v, 'f', 2, 64) + "x"
	case Seconds:
		return strconv.FormatFloat(v, 'f', 2, 64) + " s"
	default:
		return strconv.FormatFloat(v, 'f', 0, 64) + " " + string(u)
	}
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

// Missed tells whether the row fails the run.
func (r *Row) Missed() bool { return r.Must > 0 && r.Measured > r.Must }

// verdict is the last word on a row: nothing where nothing is demanded.
func (r *Row) verdict() string {
	switch {
	case r.Missed():
		return "MISSED must"
	case r.Goal > 0 && r.Measured > r.Goal:
		return "ok, goal missed"
	case r.Must > 0 || r.Goal > 0:
		return "ok"
	}
	return ""
}
