package join_test

import (
	"errors"
	"slices"
	"testing"

	"tidemark/engine/join"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// pane is the records of a firing: numbers of either side, null below 0.
type pane struct {
	sides [2]stream.Columns
	order []int // side of each record
	row   []int
}

func (p *pane) add(side int, v int64) {
	c := &p.sides[side]
	if c.Cols == nil {
		c.Reset([]stream.Kind{stream.Bool, stream.Int64})
	}
	c.Cols[0].AppendBool(true)
	if v < 0 {
		c.Cols[1].AppendNull()
	} else {
		c.Cols[1].AppendInt(v)
	}
	p.order, p.row = append(p.order, side), append(p.row, c.N)
	c.N++
}

func (p *pane) Len() int { return len(p.order) }

func (p *pane) At(i int) (int, *stream.Columns, int) {
	return p.order[i], &p.sides[p.order[i]], p.row[i]
}

func (p *pane) Time(i int) stream.Time { return stream.Time(i) }

// times gives left times right, right rows for each pair: none for 0. It refuses 13.
type times struct{ calls, closed int }

func (*times) Info() udf.PairInfo {
	in := []udf.Input{{Name: "v", Kind: stream.Int64}}
	return udf.PairInfo{Left: in, Right: in, Outputs: []stream.Field{{Name: "v", Kind: stream.Int64}}}
}

func (f *times) Call(in *udf.Pairs, out *udf.Emitted) error {
	f.calls++
	for i := range in.L {
		l, r := in.Left.Cols[0].Ints[in.L[i]], in.Right.Cols[0].Ints[in.R[i]]
		if l == 13 {
			return &udf.Failure{Op: i, Message: "13"}
		}
		for range r {
			out.Cols[0].AppendInt(l * r)
			out.Of = append(out.Of, uint32(i))
		}
	}
	return nil
}

func (f *times) Close() error { f.closed++; return nil }

// fire returns all rows of a firing.
func fire(t *testing.T, p *join.Product, list *pane) ([]int64, error) {
	t.Helper()
	n, err := p.Fire(udf.Records{Window: stream.Window{Start: 0, End: 10}, List: list})
	var got []int64
	for err == nil && uint64(len(got)) < n {
		var out stream.Columns
		out.Reset([]stream.Kind{stream.Int64})
		if err = p.Next(&out); out.N == 0 {
			t.Fatal("no row in a piece")
		}
		got = append(got, out.Cols[0].Ints...)
	}
	return got, err
}

func TestAProductAsksAFunctionForEachPair(t *testing.T) {
	fn := &times{}
	p := join.NewProduct(fn, []int{1}, []int{1})
	list := &pane{}
	for _, v := range []int64{5, -1, 7} {
		list.add(0, v)
	}
	if got, err := fire(t, p, list); err != nil || len(got) != 0 || fn.calls != 0 {
		t.Errorf("one side alone: %v, %v after %d calls", got, err, fn.calls)
	}
	for _, v := range []int64{2, 0, -1, 1} {
		list.add(1, v)
	}
	if got, err := fire(t, p, list); err != nil || !slices.Equal(got, []int64{10, 10, 5, 14, 14, 7}) {
		t.Errorf("got %v, %v", got, err)
	}
	list.add(0, 13)
	var f *udf.Failure
	if _, err := fire(t, p, list); !errors.As(err, &f) || f.Message != "13" {
		t.Errorf("a refused pair: %v", err)
	}
	if err := p.Close(); err != nil || fn.closed != 1 {
		t.Errorf("closed %d times, %v", fn.closed, err)
	}
}

// Each side has 100 records; a call carries fewer than 10,000 pairs, and 9,000 of the
// first ones give nothing.
func TestALargeProductIsGivenInPieces(t *testing.T) {
	p := join.NewProduct(&times{}, []int{1}, []int{1})
	list := &pane{}
	var want []int64
	for v := range int64(100) {
		list.add(0, 100+v)
		list.add(1, max(v-89, 0)/10)
	}
	for v := range int64(100) {
		want = append(want, 100+v) // only 99 of the right side gives 1
	}
	if got, err := fire(t, p, list); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAListHasTheRecordsOfItsSide(t *testing.T) {
	list := &pane{}
	list.add(1, 1)
	list.add(0, 2)
	list.add(1, -1)
	fields := []stream.Field{{Name: "v", Kind: stream.Int64}, {Name: "ok", Kind: stream.Bool}}
	for side, want := range []string{`[{"v":2,"ok":true}]`, `[{"v":1,"ok":true},{"v":null,"ok":true}]`} {
		fn := join.NewList(side, fields)
		var out stream.Columns
		out.Reset([]stream.Kind{fn.Outputs()[0].Kind})
		if err := fn.Result(udf.Records{List: list, Cols: []int{1, 0}}, &out); err != nil {
			t.Fatal(err)
		}
		if got := string(out.Cols[0].Strs[0].Bytes(out.Blob)); got != want {
			t.Errorf("side %d: got %s, want %s", side, got, want)
		}
	}
}
