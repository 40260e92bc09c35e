//go:build !wasip1

package main

import (
	"errors"
	"maps"
	"math"
	"testing"

	tidemark "tidemark/sdk/go"
)

func values(vs ...any) []tidemark.Values {
	var rows []tidemark.Values
	for _, v := range vs {
		rows = append(rows, tidemark.Values{"value": v})
	}
	return rows
}

func twin(t *testing.T) *tidemark.Twin {
	t.Helper()
	tw, err := tidemark.NewTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tw
}

func TestResult(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	for _, row := range []struct {
		name string
		in   []tidemark.Values
		want tidemark.Values
	}{
		{"no record has no minimum, maximum and mean", nil,
			tidemark.Values{"count": int64(0), "sum": 0.0}},
		{"one record", values(2.5),
			tidemark.Values{"count": int64(1), "sum": 2.5, "min": 2.5, "max": 2.5, "mean": 2.5}},
		{"the extremes stand in the middle", values(3, -1, 8, 2),
			tidemark.Values{"count": int64(4), "sum": 12.0, "min": -1.0, "max": 8.0, "mean": 3.0}},
		{"nulls are left out", values(1, nil, 2),
			tidemark.Values{"count": int64(2), "sum": 3.0, "min": 1.0, "max": 2.0, "mean": 1.5}},
		{"a negative zero counts as zero", values(negativeZero),
			tidemark.Values{"count": int64(1), "sum": 0.0, "min": 0.0, "max": 0.0, "mean": 0.0}},
		{"infinite values", values(math.Inf(1), 1),
			tidemark.Values{"count": int64(2), "sum": math.Inf(1), "min": 1.0, "max": math.Inf(1), "mean": math.Inf(1)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tw := twin(t)
			acc, err := tw.Add(nil, row.in...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tw.Result(acc)
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
			for name, v := range got {
				if f, is := v.(float64); is && f == 0 && math.Signbit(f) {
					t.Errorf("%s is -0", name)
				}
			}
		})
	}
}

func TestNaNIsRefusedByItsRecord(t *testing.T) {
	_, err := twin(t).Add(nil, values(1, math.NaN(), 2)...)
	var r *tidemark.Refusal
	if !errors.As(err, &r) || r.Op != 1 || r.Message != "value is NaN" {
		t.Errorf("got %v, want a refusal of record 1", err)
	}
}

func TestLaws(t *testing.T) {
	negativeZero := math.Copysign(0, -1)
	for _, in := range [][]tidemark.Values{
		nil, values(7), values(0, negativeZero), values(1, 2, 3, 4), values(0.1, 0.2, 0.3, 1e6, -4), values(5, 5, nil, -5),
	} {
		if err := twin(t).Laws(in...); err != nil {
			t.Errorf("%v: %v", in, err)
		}
	}
}
