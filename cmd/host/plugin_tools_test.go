package main_test

import (
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// realPlugins are plug-ins of the Go SDK, of every kind, with tests of theirs.
var realPlugins = map[string]string{
	"stats": `
  - name: of one group
    records: [{value: 4}, {value: null}, {value: -1}, {value: 2.5}]
    expect: {count: 3, sum: 5.5, min: -1, max: 4, mean: 1.8333333333333333}
  - name: of two groups, one without records
    groups: {a: [{value: 1}, {value: 3}], b: []}
    expect: {a: {sum: 4, mean: 2}, b: {count: 0, sum: 0, min: null, mean: null}}
  - name: NaN has no place
    records: [{value: null}, {value: 1}, {value: .nan}]
    error: value is NaN
    at: 3
`,
	"sections": `
  - name: a path lies in its sections
    records: [{path: "/blog/2015/cats.html?a=/b"}, {path: nothing}, {path: /}]
    expect: [[{section: /, level: 0}, {section: /blog, level: 1}, {section: /blog/2015, level: 2}], [], [{section: /}]]
  - name: no deeper than that
    args: {depth: 1}
    records: [{path: /a/b/c}]
    expect: [[{section: /}]]
`,
	"unpaid": `
  - name: what was paid in full is no row
    left: [{due: 10, time: 1000}]
    right: [{paid: 10, time: 1200}, {paid: 4, time: 1500}]
    expect: [{open: 6, waited_ms: 500}]
  - name: a negative payment is refused
    left: [{due: 10}]
    right: [{paid: 10}, {paid: -1}]
    error: paid is below 0
    at: 2
`,
	"alerts": `
  - name: a run of two windows and its end
    args: {limit: 2, after: 2}
    firings:
      - {key: ann, start: 0, end: 10000, inputs: {count: 2}}
      - {key: bob, start: 0, end: 10000, inputs: {count: 7}}
      - {key: ann, start: 10000, end: 20000, inputs: {count: 2}}
      - {key: ann, start: 20000, end: 30000, inputs: {count: 1}}
    expect:
      rows: [{windows: 2, total: 4, since: 0}]
      side: {calm: [{lasted_ms: 20000, over: "1970-01-01T00:00:20Z"}]}
`,
	"own_gap": `
  - name: a record keeps its session open for its own gap, or the parameter
    args: {gap_ms: 500}
    records: [{time: 1000, gap_ms: 250}, {time: 2000}]
    expect: [[{start: "1970-01-01T00:00:01.000Z", end: "1970-01-01T00:00:01.250Z"}], [{end: "1970-01-01T00:00:02.500Z"}]]
  - name: no gap is refused
    records: [{time: 1000}, {time: 1000, gap_ms: 0}]
    error: gap_ms must be at least 1
    at: 2
`,
	"sessionise": `
  - name: a session, a bounce, and one that goes on
    args: {gap_ms: 1000}
    firings:
      - {key: ann, start: 0, end: 10000, records: [{time: 1000, page: /a}, {time: 2000, page: /b}, {time: 5000, page: /c}, {time: 9500, page: /d}]}
      - {key: ann, start: 10000, end: 20000, records: [{time: 10400, page: /e}]}
    expect:
      rows:
        - {start: "1970-01-01T00:00:01.000Z", end: "1970-01-01T00:00:02.000Z", events: 2, entry: /a, exit: /b, open: false}
        - {start: "1970-01-01T00:00:09.500Z", events: 1, open: true}
        - {start: "1970-01-01T00:00:09.500Z", end: "1970-01-01T00:00:10.400Z", events: 2, entry: /d, exit: /e, open: false}
      side: {bounces: [{at: "1970-01-01T00:00:05.000Z", page: /c}]}
`,
	"adaptive": `
  - name: it lags twice as far behind as the worst record
    records: [{time: 5000}, {time: 4000}, {time: 9000, kind: flush}]
    expect: [3999, 2999, 9000]
`,
}

// benchLine is what plugin bench measures of each.
var benchLine = map[string]string{
	"stats": "add, a record", "sections": "map, a record", "unpaid": "pair", "alerts": "process, a firing", "own_gap": "assign, a record",
	"sessionise": "process, a firing with 10 records", "adaptive": "watermark, a record",
}

func TestToolsOnRealPlugins(t *testing.T) {
	files := map[string]string{}
	var names []string
	for name, tests := range realPlugins {
		names = append(names, name)
		files[name+".test.yaml"] = "version: 1\nplugin: " + name + ".wasm\ntests:" + tests
	}
	dir := workspace(t, files)
	buildPlugins(t, dir, names...)
	for _, name := range names {
		out, stderr, code := tidemark(t, dir, "", "plugin", "check", name+".wasm", "--seed", "5", "--records", "40")
		if code != 0 || strings.Count(out, ": holds") < 3 {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, stderr)
		}
		if name == "stats" && !strings.Contains(out, "\nok      apply ") {
			t.Errorf("stats takes agendas, which are not tried:\n%s", out)
		}
		// One line at least has nanoseconds and fuel, and names what they are of.
		_, out = benchLines(t, dir, name+".wasm", "--records", "100", "--groups", "5")
		if line := benchLine[name]; !regexp.MustCompile(`\n` + line + ` +[1-9][0-9]*\.[0-9] +[1-9][0-9]*\.[0-9]\n`).MatchString(out) {
			t.Errorf("%s: no line of %q with two figures\n%s", name, line, out)
		}
		out, stderr, code = tidemark(t, dir, "", "plugin", "test", name+".test.yaml")
		if code != 0 || !strings.Contains(out, " passed, 0 failed\na call took at most ") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, stderr)
		}
	}
}

