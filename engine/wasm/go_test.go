package wasm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark/abi/toolchain"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// builds holds the modules that the tests of this package have built: building one
// takes seconds.
var builds sync.Map

// build compiles a plug-in with the Go SDK.
func build(tb testing.TB, dir string) []byte {
	tb.Helper()
	once, _ := builds.LoadOrStore(dir, sync.OnceValues(func() (*toolchain.Built, error) { return toolchain.Build(tb.Context(), dir) }))
	b, err := once.(func() (*toolchain.Built, error))()
	if err != nil {
		tb.Fatal(err)
	}
	return b.Module
}

func startGo(tb testing.TB, dir string) udf.Aggregate {
	tb.Helper()
	a, err := open(tb, build(tb, dir))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func TestGoStats(t *testing.T) {
	a := startGo(t, "../../plugins/stats")
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
}

func TestGoDistinct(t *testing.T) {
	a := startGo(t, "../../plugins/distinct")
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
}

func TestGoFailures(t *testing.T) {
	a := startGo(t, "testdata/odd")
	for _, c := range []struct {
		text string
		trap bool
		want string // beginning of the message
	}{
		{"panic", true, "panic: no luck with panic"},
		{"index", true, "panic: runtime error: index out of range [9] with length 5"},
		{"error", false, "a text that is refused"},
		{"exit", true, "exit with status 3"},
		{"hoard", true, "runtime: out of memory: cannot allocate 1048576-byte block"},
	} {
		t.Run(c.text, func(t *testing.T) {
			err := a.Add(create(t, a, 1), all(texts("a", "b", c.text, "d"), 1))
			f := failure(t, err)
			if f.Op != 2 || f.Trap != c.trap || !strings.HasPrefix(f.Message, c.want) {
				t.Errorf("got %+v, want %q at 2", *f, c.want)
			}
			t.Log(f.Message)
			// The others are fine, on a fresh instance if it trapped.
			accs := create(t, a, 1)
			if err := a.Add(accs, all(texts("a", "b", "d"), 1)); err != nil {
				t.Fatal(err)
			}
			if got := result(t, a, accs); got[0] != "3" {
				t.Errorf("then: got %s, want 3", got[0])
			}
		})
	}
	t.Run("sleep", func(t *testing.T) { // an hour passes at once
		accs := create(t, a, 1)
		if err := a.Add(accs, all(texts("sleep", "sleep"), 1)); err != nil {
			t.Fatal(err)
		}
		if got := result(t, a, accs); got[0] != "2" {
			t.Errorf("got %s, want 2", got[0])
		}
	})
}

// BenchmarkAddGo is BenchmarkAdd with a guest of the Go SDK.
func BenchmarkAddGo(b *testing.B) {
	benchmarkAdd(b, build(b, "../../plugins/stats"))
}

// BenchmarkStartGo is what an instance of a Go guest costs: each record that traps
// needs two new ones.
func BenchmarkStartGo(b *testing.B) {
	a := startGo(b, "../../plugins/stats").(*aggregate)
	b.ReportAllocs()
	for b.Loop() {
		a.drop()
		if err := a.start(); err != nil {
			b.Fatal(err)
		}
	}
}
