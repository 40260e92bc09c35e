package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

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
