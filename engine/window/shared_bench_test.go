package window

import (
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// BenchmarkSharing has sliding windows under triggers of their own: panes with
// accumulators next to panes that share slices. What sharing saves is adding a record to
// each of its windows, and trying it there first where refused records are set aside; what
// it costs is the merges of firings. Plan's constants are from here: see sharingPays.
func BenchmarkSharing(b *testing.B) {
	fns := func() []Function {
		return []Function{builtin(b, "count", 0), builtin(b, "sum", 2), builtin(b, "max", 2)}
	}
	dense := load{records: 20_000, keys: 10, step: 10} // ten records a key and second
	sparse := load{records: 20_000, keys: 100, step: 72}
	for _, c := range []struct {
		name string
		load
		size     stream.Time // the slide is a second
		trigger  trigger.Trigger
		setAside bool
	}{
		{"60s, count 100", dense, 60_000, trigger.NewCount(100), false},
		{"60s, count 16", dense, 60_000, trigger.NewCount(16), false},
		{"60s, count 4", dense, 60_000, trigger.NewCount(4), false},
		{"60s, count 4, set aside", dense, 60_000, trigger.NewCount(4), true},
		{"60s, continuous 10s", dense, 60_000, trigger.NewContinuous(trigger.EventTime, 10_000), false},
		{"60s, continuous 10s, set aside", dense, 60_000, trigger.NewContinuous(trigger.EventTime, 10_000), true},
		{"60s, continuous 10s, few records", sparse, 60_000, trigger.NewContinuous(trigger.EventTime, 10_000), false},
		{"60s, count or timeout", dense, 60_000, trigger.NewCountOrTimeout(1000, 5000, trigger.EventTime), false},
		{"8s, count 100", dense, 8_000, trigger.NewCount(100), false},
		{"3s, count 100", dense, 3_000, trigger.NewCount(100), false},
	} {
		batches := c.batches()
		e := early{shape: shape{size: c.size, slide: 1000}, trigger: c.trigger, name: c.name, setAside: c.setAside}
		run := func(name string, op func(out Output) Operator) {
			b.Run(c.name+"/"+name, func(b *testing.B) {
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
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.records), "ns/record")
				b.ReportMetric(float64(out.rows), "rows")
			})
		}
		run("panes", func(out Output) Operator { return e.panes(b, fns(), out) })
		run("slices", func(out Output) Operator { return e.sharing(b, fns(), out) })
	}
}
