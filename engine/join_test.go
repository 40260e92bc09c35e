package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/engine"
	"tidemark/engine/harness"
	"tidemark/engine/job"
)

// joins makes a job over the sources l and r, whose records have k and v and are at most
// 2 s out of order; the results of step s are written, with times in ms.
func joins(steps string) string {
	const source = `
  %[1]s:
    file: {path: "%[1]s-*.jsonl"}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s}`
	return "version: 1\njob: t\nsources:" + fmt.Sprintf(source, "l") + fmt.Sprintf(source, "r") + "\nsteps:\n" + steps +
		"sinks:\n  out: {from: s, stdout: {}, time_format: ms}\n"
}

// everywhere runs a job at several batch sizes and parallelisms, and gives its sorted
// rows without their ids to check each time.
func everywhere(t *testing.T, yaml string, files map[string]string, check func(t *testing.T, rows []string, r engine.Report)) {
	t.Helper()
	for _, rows := range []int{1, 7, 1000} {
		for _, p := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("batches of %d, parallelism %d", rows, p), func(t *testing.T) {
				got, report, err := run(t, yaml, files, fmt.Sprint("settings.batch.rows=", rows), fmt.Sprint("parallelism=", p))
				if err != nil {
					t.Fatal(err)
				}
				ids := map[string]bool{}
				for _, l := range got {
					ids[l[:strings.Index(l, ",")]+revisionOf(l)] = true
				}
				if len(ids) != len(got) {
					t.Errorf("%d rows have %d ids", len(got), len(ids))
				}
				v := values(got)
				slices.Sort(v)
				check(t, v, report)
			})
		}
	}
}

func revisionOf(line string) string {
	_, rest, _ := strings.Cut(line, `"revision":`)
	n, _, _ := strings.Cut(rest, ",")
	return n
}

