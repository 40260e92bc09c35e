package agg

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

func make1(t *testing.T, name string, k stream.Kind, args ...job.Arg) udf.Aggregate {
	t.Helper()
	a, err := New(name, []stream.Kind{k}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// floats makes a batch of one column.
func floats(vals []float64) *stream.Batch {
	var b stream.Batch
	b.Reset([]stream.Kind{stream.Float64})
	b.Cols[0].Floats, b.N = vals, len(vals)
	return &b
}

// pieces adds b in pieces of random size, each to an accumulator of its own, and merges
// them in a random order.
func pieces(t *testing.T, a udf.Aggregate, b *stream.Batch, r *rand.Rand) []byte {
	t.Helper()
	var accs [][]byte
	for lo := 0; lo < b.N; {
		hi := min(b.N, lo+1+r.IntN(b.N/5+1))
		accs = append(accs, add(t, a, fresh(t, a), b, lo, hi))
		lo = hi
	}
	for len(accs) > 1 {
		i := r.IntN(len(accs) - 1)
		accs[i] = merge(t, a, accs[i], accs[i+1])
		accs = slices.Delete(accs, i+1, i+2)
	}
	return accs[0]
}

// The standard error of 2^14 registers is 0.81 %; four times that is missed once in
// 16,000 trials. The visitors of a shop: most come once, some again and again.
func TestApproximateCountsAreWithinFourStandardErrors(t *testing.T) {
	a := make1(t, "approx_distinct", stream.String)
	for _, visitors := range []int{1, 100, maxHashes, maxHashes + 1, 10_000, 200_000} {
		var b stream.Batch
		b.Reset([]stream.Kind{stream.String})
		visit := func(v int) {
			text := fmt.Sprintf("visitor-%07d@example.org", v)
			b.Cols[0].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
			b.Blob = append(b.Blob, text...)
			b.N++
		}
		r := rand.New(rand.NewPCG(uint64(visitors), 1))
		for v := range visitors {
			visit(v)
			if r.IntN(3) == 0 {
				visit(int(math.Sqrt(float64(r.IntN(v + 1)))))
			}
		}
		acc := add(t, a, fresh(t, a), &b, 0, b.N)
		got, err := strconv.Atoi(resultOf(t, a, acc))
		if err != nil {
			t.Fatal(err)
		}
		bound := 4 * 0.0081 * float64(visitors)
		if visitors <= maxHashes {
			bound = 0 // these are counted exactly
		}
		if math.Abs(float64(got-visitors)) > bound {
			t.Errorf("%d visitors: counted %d, allowed error %.0f", visitors, got, bound)
		}
		if limit := 8 + 1<<hllPrecision; len(acc) > limit || visitors <= maxHashes && len(acc) != 8*visitors {
			t.Errorf("%d visitors take %d bytes", visitors, len(acc))
		}
		if cut := pieces(t, a, &b, r); !bytes.Equal(cut, acc) {
			t.Errorf("%d visitors: counted in pieces gives other bytes", visitors)
		}
	}
}

// distributions are what quantiles are asked of.
var distributions = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"latencies: log-normal, in ms", func(r *rand.Rand) float64 { return math.Exp(3 + 1.2*r.NormFloat64()) }},
	{"file sizes: Pareto, ten decades", func(r *rand.Rand) float64 { return 100 / math.Pow(1-r.Float64(), 1/0.4) }},
	{"temperatures: both signs and zero", func(r *rand.Rand) float64 { return math.Round(20*r.NormFloat64()) / 2 }},
	{"losses: all negative", func(r *rand.Rand) float64 { return -math.Exp(5 * r.NormFloat64()) }},
	{"amounts: a few prices", func(r *rand.Rand) float64 { return float64(1+r.IntN(5)) * 9.99 }},
}

