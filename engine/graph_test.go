package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/fault"
)

// steps makes a job over in*.jsonl with these steps; all of them but the last are read
// by others.
func steps(text, last string) string {
	head, _, _ := strings.Cut(countJob, "steps:")
	return head + "steps:\n" + text + "sinks:\n  out: {from: " + last + ", stdout: {}, time_format: ms}\n"
}

func TestEveryKindOfWindowRuns(t *testing.T) {
	in := record("a", 1000, 1) + record("a", 4000, 2) + record("b", 4500, 5) + record("a", 12000, 3)
	for _, c := range []struct {
		name, step string
		want       []string
	}{
		{"sliding", "window: {sliding: {size: 10s, slide: 5s}}", []string{
			`{"k":"a"},"window":{"start":-5000,"end":5000},"kind":"on_time","revision":0,"value":{"n":2,"sum":3}}`,
			`{"k":"b"},"window":{"start":-5000,"end":5000},"kind":"on_time","revision":0,"value":{"n":1,"sum":5}}`,
			`{"k":"a"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":2,"sum":3}}`,
			`{"k":"b"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":1,"sum":5}}`,
			`{"k":"a"},"window":{"start":5000,"end":15000},"kind":"on_time","revision":0,"value":{"n":1,"sum":3}}`,
			`{"k":"a"},"window":{"start":10000,"end":20000},"kind":"on_time","revision":0,"value":{"n":1,"sum":3}}`}},
		{"session", "window: {session: {gap: 4s}}", []string{
			`{"k":"a"},"window":{"start":1000,"end":8000},"kind":"on_time","revision":0,"value":{"n":2,"sum":3}}`,
			`{"k":"b"},"window":{"start":4500,"end":8500},"kind":"on_time","revision":0,"value":{"n":1,"sum":5}}`,
			`{"k":"a"},"window":{"start":12000,"end":16000},"kind":"on_time","revision":0,"value":{"n":1,"sum":3}}`}},
		{"day", "window: {day: {zone: Asia/Shanghai}}", []string{
			`{"k":"a"},"window":{"start":-28800000,"end":57600000},"kind":"on_time","revision":0,"value":{"n":3,"sum":6}}`,
			`{"k":"b"},"window":{"start":-28800000,"end":57600000},"kind":"on_time","revision":0,"value":{"n":1,"sum":5}}`}},
		{"count", "window: {count: {size: 2}}", []string{
			`{"k":"a"},"window":null,"revision":0,"value":{"n":2,"sum":3}}`}},
		{"sliding count", "window: {count: {size: 2, slide: 1}}", []string{
			`{"k":"a"},"window":null,"revision":0,"value":{"n":1,"sum":1}}`,
			`{"k":"a"},"window":null,"revision":1,"value":{"n":2,"sum":3}}`,
			`{"k":"a"},"window":null,"revision":2,"value":{"n":2,"sum":5}}`,
			`{"k":"b"},"window":null,"revision":0,"value":{"n":1,"sum":5}}`}},
		{"global with a trigger that purges", "window: {global: {}}\n    trigger: {purging: {count: 1}}", []string{
			`{"k":"a"},"window":null,"revision":0,"value":{"n":1,"sum":1}}`,
			`{"k":"a"},"window":null,"revision":1,"content":"since_last","value":{"n":1,"sum":2}}`,
			`{"k":"a"},"window":null,"revision":2,"content":"since_last","value":{"n":1,"sum":3}}`,
			`{"k":"b"},"window":null,"revision":0,"value":{"n":1,"sum":5}}`}},
		{"early firings", "window: {tumbling: 10s}\n    trigger: {continuous: 5s}", []string{
			`{"k":"a"},"window":{"start":0,"end":10000},"kind":"early","revision":0,"value":{"n":2,"sum":3}}`,
			`{"k":"b"},"window":{"start":0,"end":10000},"kind":"early","revision":0,"value":{"n":1,"sum":5}}`,
			`{"k":"a"},"window":{"start":0,"end":10000},"kind":"on_time","revision":1,"value":{"n":2,"sum":3}}`,
			`{"k":"b"},"window":{"start":0,"end":10000},"kind":"on_time","revision":1,"value":{"n":1,"sum":5}}`,
			`{"k":"a"},"window":{"start":10000,"end":20000},"kind":"early","revision":0,"value":{"n":1,"sum":3}}`,
			`{"k":"a"},"window":{"start":10000,"end":20000},"kind":"on_time","revision":1,"value":{"n":1,"sum":3}}`}},
		{"an evictor", "window: {tumbling: 10s}\n    evictor: {count: 1}", []string{
			`{"k":"a"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":1,"sum":2}}`,
			`{"k":"b"},"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"n":1,"sum":5}}`,
			`{"k":"a"},"window":{"start":10000,"end":20000},"kind":"on_time","revision":0,"value":{"n":1,"sum":3}}`}},
	} {
		for _, p := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s, parallelism %d", c.name, p), func(t *testing.T) {
				got, _, err := run(t, steps("  s:\n    from: in\n    key: [k]\n    "+c.step+"\n    aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}\n", "s"),
					map[string]string{"in.jsonl": in}, fmt.Sprint("parallelism=", p))
				if err != nil {
					t.Fatal(err)
				}
				v := values(got)
				for i := range v {
					v[i] = strings.TrimPrefix(v[i], `"key":`)
				}
				slices.Sort(v)
				if slices.Sort(c.want); !slices.Equal(v, c.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(v, "\n"), strings.Join(c.want, "\n"))
				}
			})
		}
	}
}