func equalRows(t *testing.T, got, want []string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// lateFiles have, for windows of 10 s, in order of the watermark before each record (that
// of its file: its highest time less 2,001 ms): a1, a2, a10, b20, a3, b21, b4, a11, and
// at 12,999, behind the end of the first window, a12.
func lateFiles() map[string]string {
	return map[string]string{
		"l-0.jsonl": record("a", 1000, 1) + record("a", 16000, 3),
		"l-1.jsonl": record("a", 2000, 2) + record("b", 16000, 4),
		"r-0.jsonl": record("a", 3000, 10) + record("a", 15000, 11) + record("a", 4000, 12),
		"r-1.jsonl": record("b", 1000, 20) + record("b", 17000, 21),
	}
}

const (
	first  = `"window":{"start":0,"end":10000},`
	second = `"window":{"start":10000,"end":20000},`
)

func TestAWindowJoinGivesEveryPairAgainForALateRecord(t *testing.T) {
	everywhere(t, joins(`  s:
    from: {join: {left: l, right: r, left_fields: [v], right_fields: [v]}}
    key: [k]
    window: {tumbling: 10s, allowed_lateness: 5s}
`), lateFiles(), func(t *testing.T, rows []string, report engine.Report) {
		equalRows(t, rows, []string{
			`"key":{"k":"a"},` + first + `"kind":"on_time","revision":0,"rows":2,"value":{"left":{"v":1},"right":{"v":10}}}`,
			`"key":{"k":"a"},` + first + `"kind":"on_time","revision":0,"ordinal":1,"rows":2,"value":{"left":{"v":2},"right":{"v":10}}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":1,"rows":4,"value":{"left":{"v":1},"right":{"v":10}}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":1,"ordinal":1,"rows":4,"value":{"left":{"v":1},"right":{"v":12}}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":1,"ordinal":2,"rows":4,"value":{"left":{"v":2},"right":{"v":10}}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":1,"ordinal":3,"rows":4,"value":{"left":{"v":2},"right":{"v":12}}}`,
			`"key":{"k":"a"},` + second + `"kind":"on_time","revision":0,"value":{"left":{"v":3},"right":{"v":11}}}`,
			`"key":{"k":"b"},` + second + `"kind":"on_time","revision":0,"value":{"left":{"v":4},"right":{"v":21}}}`,
		})
		if l := report.Steps[0].Inputs; len(l) != 1 || l[0].Source != "l, r" || l[0].Counted != 9 || l[0].Fired != 9 || l[0].LateAccepted != 1 {
			t.Errorf("ledger %+v", l)
		}
	})
}

func TestACoGroupGivesBothListsAlsoIfOneIsEmpty(t *testing.T) {
	everywhere(t, joins(`  s:
    from: {join: {left: l, right: r, kind: cogroup, left_fields: [v], right_fields: [k, v]}}
    key: [k]
    window: {tumbling: 10s, allowed_lateness: 5s}
`), lateFiles(), func(t *testing.T, rows []string, _ engine.Report) {
		equalRows(t, rows, []string{
			`"key":{"k":"a"},` + first + `"kind":"on_time","revision":0,"value":{"left":[{"v":1},{"v":2}],"right":[{"k":"a","v":10}]}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":1,"value":{"left":[{"v":1},{"v":2}],"right":[{"k":"a","v":10},{"k":"a","v":12}]}}`,
			`"key":{"k":"b"},` + first + `"kind":"on_time","revision":0,"value":{"left":[],"right":[{"k":"b","v":20}]}}`,
			`"key":{"k":"a"},` + second + `"kind":"on_time","revision":0,"value":{"left":[{"v":3}],"right":[{"k":"a","v":11}]}}`,
			`"key":{"k":"b"},` + second + `"kind":"on_time","revision":0,"value":{"left":[{"v":4}],"right":[{"k":"b","v":21}]}}`,
		})
	})
}

func TestARecordOfOneSideBridgesSessionsOfTheOther(t *testing.T) {
	// a5000 of the right side comes last, at 3,999, between sessions from 1,000 and 9,000.
	everywhere(t, joins(`  s:
    from: {join: {left: l, right: r, left_fields: [v], right_fields: [v]}}
    key: [k]
    window: {session: 5s}
`), map[string]string{
		"l-0.jsonl": record("a", 1000, 1),
		"l-1.jsonl": record("a", 9000, 2),
		"r-0.jsonl": record("b", 6000, 20) + record("a", 5000, 10),
		"r-1.jsonl": record("c", 1000, 30),
	}, func(t *testing.T, rows []string, _ engine.Report) {
		const session = `"key":{"k":"a"},"window":{"start":1000,"end":14000},"kind":"on_time","revision":0,`
		equalRows(t, rows, []string{
			session + `"rows":2,"value":{"left":{"v":1},"right":{"v":10}}}`,
			session + `"ordinal":1,"rows":2,"value":{"left":{"v":2},"right":{"v":10}}}`,
		})
	})
}

func TestSessionsOfAJoinWithAGapInEachRecord(t *testing.T) {
	// The field is the third one on the left and the first one on the right.
	yaml := joins(`  left: {from: l, derive: {gap: v * 1000}}
  right: {from: r, derive: {gap: v * 100}, project: [gap, v, k]}
  s:
    from: {join: {left: left, right: right, left_fields: [v], right_fields: [v]}}
    key: [k]
    window: {session: {gap_field: gap}}
`)
	everywhere(t, yaml, map[string]string{
		"l-0.jsonl": record("a", 1000, 5), "l-1.jsonl": record("a", 20000, 1),
		"r-0.jsonl": record("a", 5500, 10), "r-1.jsonl": record("a", 21000, 3),
	}, func(t *testing.T, rows []string, _ engine.Report) {
		equalRows(t, rows, []string{ // 20,000 to 21,000 touches the next session: they are one
			`"key":{"k":"a"},"window":{"start":1000,"end":6500},"kind":"on_time","revision":0,"value":{"left":{"v":5},"right":{"v":10}}}`,
			`"key":{"k":"a"},"window":{"start":20000,"end":21300},"kind":"on_time","revision":0,"value":{"left":{"v":1},"right":{"v":3}}}`,
		})
	})
}

func TestAnIntervalJoinTakesItsBoundsOrLeavesThemOut(t *testing.T) {
	files := map[string]string{
		"l-0.jsonl": record("a", 10000, 1),
		"l-1.jsonl": record("a", 30000, 2) + record("b", 10000, 3),
		"r-0.jsonl": record("a", 7999, 10) + record("a", 8001, 12) + record("a", 13000, 14),
		"r-1.jsonl": record("a", 8000, 11) + record("a", 12999, 13) + record("a", 13001, 15),
	}
	for _, c := range []struct {
		name, between string
		right         []int
	}{
		{"both in", "", []int{11, 12, 13, 14}},
		{"without the lower", ", lower_exclusive: true", []int{12, 13, 14}},
		{"without the upper", ", upper_exclusive: true", []int{11, 12, 13}},
		{"without either", ", lower_exclusive: true, upper_exclusive: true", []int{12, 13}},
	} {
		times := map[int]int{11: 10000, 12: 10000, 13: 12999, 14: 13000} // the later one of the two
		var want []string
		for _, v := range c.right {
			want = append(want, fmt.Sprintf(`"key":{"k":"a"},"window":null,"revision":0,"time":%d,"value":{"left":{"v":1},"right":{"k":"a","v":%d}}}`, times[v], v))
		}
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, joins(`  s:
    from: {join: {left: l, right: r, kind: interval, left_fields: [v], between: {lower: -2s, upper: 3s`+c.between+`}}}
    key: [k]
`), files, func(t *testing.T, rows []string, _ engine.Report) { equalRows(t, rows, want) })
		})
	}
}

