package join

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"tidemark/engine/stream"
)

// benchJoin keeps records of some keys, in turns of either side, that never go.
func benchJoin(b *testing.B, keys, records int) *Interval {
	j, err := NewInterval(IntervalConfig{Lower: 0, Upper: 1, LowerInclusive: true, UpperInclusive: true, Key: benchFields[:1],
		Pair: NewIdentity(benchFields[1:], benchFields[1:]), LeftCols: []int{1, 2}, RightCols: []int{1, 2}, Groups: 128}, nobody{})
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < records; n += 1024 {
		side := n / 1024 % 2
		if err := j.Process(benchBatch(side, min(1024, records-n), func(i int) (int, stream.Time) { return (n + i) % keys, stream.Time(side*1_000_000 + n) })); err != nil {
			b.Fatal(err)
		}
	}
	return j
}

var benchFields = []stream.Field{{Name: "key", Kind: stream.String}, {Name: "n", Kind: stream.Int64}, {Name: "text", Kind: stream.String}}

func benchBatch(side, rows int, of func(i int) (key int, t stream.Time)) *stream.Batch {
	b := new(stream.Batch)
	b.Reset([]stream.Kind{stream.String, stream.Int64, stream.String})
	b.Input = uint8(side)
	for i := range rows {
		key, t := of(i)
		for c, text := range []string{fmt.Sprintf("k%07d", key), "", "some text"} {
			if c == 1 {
				b.Cols[1].AppendInt(int64(i))
				continue
			}
			b.Cols[c].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
			b.Blob = append(b.Blob, text...)
		}
		b.Time, b.WM, b.Split, b.Pos = append(b.Time, t), append(b.WM, 0), append(b.Split, 0), append(b.Pos, int64(i))
		b.N++
	}
	b.Trailing = 0
	b.SetKeys([]int{0})
	return b
}

// BenchmarkCut takes cuts of joins with a million records: freeze-ms is what the task waits
// for, and batch-ms the longest of the batches of 1,024 records of any keys behind it, while
// another goroutine reads the cut, which takes read-ms; calm-ms is the longest of those before.
// Each is the least of all rounds.
func BenchmarkCut(b *testing.B) {
	const records = 1_000_000
	for _, keys := range []int{1_000_000, 10_000, 1} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			j := benchJoin(b, keys, records)
			r := rand.New(rand.NewPCG(1, 1))
			var batches []*stream.Batch
			for n := range 60 {
				batches = append(batches, benchBatch(n%2, 1024, func(int) (int, stream.Time) { return r.IntN(keys), stream.Time(2_000_000 + 10_000*(n%2)) }))
			}
			process := func(n int) time.Duration {
				start := time.Now()
				if err := j.Process(batches[n]); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			var freeze, read, calm, longest []time.Duration
			bytes := 0
			runtime.GC()
			for b.Loop() {
				var most time.Duration
				for n := range 20 {
					most = max(most, process(n))
				}
				calm = append(calm, most)
				start := time.Now()
				cut := j.Freeze()
				freeze = append(freeze, time.Since(start))
				done := make(chan int)
				go func() {
					n := len(cut.Task)
					for g, err := range cut.Groups {
						if err != nil {
							panic(err)
						}
						n += len(g.State)
					}
					done <- n
				}()
				most = 0
				for n := 20; n < len(batches); n++ {
					most = max(most, process(n))
				}
				bytes = <-done
				read = append(read, time.Since(start))
				longest = append(longest, most)
				if err := cut.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(0, "ns/op")
			for name, all := range map[string][]time.Duration{"freeze-ms": freeze, "read-ms": read, "calm-ms": calm, "batch-ms": longest} {
				b.ReportMetric(float64(slices.Min(all).Microseconds())/1000, name)
			}
			b.ReportMetric(float64(bytes)/1e6, "MB")
		})
	}
}
