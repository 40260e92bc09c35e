package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// functionsJob has a process function behind an aggregate, and a pair function on a join of
// its results with another source.
const functionsJob = `
version: 1
job: functions
plugins:
  alerts: {file: alerts.wasm}
  unpaid: {file: unpaid.wasm}
sources:
  orders:
    file: {path: orders.jsonl}
    format: json
    schema: {user: string, amount: float64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s}
  payments:
    file: {path: payments.jsonl}
    format: json
    schema: {user: string, amount: float64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s}
steps:
  busy:
    from: orders
    key: [user]
    window: {tumbling: 10s}
    aggregates: {n: {function: count}}
    process: {plugin: alerts, columns: {count: n}, args: {limit: 2, after: 2}, state_ttl: 1h}
  open:
    from: {join: {left: orders, right: payments, kind: interval, between: {lower: 0s, upper: 5s}}}
    key: [user]
    apply: {plugin: unpaid, left: {due: amount}, right: {paid: amount}}
    on_error: dead_letter
sinks:
  alerts: {from: busy, file: {path: out/alerts.jsonl}, time_format: ms}
  open_orders: {from: open, file: {path: out/open.jsonl}, time_format: ms}
`

func TestRunWithFunctionsOfFiringsAndPairs(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": functionsJob,
		"orders.jsonl": `{"ts":1000,"user":"ann","amount":10}
{"ts":2000,"user":"ann","amount":20}
{"ts":11000,"user":"ann","amount":30}
{"ts":12000,"user":"ann","amount":40}
{"ts":12500,"user":"bob","amount":5}
{"ts":21000,"user":"ann","amount":50}
`,
		"payments.jsonl": `{"ts":1500,"user":"ann","amount":10}
{"ts":12600,"user":"bob","amount":-5}
{"ts":22000,"user":"ann","amount":51.5}
`})
	buildPlugins(t, dir, "alerts", "unpaid")
	_, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	// What is told of rows: all but their ids. ann has two records in [0, 10) and in
	// [10, 20), and one in [20, 30). Of her orders the first is paid in full, and the one of
	// 21 s with 1.5 too much; bob's payment is refused. It stands behind the watermark 1,499 of
	// its file and the order behind 11,999 of the other, so it is read first, and the order
	// makes the pair.
	for file, want := range map[string][]string{
		"alerts.jsonl":    {`"step":"busy","key":{"user":"ann"},"window":{"start":10000,"end":20000},"kind":"on_time","revision":0,"value":{"windows":2,"total":4,"since":0}}`},
		"busy.calm.jsonl": {`"step":"busy.calm","key":{"user":"ann"},"window":{"start":"1970-01-01T00:00:20.000Z","end":"1970-01-01T00:00:30.000Z"},"kind":"on_time","revision":0,"value":{"lasted_ms":20000,"over":"1970-01-01T00:00:20.000Z"}}`},
		"open.jsonl":      {`"step":"open","key":{"user":"ann"},"window":null,"revision":0,"time":22000,"value":{"open":-1.5,"waited_ms":1000}}`},
		"open.failed.jsonl": {`"step":"open","source":"orders","split":"orders.jsonl","line":5,"time":"1970-01-01T00:00:12.500Z","key":{"user":"bob"},"window":null,` +
			`"message":"plug-in unpaid refused: paid is below 0","plugin":"unpaid","record":{"ts":12500,"user":"bob","amount":5}}`},
	} {
		text, err := os.ReadFile(filepath.Join(dir, "out", file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range lines(string(text)) {
			got = append(got, line[strings.Index(line, `"step"`):])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s", file, strings.Join(got, "\n"))
		}
	}
	for _, want := range []string{"n (count), shown to plug-in alerts, whose state of a key stays for 1h", "through plug-in unpaid", "busy.calm"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("it does not say %q:\n%s", want, stderr)
		}
	}
	shown, _, code := tidemark(t, dir, "", "validate", "job.yaml")
	for _, want := range []string{"process function alerts is shown each firing", "pair function unpaid makes the rows", "process function alerts, with 2 outputs"} {
		if code != 0 || !strings.Contains(shown, want) {
			t.Errorf("validate, exit code %d, does not say %q:\n%s", code, want, shown)
		}
	}
}
