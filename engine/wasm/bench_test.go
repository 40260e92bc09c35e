package wasm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/wasmtest"
)

// load is a batch of float64 values whose records go to as many groups, in the order
// in which an engine numbers them: by first appearance.
func load(rows, groups int, contiguous bool) *udf.Rows {
	r := rand.New(rand.NewPCG(1, 2))
	b := &stream.Batch{}
	b.Reset([]stream.Kind{stream.Float64})
	out := &udf.Rows{Batch: b, Cols: []int{0}, Groups: groups}
	for i := range 2 * rows {
		b.Cols[0].AppendFloat(r.Float64())
		if contiguous && i < rows || !contiguous && i%2 == 1 {
			out.Sel = append(out.Sel, uint32(i))
			g := r.IntN(groups)
			if len(out.Group) < groups {
				g = len(out.Group)
			}
			out.Group = append(out.Group, uint32(g))
		}
	}
	b.N = 2 * rows
	return out
}

// BenchmarkAdd is the cost of a record: frame, call, and the distinct accumulators
// copied in and out, with the guest of a C compiler.
func BenchmarkAdd(b *testing.B) {
	benchmarkAdd(b, wasmtest.Guest(b, "minmax"))
}

func benchmarkAdd(b *testing.B, file []byte) {
	for _, rows := range []int{1, 64, 256, 1024} {
		for _, contiguous := range []bool{true, false} {
			b.Run(fmt.Sprintf("rows=%d/run=%v", rows, contiguous), func(b *testing.B) {
				a, err := open(b, file)
				if err != nil {
					b.Fatal(err)
				}
				in := load(rows, max(1, rows*3/4), contiguous)
				accs := &udf.Accs{}
				if err := a.Create(accs, in.Groups); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := a.Add(accs, in); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/record")
			})
		}
	}
}

// BenchmarkFrame is the share of a record's cost that is writing the frame.
func BenchmarkFrame(b *testing.B) {
	arena := make([]byte, 1<<20)
	for _, contiguous := range []bool{true, false} {
		b.Run(fmt.Sprintf("run=%v", contiguous), func(b *testing.B) {
			in := load(1024, 768, contiguous)
			p := part{batch: &in.Batch.Columns, cols: in.Cols, sel: in.Sel, group: in.Group, groups: in.Groups}
			layout := []column{{2, false}}
			for b.Loop() {
				f := newFrame(arena, in.Groups)
				f.rows(&p, layout)
				f.finish(4096)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/record")
		})
	}
}
