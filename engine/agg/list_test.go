package agg

import (
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// records is a list of records of one input: rows of a batch in an order of their own.
type records struct {
	b    *stream.Batch
	rows []int
}

func (r records) Len() int                             { return len(r.rows) }
func (r records) At(i int) (int, *stream.Columns, int) { return 0, &r.b.Columns, r.rows[i] }
func (r records) Time(i int) stream.Time               { return r.b.Time[r.rows[i]] }

func TestAListOfRecordsIsInTheirOrderAndLeavesOutNulls(t *testing.T) {
	w, ok := Whole("list")
	if !ok {
		t.Fatal("list has no form that sees the records")
	}
	b := column("a", "b", "c")
	b.Cols[0].AppendNull()
	b.N++
	for _, c := range []struct {
		rows []int
		want string
	}{
		{[]int{2, 3, 0}, `["c","a"]`},
		{[]int{3}, `[]`},
	} {
		out := stream.Columns{Cols: []stream.Column{{Kind: w.Outputs()[0].Kind}}, Blob: []byte("before")}
		if err := w.Result(udf.Records{List: records{b, c.rows}, Cols: []int{0}}, &out); err != nil {
			t.Fatal(err)
		}
		if got := string(out.Cols[0].Strs[0].Bytes(out.Blob)); got != c.want {
			t.Errorf("records %v: got %s, want %s", c.rows, got, c.want)
		}
	}
	if _, ok := Whole("sorted_list"); ok {
		t.Error("sorted_list needs no records: its accumulators keep all that it shows")
	}
}

func TestTimesInListsAreRFC3339(t *testing.T) {
	var b stream.Batch
	b.Reset([]stream.Kind{stream.Timestamp})
	for _, v := range []int64{1517356800123, -1} {
		b.Cols[0].AppendInt(v)
		b.Time = append(b.Time, 0)
		b.N++
	}
	for fn, want := range map[string]string{
		"list":        `["2018-01-31T00:00:00.123Z","1969-12-31T23:59:59.999Z"]`,
		"sorted_list": `["1969-12-31T23:59:59.999Z","2018-01-31T00:00:00.123Z"]`,
		"top_k":       `[{"value":"1969-12-31T23:59:59.999Z","count":1},{"value":"2018-01-31T00:00:00.123Z","count":1}]`,
		"last":        `"1969-12-31T23:59:59.999Z"`,
	} {
		a, err := New(fn, []stream.Kind{stream.Timestamp})
		if err != nil {
			t.Fatal(err)
		}
		if got := resultOf(t, a, add(t, a, fresh(t, a), &b, 0, 2)); got != want {
			t.Errorf("%s: got %s, want %s", fn, got, want)
		}
	}
}

func TestGroupsOfABatchAreKeptApart(t *testing.T) {
	b := column(int64(5), int64(6), int64(5), int64(7), int64(5))
	for fn, want := range map[string][3]string{
		"list":            {"[5,5]", "[]", "[6,7,5]"},
		"sorted_list":     {"[5,5]", "[]", "[5,6,7]"},
		"top_k":           {`[{"value":5,"count":2}]`, "[]", `[{"value":5,"count":1},{"value":6,"count":1},{"value":7,"count":1}]`},
		"approx_distinct": {"1", "0", "3"},
		"distinct":        {"1", "0", "3"},
		"last":            {"5", "null", "5"},
	} {
		a, err := New(fn, []stream.Kind{stream.Int64})
		if err != nil {
			t.Fatal(err)
		}
		var accs udf.Accs
		if err := a.Create(&accs, 3); err != nil {
			t.Fatal(err)
		}
		if a.Info().Width == 0 {
			accs.Reset(0)
		}
		rows := udf.Rows{Batch: b, Cols: []int{0}, Sel: []uint32{0, 1, 2, 3, 4}, Group: []uint32{0, 2, 0, 2, 2}, Groups: 3}
		if err := a.Add(&accs, &rows); err != nil {
			t.Fatal(err)
		}
		for g := range want {
			if got := resultOf(t, a, accs.At(g)); got != want[g] {
				t.Errorf("%s of group %d: got %s, want %s", fn, g, got, want[g])
			}
		}
	}
}