func TestEachSideOfAnIntervalJoinHasItsLateRecords(t *testing.T) {
	// The left a3 comes at 17,999, when the right side is at 27,999; the right a11 at
	// 27,999, when the left side has ended.
	everywhere(t, joins(`  s:
    from: {join: {left: l, right: r, kind: interval, left_fields: [v], right_fields: [v], between: {lower: -5s, upper: 5s}}}
    key: [k]
`), map[string]string{
		"l-0.jsonl": record("a", 10000, 1) + record("a", 20000, 2) + record("a", 5000, 3),
		"l-1.jsonl": record("b", 1000, 9),
		"r-0.jsonl": record("a", 30000, 10) + record("a", 4000, 11),
		"r-1.jsonl": record("b", 2000, 19),
	}, func(t *testing.T, rows []string, report engine.Report) {
		equalRows(t, rows, []string{`"key":{"k":"b"},"window":null,"revision":0,"time":2000,"value":{"left":{"v":9},"right":{"v":19}}}`})
		late := report.Sinks[slices.IndexFunc(report.Sinks, func(s engine.SinkReport) bool { return s.From == "s.late" })].Last
		slices.Sort(late)
		equalRows(t, late, []string{
			`{"step":"s","source":"l","split":"l-0.jsonl","line":3,"time":"1970-01-01T00:00:05.000Z","key":{"k":"a"},"window":null,"late_by_ms":12999,"behind_ms":15000,"record":{"ts":5000,"k":"a","v":3}}`,
			`{"step":"s","source":"r","split":"r-0.jsonl","line":2,"time":"1970-01-01T00:00:04.000Z","key":{"k":"a"},"window":null,"late_by_ms":23999,"behind_ms":26000,"record":{"ts":4000,"k":"a","v":11}}`,
		})
		l := report.Steps[0].Inputs
		if len(l) != 2 {
			t.Fatalf("ledgers %+v", l)
		}
		if l[0].Source != "l" || l[0].Side != "left" || l[0].Late != 1 || l[0].Counted != 3 || l[0].Fired != 1 || l[0].Unfired != 2 {
			t.Errorf("left %+v", l[0])
		}
		if l[1].Source != "r" || l[1].Side != "right" || l[1].Late != 1 || l[1].Counted != 2 || l[1].Fired != 1 || l[1].Unfired != 1 {
			t.Errorf("right %+v", l[1])
		}
	})
}