// Lists of sessions are kept apart inside, but stand where the job file has them; their
// elements come in order of arrival, also across a merge.
func TestListsOfSessionsStandWhereTheJobHasThem(t *testing.T) {
	in := record("a", 9000, 1) + record("a", 1000, 2) + record("a", 5000, 3)
	got, _, err := run(t, strings.Replace(steps("  s:\n    from: in\n    key: [k]\n    window: {session: {gap: 5s}}\n    aggregates: {all: {function: list, columns: {value: v}}, n: {function: count}}\n", "s"),
		"out_of_orderness: 2s", "out_of_orderness: 9s", 1), map[string]string{"in.jsonl": in})
	want := []string{`"key":{"k":"a"},"window":{"start":1000,"end":14000},"kind":"on_time","revision":0,"value":{"all":[1,2,3],"n":3}}`}
	if v := values(got); err != nil || !slices.Equal(v, want) {
		t.Errorf("got %v, %v", v, err)
	}
}

const twoStages = `  clean:
    from: in
    filter: v >= 0
    derive: {double: v * 2}
  per_key:
    from: clean
    key: [k]
    window: {tumbling: 5s, allowed_lateness: 3s}
    aggregates: {n: {function: count}, sum: {function: sum, columns: {value: double}}}
  total:
    from: per_key
    window: {tumbling: 10s, allowed_lateness: 10s}
    aggregates: {keys: {function: count}, n: {function: sum, columns: {value: n}}, largest: {function: max, columns: {value: sum}}}
`

func TestAWindowOverTheResultsOfAWindow(t *testing.T) {
	// v is doubled; -1 is filtered but moves time. Watermark = highest - 2 s - 1 ms.
	in := record("a", 1000, 1) + record("b", 2000, 2) + record("a", 6000, 3) + record("a", 20000, -1) + record("b", 21000, 4)
	got, report, err := run(t, steps(twoStages, "total"), map[string]string{"in.jsonl": in})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`"key":null,"window":{"start":0,"end":10000},"kind":"on_time","revision":0,"value":{"keys":3,"n":3,"largest":6}}`,
		`"key":null,"window":{"start":20000,"end":30000},"kind":"on_time","revision":0,"value":{"keys":1,"n":1,"largest":8}}`,
	}
	if v := values(got); !slices.Equal(v, want) {
		t.Errorf("got\n%s", strings.Join(v, "\n"))
	}
	if l := report.Steps[0].Inputs[0]; l.Filtered != 1 || l.Counted != 4 {
		t.Errorf("ledger of the filter: %+v", l)
	}
	if l := report.Steps[2].Inputs[0]; l.Source != "per_key" || l.Counted != 4 || l.Late != 0 {
		t.Errorf("ledger of the second window: %+v", l)
	}
}

