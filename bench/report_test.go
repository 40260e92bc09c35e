package main

import (
	"strings"
	"testing"
	"time"
)

func costs(peak int64, cpu ...time.Duration) []Cost {
	var c []Cost
	for _, d := range cpu {
		c = append(c, Cost{d, peak})
	}
	return c
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	// The second round was slow for both: 1.5, 2.0 and 2.5 are the ratios.
	r := &Measure{costs: costs(0, 1*time.Second, 4*time.Second, 1*time.Second)}
	m := &Measure{costs: costs(0, 1500*time.Millisecond, 8*time.Second, 2500*time.Millisecond)}
	if got := m.ratio(r); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
	if got := m.seconds(); got != 2.5 {
		t.Errorf("CPU %v s, want the median 2.5", got)
	}
	even := &Measure{costs: costs(0, 1*time.Second, 3*time.Second)}
	if got := even.seconds(); got != 2 {
		t.Errorf("CPU %v s of an even number, want the mean of the middle two", got)
	}
}

func TestReportCountsWhatIsMissed(t *testing.T) {
	var out strings.Builder
	missed := report(&out, []*Measure{
		{Title: "reference", costs: costs(8*mebibyte, time.Second)},
		{Title: "slow", costs: costs(50*mebibyte, 3*time.Second), MaxRatio: 2.5, MaxPeak: 100 * mebibyte},
		{Title: "large", costs: costs(101*mebibyte, 2*time.Second), MaxRatio: 2.5, MaxPeak: 100 * mebibyte},
	})
	if missed != 2 {
		t.Errorf("%d missed, want 2", missed)
	}
	const want = `    measure  CPU s  of R            must  peak MiB            must
  reference   1.00  1.00                         8                
       slow   3.00  3.00  <= 2.5  MISSED        50          <= 100
      large   2.00  2.00          <= 2.5       101  <= 100  MISSED
of R: the median of the rounds' own ratios to the reference, so it need not be the quotient of the two medians in CPU s.
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
