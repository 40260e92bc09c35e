package main_test

import (
	"slices"
	"strings"
	"testing"
)

const previewInput = `{"ts":7000,"k":"a","v":1.5}
{"ts":7000,"k":3}

{"ts":-1,"v":2}
{"k":"b"}
`

func TestPreviewShowsTimeKeyAndWindow(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": countJob, "in.jsonl": previewInput})
	stdout, stderr, code := tidemark(t, dir, "", "preview", "job.yaml", "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	got := lines(stdout)
	// Messages are the decoder's; the rest is by definition. -1 ms lies in the window
	// that ends at 1970.
	want := []string{
		`{"source":"in","split":"in.jsonl","line":1,"time":"1970-01-01T00:00:07.000Z","fields":{"k":"a","v":1.5},"steps":[{"step":"s","key":{"k":"a"},"window":{"start":"1970-01-01T00:00:05.000Z","end":"1970-01-01T00:00:10.000Z"}}]}`,
		`{"source":"in","split":"in.jsonl","line":2,"reason":"wrong_type",`,
		`{"source":"in","split":"in.jsonl","line":4,"time":"1969-12-31T23:59:59.999Z","fields":{"k":null,"v":2},"steps":[{"step":"s","key":{"k":null},"window":{"start":"1969-12-31T23:59:55.000Z","end":"1970-01-01T00:00:00.000Z"}}]}`,
		`{"source":"in","split":"in.jsonl","line":5,"reason":"missing_time",`,
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	stdout, _, code = tidemark(t, dir, "", "preview", "job.yaml", "-n", "1")
	head := "source split line time step key window fields"
	first := "in in.jsonl 1 1970-01-01T00:00:07.000Z s a 1970-01-01T00:00:05.000Z to 00:00:10.000Z k=a v=1.5"
	got = lines(stdout)
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	if code != 0 || !slices.Equal(got, []string{head, first}) {
		t.Errorf("exit code %d, got:\n%s", code, stdout)
	}
}

func TestPreviewShowsEachKindOfWindow(t *testing.T) {
	const src = `version: 1
job: kinds
sources:
  in:
    file: {path: in.jsonl}
    format: json
    schema: {k: string, gap: int64}
    time: {field: ts, unit: ms}
    watermark: {ascending: true}
  other:
    file: {path: other.jsonl}
    format: json
    schema: {id: string}
    time: {field: ts, unit: ms}
    watermark: {ascending: true}
steps:
  sliding: {from: in, key: [k], window: {sliding: {size: 10s, slide: 5s}}, aggregates: {n: {function: count}}}
  gaps: {from: in, window: {sliding: {size: 1s, slide: 5s}}, aggregates: {n: {function: count}}}
  session: {from: in, window: {session: {gap_field: gap}}, aggregates: {n: {function: count}}}
  day: {from: in, window: {day: Asia/Shanghai}, aggregates: {n: {function: count}}}
  global: {from: in, window: {global: {}}, trigger: end_of_stream, aggregates: {n: {function: count}}}
  filter: {from: in, filter: gap > 1}
  pairs: {from: {join: {left: in, right: other, left_key: [k], right_key: [id]}}, key: [who], window: {tumbling: 5s}}
sinks:
  r1: {from: sliding, stdout: {}}
  r2: {from: gaps, stdout: {}}
  r3: {from: session, stdout: {}}
  r4: {from: day, stdout: {}}
  r5: {from: global, stdout: {}}
  r6: {from: filter, stdout: {}}
  r7: {from: pairs, stdout: {}}
`
	dir := workspace(t, map[string]string{"job.yaml": src, "in.jsonl": `{"ts":7000,"k":"a","gap":3000}` + "\n", "other.jsonl": `{"ts":1000,"id":"b"}` + "\n"})
	stdout, stderr, code := tidemark(t, dir, "", "preview", "job.yaml")
	want := []string{
		"source split line time step key window fields",
		"in in.jsonl 1 1970-01-01T00:00:07.000Z sliding a 1970-01-01T00:00:05.000Z to 00:00:15.000Z, and 1 earlier one k=a gap=3000",
		"gaps none", // 7 s lies between [5, 6) and [10, 11)
		"session 1970-01-01T00:00:07.000Z to 00:00:10.000Z",
		"day 1969-12-31T16:00:00.000Z to 1970-01-01T16:00:00.000Z",
		"global the one that never ends",
		"filter not shown: the step computes first",
		"pairs a 1970-01-01T00:00:05.000Z to 00:00:10.000Z",
		"other other.jsonl 1 1970-01-01T00:00:01.000Z pairs b 1970-01-01T00:00:00.000Z to 00:00:05.000Z id=b",
	}
	got := lines(stdout)
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	if code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit code %d, got:\n%s\n%s", code, strings.Join(got, "\n"), stderr)
	}
	stdout, _, _ = tidemark(t, dir, "", "preview", "job.yaml", "-o", "json")
	for _, part := range []string{
		`{"step":"sliding","key":{"k":"a"},"window":{"start":"1970-01-01T00:00:05.000Z","end":"1970-01-01T00:00:15.000Z"},"windows":2}`,
		`{"step":"gaps","key":{},"window":null}`,
		`{"step":"filter","computed":true,"key":{},"window":null}`,
		`{"step":"pairs","key":{"who":"b"},"window":{"start":"1970-01-01T00:00:00.000Z","end":"1970-01-01T00:00:05.000Z"}}`,
	} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the JSON lacks %s:\n%s", part, stdout)
		}
	}
}