// The rows of a graph of steps are a function of the data alone too (T6), updates of the
// first window that come late for the second included.
func TestAGraphDoesNotDependOnBatchesOrTasks(t *testing.T) {
	files := map[string]string{}
	for f := range 2 {
		var in strings.Builder
		for i := range 400 {
			ts := i*100 + (i*7919+f*13)%6000
			in.WriteString(record(fmt.Sprint("k", (i*31+f)%7), ts, i%11-2))
		}
		files[fmt.Sprintf("in-%d.jsonl", f)] = in.String()
	}
	var want []string
	for _, rows := range []int{1000, 1, 7} {
		for _, p := range []int{1, 2, 4} {
			got, report, err := run(t, steps(twoStages, "total"), files, fmt.Sprint("settings.batch.rows=", rows), fmt.Sprint("parallelism=", p))
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
				if l := report.Steps[2].Inputs[0]; report.Steps[1].Updates == 0 || l.LateAccepted == 0 {
					t.Fatalf("no update reached the second window late: %+v", report.Steps)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("batches of %d, parallelism %d: %d rows\n%s\nwant %d\n%s", rows, p, len(got), strings.Join(values(got), "\n"), len(want), strings.Join(values(want), "\n"))
			}
		}
	}
}

// A union of a source and of a filter of it is a diamond: the filter's input waits while
// the reader takes the other side's, and sends nothing for what it drops. All rows at one
// time, more of them than the queues hold.
const diamond = "  f:\n    from: in\n    filter: v > 2\n  s:\n    from: {union: [f, in]}\n    key: [k]\n    window: {tumbling: 5s}\n    aggregates: {n: {function: count}, all: {function: list, columns: {value: v}}}\n"

func TestADiamondOfStepsDoesNotStick(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	write(t, dir, "in.jsonl", strings.Repeat(record("a", 1000, 1), 20000))
	job := strings.Replace(steps(diamond, "s"), ", all: {function: list, columns: {value: v}}", "", 1)
	for _, set := range [][]string{nil, {"settings.queue=1"}, {"settings.queue=1", "settings.batch.rows=1", "parallelism=2"}} {
		got, _, err := runIn(t, ctx, dir, job, set...)
		want := []string{`"key":{"k":"a"},"window":{"start":0,"end":5000},"kind":"on_time","revision":0,"value":{"n":20000}}`}
		if err != nil || !slices.Equal(values(got), want) {
			t.Fatalf("%v: got %v, %v", set, got, err)
		}
	}
}

// A row that comes to a step over two ways comes twice in a row, first over the way that
// the union names first, whatever the batches and the number of tasks.
func TestTheOrderOfADiamondIsThatOfTheData(t *testing.T) {
	files := map[string]string{
		// The watermark before the rows: MIN, then 17,999 until 20,500 has been.
		"in-0.jsonl": record("a", 20000, 1) + record("a", 20000, 3) + record("a", 20500, 4) + record("a", 20500, 2),
		"in-1.jsonl": record("a", 20000, 11) + record("a", 20000, 0) + record("a", 20500, 14) + record("a", 20500, 12),
	}
	want := []string{`"key":{"k":"a"},"window":{"start":20000,"end":25000},"kind":"on_time","revision":0,"value":{"n":13,"all":[1,11,11,3,3,4,4,0,14,14,2,12,12]}}`}
	for _, set := range [][]string{nil, {"parallelism=2"}, {"parallelism=3", "settings.queue=1"}, {"settings.batch.rows=1"}, {"settings.batch.rows=3", "parallelism=2"}} {
		got, _, err := run(t, steps(diamond, "s"), files, set...)
		if err != nil || !slices.Equal(values(got), want) {
			t.Errorf("%v: got %v, %v", set, got, err)
		}
	}
}

