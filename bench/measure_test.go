package main

import (
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
	r := &measured{costs: costs(0, 1*time.Second, 4*time.Second, 1*time.Second)}
	m := &measured{costs: costs(0, 1500*time.Millisecond, 8*time.Second, 2500*time.Millisecond)}
	if got := m.ratio(r); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
	if got := m.seconds(); got != 2.5 {
		t.Errorf("CPU %v s, want the median 2.5", got)
	}
	even := &measured{costs: costs(0, 1*time.Second, 3*time.Second)}
	if got := even.seconds(); got != 2 {
		t.Errorf("CPU %v s of an even number, want the mean of the middle two", got)
	}
}
