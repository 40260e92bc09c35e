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
