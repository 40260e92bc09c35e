package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
)

// BenchmarkCut takes cuts of operators with a million keys: freeze-ms is what the task waits
// for, encode-ms what another goroutine works, and batch-ms the longest of the batches of
// 1,024 records of any keys that come behind the freeze and copy what they touch; calm-ms
// is the longest of those before it; restore-ms is what another operator takes to take it all.
// Each is the least of all rounds.
func BenchmarkCut(b *testing.B) {
	const keys = 1_000_000
	for _, c := range []struct {
		name string
		open func(out Output) (Operator, error)
	}{
		{"tumbling", func(out Output) (Operator, error) {
			return NewAligned(Config{Windows: tiles(10_000, 0), Key: sliceKeyFields, Functions: cutFunctions(b), Groups: 128}, out)
		}},
		{"sliding", func(out Output) (Operator, error) {
			return NewSlices(SlicesConfig{Size: 10_000, Slide: 5000, Key: sliceKeyFields, Functions: cutFunctions(b), Groups: 128}, out)
		}},
		{"counts", func(out Output) (Operator, error) {
			return NewCounts(CountsConfig{Size: 100, Slide: 50, Key: sliceKeyFields, Functions: cutFunctions(b), Groups: 128}, out)
		}},
		{"sessions", func(out Output) (Operator, error) {
			return NewSessions(SessionsConfig{Gap: 10_000, GapCol: -1, Key: sliceKeyFields, Functions: cutFunctions(b), Groups: 128}, out)
		}},
		{"panes", func(out Output) (Operator, error) {
			return NewGeneral(GeneralConfig{Assigner: tiles(10_000, 0), Trigger: trigger.NewCount(1000), GapCol: -1, ValueCol: -1, Key: sliceKeyFields, Functions: cutFunctions(b), Groups: 128}, out)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			op, err := c.open(&sinkhole{})
			if err != nil {
				b.Fatal(err)
			}
			process := func(batch *stream.Batch) time.Duration {
				batch.SetKeys([]int{0})
				batch.Trailing = 0
				start := time.Now()
				if err := op.Process(batch); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			var rows []row
			for i := range keys {
				rows = append(rows, row{key: fmt.Sprintf("k%07d", i), ts: 7, value: i, wm: 0})
				if len(rows) == 1024 || i == keys-1 {
					process(batchOf(rows))
					rows = rows[:0]
				}
			}
			r := rand.New(rand.NewPCG(1, 1))
			var batches []*stream.Batch
			for range 200 {
				rows = rows[:0]
				for range 1024 {
					rows = append(rows, row{key: fmt.Sprintf("k%07d", r.IntN(keys)), ts: 7, value: 1, wm: 0})
				}
				batches = append(batches, batchOf(rows))
			}
			var freeze, encode, calm, longest, restore least
			bytes := 0
			for b.Loop() {
				var most time.Duration
				for _, batch := range batches[:20] {
					most = max(most, process(batch))
				}
				calm.add(most)
				start := time.Now()
				cut := op.Freeze()
				freeze.add(time.Since(start))
				most = 0
				for _, batch := range batches[20:] {
					most = max(most, process(batch))
				}
				longest.add(most)
				start = time.Now()
				taken, err := cut.Read()
				if err != nil {
					b.Fatal(err)
				}
				encode.add(time.Since(start))
				bytes = sizeOf(taken)
				next, err := c.open(&sinkhole{})
				if err != nil {
					b.Fatal(err)
				}
				start = time.Now()
				if err := next.Restore(taken.AsItWas()); err != nil {
					b.Fatal(err)
				}
				restore.add(time.Since(start))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(freeze.ms(), "freeze-ms")
			b.ReportMetric(encode.ms(), "encode-ms")
			b.ReportMetric(restore.ms(), "restore-ms")
			b.ReportMetric(calm.ms(), "calm-ms")
			b.ReportMetric(longest.ms(), "batch-ms")
			b.ReportMetric(float64(bytes)/1e6, "MB")
		})
	}
}

// least is the shortest of some times.
type least []time.Duration

func (l *least) add(d time.Duration) { *l = append(*l, d) }
func (l *least) ms() float64         { return float64(slices.Min(*l).Microseconds()) / 1000 }

func cutFunctions(b *testing.B) []Function {
	return []Function{builtin(b, "count", 0), builtin(b, "sum", 2), builtin(b, "max", 2)}
}

func sizeOf(c state.Pieces) int {
	n := len(c.Task)
	for _, g := range c.Groups {
		n += len(g.State)
	}
	return n
}

// BenchmarkCutOfStates is the same for what a process function keeps of a million keys, and
// of as many windows.
func BenchmarkCutOfStates(b *testing.B) {
	const n, groups = 1_000_000, 128
	for _, states := range []string{"key", "window"} {
		b.Run(states, func(b *testing.B) {
			p := newProcessor(&Process{Fn: &visits{states: states}, TTL: 1000}, sliceKeyFields)
			for i := range n {
				key := fmt.Appendf(nil, "k%07d", i)
				if data := make([]byte, 8); states == "key" {
					p.keys.put(key, data, stream.Time(i))
				} else {
					p.windows.put(stream.Window{Start: stream.Time(i % 10), End: 10}, key, data)
				}
			}
			var freeze, encode least
			for b.Loop() {
				start := time.Now()
				f := p.freeze(groups)
				freeze.add(time.Since(start))
				start = time.Now()
				write, w := f.open(), state.Writer{}
				for g := range groups {
					w.Buf = w.Buf[:0]
					write(g, &w)
				}
				encode.add(time.Since(start))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(freeze.ms(), "freeze-ms")
			b.ReportMetric(encode.ms(), "encode-ms")
		})
	}
}
