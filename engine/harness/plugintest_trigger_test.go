package harness

import (
	"strings"
	"testing"

	"tidemark/engine/trigger"
)

// What a test says about operations that cannot be, and what a count answers in two
// windows of two keys.
func TestOperationsOfATest(t *testing.T) {
	const window = "start: 0, end: 100"
	for _, c := range []struct{ name, operations, expect, want string }{
		{"each window and key counts alone",
			`[{key: a, start: 0, end: 100, record: {time: 1}}, {key: b, start: 0, end: 100, record: {time: 2}}, {key: a, start: 50, end: 150, record: {time: 60}}, {key: a, start: 0, end: 100, record: {time: 3}}]`,
			`[{verdict: continue}, {verdict: continue}, {verdict: continue}, {verdict: fire}]`, ""},
		{"a merge brings a count along", `[{start: 0, end: 100, record: {}}, {start: 0, end: 150, merge: {start: 0, end: 100}}, {start: 0, end: 150, record: {}}]`,
			`[{}, {}, {verdict: fire}]`, ""},
		{"a merge of another key does not", `[{start: 0, end: 100, record: {}}, {key: b, start: 0, end: 150, merge: {start: 0, end: 100}}, {key: b, start: 0, end: 150, record: {}}]`,
			`[{}, {}, {verdict: continue}]`, ""},
		{"what is not answered differs", `[{` + window + `, record: {}}]`, `[{verdict: fire}]`, `[0].verdict: want "fire", got "continue"`},
		{"nothing to show", `[{` + window + `}]`, `[]`, "operation 1 must be one of record, timer, clock_timer, merge and clear"},
		{"two things to show", `[{` + window + `, record: {}}, {` + window + `, timer: 3, clear: true}]`, `[]`, "operation 2 must be one of"},
		{"an input that is none", `[{` + window + `, record: {amount: 3}}]`, `[]`, `the plug-in has no input "amount"`},
	} {
		tests, err := ReadPluginTests([]byte("version: 1\nplugin: p.wasm\ntests:\n  - {name: x, operations: " + c.operations + ", expect: " + c.expect + "}\n"))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		fn, err := InUserCode(nil, trigger.NewCount(2))
		if err != nil {
			t.Fatal(err)
		}
		diffs, err := tests.Tests[0].Trigger(fn)
		if err != nil {
			diffs = append(diffs, err.Error())
		}
		if got := strings.Join(diffs, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
