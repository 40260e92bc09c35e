package metrics

import (
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
)

func TestStopsOfTheCollector(t *testing.T) {
	n, sum, buckets := stops(&metrics.Float64Histogram{
		Counts:  []uint64{1, 2, 4, 8, 16, 32},
		Buckets: []float64{math.Inf(-1), 0, .0001, .0008, .0012, .09, math.Inf(1)},
	})
	if n != 63 || math.Abs(sum-(4*.0001+8*.0008+16*.0012+32*.09)) > 1e-12 {
		t.Errorf("%d stops, %v s", n, sum)
	}
	// The bucket from 0.8 to 1.2 ms is above 1 ms, that from 1.2 to 90 ms above 25.
	for bound, want := range map[float64]uint64{.0001: 3, .001: 7, .005: 15, .025: 15, .1: 31} {
		if buckets[bound] != want {
			t.Errorf("%d at or below %v s, want %d", buckets[bound], bound, want)
		}
	}
	runtime.GC()
	text := scrape(t, New("", "", 1, nobody, none))
	if !strings.Contains(text, `tidemark_gc_stopping_seconds_bucket{le="0.005"} `) || strings.Contains(text, "tidemark_gc_stopping_seconds_count 0\n") {
		t.Error("this process's own stops are not shown")
	}
}