// A row that comes to a step over two ways comes twice together, in the order in which the
// union names them.
func TestAUnionTakesRowsOfOnePlaceInTheOrderOfItsInputs(t *testing.T) {
	files := map[string]string{"in-0.jsonl": record("a", 1000, 1) + record("a", 1000, 2), "in-1.jsonl": record("a", 1000, 3)}
	for from, all := range map[string]string{"f, in": "101,1,103,3,102,2", "in, f": "1,101,3,103,2,102"} {
		yaml := steps("  f: {from: in, derive: {v: v + 100}, project: [k, v]}\n  g: {from: in, project: [k, v]}\n  s:\n    from: {union: ["+strings.Replace(from, "in", "g", 1)+"]}\n    key: [k]\n    window: {tumbling: 5s}\n    aggregates: {all: {function: list, columns: {value: v}}}\n", "s")
		want := []string{`"key":{"k":"a"},"window":{"start":0,"end":5000},"kind":"on_time","revision":0,"value":{"all":[` + all + `]}}`}
		for _, set := range [][]string{nil, {"parallelism=2"}, {"settings.batch.rows=1", "parallelism=3", "settings.queue=1"}} {
			got, _, err := run(t, yaml, files, set...)
			if err != nil || !slices.Equal(values(got), want) {
				t.Errorf("%s, %v: got %v, %v", from, set, got, err)
			}
		}
	}
}

// One step that two steps read, which one union reads: what it took is counted once.
func TestTheLedgerCountsAStepOnceThatIsReadTwice(t *testing.T) {
	job := steps("  x:\n    from: in\n    filter: v > 0\n  a:\n    from: x\n    filter: v > 1\n  b:\n    from: x\n    filter: v > 2\n  s:\n    from: {union: [a, b]}\n    key: [k]\n    window: {tumbling: 5s}\n    aggregates: {n: {function: count}}\n", "s")
	got, report, err := run(t, job, map[string]string{"in.jsonl": record("a", 1000, 0) + record("a", 1000, 1) + record("a", 1000, 2) + record("a", 1000, 3)})
	want := []string{`"key":{"k":"a"},"window":{"start":0,"end":5000},"kind":"on_time","revision":0,"value":{"n":3}}`}
	if err != nil || !slices.Equal(values(got), want) {
		t.Fatalf("got %v, %v", got, err)
	}
	for i, want := range []struct {
		id                string
		filtered, counted int64
	}{{"x", 1, 3}, {"a", 1, 2}, {"b", 2, 1}, {"s", 0, 3}} {
		if s := report.Steps[i]; s.ID != want.id || len(s.Inputs) != 1 || s.Inputs[0].Filtered != want.filtered || s.Inputs[0].Counted != want.counted {
			t.Errorf("ledger of %s: %+v", want.id, s)
		}
	}
}

