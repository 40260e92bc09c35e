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

func TestOverlapIsTheCostOfARowWithoutDecoding(t *testing.T) {
	q := func(name string, rows int, decode, job []Cost) *asked {
		return &asked{query: query{group: "W", name: name}, rows: rows, decode: &measured{costs: decode}, engine: []*measured{{costs: job}}}
	}
	ms := time.Millisecond
	all := []*asked{
		q(wide, 2000, costs(0, 1*ms, 2*ms, 1*ms), costs(0, 5*ms, 10*ms, 9*ms)), // 2, 4 and 4 µs a row
		q("another", 1, nil, nil),
		q(narrow, 1000, nil, costs(0, 2*ms, 4*ms, 2*ms)), // 1, 2 and 1 µs
	}
	rows := overlap(all)
	if len(rows) != 1 || rows[0].Measured != 2 || rows[0].Group != "W" {
		t.Errorf("%+v, want 2", rows)
	}
	if rows := overlap(all[:2]); rows != nil {
		t.Errorf("%+v of half of it", rows)
	}
}
