package wasm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

func startPair(tb testing.TB, file []byte) udf.Pair {
	tb.Helper()
	ps := host(tb, map[string][]byte{"plug": file})
	p := &job.Plugin{Name: "plug"}
	info, err := ps.Describe(p)
	if err != nil {
		tb.Fatal(err)
	}
	fn, err := ps.Pair(tb.Context(), p, &job.Apply{Plugin: "plug"}, []stream.Kind{info.Pair.Left[0].Kinds[0]}, []stream.Kind{info.Pair.Right[0].Kinds[0]})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := fn.Close(); err != nil {
			tb.Error(err)
		}
	})
	return fn
}

// pairsOf are pairs of texts with numbers, below 0: null. Record i of a side has time i, but
// left record 1 has none; pair i has time 100+i.
func pairsOf(texts []string, numbers []int64, pairs ...[2]uint32) *udf.Pairs {
	side := func(kind stream.Kind, n int) udf.PairSide {
		s := udf.PairSide{Columns: &stream.Columns{N: n}}
		s.Reset([]stream.Kind{kind})
		s.N = n
		for i := range n {
			s.Time = append(s.Time, stream.Time(i))
		}
		return s
	}
	in := &udf.Pairs{Left: side(stream.String, len(texts)), Right: side(stream.Int64, len(numbers))}
	for _, text := range texts {
		in.Left.Cols[0].AppendStr(stream.Str{Off: uint32(len(in.Left.Blob)), Len: uint32(len(text))})
		in.Left.Blob = append(in.Left.Blob, text...)
	}
	for _, n := range numbers {
		if n < 0 {
			in.Right.Cols[0].AppendNull()
		} else {
			in.Right.Cols[0].AppendInt(n)
		}
	}
	if len(texts) > 1 {
		in.Left.Time[1] = stream.MinTime
	}
	for i, p := range pairs {
		in.L, in.R, in.Time = append(in.L, p[0]), append(in.R, p[1]), append(in.Time, stream.Time(100+i))
	}
	return in
}

func callPair(fn udf.Pair, in *udf.Pairs) ([]string, error) {
	var out udf.Emitted
	out.Reset(fn.Info().Outputs)
	err := fn.Call(in, &out)
	return lines(&out), err
}

func TestGoPair(t *testing.T) {
	fn := startPair(t, build(t, "testdata/pairs"))
	// Records that no pair names stand among them, and one is in two pairs.
	got, err := callPair(fn, pairsOf([]string{"unused", "a", "b"}, []int64{7, 2, -1, 0}, [2]uint32{2, 1}, [2]uint32{1, 1}, [2]uint32{2, 3}, [2]uint32{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0: b 100 2", "0: b 100 2", "1: a 101 null", "1: a 101 null", "3: a 103 null"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestGoPairInSeveralFrames(t *testing.T) {
	fn := startPair(t, build(t, "testdata/pairs"))
	for name, texts := range map[string][]string{
		"many pairs":    {"a", "b"},
		"large records": {strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20), strings.Repeat("c", 1<<20), strings.Repeat("d", 1<<20), strings.Repeat("e", 1<<20)},
		"large answers": {"large", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			var pairs [][2]uint32
			for l := range texts {
				for range 3000 / len(texts) / (1 + len(texts[l])>>10) {
					pairs = append(pairs, [2]uint32{uint32(l), 0})
				}
			}
			if len(texts) == 5 || texts[0] == "large" {
				pairs = nil
				for i := range 20 {
					pairs = append(pairs, [2]uint32{uint32(i % len(texts)), 0})
				}
			}
			got, err := callPair(fn, pairsOf(texts, []int64{2}, pairs...))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 2*len(pairs) {
				t.Fatalf("%d rows of %d pairs", len(got), len(pairs))
			}
			for i, row := range got {
				text := texts[pairs[i/2][0]]
				if text == "large" {
					text = strings.Repeat("x", 1<<19)
				}
				if want := fmt.Sprintf("%d: %s %d ", i/2, text, 100+i/2); !strings.HasPrefix(row, want) {
					t.Fatalf("row %d: %.40q, want %.40q", i, row, want)
				}
			}
		})
	}
}

func TestGoPairFailures(t *testing.T) {
	fn := startPair(t, build(t, "testdata/pairs"))
	for _, c := range []struct {
		text string
		trap bool
		want string
	}{
		{"refuse", false, "a pair that is refused"},
		{"panic", true, "panic: no luck with panic"},
		{strings.Repeat("x", 4<<20), false, "the pair does not fit into the plug-in's arena of 4194304 bytes"},
	} {
		_, err := callPair(fn, pairsOf([]string{"a", "b", c.text, "d"}, []int64{1}, [2]uint32{0, 0}, [2]uint32{1, 0}, [2]uint32{2, 0}, [2]uint32{3, 0}))
		if f := failure(t, err); f.Op != 2 || f.Trap != c.trap || !strings.HasPrefix(f.Message, c.want) {
			t.Errorf("%.10s: got %+v", c.text, *f)
		}
		if got, err := callPair(fn, pairsOf([]string{"a"}, []int64{1}, [2]uint32{0, 0})); err != nil || len(got) != 1 {
			t.Errorf("then: %q, %v", got, err)
		}
	}
	// More than an arena holds for one pair.
	_, err := callPair(fn, pairsOf([]string{"a", "large"}, []int64{20}, [2]uint32{0, 0}, [2]uint32{1, 0}))
	if f := failure(t, err); f.Op != 1 || f.Trap || !strings.HasPrefix(f.Message, "what the pair answers does not fit") {
		t.Errorf("got %+v", *f)
	}
}
