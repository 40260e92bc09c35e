package wasm

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/wasmtest"
)

// opener makes instances of a module with some arguments.
func opener(tb testing.TB, file []byte, args ...job.Arg) func() *aggregate {
	tb.Helper()
	ps := host(tb, map[string][]byte{"plug": file})
	p := &job.Plugin{Name: "plug"}
	info, err := ps.Describe(p)
	if err != nil {
		tb.Fatal(err)
	}
	var kinds []stream.Kind
	for _, in := range info.Inputs {
		kinds = append(kinds, in.Kinds[0])
	}
	return func() *aggregate {
		a, err := ps.Aggregate(context.Background(), p, &job.Aggregate{Plugin: "plug", Args: args}, kinds)
		if err != nil {
			tb.Fatal(err)
		}
		return aggregateOf(a)
	}
}

// work makes the same calls on an aggregate for the same seed, and returns what they
// answered and what they cost.
func work(t *testing.T, a *aggregate, seed uint64) (out []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	note := func(what ...any) { out = append(out, fmt.Sprint(append(what, a.inst.Fuel(), a.inst.Usage())...)) }
	note("start")
	b := &stream.Batch{}
	b.Reset([]stream.Kind{a.info.Inputs[0].Kind})
	for range 400 {
		if a.info.Inputs[0].Kind == stream.String {
			text := fmt.Sprint("text ", r.IntN(60))
			b.Cols[0].AppendStr(stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(text))})
			b.Blob = append(b.Blob, text...)
		} else {
			b.Cols[0].AppendFloat(r.Float64())
		}
	}
	b.N = 400
	accs, more := &udf.Accs{}, &udf.Accs{}
	rows := func(lo, hi int) *udf.Rows {
		in := &udf.Rows{Batch: b, Cols: []int{0}, Groups: 3}
		for i := lo; i < hi; i++ {
			in.Sel, in.Group = append(in.Sel, uint32(i)), append(in.Group, uint32(i%3))
		}
		return in
	}
	for _, x := range []*udf.Accs{accs, more} {
		if err := a.Create(x, 3); err != nil {
			t.Fatal(err)
		}
		note("create", x.Data)
		if err := a.Add(x, rows(0, 100+r.IntN(300))); err != nil {
			t.Fatal(err)
		}
		note("add", x.Data)
	}
	if err := a.Merge(accs, more); err != nil {
		t.Fatal(err)
	}
	note("merge", accs.Data)
	note("result", result(t, a, accs))
	return out
}

// An instance of an image is one that was started and configured: it answers the same,
// for the same fuel, whatever instances of the same image have done before.
func TestInstancesOfAnImage(t *testing.T) {
	for _, lang := range append([]string{"go"}, wasmtest.Languages()...) {
		for _, plugin := range []string{"stats", "distinct"} {
			t.Run(lang+" "+plugin, func(t *testing.T) {
				open := opener(t, moduleIn(t, lang, plugin))
				anew := open()
				want := work(t, anew, 1)
				for i := range 5 {
					a := open()
					if has := a.images.find(a.args) != nil; has != (lang == "go") {
						t.Errorf("start %d: there is an image: %v", i+2, has)
					}
					if got := work(t, a, 1); !slices.Equal(got, want) {
						t.Fatalf("start %d: got\n%q\nwant\n%q", i+2, got, want)
					}
					work(t, a, uint64(i)) // and leaves something behind
					if err := a.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if err := anew.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// Images are of a module with its arguments, and not of others.
func TestImagesAreApart(t *testing.T) {
	file := build(t, "../../plugins/top_k")
	arg := func(n int64) job.Arg { return job.Arg{Name: "k", Kind: stream.Int64, Int: n} }
	var opens []func() *aggregate
	ps := host(t, map[string][]byte{"plug": file})
	p := &job.Plugin{Name: "plug"}
	if _, err := ps.Describe(p); err != nil {
		t.Fatal(err)
	}
	for k := range int64(maxImages + 2) {
		opens = append(opens, func() *aggregate {
			a, err := ps.Aggregate(t.Context(), p, &job.Aggregate{Plugin: "plug", Args: []job.Arg{arg(k + 1)}}, []stream.Kind{stream.String})
			if err != nil {
				t.Fatal(err)
			}
			return aggregateOf(a)
		})
	}
	words := texts("a", "a", "a", "b", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	for range 4 {
		for k, open := range opens {
			a := open()
			accs := &udf.Accs{}
			if err := a.Add(accs, all(words, 1)); err != nil {
				t.Fatal(err)
			}
			if n := len(a.images.list); n > maxImages {
				t.Errorf("%d images", n)
			}
			want := k + 1
			var got []frequent
			if err := json.Unmarshal([]byte(result(t, a, accs)[0]), &got); err != nil {
				t.Fatal(err)
			}
			if len(got) != want {
				t.Errorf("with k %d the %d most frequent ones", want, len(got))
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A guest that breaks down starts from an image again, from the second time on.
func TestAnInstanceAfterATrapIsOfTheImage(t *testing.T) {
	open := opener(t, build(t, "testdata/odd"))
	a := open()
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range 4 {
		accs := create(t, a, 1)
		if f := failure(t, a.Add(accs, all(texts("a", "panic", "c"), 1))); f.Op != 1 || !f.Trap {
			t.Fatalf("got %+v", *f)
		}
		accs = create(t, a, 1)
		if err := a.Add(accs, all(texts("a", "b", "c"), 1)); err != nil {
			t.Fatal(err)
		}
		if got := result(t, a, accs); got[0] != "3" {
			t.Errorf("then: got %s, want 3", got[0])
		}
		if a.images.find(a.args) == nil {
			t.Errorf("after trap %d there is no image", i+1)
		}
	}
}
