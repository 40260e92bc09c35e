//go:build !wasip1

package main

import (
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	tidemark "tidemark/sdk/go"
)

// words are the bytes of int64s and float64s.
func words(values ...any) (b []byte) {
	for _, v := range values {
		if f, is := v.(float64); is {
			v = int64(math.Float64bits(f))
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(v.(int64)))
	}
	return b
}

func TestMean(t *testing.T) {
	twin, err := tidemark.NewTwin(plugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := twin.Upgrade(1, words(2.5, 4.0)) // a mean of 2.5 of 4
	if err != nil {
		t.Fatal(err)
	}
	second, err := twin.Upgrade(2, words(7.0, int64(2), 3.0))
	if err != nil {
		t.Fatal(err)
	}
	both, err := twin.Merge(first, second)
	if err != nil {
		t.Fatal(err)
	}
	acc, err := twin.Add(both, tidemark.Values{"value": 4.0})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := twin.Result(acc); err != nil || !reflect.DeepEqual(got, tidemark.Values{"count": int64(7), "mean": 3.0}) { // 10 + 7 + 4 of 7
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := twin.Result(nil); err != nil || !reflect.DeepEqual(got, tidemark.Values{"count": int64(0)}) {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	for _, count := range []float64{-1, 0.5, math.NaN(), math.Inf(1), 1 << 53} {
		if _, err := twin.Upgrade(1, words(1.0, count)); err == nil || err.Error() != "a count is not a whole number" {
			t.Errorf("count %g: %v", count, err)
		}
	}
	if err := twin.Laws(tidemark.Values{"value": 1.0}, tidemark.Values{"value": 2.0}, tidemark.Values{"value": -4.5}); err != nil {
		t.Error(err)
	}
}
