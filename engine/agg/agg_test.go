package agg

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// column makes a batch with one column.
func column(vals ...any) *stream.Batch {
	b := new(stream.Batch)
	kind := map[string]stream.Kind{"int64": stream.Int64, "float64": stream.Float64, "bool": stream.Bool, "string": stream.String}[fmt.Sprintf("%T", vals[0])]
	b.Reset([]stream.Kind{kind})
	for _, v := range vals {
		switch v := v.(type) {
		case int64:
			b.Cols[0].AppendInt(v)
		case float64:
			b.Cols[0].AppendFloat(v)
		case bool:
			b.Cols[0].AppendBool(v)
		case string:
			b.Cols[0].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(v))})
			b.Blob = append(b.Blob, v...)
		}
		b.Time = append(b.Time, stream.Time(b.N))
		b.N++
	}
	return b
}

// add folds rows lo to hi into one accumulator, continuing from acc as the engine does.
func add(t *testing.T, a udf.Aggregate, acc []byte, b *stream.Batch, lo, hi int) []byte {
	t.Helper()
	rows := udf.Rows{Batch: b, Groups: 1}
	for range a.Info().Inputs {
		rows.Cols = append(rows.Cols, 0)
	}
	for r := lo; r < hi; r++ {
		rows.Sel, rows.Group = append(rows.Sel, uint32(r)), append(rows.Group, 0)
	}
	accs := udf.Accs{}
	accs.Reset(a.Info().Width)
	if a.Info().Width > 0 {
		accs.Append(acc)
	}
	if err := a.Add(&accs, &rows); err != nil {
		t.Fatal(err)
	}
	if a.Info().Width == 0 {
		return merge(t, a, acc, accs.At(0))
	}
	return accs.At(0)
}

func merge(t *testing.T, a udf.Aggregate, x, y []byte) []byte {
	t.Helper()
	var into, from udf.Accs
	into.Reset(a.Info().Width)
	from.Reset(a.Info().Width)
	into.Append(x)
	from.Append(y)
	if err := a.Merge(&into, &from); err != nil {
		t.Fatal(err)
	}
	return into.At(0)
}

func fresh(t *testing.T, a udf.Aggregate) []byte {
	t.Helper()
	var accs udf.Accs
	if err := a.Create(&accs, 1); err != nil {
		t.Fatal(err)
	}
	return accs.At(0)
}

// resultOf returns the result of an accumulator, the outputs parted by blanks.
func resultOf(t *testing.T, a udf.Aggregate, acc []byte) string {
	t.Helper()
	accs := udf.Accs{}
	accs.Reset(a.Info().Width)
	accs.Append(acc)
	var out stream.Columns
	for _, f := range a.Info().Outputs {
		out.Cols = append(out.Cols, stream.Column{Kind: f.Kind})
	}
	if err := a.Result(&accs, &out); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i := range out.Cols {
		if i > 0 {
			text = append(text, ' ')
		}
		text = result.AppendValue(text, &out.Cols[i], 0, out.Blob, result.RFC3339)
	}
	return string(text)
}

