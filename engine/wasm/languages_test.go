package wasm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/wasmtest"
)

// inEveryLanguage runs a test over one of the plug-ins that were written in all of
// them.
func inEveryLanguage(t *testing.T, plugin string, test func(t *testing.T, a udf.Aggregate)) {
	for _, lang := range append([]string{"go"}, wasmtest.Languages()...) {
		t.Run(lang, func(t *testing.T) { test(t, startIn(t, lang, plugin)) })
	}
}

func startIn(tb testing.TB, lang, plugin string, args ...job.Arg) udf.Aggregate {
	tb.Helper()
	a, err := open(tb, moduleIn(tb, lang, plugin), args...)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func moduleIn(tb testing.TB, lang, plugin string) []byte {
	tb.Helper()
	if lang == "go" {
		return build(tb, "../../plugins/"+plugin)
	}
	return wasmtest.Built(tb, lang, plugin)
}

func TestStats(t *testing.T) {
	inEveryLanguage(t, "stats", func(t *testing.T, a udf.Aggregate) {
		b := &stream.Batch{}
		b.Reset([]stream.Kind{stream.Float64})
		for _, v := range []float64{4, -1, 2.5, 8, math.NaN()} {
			b.Cols[0].AppendFloat(v)
		}
		b.N = 5
		accs := create(t, a, 3)
		if err := a.Add(accs, &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 1, 2, 3}, Group: []uint32{0, 0, 1, 0}, Groups: 3}); err != nil {
			t.Fatal(err)
		}
		want := []string{"3 11 -1 8 3.6666666666666665", "1 2.5 2.5 2.5 2.5", "0 0 null null null"}
		if got := result(t, a, accs); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		err := a.Add(create(t, a, 1), &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 3, 4}, Group: []uint32{0, 0, 0}, Groups: 1})
		if got, want := *failure(t, err), (udf.Failure{Op: 2, Module: "plug", Message: "value is NaN"}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		other := create(t, a, 3)
		if err := a.Add(other, &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{2}, Group: []uint32{0}, Groups: 3}); err != nil {
			t.Fatal(err)
		}
		if err := a.Merge(accs, other); err != nil {
			t.Fatal(err)
		}
		want[0] = "4 13.5 -1 8 3.375"
		if got := result(t, a, accs); !slices.Equal(got, want) {
			t.Errorf("merged: got %q, want %q", got, want)
		}
	})
}