// The definition: the value of rank q·(n-1), rounded down, within the relative accuracy.
func TestQuantilesAreWithinTheirAccuracy(t *testing.T) {
	at := []float64{0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1}
	for _, accuracy := range []float64{0.001, 0.01, 0.1} {
		a := make1(t, "quantiles", stream.Float64,
			job.Arg{Name: "accuracy", Kind: stream.Float64, Float: accuracy}, job.Arg{Name: "quantiles", Kind: stream.Float64, List: at})
		for _, d := range distributions {
			for _, n := range []int{1, 2, 10, 1000, 50_000} {
				r := rand.New(rand.NewPCG(uint64(n), 2))
				vals := make([]float64, n)
				for i := range vals {
					vals[i] = d.draw(r)
				}
				acc := add(t, a, fresh(t, a), floats(vals), 0, n)
				if cut := pieces(t, a, floats(vals), r); !bytes.Equal(cut, acc) {
					t.Errorf("%s, %d values: in pieces gives other bytes", d.name, n)
				}
				slices.Sort(vals)
				for i, text := range strings.Fields(resultOf(t, a, acc)) {
					got, err := strconv.ParseFloat(text, 64)
					if err != nil {
						t.Fatal(err)
					}
					want := vals[int(at[i]*float64(n-1))]
					if math.Abs(got-want) > accuracy*math.Abs(want) {
						t.Errorf("%s, %d values: quantile %v is %v, want %v within %v", d.name, n, at[i], got, want, accuracy)
					}
				}
			}
		}
	}
}

// The library's own sketch, with the same mapping, has the same answers. There are as
// many values as make every rank a whole number: others it rounds up where values are
// negative, and we down everywhere.
func TestQuantilesAreThoseOfTheLibrary(t *testing.T) {
	at := []float64{0.1, 0.5, 0.9, 0.999} // ours knows the extremes, which stand at 0 and 1
	a := make1(t, "quantiles", stream.Float64, job.Arg{Name: "quantiles", Kind: stream.Float64, List: at})
	for _, d := range distributions {
		m, err := mapping.NewCubicallyInterpolatedMapping(0.01 * margin)
		if err != nil {
			t.Fatal(err)
		}
		want := ddsketch.NewDDSketchWithExactSummaryStatistics(m, store.SparseStoreConstructor)
		r := rand.New(rand.NewPCG(7, 7))
		vals := make([]float64, 5001)
		for i := range vals {
			vals[i] = d.draw(r)
			if err := want.Add(vals[i]); err != nil {
				t.Fatal(err)
			}
		}
		got := strings.Fields(resultOf(t, a, add(t, a, fresh(t, a), floats(vals), 0, len(vals))))
		answers, err := want.GetValuesAtQuantiles(at)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range answers {
			if g, err := strconv.ParseFloat(got[i], 64); err != nil || g != v {
				t.Errorf("%s: quantile %v is %s, the library says %v", d.name, at[i], got[i], v)
			}
		}
	}
}

func TestASketchOfFewValuesIsSmall(t *testing.T) {
	for _, c := range []struct {
		fn   string
		vals []float64
		most int
	}{
		{"approx_distinct", []float64{1}, 8},
		{"quantiles", []float64{1}, 16 + 4},                               // extremes, bin, count
		{"quantiles", []float64{-1e300, -5, 0, 0, 5, 1e300}, 16 + 5*4},    // five bins of at most four bytes
		{"top_k", []float64{1}, 10},                                       // length, count, value
		{"quantiles", slices.Repeat([]float64{12.5}, 10_000), 16 + 3 + 2}, // a count of two bytes
		{"approx_distinct", slices.Repeat([]float64{12.5, 13}, 10_000), 2 * 8},
	} {
		a := make1(t, c.fn, stream.Float64)
		if acc := add(t, a, fresh(t, a), floats(c.vals), 0, len(c.vals)); len(acc) > c.most {
			t.Errorf("%s of %d values takes %d bytes, at most %d are needed", c.fn, len(c.vals), len(acc), c.most)
		}
		if n := len(fresh(t, a)); n != 0 {
			t.Errorf("%s of nothing takes %d bytes", c.fn, n)
		}
	}
}