func TestAStepReadsTheRowsOfAWindowJoin(t *testing.T) {
	// Both rows of the first window, then those of its update one by one: 10, 12, 10, 12.
	everywhere(t, joins(`  pairs:
    from: {join: {left: l, right: r}}
    key: [k]
    window: {tumbling: 10s, allowed_lateness: 5s}
  s:
    from: pairs
    key: [k]
    window: {tumbling: 10s, allowed_lateness: 10s}
    aggregates: {n: {function: count}, sum: {function: sum, columns: {value: right.v}}}
`), lateFiles(), func(t *testing.T, rows []string, _ engine.Report) {
		equalRows(t, rows, []string{
			`"key":{"k":"a"},` + first + `"kind":"on_time","revision":0,"value":{"n":2,"sum":20}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":1,"value":{"n":3,"sum":30}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":2,"value":{"n":4,"sum":42}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":3,"value":{"n":5,"sum":52}}`,
			`"key":{"k":"a"},` + first + `"kind":"update","revision":4,"value":{"n":6,"sum":64}}`,
			`"key":{"k":"a"},` + second + `"kind":"on_time","revision":0,"value":{"n":1,"sum":11}}`,
			`"key":{"k":"b"},` + second + `"kind":"on_time","revision":0,"value":{"n":1,"sum":21}}`,
		})
	})
}

func TestAnIntervalJoinOfResultsIsReadFurther(t *testing.T) {
	// Two counts of a (9,999: 1 and 19,999: 2) with the right records up to 5 s behind
	// them: 14,000 with the first, 20,000 and 24,999 with the second.
	files := map[string]string{
		"l-0.jsonl": record("a", 1000, 1) + record("a", 12000, 1),
		"l-1.jsonl": record("a", 13000, 1) + record("b", 13000, 1),
		"r-0.jsonl": record("a", 14000, 10) + record("a", 24999, 12),
		"r-1.jsonl": record("a", 20000, 11) + record("a", 25000, 13),
	}
	const text = `  counts:
    from: l
    key: [k]
    window: {tumbling: 10s}
    aggregates: {n: {function: count}}
  pairs:
    from: {join: {left: counts, right: r, kind: interval, left_fields: [n, window_start], right_fields: [v], between: {lower: 0s, upper: 5s}}}
    key: [k]
`
	everywhere(t, joins(text+"  s: {from: pairs, filter: right.v != 12}\n"), files, func(t *testing.T, rows []string, _ engine.Report) {
		equalRows(t, rows, []string{
			`"key":null,"window":null,"revision":0,"time":14000,"value":{"k":"a","left.n":1,"left.window_start":0,"right.v":10}}`,
			`"key":null,"window":null,"revision":0,"time":20000,"value":{"k":"a","left.n":2,"left.window_start":10000,"right.v":11}}`,
		})
	})
	everywhere(t, joins(text+"  s: {from: pairs, window: {tumbling: 10s}, aggregates: {n: {function: count}, v: {function: sum, columns: {value: right.v}}}}\n"), files,
		func(t *testing.T, rows []string, _ engine.Report) {
			equalRows(t, rows, []string{
				`"key":null,` + second + `"kind":"on_time","revision":0,"value":{"n":1,"v":10}}`,
				`"key":null,"window":{"start":20000,"end":30000},"kind":"on_time","revision":0,"value":{"n":2,"v":23}}`,
			})
		})
}