// Each guest looks once a call whether all groups exist, several of them at a time: one
// that does not is found wherever it stands.
func TestGroupsThatDoNotExist(t *testing.T) {
	inEveryLanguage(t, "stats", func(t *testing.T, a udf.Aggregate) {
		const groups = 3
		accs := create(t, a, groups)
		for _, n := range []int{1, 2, 3, 16, 17, 35} {
			b := &stream.Batch{}
			b.Reset([]stream.Kind{stream.Float64})
			rows := &udf.Rows{Batch: b, Cols: []int{0}, Groups: groups}
			for i := range n {
				b.Cols[0].AppendFloat(1)
				rows.Sel, rows.Group = append(rows.Sel, uint32(i)), append(rows.Group, groups-1)
			}
			b.N = n
			if err := a.Add(accs, rows); err != nil {
				t.Fatalf("%d records of the last group: %v", n, err)
			}
			for i := range n {
				for _, bad := range []uint32{groups, 1 << 31, math.MaxUint32} {
					rows.Group[i] = bad
					if fail := failure(t, a.Add(accs, rows)); !strings.Contains(fail.Message, "cannot read the frame") {
						t.Errorf("group %d of record %d of %d: %+v", bad, i, n, fail)
					}
				}
				rows.Group[i] = groups - 1
			}
		}
		if got, want := result(t, a, accs), []string{"0 0 null null null", "0 0 null null null", "74 74 1 1 1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestDistinct(t *testing.T) {
	inEveryLanguage(t, "distinct", func(t *testing.T, a udf.Aggregate) {
		// 100,000 records of 50 bytes need more than one frame of 4 MiB; value i%7,000 comes
		// back fourteen times or more, in group i%2. 7,000 is even: 3,500 values a group.
		const n, values = 100_000, 7_000
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%050d", i%values))
		}
		var accs udf.Accs
		if err := a.Add(&accs, all(texts(list...), 2)); err != nil {
			t.Fatal(err)
		}
		if got, want := result(t, a, &accs), []string{"3500", "3500"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		// The two groups share nothing; a group shares everything with itself.
		var swapped udf.Accs
		swapped.Reset(0)
		swapped.Append(accs.At(1))
		swapped.Append(accs.At(1))
		if err := a.Merge(&accs, &swapped); err != nil {
			t.Fatal(err)
		}
		if got, want := result(t, a, &accs), []string{"7000", "3500"}; !slices.Equal(got, want) {
			t.Errorf("merged: got %q, want %q", got, want)
		}
	})
}

// frequent is an element of the list that top_k answers.
type frequent struct {
	Value string
	Count int64
}

// mostFrequent is the definition of top_k.
func mostFrequent(values []string, k int) []frequent {
	counts := map[string]int64{}
	for _, v := range values {
		counts[v]++
	}
	out := []frequent{}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, frequent{v, counts[v]})
	}
	slices.SortStableFunc(out, func(a, b frequent) int { return int(b.Count - a.Count) })
	return out[:min(k, len(out))]
}

func TestTopK(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	values := []string{"", "\"", "\\", "\x00\x1f\n", "ä€😀", "a", "ab", "B"}
	var list []string
	for range 5000 {
		v := values[min(r.IntN(len(values)), r.IntN(len(values)))]
		if r.IntN(3) == 0 {
			v = fmt.Sprintf("user-%d", r.IntN(300))
		}
		list = append(list, v)
	}
	for _, lang := range append([]string{"go"}, wasmtest.Languages()...) {
		for _, c := range []struct {
			name string
			args []job.Arg
			k    int
		}{
			{"ten without an argument", nil, 10},
			{"more than there are", []job.Arg{{Name: "k", Kind: stream.Int64, Int: 1000}}, 1000},
		} {
			t.Run(lang+"/"+c.name, func(t *testing.T) {
				a := startIn(t, lang, "top_k", c.args...)
				accs := create(t, a, 1)
				if got := result(t, a, accs); got[0] != "[]" {
					t.Errorf("of nothing: got %s", got)
				}
				for part := range slices.Chunk(list, 2000) { // what add answers is to be merged
					added := create(t, a, 1)
					if err := errors.Join(a.Add(added, all(texts(part...), 1)), a.Merge(accs, added)); err != nil {
						t.Fatal(err)
					}
				}
				got := []frequent{}
				text := result(t, a, accs)[0]
				if err := json.Unmarshal([]byte(text), &got); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if want := mostFrequent(list, c.k); !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
		t.Run(lang+"/none", func(t *testing.T) {
			_, err := open(t, moduleIn(t, lang, "top_k"), job.Arg{Name: "k", Kind: stream.Int64})
			if err == nil || !strings.Contains(err.Error(), "k is not from 1 to 1000") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// randomBatch gives records for one of the plug-ins, some of them null.
func randomBatch(r *rand.Rand, plugin string, n int) *stream.Batch {
	if plugin == "stats" {
		b := &stream.Batch{}
		b.Reset([]stream.Kind{stream.Float64})
		for range n {
			b.Cols[0].AppendFloat(math.Trunc(r.NormFloat64()*1e4) / 100)
		}
		b.N = n
		return b
	}
	var list []string
	for range n {
		list = append(list, strings.Repeat(string(rune('a'+r.IntN(4))), r.IntN(12)))
	}
	return texts(list...)
}

// The same plug-in in every language keeps the same bytes and answers the same rows, so
// that a job can go on with another one's state.
func TestLanguagesAgree(t *testing.T) {
	const groups = 5
	for _, plugin := range wasmtest.Plugins() {
		t.Run(plugin, func(t *testing.T) {
			want := startIn(t, "go", plugin)
			for _, lang := range wasmtest.Languages() {
				got := startIn(t, lang, plugin)
				if a, b := fmt.Sprint(want.Info()), fmt.Sprint(got.Info()); a != b {
					t.Errorf("%s: info is %s, in Go it is %s", lang, b, a)
				}
				r := rand.New(rand.NewPCG(1, 9))
				ours, others := create(t, want, groups), create(t, got, groups)
				for round := range 12 {
					rows := all(randomBatch(r, plugin, r.IntN(60)), groups)
					for i := range rows.Group {
						rows.Group[i] = uint32(r.IntN(groups))
					}
					a, b := create(t, want, groups), create(t, got, groups)
					for _, err := range []error{want.Add(a, rows), got.Add(b, rows), want.Merge(ours, a), got.Merge(others, b)} {
						if err != nil {
							t.Fatal(err)
						}
					}
					for g := range groups {
						if !slices.Equal(ours.At(g), others.At(g)) {
							t.Fatalf("%s, round %d, group %d: accumulator %x, in Go %x", lang, round, g, others.At(g), ours.At(g))
						}
					}
					if a, b := result(t, want, ours), result(t, got, others); !slices.Equal(a, b) {
						t.Fatalf("%s, round %d: rows %q, in Go %q", lang, round, b, a)
					}
				}
				// Each reads what the other wrote.
				if err := want.Merge(others, others); err != nil {
					t.Error(err)
				}
				if err := got.Merge(ours, ours); err != nil {
					t.Error(err)
				}
				if a, b := result(t, got, ours), result(t, want, others); !slices.Equal(a, b) {
					t.Errorf("%s: merged with itself %q, in Go %q", lang, a, b)
				}
			}
		})
	}
}

// BenchmarkAddIn is BenchmarkAdd with stats in each language.
func BenchmarkAddIn(b *testing.B) {
	for _, lang := range append([]string{"go"}, wasmtest.Languages()...) {
		b.Run(lang, func(b *testing.B) { benchmarkAdd(b, moduleIn(b, lang, "stats")) })
	}
}

// aggregateOf is an aggregate without what it offers beside.
func aggregateOf(a udf.Aggregate) *aggregate {
	if a, ok := a.(*applier); ok {
		return a.aggregate
	}
	return a.(*aggregate)
}

// BenchmarkStartIn is what an instance costs, started anew or as the job has it, from an
// image where there is one: each record that traps needs two new ones.
func BenchmarkStartIn(b *testing.B) {
	for _, lang := range append([]string{"go"}, wasmtest.Languages()...) {
		a := aggregateOf(startIn(b, lang, "stats"))
		for _, c := range []struct {
			name  string
			start func() error
		}{{"anew", a.startAnew}, {"again", a.start}} {
			b.Run(lang+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					a.drop()
					if err := c.start(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