func TestQuantilesHaveNamesAsPercentiles(t *testing.T) {
	for q, want := range map[float64]string{0: "p0", 0.005: "p0_5", 0.05: "p5", 0.5: "p50", 0.29: "p29", 0.99: "p99", 0.999: "p99_9", 0.9995: "p99_95", 1: "p100", 1e-7: "p0_00001"} {
		if got := percentile(q); got != want {
			t.Errorf("quantile %v is called %s, want %s", q, got, want)
		}
	}
}

func TestAValueThatNoBinHoldsIsRefused(t *testing.T) {
	a := make1(t, "quantiles", stream.Float64)
	var accs udf.Accs
	err := a.Add(&accs, &udf.Rows{Batch: floats([]float64{1, -math.MaxFloat64}), Cols: []int{0}, Sel: []uint32{0, 1}, Group: []uint32{0, 0}, Groups: 1})
	if f, ok := err.(*udf.Failure); !ok || f.Op != 1 {
		t.Errorf("got %v, want a failure of record 1", err)
	}
	const least = math.SmallestNonzeroFloat64
	tiny := []float64{least, -least, least, -least} // the outer two are known exactly
	if got := resultOf(t, a, add(t, a, fresh(t, a), floats(tiny), 0, 4)); got != "0 0 0" {
		t.Errorf("values too close to zero for a bin of their own: %s", got)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	num := func(name string, vals ...float64) job.Arg {
		return job.Arg{Name: name, Kind: stream.Float64, List: vals}
	}
	for _, c := range []struct {
		fn   string
		arg  job.Arg
		want string // empty: taken
	}{
		{"top_k", job.Arg{Name: "k", Kind: stream.Int64, Int: 3}, ""},
		{"top_k", job.Arg{Name: "k", Kind: stream.Int64, Int: 0}, "top_k: argument k must be between 1 and 1000, is 0"},
		{"top_k", job.Arg{Name: "k", Kind: stream.Float64, Float: 3}, "top_k: argument k is of another type"},
		{"top_k", job.Arg{Name: "n", Kind: stream.Int64, Int: 3}, "top_k takes no argument n"},
		{"count", job.Arg{Name: "n", Kind: stream.Int64, Int: 3}, "count takes no argument n"},
		{"quantiles", num("quantiles", 0.5), ""},
		{"quantiles", num("quantiles", 0.5, 1.01), "quantiles: argument quantiles must be between 0 and 1, is 1.01"},
		{"quantiles", num("quantiles", math.NaN()), "quantiles: argument quantiles must be between 0 and 1, is NaN"},
		{"quantiles", job.Arg{Name: "quantiles", Kind: stream.Float64, Float: 0.5}, "quantiles: argument quantiles is of another type"},
		{"quantiles", job.Arg{Name: "accuracy", Kind: stream.Float64, Float: 0}, "quantiles: argument accuracy must be between 0.001 and 0.2, is 0"},
	} {
		f, _ := Lookup(c.fn)
		_, err := New(c.fn, []stream.Kind{stream.Int64}[:len(f.Inputs)], c.arg)
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
			t.Errorf("%s with %s: got %v, want %q", c.fn, c.arg, err, c.want)
		}
	}
}

func TestTopKKeepsTheMostFrequent(t *testing.T) {
	a := make1(t, "top_k", stream.Int64, job.Arg{Name: "k", Kind: stream.Int64, Int: 3})
	vals := []any{}
	for v, n := range map[int64]int{10: 3, 11: 5, 12: 1, 13: 5, 14: 4, 15: 4} {
		for range n {
			vals = append(vals, v)
		}
	}
	want := `[{"value":11,"count":5},{"value":13,"count":5},{"value":14,"count":4}]`
	if got := resultOf(t, a, add(t, a, fresh(t, a), column(vals...), 0, len(vals))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