func TestASourceIsJoinedWithAPartOfItself(t *testing.T) {
	files := map[string]string{"l-0.jsonl": record("a", 1000, 1), "l-1.jsonl": record("a", 2000, 2), "r-0.jsonl": "", "r-1.jsonl": ""}
	text := `  large: {from: l, filter: v > 1, derive: {tens: v * 10}, project: [tens, k]}
  unused: {from: r, window: {tumbling: 10s}, aggregates: {n: {function: count}}}
  s:
    from: {join: {left: l, right: large, %s left_fields: [v], right_fields: [tens]}}
    key: [k]
`
	yaml := func(kind, window string) string {
		return strings.Replace(joins(fmt.Sprintf(text, kind)+window), "sinks:\n", "sinks:\n  other: {from: unused, file: {path: other.jsonl}}\n", 1)
	}
	everywhere(t, yaml("", "    window: {tumbling: 10s}\n"), files, func(t *testing.T, rows []string, _ engine.Report) {
		equalRows(t, rows, []string{
			`"key":{"k":"a"},` + first + `"kind":"on_time","revision":0,"rows":2,"value":{"left":{"v":1},"right":{"tens":20}}}`,
			`"key":{"k":"a"},` + first + `"kind":"on_time","revision":0,"ordinal":1,"rows":2,"value":{"left":{"v":2},"right":{"tens":20}}}`,
		})
	})
	everywhere(t, yaml("kind: interval, between: {lower: 0s, upper: 1s},", ""), files, func(t *testing.T, rows []string, _ engine.Report) {
		equalRows(t, rows, []string{
			`"key":{"k":"a"},"window":null,"revision":0,"time":2000,"value":{"left":{"v":1},"right":{"tens":20}}}`,
			`"key":{"k":"a"},"window":null,"revision":0,"time":2000,"value":{"left":{"v":2},"right":{"tens":20}}}`,
		})
	})
}

// 50 records of either side make 2,500 pairs: more than one call of a pair function
// carries. The first record of each file comes before the others of the other file, since
// watermarks are at the start before it.
func TestALargeProductLeavesInPieces(t *testing.T) {
	files := map[string]string{}
	order := []int{0, 1}
	for i := range 50 {
		files[fmt.Sprintf("l-%d.jsonl", i%2)] += record("a", 1000, i)
		files[fmt.Sprintf("r-%d.jsonl", i%2)] += record("a", 1000, i)
	}
	for file := range 2 {
		for i := file + 2; i < 50; i += 2 {
			order = append(order, i)
		}
	}
	var want []string
	for i, l := range order {
		for k, r := range order {
			ordinal := ""
			if n := i*50 + k; n > 0 {
				ordinal = fmt.Sprintf(`"ordinal":%d,`, n)
			}
			want = append(want, fmt.Sprintf(`"key":{"k":"a"},%s"kind":"on_time","revision":0,%s"rows":2500,"value":{"left":{"v":%d},"right":{"v":%d}}}`, first, ordinal, l, r))
		}
	}
	everywhere(t, joins(`  s:
    from: {join: {left: l, right: r, left_fields: [v], right_fields: [v]}}
    key: [k]
    window: {tumbling: 10s}
`), files, func(t *testing.T, rows []string, _ engine.Report) { equalRows(t, rows, want) })
}

