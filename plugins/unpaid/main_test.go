//go:build !wasip1

package main

import (
	"errors"
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

func records(column string, values ...float64) (out []tidemark.Record) {
	for i, v := range values {
		out = append(out, tidemark.Record{Time: tidemark.Timestamp(1000 * i), Values: tidemark.Values{column: v}})
	}
	return out
}

func TestWhatIsOpen(t *testing.T) {
	twin, err := tidemark.NewPairTwin(plugin, tidemark.Values{"tolerance": 0.5})
	if err != nil {
		t.Fatal(err)
	}
	got, err := twin.Show(records("due", 10, 2), records("paid", 9.5, 4))
	want := []tidemark.Values{ // 10 with 9.5 is near enough
		{"open": 6.0, "waited_ms": int64(1000)},
		{"open": -7.5, "waited_ms": int64(-1000)},
		{"open": -2.0, "waited_ms": int64(0)},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = twin.Show(records("due", 10), records("paid", 1, -1))
	var refusal *tidemark.Refusal
	if !errors.As(err, &refusal) || refusal.Op != 1 || refusal.Message != errNegative.Error() {
		t.Errorf("got %v", err)
	}
}