// triggerTests are of count_or_timeout; what it must answer follows from what it says of
// itself.
const triggerTests = `
version: 1
plugin: count_or_timeout.wasm
tests:
  - name: at the second record, and at the end
    args: {n: 2, after_ms: 500}
    operations:
      - {start: 0, end: 10000, record: {time: 1000}}
      - {start: 0, end: 10000, record: {time: 1200}, watermark: 900}
      - {start: 0, end: 10000, timer: 9999, watermark: 9999}
      - {start: 0, end: 10000, clear: true, watermark: 9999}
    expect:
      - {verdict: continue, set: [9999, 1500], delete: []}
      - {verdict: fire, delete: [1500]}
      - {verdict: fire, set: []}
      - {delete: [9999]}
  - name: by the clock, in two windows and two keys
    args: {n: 3, after_ms: 500, by_the_clock: true}
    operations:
      - {start: 0, end: 10000, record: {time: 1000}, now: 4000}
      - {key: b, start: 0, end: 10000, record: {time: 1000}, now: 4100}
      - {start: 10000, end: 20000, record: {time: 11000}, now: 4200}
      - {start: 0, end: 10000, clock_timer: 4500}
      - {start: 0, end: 10000, clock_timer: 4600}
    expect:
      - {set: [9999], set_clock: [4500]}
      - {set: [9999], set_clock: [4600]}
      - {set: [19999], set_clock: [4700]}
      - {verdict: fire}
      - {verdict: continue}
  - name: a session takes over the records of another
    args: {n: 3, after_ms: 500}
    operations:
      - {start: 0, end: 100, record: {time: 0}}
      - {start: 50, end: 150, record: {time: 50}}
      - {start: 0, end: 150, merge: {start: 0, end: 100}}
      - {start: 0, end: 150, merge: {start: 50, end: 150}}
      - {start: 0, end: 150, record: {time: 70}}
    expect: [{}, {}, {set: [500, 149]}, {set: [149]}, {verdict: fire, delete: [500]}]
  - name: wrong
    args: {n: 1, after_ms: 500}
    operations: [{start: 0, end: 10000, record: {time: 1000}}]
    expect: [{verdict: continue}]
`

