package engine_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tidemark/engine"
)

// allKeysJob has a window over all keys, and the same one over a key that all records
// share, which one task computes from the records as they are.
const allKeysJob = `
version: 1
job: t
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {k: string, v: int64, x: float64, one: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 1s}
steps:
  s:
    from: in
    KEY
    window: {WINDOW, allowed_lateness: 2s}
    aggregates:
      n: {function: count}
      keys: {function: distinct, columns: {value: k}}
      top: {function: top_k, columns: {value: k}, args: {k: 3}}
      sum: {function: sum, columns: {value: v}}
      x: {function: sum, columns: {value: x}}
      mean: {function: mean, columns: {value: x}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

type allKeysRow struct {
	Window   struct{ Start, End int64 }
	Kind     string
	Revision int
	Value    struct {
		N, Keys, Sum int64
		Top          json.RawMessage
		X, Mean      float64
	}
}

func rowsOf(t *testing.T, lines []string) []allKeysRow {
	t.Helper()
	rows := make([]allKeysRow, len(lines))
	for i, l := range lines {
		if err := json.Unmarshal([]byte(l), &rows[i]); err != nil {
			t.Fatalf("%v in %s", err, l)
		}
	}
	slices.SortStableFunc(rows, func(a, b allKeysRow) int { return int(a.Window.Start - b.Window.Start) })
	return rows
}

// Windows over all keys are added up by the tasks that send to them (P4). Rows are those
// of one task that sees every record, and the same to the last bit at any batch size and
// parallelism; what travels is a small part of the records.
func TestAllKeysWindowsAreAddedUpAtTheSenders(t *testing.T) {
	// Twelve seconds on either side of a midnight.
	files := map[string]string{}
	for f := range 3 {
		var in strings.Builder
		for i := range 3000 {
			ts := 86_388_000 + i*8 + (i*7919+f*13)%1000
			if i%100 == 99 {
				ts -= 1000 + i*37%12_000 // late, or allowed to be
			}
			fmt.Fprintf(&in, `{"ts":%d,"k":"k%d","v":%d,"x":%v,"one":1}`+"\n", ts, (i*i+f)%37, i-1500, float64((i*31+f)%1000)/7)
		}
		files[fmt.Sprintf("in-%d.jsonl", f)] = in.String()
	}
	for _, window := range []string{"tumbling: 1s", "sliding: {size: 5s, slide: 1s}", "sliding: {size: 5s, slide: 2s, offset: 300ms}", "sliding: {size: 1s, slide: 3s}", "day: UTC"} {
		t.Run(window, func(t *testing.T) {
			job := strings.Replace(allKeysJob, "WINDOW", window, 1)
			lines, plain, err := run(t, strings.Replace(job, "KEY", "key: [one]", 1), files)
			if err != nil {
				t.Fatal(err)
			}
			want, led := rowsOf(t, lines), plain.Steps[0].Inputs[0]
			if led.Partials != 0 || led.Late == 0 || led.LateAccepted == 0 || len(want) < 8 {
				t.Fatalf("the job with a key shows nothing: %d rows, %+v", len(want), led)
			}
			var first []string
			for _, c := range [][2]int{{1024, 1}, {1, 1}, {7, 2}, {1024, 4}, {100, 3}} {
				got, report, err := run(t, strings.Replace(job, "    KEY\n", "", 1), files, fmt.Sprint("settings.batch.rows=", c[0]), fmt.Sprint("parallelism=", c[1]))
				if err != nil {
					t.Fatal(err)
				}
				l := report.Steps[0].Inputs[0]
				if l.Partials == 0 || l.InPartials < l.Counted*9/10 || window != "sliding: {size: 1s, slide: 3s}" && l.Partials*50 > l.Counted {
					t.Errorf("%d partials for %d of %d records", l.Partials, l.InPartials, l.Counted)
				}
				l.Partials, l.InPartials = 0, 0
				if l != led {
					t.Errorf("batches of %d, parallelism %d: ledger\n%+v, with a key\n%+v", c[0], c[1], l, led)
				}
				if first == nil {
					first = got
					sameRows(t, rowsOf(t, got), want)
				}
				if !slices.Equal(got, first) {
					t.Errorf("batches of %d, parallelism %d: rows differ from those of the first run", c[0], c[1])
				}
			}
		})
	}
}

// Times far ahead of the watermark open more windows than a sender holds.
func TestASenderHoldsOnlySoManySlices(t *testing.T) {
	var in strings.Builder
	for i := range 3000 {
		for _, k := range []string{"a", "b"} {
			fmt.Fprintf(&in, `{"ts":%d,"k":%q,"v":%d,"x":0.1,"one":1}`+"\n", (i*7919)%3000*1000, k, i)
		}
	}
	files := map[string]string{"in-a.jsonl": in.String(), "in-b.jsonl": in.String()}
	job := strings.Replace(allKeysJob, "WINDOW", "tumbling: 1s", 1)
	set := "sources.in.watermark.out_of_orderness=2h"
	for _, j := range []struct {
		plain, added string
		partials     int64
	}{
		{"key: [one]", "parallelism: 1", 6000},
		// More partials leave at once than a batch holds.
		{"key: [k]", "key: [k]\n    hot_keys: 2", 12_000},
	} {
		lines, _, err := run(t, strings.Replace(job, "KEY", j.plain, 1), files, set)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		var first []string
		for _, c := range [][2]int{{1024, 1}, {7, 2}} {
			got, report, err := run(t, strings.Replace(job, "KEY", j.added, 1), files, set, fmt.Sprint("settings.batch.rows=", c[0]), fmt.Sprint("parallelism=", c[1]))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got) // tasks write side by side
			if first == nil {
				first = got
				sameRows(t, rowsOf(t, got), rowsOf(t, lines))
			}
			if l := report.Steps[0].Inputs[0]; l.Partials != j.partials || l.InPartials != 12_000 || !slices.Equal(got, first) {
				t.Errorf("%s: %d records in %d partials, same rows: %t", j.added, l.InPartials, l.Partials, slices.Equal(got, first))
			}
		}
	}
}

// sameRows compares rows; sums of floats may differ in the order of their terms.
func sameRows(t *testing.T, got, want []allKeysRow) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for i, g := range got {
		w := want[i]
		if !near(g.Value.X, w.Value.X) || !near(g.Value.Mean, w.Value.Mean) {
			t.Errorf("row %d: %+v, want %+v", i, g, w)
		}
		g.Value.X, g.Value.Mean = w.Value.X, w.Value.Mean
		if fmt.Sprintf("%+v", g) != fmt.Sprintf("%+v", w) {
			t.Errorf("row %d: %+v, want %+v", i, g, w)
		}
	}
}

// A record that a function refuses is named, whoever found out; what is added up with
// others before cannot be told from them any more and is set aside with them.
func TestARefusalAmongRecordsThatAreAddedUp(t *testing.T) {
	const big = math.MaxInt64 - 10
	line := func(ts, v int) string { return fmt.Sprintf(`{"ts":%d,"k":"a","v":%d,"x":1,"one":1}`+"\n", ts, v) }
	end := line(9000, 0)
	for _, c := range []struct {
		name   string
		files  map[string]string
		failed string
		want   engine.Ledger
		sum    int64
	}{
		{"the second record leaves int64", map[string]string{"in.jsonl": line(1000, big) + line(1001, 20) + line(1002, 3) + end},
			`"v":20`, engine.Ledger{Source: "in", Failed: 1, Counted: 3, Fired: 3, Partials: 2, InPartials: 3}, big + 3},
		{"two files do so together", map[string]string{"in-a.jsonl": line(1000, big) + line(1001, 5) + end, "in-b.jsonl": line(1000, 4) + line(1001, 3) + end},
			`merge of 2 records`, engine.Ledger{Source: "in", Failed: 2, Counted: 4, Fired: 4, Partials: 4, InPartials: 6}, big + 5},
	} {
		for _, s := range []struct {
			key, window, failed string
			rows                int
		}{
			{"", "tumbling: 1s", "", 2},
			{"    key: [k]\n    hot_keys: 4\n", "tumbling: 1s", `"key":{"k":"a"}`, 2},
			{"    key: [k]\n    hot_keys: 4\n", "sliding: {size: 1s, slide: 500ms}", `"key":{"k":"a"}`, 4},
		} {
			t.Run(c.name+", "+s.window+s.key, func(t *testing.T) {
				job := strings.Replace(strings.Replace(allKeysJob, "    KEY\n", s.key+"    on_error: dead_letter\n", 1), "WINDOW", s.window, 1)
				got, report, err := run(t, job, c.files)
				if err != nil {
					t.Fatal(err)
				}
				if rows := rowsOf(t, got); len(rows) != s.rows || rows[0].Value.Sum != c.sum {
					t.Errorf("rows %v, want a sum of %d", got, c.sum)
				}
				if l := report.Steps[0].Inputs[0]; l != c.want {
					t.Errorf("ledger %+v, want %+v", l, c.want)
				}
				for _, sink := range report.Sinks {
					if sink.From == "s.failed" && (len(sink.Last) != 1 || !strings.Contains(sink.Last[0], c.failed) || !strings.Contains(sink.Last[0], s.failed)) {
						t.Errorf("set aside: %v, want %s of %s", sink.Last, c.failed, s.failed)
					}
				}
			})
		}
	}
}

// hotKeysJob has windows by key; HOT is the setting under test or nothing.
const hotKeysJob = `
version: 1
job: t
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {k: string, v: int64, x: float64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 1s}
steps:
  s:
    from: in
    filter: v % 50 != 7
    key: [k]
    null_key: NULLS
    HOT
    window: {WINDOW, allowed_lateness: 2s}
    aggregates:
      n: {function: count}
      seen: {function: distinct, columns: {value: v}}
      top: {function: top_k, columns: {value: v}, args: {k: 3}}
      sum: {function: sum, columns: {value: v}}
      x: {function: sum, columns: {value: x}}
      mean: {function: mean, columns: {value: x}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

type hotKeysRow struct {
	Key struct{ K *string }
	allKeysRow
	Value struct {
		N, Seen, Sum int64
		Top          json.RawMessage
		X, Mean      float64
	}
}

// Keys that have a great part of all records are added up where these are read. Rows are
// those of the tasks that see every record, but for the last bits of sums of floats, and
// those are the same at any batch size and parallelism.
func TestHotKeysAreAddedUpAtTheSenders(t *testing.T) {
	files := map[string]string{}
	for f := range 3 {
		var in strings.Builder
		for i := range 2000 {
			ts := 86_388_000 + i*12 + (i*7919+f*13)%1000
			if i%100 == 99 {
				ts -= 1000 + i*37%12_000 // late, or allowed to be
			}
			key := `"hot"`
			switch n := (i*i + f) % 97; {
			case n < 3:
				key = "null"
			case n < 60:
				key = fmt.Sprintf(`"k%d"`, n)
			}
			fmt.Fprintf(&in, `{"ts":%d,"k":%s,"v":%d,"x":%v}`+"\n", ts, key, (i-1000)%500, float64((i*31+f)%1000)/7)
		}
		files[fmt.Sprintf("in-%d.jsonl", f)] = in.String()
	}
	rowsOf := func(lines []string) map[string]hotKeysRow {
		rows := map[string]hotKeysRow{}
		for _, l := range lines {
			var r hotKeysRow
			if err := json.Unmarshal([]byte(l), &r); err != nil {
				t.Fatalf("%v in %s", err, l)
			}
			key := "null"
			if r.Key.K != nil {
				key, r.Key.K = *r.Key.K, nil
			}
			rows[fmt.Sprint(key, r.Window, r.Revision)] = r
		}
		if len(rows) != len(lines) {
			t.Fatalf("%d of %d rows are different", len(rows), len(lines))
		}
		return rows
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for n, window := range []string{"tumbling: 1s", "sliding: {size: 5s, slide: 1s}", "sliding: {size: 5s, slide: 2s, offset: 300ms}", "day: UTC"} {
		t.Run(window, func(t *testing.T) {
			nulls := []string{"keep", "drop"}[n%2]
			job := strings.NewReplacer("WINDOW", window, "NULLS", nulls).Replace(hotKeysJob)
			lines, plain, err := run(t, strings.Replace(job, "    HOT\n", "", 1), files)
			if err != nil {
				t.Fatal(err)
			}
			want, led := rowsOf(lines), plain.Steps[0].Inputs[0]
			if led.Partials != 0 || led.Late == 0 || led.LateAccepted == 0 || led.Filtered == 0 {
				t.Fatalf("the job without hot keys shows nothing: %+v", led)
			}
			for _, hot := range []int{1, 4, 1024} {
				var first []string
				for _, c := range [][2]int{{1024, 1}, {1, 2}, {7, 4}, {100, 3}} {
					got, report, err := run(t, strings.Replace(job, "HOT", fmt.Sprint("hot_keys: ", hot), 1), files, fmt.Sprint("settings.batch.rows=", c[0]), fmt.Sprint("parallelism=", c[1]))
					if err != nil {
						t.Fatal(err)
					}
					l := report.Steps[0].Inputs[0]
					if l.Partials == 0 || (hot == 1024) != (l.InPartials > l.Counted*9/10) || hot == 4 && l.InPartials < l.Counted/4 {
						t.Errorf("%d hot keys: %d of %d records in %d partials", hot, l.InPartials, l.Counted, l.Partials)
					}
					l.Partials, l.InPartials = 0, 0
					if l != led {
						t.Errorf("%d hot keys, batches of %d, parallelism %d: ledger\n%+v, without\n%+v", hot, c[0], c[1], l, led)
					}
					slices.Sort(got) // tasks write side by side
					if first == nil {
						first = got
						rows := rowsOf(got)
						if len(rows) != len(want) {
							t.Errorf("%d hot keys: %d rows, want %d", hot, len(rows), len(want))
						}
						for at, w := range want {
							g := rows[at]
							if !near(g.Value.X, w.Value.X) || !near(g.Value.Mean, w.Value.Mean) {
								t.Errorf("%s: sum %v and mean %v, want %v and %v", at, g.Value.X, g.Value.Mean, w.Value.X, w.Value.Mean)
							}
							g.Value.X, g.Value.Mean = w.Value.X, w.Value.Mean
							if fmt.Sprintf("%+v", g) != fmt.Sprintf("%+v", w) {
								t.Errorf("%s: %+v, want %+v", at, g, w)
							}
						}
					}
					if !slices.Equal(got, first) {
						t.Errorf("%d hot keys, batches of %d, parallelism %d: rows differ from those of the first run", hot, c[0], c[1])
					}
				}
			}
		})
	}
}
