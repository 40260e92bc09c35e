//go:build !wasip1

package main

import (
	"errors"
	"math"
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

func TestAssign(t *testing.T) {
	twin, err := tidemark.NewAssignerTwin(plugin, tidemark.Values{"gap_ms": 50})
	if err != nil {
		t.Fatal(err)
	}
	record := func(at tidemark.Timestamp, gap any) tidemark.Record {
		return tidemark.Record{Time: at, Values: tidemark.Values{"gap_ms": gap}}
	}
	got, err := twin.Show(record(100, 10), record(100, nil), record(-100, 1), record(math.MaxInt64-50, nil), record(math.MaxInt64-50, 51), record(5, math.MaxInt64), record(tidemark.NoTime, 1))
	want := [][]tidemark.Span{{{Start: 100, End: 110}}, {{Start: 100, End: 150}}, {{Start: -100, End: -99}}, {{Start: math.MaxInt64 - 50, End: math.MaxInt64}},
		{{Start: math.MaxInt64 - 50, End: math.MaxInt64}}, {{Start: 5, End: math.MaxInt64}}, nil}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, gap := range []int{0, -1} {
		_, err := twin.Show(record(1, 1), record(2, gap))
		if refusal := (*tidemark.Refusal)(nil); !errors.As(err, &refusal) || refusal.Op != 1 || refusal.Message != "gap_ms must be at least 1" {
			t.Errorf("gap %d: got %v", gap, err)
		}
	}
}

func TestArguments(t *testing.T) {
	if _, err := tidemark.NewAssignerTwin(plugin, tidemark.Values{"gap_ms": 0}); err == nil || err.Error() != "gap_ms must be at least 1" {
		t.Errorf("got %v", err)
	}
	twin, err := tidemark.NewAssignerTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := twin.Show(tidemark.Record{Time: 1}); err != nil || !reflect.DeepEqual(got, [][]tidemark.Span{{{Start: 1, End: 60_001}}}) {
		t.Errorf("got %v, %v", got, err)
	}
}
