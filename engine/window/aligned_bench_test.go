package window

import "testing"

// BenchmarkAligned is the update of tumbling windows: keys found, accumulators taken out, shown to
// the functions and put back, and windows fired, with nothing written. W1 has few keys for its records,
// W5 nearly as many keys as records.
func BenchmarkAligned(b *testing.B) {
	for _, c := range []struct {
		name string
		load load
	}{
		{"W1", load{records: 400_000, keys: 10_000, step: 0.1}},
		{"W5", load{records: 400_000, keys: 1_000_000, step: 0.01}},
	} {
		b.Run(c.name, func(b *testing.B) {
			batches := c.load.batches()
			fns := func() []Function {
				return []Function{builtin(b, "count", 0), builtin(b, "sum", 2), builtin(b, "max", 2)}
			}
			b.ReportAllocs()
			for b.Loop() {
				op, err := NewAligned(Config{Windows: tiles(10_000, 0), Key: sliceKeyFields, Functions: fns(), Groups: 128}, &sinkhole{})
				if err != nil {
					b.Fatal(err)
				}
				for _, batch := range batches {
					if err := op.Process(batch); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.load.records), "ns/record")
		})
	}
}
