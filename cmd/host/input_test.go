package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/engine"
)

// inputJob sums v exactly and keeps its bad records in a file.
var inputJob = strings.NewReplacer("v: float64", "v: int64", "{n: {function: count}}", "{n: {function: count}, v: {function: max, columns: {value: v}}}").Replace(countJob) +
	"  bad: {from: in.bad, file: {path: bad.jsonl}}\n"

// Each row is an input of which nothing may be lost: what is good comes out, what is
// bad is in the bad output with its place, and the two are all that was read.
func TestOddInputs(t *testing.T) {
	const good = `{"ts":1000,"k":"a","v":1}` + "\n"
	for _, row := range []struct {
		name, in string
		job      string   // replaces inputJob
		values   []string // of the result rows, in their order
		bad      []string // line, offset and reason of each
		message  string   // of the first bad one, a part
	}{
		{"an empty file", "", "", nil, nil, ""},
		{"blank lines only", "\n \n", "", nil, nil, ""},
		{"a record without a final newline", `{"ts":1000,"k":"a","v":1}`, "", []string{`{"n":1,"v":1}`}, nil, ""},
		{"half a record without a final newline", good + `{"ts":2000,"k`, "", []string{`{"n":1,"v":1}`}, []string{"2 26 invalid_json"}, "end of the line"},
		{"a byte order mark, and line ends of Windows", "\xef\xbb\xbf" + `{"ts":1000,"k":"a","v":1}` + "\r\n" + `{"ts":1000,"k":"a","v":2}` + "\r\n", "", []string{`{"n":2,"v":2}`}, nil, ""},
		{"invalid JSON", "{nope}\n" + good, "", []string{`{"n":1,"v":1}`}, []string{"1 0 invalid_json"}, "byte 2"},
		{"invalid UTF-8", "{\"ts\":1000,\"k\":\"\xff\",\"v\":1}\n" + good, "", []string{`{"n":1,"v":1}`}, []string{"1 0 invalid_utf8"}, ""},
		{"an integer above 2^53 is exact", `{"ts":1000,"k":"a","v":9007199254740993}` + "\n", "", []string{`{"n":1,"v":9007199254740993}`}, nil, ""},
		{"an integer above 2^63 is bad", good + `{"ts":1000,"k":"a","v":9223372036854775808}` + "\n", "", []string{`{"n":1,"v":1}`}, []string{"2 26 out_of_range"}, "9223372036854775808"},
		{"NaN is no JSON", good + `{"ts":1000,"k":"a","v":NaN}` + "\n", "", []string{`{"n":1,"v":1}`}, []string{"2 26 invalid_json"}, ""},
		{"no timestamp, and one that is null", `{"k":"a","v":1}` + "\n" + `{"ts":null,"k":"a","v":1}` + "\n" + good, "", []string{`{"n":1,"v":1}`}, []string{"1 0 missing_time", "2 16 missing_time"}, "ts"},
		{"a record that is no object", "null\n" + good, "", []string{`{"n":1,"v":1}`}, []string{"1 0 wrong_type"}, "expected an object, found null"},
		{"CSV with a byte order mark, line ends of Windows and no final newline", "\xef\xbb\xbfts,k,v\r\n1000,a,1\r\n1000,a,x\r\n1000,a,2",
			strings.Replace(inputJob, "format: json", "format: csv", 1), []string{`{"n":2,"v":2}`}, []string{"3 21 wrong_type"}, "x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			job := row.job
			if job == "" {
				job = inputJob
			}
			dir := workspace(t, map[string]string{"job.yaml": job, "in.jsonl": row.in})
			stdout, stderr, code := tidemark(t, dir, "", "run", "job.yaml", "-o", "json")
			var report engine.Report
			if err := json.Unmarshal([]byte(stderr), &report); err != nil || code != 0 {
				t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
			}
			var values []string
			for _, line := range lines(stdout) {
				var r struct{ Value json.RawMessage }
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				values = append(values, string(r.Value))
			}
			if !slices.Equal(values, row.values) {
				t.Errorf("results %s, want %s", values, row.values)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "bad.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			var bad []string
			for i, line := range lines(string(raw)) {
				var b struct {
					Line, Offset    int64
					Reason, Message string
				}
				if err := json.Unmarshal([]byte(line), &b); err != nil {
					t.Fatal(err)
				}
				bad = append(bad, fmt.Sprint(b.Line, b.Offset, " ", b.Reason))
				if i == 0 && !strings.Contains(b.Message, row.message) {
					t.Errorf("the message is %q, want %q in it", b.Message, row.message)
				}
			}
			if !slices.Equal(bad, row.bad) {
				t.Errorf("bad %q, want %q", bad, row.bad)
			}
			s := report.Sources[0]
			if s.Read != s.Passed+s.Bad || s.Bad != int64(len(row.bad)) || len(report.Balance()) > 0 {
				t.Errorf("the ledger: %+v", s)
			}
		})
	}
}

// A flipped bit in a compressed file reads as hundreds of broken records. They are not
// what is wrong.
func TestADamagedGzipFileIsCalledSo(t *testing.T) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression) // so that the place of the damage is known
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if _, err := w.Write([]byte(`{"ts":1000,"k":"a","v":1}` + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.ReplaceAll(b.Bytes(), []byte(`"ts"`), []byte(`"ts `))
	dir := workspace(t, map[string]string{"job.yaml": countJob, "in.jsonl": string(damaged)})
	_, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
	want := "in.jsonl: the compressed data is damaged: gzip: invalid checksum\n"
	if code != 1 || !strings.Contains(stderr, want) || strings.Contains(stderr, "bad_budget") {
		t.Errorf("exit code %d, want 1 and %q:\n%s", code, want, stderr)
	}
}
