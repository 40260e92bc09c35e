package main

import (
	"maps"
	"testing"

	"github.com/google/pprof/profile"
)

func TestSharesOfTasksInAProfile(t *testing.T) {
	sample := func(n int64, labels map[string][]string) *profile.Sample {
		return &profile.Sample{Value: []int64{n * 10_000_000, n}, Label: labels}
	}
	task := func(work, operator, number string) map[string][]string {
		return map[string][]string{"job": {"w1"}, "work": {work}, "operator": {operator}, "number": {number}}
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "samples", Unit: "count"}},
		Sample: []*profile.Sample{
			sample(3, task("source", "orders", "0")),
			sample(2, task("step", "per_key", "0")),
			sample(1, task("step", "per_key", "1")),
			sample(1, task("source", "orders", "0")), // elsewhere in its code
			sample(1, nil),
		},
	}
	want := map[string]float64{"source orders 0": 0.5, "step per_key 0": 0.25, "step per_key 1": 0.125, "the runtime": 0.125}
	if got := sharesOf(p); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
