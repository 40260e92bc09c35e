package metrics

import (
	"runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"
)

// stopBounds are in seconds. A plug-in is to let Go's collector wait for 5 ms at most; what
// is above 0.1 is a plug-in that nobody can stop, or a machine that gives us no processor.
var stopBounds = [...]float64{.0001, .001, .005, .025, .1}

var stopping = prometheus.NewDesc(prefix+"gc_stopping_seconds",
	"How long Go's collector waited until everybody had stopped, also plug-ins. The sum is an estimate.", nil, nil)

// stopCollector shows how long the runtime takes to stop the world. The library's own
// collector has the same figure in powers of ten.
type stopCollector struct{}

var _ prometheus.Collector = stopCollector{}

// Describe implements prometheus.Collector.
func (stopCollector) Describe(out chan<- *prometheus.Desc) { out <- stopping }

// Collect implements prometheus.Collector.
func (stopCollector) Collect(out chan<- prometheus.Metric) {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return // another version of Go
	}
	n, sum, buckets := stops(s[0].Value.Float64Histogram())
	out <- prometheus.MustNewConstHistogram(stopping, n, sum, buckets)
}

// stops brings the runtime's many buckets into ours. One that reaches over a bound counts
// as above it, so a count never says less than it was.
func stops(h *metrics.Float64Histogram) (n uint64, sum float64, buckets map[float64]uint64) {
	buckets = map[float64]uint64{}
	for _, b := range stopBounds {
		buckets[b] = 0
	}
	for i, count := range h.Counts {
		low, high := max(0, h.Buckets[i]), h.Buckets[i+1]
		n += count
		sum += float64(count) * low
		for _, b := range stopBounds {
			if high <= b {
				buckets[b] += count
			}
		}
	}
	return n, sum, buckets
}
