package window

import (
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// BenchmarkSessions has the shape W4 on the operator of sessions and on the general one,
// as it is and with late records that are allowed.
func BenchmarkSessions(b *testing.B) {
	w4 := load{records: 400_000, keys: 10_000, step: 1}
	late := w4
	late.late = 60_000
	for _, c := range []struct {
		name     string
		load     load
		lateness stream.Time
	}{{"W4", w4, 0}, {"W4 late", late, 60_000}} {
		batches := c.load.batches()
		for _, general := range []bool{false, true} {
			name := c.name
			if general {
				name += " record by record"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				var out *sinkhole
				for b.Loop() {
					out = &sinkhole{}
					fns := []Function{builtin(b, "count", 0), builtin(b, "sum", 2), builtin(b, "max", 2)}
					s := Spec{GeneralConfig: GeneralConfig{Groups: 128}}
					s.Assigner, s.GapCol, s.ValueCol = session{gap: 30_000}, -1, -1
					s.Trigger, s.Lateness, s.Key, s.Functions = trigger.NewEventTime(), c.lateness, sliceKeyFields, fns
					op, err := New(s, out)
					if general {
						op, err = NewGeneral(s.GeneralConfig, out)
					}
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
				b.ReportMetric(float64(out.rows), "rows")
			})
		}
	}
}
