package agg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// texts makes a batch of one column of text.
func texts(vals ...string) *stream.Batch {
	var b stream.Batch
	b.Reset([]stream.Kind{stream.String})
	for _, v := range vals {
		b.Cols[0].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(v))})
		b.Blob = append(b.Blob, v...)
		b.N++
	}
	return &b
}

// words gives texts that are hard to tell apart: beginnings of each other, with zeros,
// equal in their first eight bytes or in more.
func words(r *rand.Rand, n int) []string {
	vals := make([]string, n)
	for i := range vals {
		vals[i] = strings.Repeat([]string{"a", "\x00", "\xff"}[r.IntN(3)], r.IntN(12)) + fmt.Sprint(r.IntN(40))
		if r.IntN(2) == 0 {
			vals[i] = "https://example.org/" + vals[i][:r.IntN(len(vals[i])+1)]
		}
	}
	return vals
}

func TestTallyCountsAsAMapDoes(t *testing.T) {
	var kept tally // as in a function, its memory is used again
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		groups := 1 + r.IntN(20)
		rows := udf.Rows{Cols: []int{0}, Groups: groups}
		vals := words(r, r.IntN(400))
		want := make([]map[string]uint32, groups)
		for g := range want {
			want[g] = map[string]uint32{}
		}
		for i, v := range vals {
			if r.IntN(4) == 0 {
				continue // a batch has rows that are not added
			}
			g := r.IntN(groups)
			rows.Sel, rows.Group = append(rows.Sel, uint32(i)), append(rows.Group, uint32(g))
			want[g][v]++
		}
		rows.Batch = texts(vals...)
		kept.column(&rows.Batch.Cols[0], &rows)
		n := 0
		for g, found := range kept.groups(groups) {
			n++
			order := slices.Sorted(maps.Keys(want[g]))
			if len(found) != len(order) {
				t.Fatalf("seed %d: group %d has %d values, want %d", seed, g, len(found), len(order))
			}
			for i, f := range found {
				if v := string(f.appendBytes(nil, rows.Batch.Blob)); v != order[i] || f.n != want[g][v] {
					t.Errorf("seed %d: value %d of group %d is %q, %d times; want %q, %d times", seed, i, g, v, f.n, order[i], want[g][order[i]])
				}
			}
		}
		if n != groups {
			t.Errorf("seed %d: %d groups, want %d", seed, n, groups)
		}
	}
}

// listOf writes a list of values as values.go describes it.
func listOf(values map[string]uint64, counted bool) (list []byte) {
	for _, v := range slices.Sorted(maps.Keys(values)) {
		list = binary.AppendUvarint(list, uint64(len(v)))
		if counted {
			list = binary.AppendUvarint(list, values[v])
		}
		list = append(list, v...)
	}
	return list
}

func TestMergedListsAreTheListsOfAll(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		a, b, all := map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
		both := 0
		most := [2]int{r.IntN(60), r.IntN(8)} // one much longer than the other, too
		for i, side := range [2]map[string]uint64{a, b} {
			for _, v := range words(r, most[i]) {
				v += strings.Repeat("z", r.IntN(2)*r.IntN(300)) // lengths of more than a byte
				n := uint64(1 + r.IntN(200))
				side[v] += n
				all[v] += n
			}
		}
		for v := range a {
			if b[v] > 0 {
				both++
			}
		}
		for _, counted := range []bool{false, true} {
			for _, order := range [][2]map[string]uint64{{a, b}, {b, a}} {
				got, n := mergeValues([]byte("before"), listOf(order[0], counted), listOf(order[1], counted), counted)
				if want := append([]byte("before"), listOf(all, counted)...); !bytes.Equal(got, want) || n != both {
					t.Fatalf("seed %d, counted %v: %q and %d values in both, want %q and %d", seed, counted, got, n, want, both)
				}
			}
		}
	}
}

func BenchmarkTally(b *testing.B) {
	for _, n := range []int{16, 32, 64, 96, 128, 1024} {
		for _, groups := range []int{1, 7} {
			b.Run(fmt.Sprintf("%d values, %d groups", n, groups), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				rows := udf.Rows{Cols: []int{0}, Groups: groups}
				vals := make([]string, n)
				for i := range vals {
					vals[i] = fmt.Sprintf("u%08d", r.IntN(3_000_000))
					rows.Sel, rows.Group = append(rows.Sel, uint32(i)), append(rows.Group, uint32(r.IntN(groups)))
				}
				rows.Batch = texts(vals...)
				var t tally
				for b.Loop() {
					t.column(&rows.Batch.Cols[0], &rows)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
			})
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, counted := range []bool{false, true} {
		for _, sizes := range [][2]int{{1000, 1000}, {10_000, 30}} {
			b.Run(fmt.Sprintf("counted %t, %d and %d values", counted, sizes[0], sizes[1]), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 3))
				var lists [2][]byte
				for i, n := range sizes {
					values := map[string]uint64{}
					for len(values) < n {
						values[fmt.Sprintf("u%08d", r.IntN(3_000_000))] = 1
					}
					lists[i] = listOf(values, counted)
				}
				var sum []byte
				for b.Loop() {
					sum, _ = mergeValues(sum[:0], lists[0], lists[1], counted)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(sizes[0]+sizes[1])), "ns/value")
			})
		}
	}
}
