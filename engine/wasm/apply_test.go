package wasm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/wasmtest"
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

// Modules in every language whose manifests offer the call answer the same as Go's, to the
// bit, in rows and in accumulators.
func TestApplyInEveryLanguage(t *testing.T) {
	var langs []string
	var modules []udf.Applier
	for _, lang := range append([]string{"go"}, wasmtest.Languages()...) {
		if a, ok := startIn(t, lang, "stats").(udf.Applier); ok {
			langs = append(langs, lang)
			modules = append(modules, a)
		}
	}
	if len(modules) < 2 || langs[0] != "go" {
		t.Fatalf("only %q take operations", langs)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	const groups = 300
	rows := &udf.Rows{Batch: randomBatch(r, "stats", 3000), Cols: []int{0}}
	for i := range rows.Batch.N {
		rows.Sel = append(rows.Sel, uint32(i))
	}
	var ops []udf.ContentOp
	for i := range 9000 { // each record goes into some accumulators
		op := udf.ContentOp{Acc: uint32(r.IntN(groups))}
		switch r.IntN(6) {
		case 0:
			op.What = udf.OpEmit
		case 1:
			op.What = udf.OpReset
		default:
			op.Row = uint32(i % len(rows.Sel))
		}
		ops = append(ops, op)
	}
	apply := func(a udf.Applier) (*udf.Accs, *stream.Columns) {
		accs, out := create(t, a, groups), outputs(a)
		if err := a.Apply(accs, ops, rows, out); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return accs, out
	}
	wantAccs, wantOut := apply(modules[0])
	for i, a := range modules[1:] {
		accs, out := apply(a)
		for g := range groups {
			if got, want := accs.At(g), wantAccs.At(g); !bytes.Equal(got, want) {
				t.Fatalf("seed %d: %s: accumulator %d is %x, in Go %x", seed, langs[i+1], g, got, want)
			}
		}
		if got, want := bitsOf(out), bitsOf(wantOut); !slices.Equal(got, want) {
			t.Errorf("seed %d: %s: %d rows are not the %d of Go", seed, langs[i+1], len(got), len(want))
		}
	}
}

// bitsOf gives each row of numbers with all of its bits.
func bitsOf(out *stream.Columns) []string {
	rows := make([]string, out.Cols[0].Len())
	for i := range rows {
		for k := range out.Cols {
			switch c := &out.Cols[k]; {
			case c.Null(i):
				rows[i] += " null"
			case c.Kind == stream.Float64:
				rows[i] += fmt.Sprintf(" %x", math.Float64bits(c.Floats[i]))
			default:
				rows[i] += fmt.Sprintf(" %d", c.Ints[i])
			}
		}
	}
	return rows
}
