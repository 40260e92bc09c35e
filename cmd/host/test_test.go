package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/abi/toolchain"
	"tidemark/internal/wasmtest"
)

func TestTheTestsOfExamplesPass(t *testing.T) {
	dir := examples(t, "alerts", "sessionise")
	files, err := filepath.Glob(filepath.Join(dir, "*.test.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	out, stderr, code := tidemark(t, "", "", append([]string{"test"}, files...)...)
	if code != 0 || !strings.HasSuffix(out, "passed, 0 failed\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}

// examples copies the example jobs with their tests into a directory, beside these
// plug-ins, which are built from the tree as it stands.
func examples(t *testing.T, plugins ...string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob("../../configs/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), bytes.ReplaceAll(text, []byte("../bin/plugins/"), nil), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	buildPlugins(t, dir, plugins...)
	return dir
}

// buildPlugins builds plug-ins of the tree as it stands into a directory.
func buildPlugins(t *testing.T, dir string, plugins ...string) {
	t.Helper()
	for _, name := range plugins {
		built := pluginsBuilt[name]
		if built == nil {
			var err error
			if built, err = toolchain.Build(t.Context(), filepath.Join("../../plugins", name)); err != nil {
				t.Fatal(err)
			}
			pluginsBuilt[name] = built
		}
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), built.Module, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// pluginsBuilt keeps what buildPlugins has built. Tests that build do not run in parallel.
var pluginsBuilt = map[string]*toolchain.Built{}

// testedJob has two sources in one step, a step without a window before it, lateness, and
// a step by the clock.
const testedJob = `
version: 1
job: tested
parallelism: 2
sources:
  a:
    file: {path: "no/such/a*.jsonl", follow: true}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, emit: record, idle_timeout: 2s}
  b:
    file: {path: "no/such/b*.jsonl", follow: true}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, emit: record, idle_timeout: 2s}
steps:
  positive: {from: {union: [a, b]}, filter: v > 0}
  sums:
    from: positive
    key: [k]
    window: {tumbling: 10s, allowed_lateness: 5s}
    aggregates: {sum: {function: sum, columns: {value: v}}}
  clocked:
    from: a
    key: [k]
    window: {tumbling: 1m, time: processing}
    aggregates: {n: {function: count}}
sinks:
  out_sums: {from: sums, file: {path: out/sums.jsonl}}
  out_clocked: {from: clocked, file: {path: out/clocked.jsonl}}
`

func TestTestsOfAJob(t *testing.T) {
	const head = "version: 1\njob: job.yaml\ntests:\n- name: t\n  steps:\n"
	for _, c := range []struct {
		what, test string
		code       int
		says       string
	}{
		{"two sources: time is the lower one, and an idle one does not count", head + `
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: -5, ts: 2000}, {k: x, v: 2, ts: 12000}], expect: {}}
  - {source: b, records: [{k: x, v: 4, ts: 3000}], expect: {}}
  - {source: b, idle: true, expect: {rows: [{step: sums, window: {start: 0}, kind: on_time, value: {sum: 5}}]}}
`, 0, ""},
		{"an idle timeout passes with the clock, and not before", head + `
  - {source: a, records: [{k: x, v: 1, ts: 1000}]}
  - {source: b, records: [{k: x, v: 4, ts: 3000}]}
  - {clock: +1s}
  - {source: a, records: [{k: y, v: 1, ts: 12000}]}
  - {clock: +1s, expect: {}}
  - {clock: +2s, expect: {rows: [{step: sums, value: {sum: 5}}]}}
`, 0, ""},
		{"with all idle, time goes on with the clock", "version: 1\njob: job.yaml\nset: [sources.a.watermark.when_all_idle=advance]\ntests:\n- name: t\n  steps:\n" + `
  - {source: b, idle: true}
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: 1, ts: 9000}], expect: {}}
  - {clock: +10s, expect: {rows: [{step: sums, value: {sum: 2}}]}}
`, 0, ""},
		{"windows by the clock fire when it has passed their end", head + `
  - {source: a, records: [{k: x, v: 1, ts: 1000}]}
  - {clock: +59s, expect: {}}
  - {checkpoint_restore: true}
  - {clock: +2s, expect: {rows: [{step: clocked, key: {k: x}, value: {n: 1}}]}}
`, 0, ""},
		{"late records, an update and the end of the input", head + `
  - {source: b, idle: true}
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: 1, ts: 12000}], expect: {rows: [{value: {sum: 1}}]}}
  - {source: a, records: [{k: x, v: 2, ts: 2000}], expect: {rows: [{kind: update, value: {sum: 3}}]}}
  - {source: a, records: [{k: x, v: 1, ts: 15000}, {k: x, v: 3, ts: 3000}], expect: {late: [{step: sums, record: {v: 3}, window: {start: 0}}]}}
  - {end_of_input: true, expect: {rows: [{window: {start: 10000, end: 20000}, value: {sum: 2}}]}}
`, 0, ""},
		{"a watermark by the clock waits for the clock", "version: 1\njob: job.yaml\nset: [sources.a.watermark.emit=200ms]\ntests:\n- name: t\n  steps:\n" + `
  - {source: b, idle: true}
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: 1, ts: 12000}, {k: x, v: 1, ts: 2000}], expect: {}}
  - {clock: +200ms, expect: {rows: [{value: {sum: 2}}]}}
`, 0, ""},
		{"only the test moves time", "version: 1\njob: job.yaml\ntests:\n- name: t\n  generator: false\n  steps:\n" + `
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: 1, ts: 500000}, {k: x, v: 1, ts: 2000}], expect: {}}
  - {watermark: 9998, expect: {}}
  - {watermark: 1970-01-01T00:00:09.999Z, expect: {rows: [{value: {sum: 2}}]}}
`, 0, ""},
		{"with a clock, records from the future are quarantined", "version: 1\njob: job.yaml\ntests:\n- name: t\n  clock: 2024-01-01T00:00:00Z\n  steps:\n" + `
  - {source: a, records: [{k: x, v: 1, ts: 1704067201000}, {k: x, v: 1, ts: 1804067201000}], expect: {bad: [{reason: future, line: 2}]}}
`, 0, ""},
		{"a wrong value is shown beside the right one", head + `
  - {source: b, idle: true}
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: 1, ts: 12000}], expect: {rows: [{key: {k: x}, value: {sum: 2}}]}}
`, 1, "value.sum: want 2, got 1\n"},
		{"a row that nobody expects fails the test", head + `
  - {source: b, idle: true}
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: 1, ts: 12000}]}
`, 1, "behind the last step that expects something:\n    rows: not expected: {"},
		{"rows of a key in another order", head + `
  - {source: b, idle: true}
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: x, v: 2, ts: 12000}, {k: x, v: 1, ts: 22000}], expect: {rows: [{value: {sum: 2}}, {value: {sum: 1}}]}}
`, 1, "all rows came, but those of a key in another order:"},
		{"keys may come in any order, and loose expectations find their rows", head + `
  - {source: b, idle: true}
  - {source: a, records: [{k: x, v: 1, ts: 1000}, {k: y, v: 2, ts: 1000}, {k: z, v: 1, ts: 12000}], expect: {rows: [{step: sums}, {value: {sum: 1}}]}}
`, 0, ""},
		{"a source that is not there", head + "  - {source: c, records: [{k: x}]}\n", 2, `the job has no source "c", only a, b`},
		{"a step that does two things", head + "  - {watermark: 5, idle: true}\n", 2, "a step does one thing, this one says watermark and idle"},
		{"a misspelt step", head + "  - {watermrak: 5}\n", 2, `line 6: a step has no "watermrak"`},
		{"a misspelt expectation", head + "  - {expect: {row: []}}\n", 2, `nothing can be expected by the name "row"`},
		{"a clock that goes back", head + "  - {clock: -5s}\n", 2, "the clock goes forward"},
		{"no job", "version: 1\njob: none.yaml\ntests: [{name: t, steps: [{expect: {}}]}]\n", 2, "none.yaml"},
	} {
		dir := workspace(t, map[string]string{"job.yaml": testedJob, "job.test.yaml": c.test})
		out, stderr, code := tidemark(t, dir, "", "test", "job.test.yaml")
		if code != c.code || !strings.Contains(out+stderr, c.says) {
			t.Errorf("%s: exit code %d\n%s%s", c.what, code, out, stderr)
		}
	}
}

// A plug-in is taken down and put up again by a restore, and what it refuses goes where it
// goes in a run.
func TestTestsOfAJobWithAPlugin(t *testing.T) {
	job := strings.NewReplacer("v: float64", "v: int64", "{n: {function: count}}", "{n: {plugin: p, columns: {value: v}}}").Replace(countJob) + "plugins: {p: {file: p.wasm}}\n"
	dir := workspace(t, map[string]string{"p.wasm": string(wasmtest.Guest(t, "sum")), "job.yaml": job, "job.test.yaml": `
version: 1
job: job.yaml
set: [steps.s.on_error=dead_letter]
tests:
  - name: sums over a restore
    steps:
      - records: [{k: a, v: 2, ts: 1}, {k: a, v: 3, ts: 2}]
      - checkpoint_restore: true
      - records: [{k: a, v: 5, ts: 3}]
      - end_of_input: true
        expect: {rows: [{key: {k: a}, value: {n: {sum: 10, count: 3}}}]}
  - name: a record that traps goes aside, and the others count
    steps:
      - records: [{k: a, v: 2, ts: 1}, {k: a, v: -1, ts: 2}, {k: a, v: 3, ts: 3}]
        expect: {failed: [{line: 2, record: {v: -1}}]}
      - end_of_input: true
        expect: {rows: [{value: {n: {sum: 5, count: 2}}}]}
`, "fails.test.yaml": `
version: 1
job: job.yaml
set: [steps.s.on_error=fail]
tests:
  - name: the job ends with what the plug-in says
    steps:
      - {records: [{k: a, v: -2, ts: 1}], expect: {error: negative value}}
  - name: nobody expects that
    steps:
      - {records: [{k: a, v: -2, ts: 1}]}
  - name: the job does not fail
    steps:
      - {records: [{k: a, v: 2, ts: 1}], expect: {error: negative value}}
`})
	if out, stderr, code := tidemark(t, dir, "", "test", "job.test.yaml"); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	out, stderr, code := tidemark(t, dir, "", "test", "fails.test.yaml")
	for _, part := range []string{"fails.test.yaml: nobody expects that\n", "the job failed: step s: record records:1 in window", "error: want \"negative value\", but the job goes on", "\n1 passed, 2 failed\n"} {
		if code != 1 || !strings.Contains(out, part) {
			t.Errorf("exit code %d, %q is missing\n%s%s", code, part, out, stderr)
		}
	}
}
