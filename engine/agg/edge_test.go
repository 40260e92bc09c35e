package agg

import (
	"testing"

	"tidemark/engine/stream"
)

func TestFirstAndLastGoByEventTime(t *testing.T) {
	for _, c := range []struct {
		name        string
		times       []stream.Time
		first, last string // the values are 0, 1, 2, … in order of arrival
	}{
		{"in order", []stream.Time{1, 2, 3}, "0", "2"},
		{"out of order", []stream.Time{2, 3, 1}, "2", "1"},
		{"among equal times the order of arrival decides", []stream.Time{5, 1, 5, 1}, "1", "2"},
		{"before 1970", []stream.Time{-1, -5, -3}, "1", "0"},
		{"without timestamps all times are equal", []stream.Time{stream.MinTime, stream.MinTime}, "0", "1"},
	} {
		var ints, texts []any
		for i := range c.times {
			ints, texts = append(ints, int64(i)), append(texts, string(rune('0'+i)))
		}
		for _, vals := range [][]any{ints, texts} {
			b := column(vals...)
			copy(b.Time, c.times)
			for fn, want := range map[string]string{"first": c.first, "last": c.last} {
				if b.Cols[0].Kind == stream.String {
					want = `"` + want + `"`
				}
				a, err := New(fn, []stream.Kind{b.Cols[0].Kind})
				if err != nil {
					t.Fatal(err)
				}
				for cut := range c.times { // the records in two accumulators
					acc := fresh(t, a)
					if cut > 0 {
						acc = add(t, a, acc, b, 0, cut)
					}
					acc = merge(t, a, acc, add(t, a, fresh(t, a), b, cut, b.N))
					if got := resultOf(t, a, acc); got != want {
						t.Errorf("%s: %s of %s is %s, want %s (cut at %d)", c.name, fn, b.Cols[0].Kind, got, want, cut)
					}
				}
			}
		}
	}
}
