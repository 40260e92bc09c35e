package main

import "testing"

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name                 string
		must, goal, measured float64
		want                 string
		missed               bool
	}{
		{"nothing demanded", 0, 0, 9, "", false},
		{"below the goal", 2, 1.5, 1.4, "ok", false},
		{"at the goal", 2, 1.5, 1.5, "ok", false},
		{"above the goal", 2, 1.5, 1.6, "ok, goal missed", false},
		{"at what must be", 2, 1.5, 2, "ok, goal missed", false},
		{"above what must be", 2, 1.5, 2.01, "MISSED must", true},
		{"written like what must be", 2, 1.5, 2.004, "ok, goal missed", false},
		{"written like the goal", 2, 1.5, 1.504, "ok", false},
		{"no goal", 2, 0, 1.9, "ok", false},
		{"only a goal", 0, 2, 2.5, "ok, goal missed", false},
	} {
		r := Row{Unit: Ratio, Must: c.must, Goal: c.goal, Measured: c.measured}
		if got := r.verdict(); got != c.want || r.Missed() != c.missed {
			t.Errorf("%s: %q, missed %v; want %q, %v", c.name, got, r.Missed(), c.want, c.missed)
		}
	}
}

func TestFiguresAreWrittenInTheirUnit(t *testing.T) {
	for _, c := range []struct {
		unit         Unit
		value        float64
		text, demand string
	}{
		{Ratio, 1.5, "1.50x", "≤ 1.5x"},
		{Mebibytes, 300, "300 MiB", "≤ 300 MiB"},
		{Bytes, 72.4, "72 B", "≤ 72.4 B"},
		{Milliseconds, 250, "250 ms", "≤ 250 ms"},
		{Seconds, 0.8, "0.80 s", "≤ 0.8 s"},
	} {
		if got := c.unit.text(c.value); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
		if got := c.unit.demand(c.value); got != c.demand {
			t.Errorf("%q, want %q", got, c.demand)
		}
	}
}