func TestResults(t *testing.T) {
	big := int64(1) << 53
	for _, c := range []struct {
		name, fn, want string
		in             []any
		n              int
	}{
		{"count of nothing", "count", "0", []any{int64(1)}, 0},
		{"count", "count", "3", []any{int64(5), int64(5), int64(6)}, 3},
		{"sum of nothing is null", "sum", "null", []any{1.5}, 0},
		{"sum of no integers is null", "sum", "null", []any{int64(1)}, 0},
		{"a sum of integers is exact above 2^53", "sum", "9007199254740995", []any{big, int64(1), int64(2)}, 3},
		{"sum of floats", "sum", "4", []any{1.5, 2.5}, 2},
		{"min of negatives", "min", "-7", []any{int64(3), int64(-7)}, 2},
		{"max of negatives is not zero", "max", "-3", []any{int64(-3), int64(-7)}, 2},
		{"max of floats", "max", "-0.5", []any{-1.5, -0.5}, 2},
		{"min of nothing", "min", "null", []any{1.5}, 0},
		{"mean of integers", "mean", "2.5", []any{int64(2), int64(3)}, 2},
		{"mean of floats", "mean", "0.25", []any{0.5, 0.0}, 2},
		{"mean of nothing", "mean", "null", []any{0.5}, 0},
		{"distinct strings", "distinct", "3", []any{"a", "b", "a", ""}, 4},
		{"-0 and 0 are one value", "distinct", "1", []any{math.Copysign(0, -1), 0.0}, 2},
		{"distinct booleans", "distinct", "2", []any{true, false, true}, 3},
		{"approximately distinct nothing", "approx_distinct", "0", []any{"a"}, 0},
		{"a few different values are counted exactly", "approx_distinct", "3", []any{"a", "b", "a", ""}, 4},
		{"first of nothing", "first", "null", []any{int64(1)}, 0},
		{"last of no text", "last", "null", []any{"a"}, 0},
		{"first", "first", "7", []any{int64(7), int64(3)}, 2},
		{"last of booleans", "last", "false", []any{true, false}, 2},
		{"the first text may be empty", "first", `""`, []any{"", "b"}, 2},
		{"a list of nothing", "list", "[]", []any{"a"}, 0},
		{"a list is in order of arrival", "list", `["b","a\"","b"]`, []any{"b", "a\"", "b"}, 3},
		{"a list of integers is exact", "list", "[9007199254740993,-1]", []any{big + 1, int64(-1)}, 2},
		{"a sorted list of nothing", "sorted_list", "[]", []any{1.5}, 0},
		{"a sorted list keeps what is equal", "sorted_list", "[-7,-1,0,3,3]", []any{int64(3), int64(-1), int64(0), int64(3), int64(-7)}, 5},
		{"a sorted list of floats", "sorted_list", "[-1e+30,-0.5,0,0,0.5,2]", []any{2.0, 0.5, math.Copysign(0, -1), 0.0, -0.5, -1e30}, 6},
		{"text is sorted by its bytes", "sorted_list", `["","A","a","aa","ä"]`, []any{"aa", "ä", "A", "", "a"}, 5},
		{"false is below true", "sorted_list", "[false,true,true]", []any{true, false, true}, 3},
		{"top of nothing", "top_k", "[]", []any{"a"}, 0},
		{"top: the lower value first among equals", "top_k", `[{"value":3,"count":2},{"value":-1,"count":1},{"value":2,"count":1}]`,
			[]any{int64(3), int64(2), int64(-1), int64(3)}, 4},
		{"quantiles of nothing", "quantiles", "null null null", []any{1.5}, 0},
		{"all quantiles of one value are that value", "quantiles", "17 17 17", []any{int64(17)}, 1},
		{"equal values are their quantiles", "quantiles", "-2.5 -2.5 -2.5", []any{-2.5, -2.5, -2.5}, 3},
		{"the lowest of two is exact, in whatever bin", "quantiles", "1 1 1", []any{1.0, 2.0}, 2},
		{"the middle of three is zero", "quantiles", "0 0 0", []any{-1.0, 0.0, 0.0, 0.0}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := column(c.in...)
			f, _ := Lookup(c.fn)
			kinds := []stream.Kind{b.Cols[0].Kind}[:len(f.Inputs)]
			a, err := New(c.fn, kinds)
			if err != nil {
				t.Fatal(err)
			}
			acc := fresh(t, a)
			if c.n > 0 {
				acc = add(t, a, acc, b, 0, c.n)
			}
			if got := resultOf(t, a, acc); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestASumThatLeavesItsTypeIsRefused(t *testing.T) {
	for _, c := range []struct {
		fn string
		in []any
	}{
		{"sum", []any{int64(math.MaxInt64), int64(1)}},
		{"sum", []any{int64(math.MinInt64), int64(-1)}},
		{"sum", []any{math.MaxFloat64, math.MaxFloat64}},
		{"mean", []any{math.MaxFloat64, math.MaxFloat64}},
		{"mean", []any{int64(math.MaxInt64), int64(1)}},
	} {
		b := column(c.in...)
		a, err := New(c.fn, []stream.Kind{b.Cols[0].Kind})
		if err != nil {
			t.Fatal(err)
		}
		var accs udf.Accs
		if err := a.Create(&accs, 1); err != nil {
			t.Fatal(err)
		}
		err = a.Add(&accs, &udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 1}, Group: []uint32{0, 0}, Groups: 1})
		var f *udf.Failure
		if !errors.As(err, &f) || f.Op != 1 {
			t.Errorf("%s of %v: got %v, want a failure of record 1", c.fn, c.in, err)
		}
	}
	a, _ := New("sum", []stream.Kind{stream.Int64})
	acc := add(t, a, fresh(t, a), column(int64(math.MaxInt64), int64(0), int64(math.MinInt64)), 0, 3)
	if got := resultOf(t, a, acc); got != "-1" {
		t.Errorf("adding 0 at the edge and coming back: %s", got)
	}
}

// The laws of udf.Aggregate, on random records cut at random places.
func TestLaws(t *testing.T) {
	for _, f := range functions {
		kinds := []stream.Kind{stream.Int64}
		if len(f.Inputs) > 0 {
			kinds = f.Inputs[0].Kinds
		}
		for _, k := range kinds {
			if k == stream.Timestamp {
				continue // kept as int64 is
			}
			t.Run(fmt.Sprintf("%s of %s", f.Name, k), func(t *testing.T) {
				for seed := uint64(1); seed <= 40; seed++ {
					laws(t, f, k, seed)
				}
			})
		}
	}
}

func laws(t *testing.T, f Function, k stream.Kind, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	n := 1 + r.IntN(20)
	vals := make([]any, n)
	for i := range vals {
		v := int64(r.IntN(16) - 8)
		vals[i] = map[stream.Kind]any{stream.Int64: v, stream.Float64: float64(v) / 4, stream.Bool: v > 0, stream.String: fmt.Sprint(v)}[k]
	}
	b := column(vals...)
	for i := range b.Time {
		b.Time[i] = stream.Time(r.IntN(4)) // out of order, and often equal
	}
	a, err := New(f.Name, []stream.Kind{k}[:len(f.Inputs)])
	if err != nil {
		t.Fatal(err)
	}
	all := add(t, a, fresh(t, a), b, 0, n)
	if got := merge(t, a, all, fresh(t, a)); !bytes.Equal(got, all) {
		t.Errorf("seed %d: merging a fresh accumulator changes %x to %x", seed, all, got)
	}
	if got := merge(t, a, fresh(t, a), all); !bytes.Equal(got, all) {
		t.Errorf("seed %d: merging into a fresh accumulator changes %x to %x", seed, all, got)
	}
	cut := r.IntN(n)
	left, right := fresh(t, a), add(t, a, fresh(t, a), b, cut, n)
	if cut > 0 {
		left = add(t, a, left, b, 0, cut)
	}
	// Quarters are summed exactly, so that even the functions that are not Exact agree.
	if got := merge(t, a, left, right); !bytes.Equal(got, all) {
		t.Errorf("seed %d, cut at %d of %d: merge gives %x, one pass %x", seed, cut, n, got, all)
	}
	if a.Info().OrderInsensitive {
		if got := merge(t, a, right, left); !bytes.Equal(got, all) {
			t.Errorf("seed %d: the order of merging shows", seed)
		}
	}
	before := bytes.Clone(all)
	resultOf(t, a, all)
	if !bytes.Equal(before, all) {
		t.Errorf("seed %d: the result changes the accumulator", seed)
	}
}