// A trigger is checked on what happens to windows, with its arguments and on records of the
// author's; they may have no columns at all.
func TestPluginCheckOfATrigger(t *testing.T) {
	dir := workspace(t, map[string]string{"own.jsonl": "{\"time\": 1000}\n{\"time\": \"1970-01-01T00:00:02Z\"}\n{\"time\": 14000}\n", "t.test.yaml": triggerTests})
	buildPlugins(t, dir, "count_or_timeout")
	for _, args := range []string{"n=3,after_ms=700", "n=3,after_ms=700,by_the_clock=true"} {
		out, stderr, code := tidemark(t, dir, "", "plugin", "check", "count_or_timeout.wasm", "--seed", "5", "--records", "100", "--args", args, "--data", "own.jsonl")
		if code != 0 || strings.Count(out, ": holds (") != 8 || !strings.Contains(out, "seed 5: 103 records taken (3 of your own, again in pieces)\n") {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, stderr)
		}
	}
	out, stderr, code := tidemark(t, dir, "", "plugin", "test", "t.test.yaml")
	if code != 1 || !strings.HasPrefix(out, "t.test.yaml: wrong: failed\n    want [{\"verdict\":\"continue\"}]\n") || !strings.Contains(out, "\n3 passed, 1 failed\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	_, out = benchLines(t, dir, "count_or_timeout.wasm", "--records", "100", "--args", "n=3,after_ms=700")
	if !regexp.MustCompile(`\ntrigger, an operation +[1-9][0-9]*\.[0-9] +[1-9][0-9]*\.[0-9]\nof the operations [1-9][0-9]? % are records, [1-9][0-9]? % timers and [1-9][0-9]? % merges and ends of windows\n`).MatchString(out) {
		t.Errorf("its costs are\n%s", out)
	}
	out, stderr, code = tidemark(t, dir, "", "plugin", "check", "count_or_timeout.wasm")
	if code != 2 || strings.Contains(out, "holds") {
		t.Errorf("without its arguments: exit code %d\n%s%s", code, out, stderr)
	}
}

func TestPluginTestTellsAllFailures(t *testing.T) {
	dir := workspace(t, map[string]string{"sum.wasm": string(wasmtest.Guest(t, "sum")), "t.test.yaml": `
version: 1
plugin: sum.wasm
tests:
  - {name: right, records: [{value: 2}, {value: 3}], expect: {sum: 5}}
  - {name: scaled, args: {scale: 10}, records: [{value: 2}, {value: 3}], expect: {sum: 50, count: 2}}
  - {name: wrong, records: [{value: 2}, {value: 3}], expect: {sum: 6, count: 2}}
  - {name: wrong in a group, groups: {a: [{value: 2}], b: []}, expect: {a: {sum: 2}, b: {sum: 0}}}
  - {name: refused, records: [{value: 2}, {value: -2}], expect: {sum: 0}}
  - {name: refused as it should, records: [{value: 2}, {value: -2}], error: negative value, at: 2}
  - {name: refused elsewhere, records: [{value: 2}, {value: -2}], error: negative value, at: 1}
  - {name: not refused, records: [{value: 2}], error: negative value}
  - {name: broken down, records: [{value: -1}], error: trapped, at: 1}
`})
	out, stderr, code := tidemark(t, dir, "", "plugin", "test", "t.test.yaml")
	const want = `t.test.yaml: wrong: failed
    want {"count":2,"sum":6}
    got  {"count":2,"sum":5}
    sum: want 6, got 5
t.test.yaml: wrong in a group: failed
    want {"a":{"sum":2},"b":{"sum":0}}
    got  {"a":{"count":1,"sum":2},"b":{"count":0,"sum":null}}
    b.sum: want 0, got null
t.test.yaml: refused: failed
    2: plug-in sum refused: negative value
t.test.yaml: refused elsewhere: failed
    at: want 1, got 2: plug-in sum refused: negative value
t.test.yaml: not refused: failed
    error: want "negative value", but it answers {"count":1,"sum":2}
4 passed, 5 failed
`
	if code != 1 || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
}