// Time that repeats itself does not fire for ever at the end of the input, where the
// watermark is MAX: a global window has no last time, so its timers end there (S58).
func TestAContinuousTriggerOfAGlobalWindowEndsWithTheInput(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	write(t, dir, "in.jsonl", record("a", 1000, 1)+record("a", 7000, 1))
	got, _, err := runIn(t, ctx, dir, steps("  s:\n    from: in\n    key: [k]\n    window: {global: {}}\n    trigger: {continuous: 1h}\n    aggregates: {n: {function: count}}\n", "s"))
	want := []string{`"key":{"k":"a"},"window":null,"revision":0,"value":{"n":2}}`}
	if err != nil || !slices.Equal(values(got), want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Sinks that write to the same standard output take turns: no row is lost or cut.
func TestTwoSinksShareStandardOutput(t *testing.T) {
	job := steps("  w:\n    from: in\n    key: [k]\n    window: {tumbling: 1s}\n    aggregates: {n: {function: count}}\n  v:\n    from: in\n    key: [k]\n    window: {tumbling: 1s}\n    aggregates: {n: {function: count}}\n", "w") + "  o2: {from: v, stdout: {}}\n"
	var in strings.Builder
	for i := range 2000 {
		in.WriteString(record("a", i*1000, 1))
	}
	got, _, err := run(t, job, map[string]string{"in.jsonl": in.String()}, "settings.batch.rows=10")
	by := map[string]int{}
	for _, l := range got {
		var r struct{ Step string }
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		by[r.Step]++
	}
	if err != nil || by["w"] != 2000 || by["v"] != 2000 {
		t.Errorf("got %v, %v", by, err)
	}
}

func TestAUnionReadsAllItsInputs(t *testing.T) {
	yaml := strings.Replace(steps("  s:\n    from: {union: [in, other]}\n    key: [k]\n    window: {tumbling: 5s}\n    aggregates: {n: {function: count}}\n", "s"), "steps:", `  other:
    file: {path: other.jsonl}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s}
steps:`, 1)
	got, report, err := run(t, yaml, map[string]string{"in.jsonl": record("a", 1000, 1) + record("b", 2000, 1), "other.jsonl": record("a", 3000, 1) + record("a", 7000, 1)})
	if err != nil {
		t.Fatal(err)
	}
	v := values(got)
	slices.Sort(v)
	want := []string{
		`"key":{"k":"a"},"window":{"start":0,"end":5000},"kind":"on_time","revision":0,"value":{"n":2}}`,
		`"key":{"k":"a"},"window":{"start":5000,"end":10000},"kind":"on_time","revision":0,"value":{"n":1}}`,
		`"key":{"k":"b"},"window":{"start":0,"end":5000},"kind":"on_time","revision":0,"value":{"n":1}}`,
	}
	if !slices.Equal(v, want) {
		t.Errorf("got\n%s", strings.Join(v, "\n"))
	}
	if l := report.Steps[0].Inputs[0]; l.Source != "in, other" || l.Counted != 4 {
		t.Errorf("ledger %+v", l)
	}
}

func TestAStepWithoutAWindowPassesRecordsOn(t *testing.T) {
	got, _, err := run(t, steps("  s:\n    from: in\n    filter: k != \"b\"\n    derive: {tens: v * 10}\n    project: [tens, k]\n", "s"),
		map[string]string{"in.jsonl": record("a", 1000, 1) + record("b", 2000, 2) + record("c", 3000, 3)})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`"key":null,"window":null,"revision":0,"time":1000,"value":{"tens":10,"k":"a"}}`, `"key":null,"window":null,"revision":0,"time":3000,"value":{"tens":30,"k":"c"}}`}
	if v := values(got); !slices.Equal(v, want) {
		t.Errorf("got\n%s", strings.Join(v, "\n"))
	}
	// 9007199254740993 * 2^20 leaves int64: the record is refused, by the step's policy.
	in := record("a", 1000, 1) + record("a", 2000, 1<<62)
	_, _, err = run(t, steps("  s:\n    from: in\n    derive: {tens: v * 10}\n", "s"), map[string]string{"in.jsonl": in})
	if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "in.jsonl:2") {
		t.Errorf("got %v", err)
	}
	got, report, err := run(t, steps("  s:\n    from: in\n    derive: {tens: v * 10}\n    on_error: dead_letter\n", "s"), map[string]string{"in.jsonl": in})
	if err != nil || len(got) != 1 || report.Steps[0].Inputs[0].Failed != 1 {
		t.Errorf("set aside: %v, %v, %+v", got, err, report.Steps)
	}
}
