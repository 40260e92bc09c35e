package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Measure is one line of the table.
type Measure struct {
	Name    string // for -only
	Title   string
	Process Process
	Rows    bool // writes result rows, to be compared
	// MaxRatio and MaxPeak are what the project demands; 0: nothing.
	MaxRatio float64
	MaxPeak  int64 // bytes

	costs []Cost
}

const mebibyte = 1 << 20

// ratio is the median over the rounds of the CPU time divided by that of the
// reference in the same round, so that a slow minute of the machine counts for
// neither side.
func (m *Measure) ratio(reference *Measure) float64 {
	ratios := make([]float64, len(m.costs))
	for round := range m.costs {
		ratios[round] = m.costs[round].CPU.Seconds() / reference.costs[round].CPU.Seconds()
	}
	return median(ratios)
}

func (m *Measure) seconds() float64 {
	cpu := make([]float64, len(m.costs))
	for i, c := range m.costs {
		cpu[i] = c.CPU.Seconds()
	}
	return median(cpu)
}

func (m *Measure) peak() int64 {
	var peak int64
	for _, c := range m.costs {
		peak = max(peak, c.Peak)
	}
	return peak
}

// demands counts those that are not met.
type demands struct{ missed int }

// atMost is text, which says what is demanded, and whether that is missed; nothing if
// most is 0.
func (d *demands) atMost(value, most float64, text string) string {
	switch {
	case most == 0:
		return ""
	case value > most:
		d.missed++
		return text + "  MISSED"
	}
	return text
}

// report prints the table and returns how many demands are not met. measures begins
// with the reference.
func report(out io.Writer, measures []*Measure) int {
	reference := measures[0]
	var d demands
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "measure\tCPU s\tof R\tmust\tpeak MiB\tmust\t")
	for _, m := range measures {
		ratio, peak := m.ratio(reference), m.peak()
		fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%s\t%d\t%s\t\n", m.Title, m.seconds(),
			ratio, d.atMost(ratio, m.MaxRatio, fmt.Sprintf("<= %.1f", m.MaxRatio)),
			(peak+mebibyte-1)/mebibyte, d.atMost(float64(peak), float64(m.MaxPeak), fmt.Sprintf("<= %d", m.MaxPeak/mebibyte)))
	}
	table.Flush()
	fmt.Fprintln(out, "of R: the median of the rounds' own ratios to the reference, so it need not be the quotient of the two medians in CPU s.")
	return d.missed
}
