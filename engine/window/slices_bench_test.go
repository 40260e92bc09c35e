package window

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sort"
	"testing"

	"tidemark/engine/result"
	"tidemark/engine/stream"
)

// load is a workload of batches in memory: zipf-like keys, half of the records up to 5 s
// late, a watermark after each record that makes none of them late, except for those in
// a hundred that are meant to be.
type load struct {
	records, keys int
	step          float64 // ms of event time from record to record
	late          stream.Time
}

var (
	w2 = load{records: 400_000, keys: 10_000, step: 0.1}
	w3 = load{records: 200_000, keys: 100, step: 72}
)

const (
	benchBatch = 1024
	benchBound = stream.Time(5000)
)

func (l load) batches() []*stream.Batch {
	r := rand.New(rand.NewPCG(42, 0))
	sums := make([]float64, l.keys)
	for i := range sums {
		sums[i] = 1 / float64(i+10)
		if i > 0 {
			sums[i] += sums[i-1]
		}
	}
	var all []*stream.Batch
	var rows []row
	wm := stream.MinTime
	for i := range l.records {
		now := stream.Time(1760000400000) + stream.Time(float64(i)*l.step)
		x := row{ts: now, value: r.IntN(1000), wm: wm}
		x.key = fmt.Sprintf("k%07d", sort.SearchFloat64s(sums, r.Float64()*sums[l.keys-1]))
		if r.IntN(2) == 0 {
			x.ts -= stream.Time(r.IntN(5001))
		}
		if l.late > 0 && r.IntN(100) == 0 {
			x.ts = now - benchBound - stream.Time(r.IntN(int(l.late)))
		}
		wm = max(wm, now-benchBound-1)
		rows = append(rows, x)
		if len(rows) == benchBatch || i == l.records-1 {
			all = append(all, batchOf(rows))
			rows = rows[:0]
		}
	}
	all = append(all, batchOf(nil))
	for _, b := range all {
		b.SetKeys([]int{0})
	}
	return all
}

// sinkhole takes rows and writes them as lines of JSON if it has an encoder.
type sinkhole struct {
	recorder
	encoder *result.Encoder
	rows    int64
	line    []byte
}

func (s *sinkhole) Rows(r *result.Rows) error {
	s.rows += int64(r.N)
	if s.encoder != nil {
		for i := range r.N {
			s.line = s.encoder.Append(s.line[:0], r, i)
		}
	}
	return nil
}

func (s *sinkhole) Late(*stream.Batch, int, stream.Window, stream.Time) error { return nil }

// BenchmarkSliding has the shapes W2 and W3 next to what they are measured by: plain
// panes of one slide, and the rows as JSON. ns/row is all time by rows; heap is what the
// operator holds in the middle of the stream.
func BenchmarkSliding(b *testing.B) {
	fns := func() []Function {
		return []Function{builtin(b, "count", 0), builtin(b, "sum", 2), builtin(b, "max", 2)}
	}
	outputs := func() [][]stream.Field {
		var o [][]stream.Field
		for _, f := range fns() {
			o = append(o, f.Agg.Info().Outputs)
		}
		return o
	}
	run := func(name string, l load, json bool, op func(out Output) Operator) {
		b.Run(name, func(b *testing.B) {
			batches := l.batches()
			b.ReportAllocs()
			var out *sinkhole
			var merges, slides int64
			var heap uint64
			for i := 0; b.Loop(); i++ {
				out = &sinkhole{}
				if json {
					out.encoder = result.NewEncoder("job", "step", sliceKeyFields, []string{"count", "sum", "max"}, outputs(), result.RFC3339)
				}
				o := op(out)
				for n, batch := range batches {
					if err := o.Process(batch); err != nil {
						b.Fatal(err)
					}
					if i == 0 && n == len(batches)/2 {
						b.StopTimer()
						heap = liveHeap()
						runtime.KeepAlive(o)
						b.StartTimer()
					}
				}
				if s, ok := o.(*Slices); ok {
					merges, slides = s.Merges(), s.Slides()
				}
			}
			ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			b.ReportMetric(ns/float64(l.records), "ns/record")
			b.ReportMetric(ns/float64(out.rows), "ns/row")
			b.ReportMetric(float64(out.rows), "rows")
			if slides > 0 {
				b.ReportMetric(float64(merges)/float64(slides), "merges/slide")
				b.ReportMetric(float64(heap)/1e6, "heap-MB")
			}
		})
	}
	sliding := func(size, slide, lateness stream.Time) func(Output) Operator {
		return func(out Output) Operator {
			return shape{size: size, slide: slide, lateness: lateness}.slices(b, fns(), out)
		}
	}
	panes := func(out Output) Operator {
		op, err := NewAligned(Config{Windows: tiles(1000, 0), Key: sliceKeyFields, Functions: fns(), Groups: 128}, out)
		if err != nil {
			b.Fatal(err)
		}
		return op
	}
	late := w3
	late.late = 60_000
	run("W3 plain panes of 1s", w3, false, panes)
	run("W3 1h 1s", w3, false, sliding(3_600_000, 1000, 0))
	run("W3 1h 1s JSON", w3, true, sliding(3_600_000, 1000, 0))
	run("W3 60s 1s", w3, false, sliding(60_000, 1000, 0))
	run("W3 1h 1s late", late, false, sliding(3_600_000, 1000, 60_000))
	run("W3 60s 1s late", late, false, sliding(60_000, 1000, 60_000))
	run("W2 plain panes of 1s", w2, false, panes)
	run("W2 60s 1s", w2, false, sliding(60_000, 1000, 0))
	run("W2 60s 1s JSON", w2, true, sliding(60_000, 1000, 0))
	run("W2 60s 7s", w2, false, sliding(60_000, 7000, 0))
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
