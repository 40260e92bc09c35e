package main_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

const (
	rowA1 = `{"id":"01","step":"s","key":{"k":"a"},"window":{"start":0,"end":5},"kind":"on_time","revision":0,"value":{"n":3,"m":1.5}}` + "\n"
	rowA2 = `{"id":"01","step":"s","key":{"k":"a"},"window":{"start":0,"end":5},"kind":"update","revision":1,"value":{"n":4,"m":1.5}}` + "\n"
	rowA  = `{"id":"01","step":"s","key":{"k":"a"},"window":{"start":0,"end":5},"kind":"on_time","revision":0,"value":{"m":1.5, "n":4}}` + "\n"
	rowB  = `{"id":"02","step":"s","key":null,"window":{"start":5,"end":10},"kind":"on_time","revision":0,"value":{"n":9007199254740993}}` + "\n"
	rowB2 = `{"id":"02","step":"s","key":null,"window":{"start":5,"end":10},"kind":"on_time","revision":0,"value":{"n":9007199254740992}}` + "\n"
)

func TestDiff(t *testing.T) {
	rows := []struct {
		name, a, b string
		code       int
		stdout     string
		stderr     string // a part
	}{
		{"the same, in another order", rowA1 + rowB, rowB + rowA1, 0, "", "a.jsonl: 2 results, b.jsonl: 2 results; 0 missing, 0 extra, 0 different"},
		{"updates that end where the other began", rowA1 + rowA2, rowA, 0, "", "0 different"},
		{"the latest counts, wherever it stands", rowA2 + rowA1, rowA, 0, "", "0 different"},
		{"a repeated row", rowA + rowA, rowA, 0, "", "a.jsonl: 1 result,"},
		{"an older value", rowA1, rowA, 1,
			"different 01 s key {\"k\":\"a\"} window 0 to 5\n  A {\"m\":1.5,\"n\":3}\n  B {\"m\":1.5,\"n\":4}\n", "1 different"},
		{"integers above 2^53 are told apart", rowB, rowB2, 1,
			"different 02 s key null window 5 to 10\n  A {\"n\":9007199254740993}\n  B {\"n\":9007199254740992}\n", "1 different"},
		{"missing", rowA + rowB, rowA, 1, "missing   02 s key null window 5 to 10\n  A {\"n\":9007199254740993}\n", "1 missing, 0 extra"},
		{"extra", "", rowB, 1, "extra     02 s key null window 5 to 10\n  B {\"n\":9007199254740993}\n", "0 missing, 1 extra"},
		{"both empty", "", "\n", 0, "", "a.jsonl: 0 results"},
		{"results since the last", rowA + strings.Replace(rowB, `"revision":0`, `"revision":0,"content":"since_last"`, 1), rowA, 2, "", "tidemark: a.jsonl:2: the row holds what came since the last one"},
		{"not JSON", rowA, rowA + "\n{\n", 2, "", "tidemark: b.jsonl:3: not a result row: unexpected end of JSON input"},
		{"another kind of row", rowA, `{"step":"s","record":{}}`, 2, "", "tidemark: b.jsonl:1: not a result row: it lacks id, step or value"},
		{"one id with two values", rowB + rowB2, rowA, 2, "", "tidemark: a.jsonl:2: id 02 revision 0 has another value than in line 1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := workspace(t, map[string]string{"a.jsonl": row.a, "b.jsonl": row.b})
			stdout, stderr, code := tidemark(t, dir, "", "diff", "a.jsonl", "b.jsonl")
			if code != row.code || stdout != row.stdout || !strings.Contains(stderr, row.stderr) {
				t.Errorf("exit code %d, want %d\nstandard output:\n%s\nwant:\n%s\nstandard error:\n%s\nwant in it: %s", code, row.code, stdout, row.stdout, stderr, row.stderr)
			}
		})
	}
}

func TestDiffReadsGzipAndStandardInput(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(rowA + rowB)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := workspace(t, map[string]string{"a.jsonl.gz": z.String()})
	_, stderr, code := tidemark(t, dir, rowB+rowA, "diff", "a.jsonl.gz", "-")
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	stdout, _, code := tidemark(t, dir, rowA, "diff", "-o", "json", "a.jsonl.gz", "-")
	want := `{"what":"missing","id":"02","step":"s","key":null,"window":{"end":10,"start":5},"a":{"n":9007199254740993}}` + "\n"
	if code != 1 || stdout != want {
		t.Errorf("exit code %d, got %s want %s", code, stdout, want)
	}
}