// By arrival the sides of an interval join are held together by their minimum, and a side
// is told by the input that a record came in at. A restore changes nothing.
func TestJoinsByArrivalAndRestored(t *testing.T) {
	yaml := strings.Replace(joins(`  s: {from: {join: {left: l, right: r, kind: interval, left_fields: [v], right_fields: [v], between: {lower: -5s, upper: 5s}}}, key: [k]}
  pairs: {from: {join: {left: l, right: r, left_fields: [v], right_fields: [v]}}, key: [k], window: {tumbling: 10s, allowed_lateness: 5s}}
  lists: {from: {join: {left: l, right: r, kind: cogroup, left_fields: [v], right_fields: [v]}}, key: [k], window: {tumbling: 10s}}
`), "sinks:\n", "sinks:\n  b: {from: pairs, stdout: {}}\n  c: {from: lists, stdout: {}}\n", 1)
	// The right side is behind: at 999, at 9,998, and at 10,000, where the first window is over.
	tests, err := harness.ReadJobTests([]byte(`
version: 1
job: t
tests:
  - name: joins
    steps:
      - {source: l, records: [{k: a, v: 1, ts: 1000}, {k: a, v: 2, ts: 12000}]}
      - checkpoint_restore: true
      - source: r
        records: [{k: a, v: 10, ts: 3000}]
        expect: {rows: [{step: s, time: 3000, value: {left: {v: 1}, right: {v: 10}}}]}
      - checkpoint_restore: true
      - source: r
        records: [{k: b, v: 20, ts: 11999}]
        expect: {}
      - source: l
        records: [{k: b, v: 3, ts: 13000}]
        expect: {rows: [{step: s, time: 13000, value: {left: {v: 3}, right: {v: 20}}}]}
      - checkpoint_restore: true
      - source: r
        records: [{k: a, v: 11, ts: 12001}]
        expect:
          rows:
            - {step: s, time: 12001, value: {left: {v: 2}, right: {v: 11}}}
            - {step: pairs, revision: 0, value: {left: {v: 1}, right: {v: 10}}}
            - {step: lists, value: {left: [{v: 1}], right: [{v: 10}]}}
      - source: r
        records: [{k: a, v: 12, ts: 4000}]
        expect:
          rows:
            - {step: pairs, revision: 1, rows: 2, value: {left: {v: 1}, right: {v: 10}}}
            - {step: pairs, revision: 1, ordinal: 1, value: {left: {v: 1}, right: {v: 12}}}
          late:
            - {step: s, source: r, window: null, late_by_ms: 6000}
            - {step: lists, source: r, window: {start: 0, end: 10000}, late_by_ms: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []int{1, 2, 4} {
		g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: t.TempDir(), Resolver: builtins{}, Set: []string{fmt.Sprint("parallelism=", p)}})
		if err != nil {
			t.Fatal(err)
		}
		if diff, err := tests.Tests[0].Run(t.Context(), g, nil); err != nil || diff != "" {
			t.Errorf("parallelism %d: %v\n%s", p, err, diff)
		}
	}
}

// Rows of joins are a function of the data alone too (T6), over a graph in which one
// source is read by several ways, with the smallest queues.
func TestJoinsDoNotDependOnBatchesOrTasks(t *testing.T) {
	files := map[string]string{}
	for n, name := range []string{"l-0", "l-1", "r-0", "r-1"} {
		var in strings.Builder
		for i := range 150 {
			in.WriteString(record(fmt.Sprint("k", (i*31+n)%5), i*100+(i*7919+n*13)%4000, i))
		}
		files[name+".jsonl"] = in.String()
	}
	near := `  counts: {from: l, key: [k], window: {tumbling: 2s, allowed_lateness: 1s}, aggregates: {n: {function: count}}}
  near: {from: {join: {left: counts, right: l, kind: interval, between: {lower: -1s, upper: 1s}}}, key: [k]}
`
	pairs := near + `  pairs: {from: {join: {left: near, right: r, left_fields: [right.v], right_fields: [v]}}, key: [k], window: {session: 300ms, allowed_lateness: 1s}}
`
	lists := pairs + `  lists: {from: pairs, key: [k], window: {tumbling: 1s, allowed_lateness: 10s}, aggregates: {n: {function: count}, l: {function: list, columns: {value: left.right.v}}}}
`
	for _, c := range []struct{ step, text string }{{"pairs", pairs}, {"lists", lists}} {
		yaml := strings.Replace(joins(c.text), "from: s,", "from: "+c.step+",", 1)
		var want []string
		for _, rows := range []int{1000, 1, 7} {
			for _, p := range []int{1, 2, 4} {
				got, _, err := run(t, yaml, files, fmt.Sprint("settings.batch.rows=", rows), fmt.Sprint("parallelism=", p), "settings.queue=1")
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(got)
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, batches of %d, parallelism %d: %d rows differ from the first run's %d", c.step, rows, p, len(got), len(want))
				}
			}
		}
		if n := len(strings.Join(want, "")); n < 10000 { // few rows of lists, but long ones
			t.Errorf("only %d bytes of %s: the test shows little", n, c.step)
		}
	}
}