// What a plug-in prints to the standard error belongs to the test that fails, and with -v to
// every test.
func TestPluginTestShowsWhatIsPrinted(t *testing.T) {
	// A value of 5 prints 18 bytes of the text for -3, and a line with an escape.
	module := wasmtest.Guest(t, "sum", "$v i64.const 0 i64.lt_s if", "$v i64.const 5 i64.eq if 64 1024 i32.store 0 68 19 i32.store 0 2 64 1 72 call fd_write drop "+
		"64 96 i32.store 0 68 3 i32.store 0 96 0x0a411b i32.store 0 2 64 1 72 call fd_write drop end\n    $v i64.const 0 i64.lt_s if")
	dir := workspace(t, map[string]string{"sum.wasm": string(module), "t.test.yaml": `
version: 1
plugin: sum.wasm
tests:
  - {name: right, records: [{value: 5}], expect: {sum: 5}}
  - {name: wrong, records: [{value: 5}, {value: 1}], expect: {sum: 5}}
  - {name: silent, records: [{value: 2}], expect: {sum: 5}}
`})
	const printed = "    printed in tm_aggregate_add:\n      panic: value is -3\n      \uFFFDA\n"
	out, stderr, code := tidemark(t, dir, "", "plugin", "test", "t.test.yaml")
	if code != 1 || strings.Count(out, "printed") != 1 || !strings.Contains(out, "    sum: want 5, got 6\n"+printed+"t.test.yaml: silent: failed\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	out, _, _ = tidemark(t, dir, "", "plugin", "test", "-v", "t.test.yaml")
	if strings.Count(out, printed) != 2 || !strings.HasPrefix(out, "t.test.yaml: right: passed\n"+printed) {
		t.Errorf("with -v\n%s", out)
	}
}

// The fuel of the calls is that of SPEC section 8: the same in every run, and within the
// limit of half a milliard and a million for each record and accumulator.
func TestPluginTestShowsWhatCallsTake(t *testing.T) {
	dir := workspace(t, map[string]string{"sum.wasm": string(wasmtest.Guest(t, "sum")), "t.test.yaml": `
version: 1
plugin: sum.wasm
tests: [{name: two, records: [{value: 2}, {value: 3}], expect: {sum: 5}}]
`})
	out, stderr, code := tidemark(t, dir, "", "plugin", "test", "-v", "t.test.yaml")
	lines := strings.Split(out, "\n")
	if code != 0 || len(lines) < 7 {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	for i, want := range []string{
		"t.test.yaml: two: passed", "call records accumulators fuel of MiB of",
		"tm_configure 1 0 # 501,000,000 0.2 64.0", "tm_aggregate_create 0 1 # 501,000,000 0.2 64.0",
		"tm_aggregate_add 2 1 # 503,000,000 0.2 64.0", "tm_aggregate_result 0 1 # 501,000,000 0.2 64.0",
	} {
		got, wanted := strings.Fields(lines[i]), strings.Fields(want)
		for k := range wanted {
			if len(got) != len(wanted) || wanted[k] != "#" && got[k] != wanted[k] || wanted[k] == "#" && got[k] == "0" {
				t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
				break
			}
		}
	}
	again, _, _ := tidemark(t, dir, "", "plugin", "test", "-v", "t.test.yaml")
	if again != out {
		t.Errorf("another run says\n%s", again)
	}
}

func TestPluginTestMistakes(t *testing.T) {
	const head = "version: 1\nplugin: sum.wasm\ntests:\n"
	for _, c := range []struct{ what, test, says string }{
		{"nothing", "", "the file is empty"},
		{"no version", "plugin: sum.wasm\n", "version: 1 must stand at the top"},
		{"no module", "version: 1\ntests: []\n", "plugin: the path of the module is missing"},
		{"a module that is not there", "version: 1\nplugin: none.wasm\ntests: [{name: x, error: x}]\n", "none.wasm"},
		{"a misspelt key", head + "  - {name: x, recods: []}\n", "line 4: field recods not found"},
		{"two of a name", head + "  - {name: x, error: x}\n  - {name: x, error: x}\n", `two tests are called "x"`},
		{"nothing expected", head + "  - {name: x, records: []}\n", `test "x" must say what it expects, or the error`},
		{"a place without an error", head + "  - {name: x, records: [], expect: {}, at: 1}\n", "at belongs to error"},
		{"what another kind is shown", head + "  - {name: x, firings: [], expect: {}}\n", "x: an aggregate is shown records or groups, this test has firings"},
		{"an input that is none", head + "  - {name: x, records: [{val: 1}], expect: {}}\n", `line 4: the plug-in has no input "val"`},
		{"a value of another type", head + "  - {name: x, records: [{value: a}], expect: {}}\n", `line 4: value: "a" is no int64`},
		{"an argument that is none", head + "  - {name: x, args: {scala: 1}, records: [], expect: {}}\n", "there is no parameter scala, only scale"},
		{"an argument that is refused", head + "  - {name: x, args: {scale: 0}, records: [], expect: {}}\n", "refuses its arguments: scale must be above 0"},
	} {
		dir := workspace(t, map[string]string{"sum.wasm": string(wasmtest.Guest(t, "sum")), "t.test.yaml": c.test})
		out, stderr, code := tidemark(t, dir, "", "plugin", "test", "t.test.yaml")
		if code != 2 || out != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d\n%s%s", c.what, code, out, stderr)
		}
	}
}
