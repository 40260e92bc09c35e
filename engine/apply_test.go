package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// differ is a pair function that stands for a plug-in: it gives as many rows as the left
// value is above the right one, three at most, each with the difference and the pair's
// time. A pair with 13 on the left is refused.
type differ struct{}

func (differ) Info() udf.PairInfo {
	v := []udf.Input{{Name: "v", Kind: stream.Int64}}
	return udf.PairInfo{Left: v, Right: v, Outputs: number("difference", "at")}
}

func (differ) Close() error { return nil }

func (differ) Call(in *udf.Pairs, out *udf.Emitted) error {
	for i := range in.N() {
		l, r := in.Left.Cols[0].Ints[in.L[i]], in.Right.Cols[0].Ints[in.R[i]]
		if l == 13 {
			return &udf.Failure{Op: i, Module: "differ", Message: "unlucky"}
		}
		for range min(l-r, 3) {
			out.Cols[0].AppendInt(l - r)
			out.Cols[1].AppendInt(int64(in.Time[i]))
			out.Of = append(out.Of, uint32(i))
		}
	}
	return nil
}

func TestAFunctionOfPairs(t *testing.T) {
	files := map[string]string{
		"a-1.jsonl": record("x", 1000, 5) + record("x", 2000, 3) + record("y", 1000, 13),
		"b-1.jsonl": record("x", 1500, 4) + record("x", 2500, 1) + record("y", 1200, 1) + record("x", 9000, 1),
	}
	rows := func(step string) ([]string, error) {
		got, _, err := runNatives(t, processJob("  s: "+step+"\n", "  out: {from: s, stdout: {}, time_format: ms}\n"), files)
		ids := map[string]bool{}
		for i, l := range got {
			ids[l[:strings.Index(l, `"step"`)]] = true
			got[i] = l[strings.Index(l, `"window"`):]
		}
		if err == nil && len(ids) != len(got) {
			t.Errorf("%d rows have %d ids", len(got), len(ids))
		}
		slices.Sort(got)
		return got, err
	}
	const apply = "apply: {plugin: differ, left: {v: v}, right: {v: v}}, on_error: dead_letter}"
	got, err := rows("{from: {join: {left: a, right: b, kind: interval, between: {lower: 0s, upper: 1s}}}, key: [k], " + apply)
	if err != nil {
		t.Fatal(err)
	}
	// 5 at 1,000 with 4 at 1,500; 3 at 2,000 with 1 at 2,500; 13 with 1 is refused.
	want := []string{
		`"window":null,"revision":0,"ordinal":1,"rows":2,"time":2500,"value":{"difference":2,"at":2500}}`,
		`"window":null,"revision":0,"rows":2,"time":2500,"value":{"difference":2,"at":2500}}`,
		`"window":null,"revision":0,"time":1500,"value":{"difference":1,"at":1500}}`,
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("interval: got\n%s", strings.Join(got, "\n"))
	}
	// A window join: the pairs of the window of 5 s, left by left, 5-4, 5-1 (three rows of
	// four), 3-4 (none), 3-1; y's window is refused as a whole.
	if got, err = rows("{from: {join: {left: a, right: b}}, key: [k], window: {tumbling: 5s}, " + apply); err != nil {
		t.Fatal(err)
	}
	want = nil
	for i, d := range []int{1, 4, 4, 4, 2, 2} {
		ordinal := ""
		if i > 0 {
			ordinal = fmt.Sprintf(`"ordinal":%d,`, i)
		}
		want = append(want, fmt.Sprintf(`"window":{"start":0,"end":5000},"kind":"on_time","revision":0,%s"rows":6,"value":{"difference":%d,"at":4999}}`, ordinal, d))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("window: got\n%s", strings.Join(got, "\n"))
	}
	if _, err = rows("{from: {join: {left: a, right: b}}, key: [k], window: {tumbling: 5s}, " + strings.Replace(apply, ", on_error: dead_letter", "", 1)); !errors.Is(err, fault.ErrGuest) || !strings.Contains(err.Error(), "unlucky") {
		t.Errorf("on_error fail: %v", err)
	}
}

// Rows of pair functions are a function of the data alone (T6), and so are those of a step
// that reads them.
func TestPairFunctionsDoNotDependOnBatchesOrTasks(t *testing.T) {
	files := map[string]string{}
	for n, name := range []string{"a-1", "a-2", "b-1", "b-2"} {
		var in strings.Builder
		for i := range 150 {
			in.WriteString(record(fmt.Sprint("k", (i*31+n)%5), i*100+(i*7919+n*13)%4000, i%20))
		}
		files[name+".jsonl"] = in.String()
	}
	for _, join := range []string{
		"{from: {join: {left: a, right: b, kind: interval, between: {lower: -1s, upper: 1s}}}, key: [k], ",
		"{from: {join: {left: a, right: b}}, key: [k], window: {sliding: {size: 2s, slide: 1s}, allowed_lateness: 1s}, ",
	} {
		yaml := processJob("  s: "+join+"apply: {plugin: differ, left: {v: v}, right: {v: v}}, on_error: dead_letter}\n"+
			"  again: {from: s, key: [k], window: {tumbling: 4s}, aggregates: {all: {function: list, columns: {value: difference}}}}\n",
			"  out: {from: s, stdout: {}}\n  w: {from: again, stdout: {}}\n")
		var want []string
		for _, c := range [][2]int{{1, 1}, {1000, 1}, {7, 2}, {1024, 4}} {
			got, _, err := runNatives(t, yaml, files, fmt.Sprint("settings.batch.rows=", c[0]), fmt.Sprint("parallelism=", c[1]))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("batches of %d rows, parallelism %d: %d rows differ from the first run's %d\n%s", c[0], c[1], len(got), len(want), yaml)
			}
		}
		if len(want) < 1000 {
			t.Errorf("only %d rows: the test shows nothing", len(want))
		}
	}
}
