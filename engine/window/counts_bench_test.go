package window

import "testing"

// BenchmarkCounts has sliding count windows next to the general operator, which keeps
// the records. Keys are as in W3.
func BenchmarkCounts(b *testing.B) {
	l := load{records: 100_000, keys: 100, step: 72}
	fns := func() []Function {
		return []Function{builtin(b, "count", 0), builtin(b, "sum", 2), builtin(b, "max", 2)}
	}
	run := func(name string, op func(out Output) Operator) {
		b.Run(name, func(b *testing.B) {
			batches := l.batches()
			b.ReportAllocs()
			var out *sinkhole
			for b.Loop() {
				out = &sinkhole{}
				o := op(out)
				for _, batch := range batches {
					if err := o.Process(batch); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l.records), "ns/record")
			b.ReportMetric(float64(out.rows), "rows")
		})
	}
	for _, c := range []turn{{size: 100, slide: 10}, {size: 1000, slide: 100}, {size: 1000, slide: 1}, {size: 100, slide: 7}, {size: 10, slide: 5}} {
		run(c.String(), func(out Output) Operator { return c.ring(b, fns(), out) })
		run(c.String()+" record by record", func(out Output) Operator {
			o := c.general(b, fns(), out)
			o.cfg.SetAside = false
			return o
		})
	}
}
