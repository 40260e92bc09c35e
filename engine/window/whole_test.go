package window

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/engine/agg"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// values hears rows and writes their values down as JSON.
type values struct{ lines []string }

func (v *values) Rows(rows *result.Rows) error {
	for i := range rows.N {
		line := fmt.Sprintf("[%d,%d)", rows.Window[i].Start, rows.Window[i].End)
		for _, c := range rows.Values {
			line += " " + string(result.AppendValue(nil, &c.Cols[0], i, c.Blob, result.Millis))
		}
		v.lines = append(v.lines, line)
	}
	return nil
}

func (v *values) Late(*stream.Batch, int, stream.Window, stream.Time) error { return nil }

func (v *values) Refused(_ *stream.Batch, _ int, _ stream.Window, f *udf.Failure) error { return f }

func (v *values) RefusedPane(_ []byte, _ stream.Window, f *udf.Failure) error { return f }

// S48: a record joins two sessions, and what came later in the earlier one is behind.
func TestAListOfMergedSessionsIsInOrderOfArrival(t *testing.T) {
	sessions, err := NewSession(10, false)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := agg.Whole("list")
	var fns []Function
	for _, name := range []string{"first", "last", "sorted_list"} {
		a, err := agg.New(name, []stream.Kind{stream.Float64})
		if err != nil {
			t.Fatal(err)
		}
		fns = append(fns, Function{Name: name, Agg: a, Cols: []int{1}})
	}
	var out values
	op, err := NewGeneral(GeneralConfig{
		Assigner: sessions, Trigger: trigger.NewEventTime(), Key: []stream.Field{{Name: "k", Kind: stream.String}}, Functions: fns,
		Whole: []WholeFunction{{Name: "list", Fn: list, Cols: []int{1}}}, GapCol: -1, ValueCol: -1,
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	b := newBatch(stream.MinTime)
	for i, at := range []stream.Time{20, 0, 21, 1, 10} {
		appendRecord(b, "a", at, fmt.Sprint(i+1), stream.MinTime)
	}
	b.Trailing = stream.MaxTime
	b.SetKeys([]int{0})
	if err := op.Process(b); err != nil {
		t.Fatal(err)
	}
	want := "[0,31) 2 3 [1,2,3,4,5] [1,2,3,4,5]"
	if got := strings.Join(out.lines, "\n"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
