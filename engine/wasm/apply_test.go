package wasm

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// One call for many operations does what single calls do, however often it has to be cut
// because rows, accumulators or texts do not fit into the arena.
func TestApply(t *testing.T) {
	module := build(t, "testdata/runs")
	for _, c := range []struct {
		name          string
		accs, ops     int
		longest, most int // text of a result, and of one in a hundred
	}{
		{"a few", 3, 40, 10, 10},
		{"a batch", 700, 4000, 20, 20},
		{"long texts", 50, 3000, 2000, 700_000},
		{"more than an arena", 60_000, 90_000, 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			opened, err := open(t, module)
			if err != nil {
				t.Fatal(err)
			}
			a, ok := opened.(udf.Applier)
			if !ok {
				t.Fatal("it takes no operations")
			}
			seed := rand.Uint64()
			r := rand.New(rand.NewPCG(seed, 0))
			rows := &udf.Rows{Batch: &stream.Batch{}, Cols: []int{0}}
			rows.Batch.Reset([]stream.Kind{stream.Int64})
			type state struct{ n, size int64 }
			now := make([]state, c.accs)
			var ops []udf.ContentOp
			var want []state
			for range c.ops {
				op := udf.ContentOp{Acc: uint32(r.IntN(c.accs))}
				s := &now[op.Acc]
				switch r.IntN(6) {
				case 0:
					op.What = udf.OpEmit
					want = append(want, *s)
				case 1:
					op.What = udf.OpReset
					*s = state{}
				default:
					n := r.IntN(c.longest)
					if r.IntN(100) == 0 {
						n = r.IntN(c.most)
					}
					if len(rows.Sel) > 0 && r.IntN(4) == 0 { // one that is there: it goes into several panes
						op.Row = uint32(r.IntN(len(rows.Sel)))
						n = int(rows.Batch.Cols[0].Ints[rows.Sel[op.Row]])
					} else {
						op.Row = uint32(len(rows.Sel))
						rows.Sel = append(rows.Sel, uint32(rows.Batch.N))
						rows.Batch.Cols[0].AppendInt(int64(n))
						rows.Batch.N++
					}
					s.n, s.size = s.n+1, int64(n)
				}
				ops = append(ops, op)
			}
			accs := create(t, a, c.accs)
			out := outputs(a)
			if err := a.Apply(accs, ops, rows, out); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if got := out.Cols[0].Len(); got != len(want) {
				t.Fatalf("seed %d: %d rows, want %d", seed, got, len(want))
			}
			for i, w := range want {
				if n, text := out.Cols[0].Ints[i], out.Cols[1].Strs[i].Bytes(out.Blob); n != w.n || string(text) != strings.Repeat("x", int(w.size)) {
					t.Fatalf("seed %d: row %d: %d records and a text of %d bytes, want %d and %d", seed, i, n, len(text), w.n, w.size)
				}
			}
			for i, w := range now { // the results of what is left
				if i%(1+c.accs/50) != 0 {
					continue
				}
				one := create(t, a, 0)
				one.Append(accs.At(i))
				out := outputs(a)
				if err := a.Result(one, out); err != nil || out.Cols[0].Ints[0] != w.n {
					t.Fatalf("seed %d: accumulator %d: %v, %v; want %d", seed, i, out.Cols[0].Ints, err, w.n)
				}
			}
		})
	}
	t.Run("a refusal leaves no rows", func(t *testing.T) {
		opened, err := open(t, module)
		if err != nil {
			t.Fatal(err)
		}
		a := opened.(udf.Applier)
		rows := &udf.Rows{Batch: &stream.Batch{}, Cols: []int{0}, Sel: []uint32{0, 1}}
		rows.Batch.Reset([]stream.Kind{stream.Int64})
		rows.Batch.Cols[0].AppendInt(4)
		rows.Batch.Cols[0].AppendInt(-4)
		rows.Batch.N = 2
		out := outputs(a)
		err = a.Apply(create(t, a, 1), []udf.ContentOp{{}, {What: udf.OpEmit}, {Row: 1}}, rows, out)
		if f := failure(t, err); f.Op != 2 || f.Message != "size is negative" || out.Cols[0].Len() != 0 {
			t.Errorf("got %+v, %d rows", f, out.Cols[0].Len())
		}
	})
}
