package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/engine/stream"
)

func TestCompareAll(t *testing.T) {
	q := query{aggregates: []aggregate{{name: "count", kind: stream.Int64}}}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const row = `{"key":{"key":"a"},"window":{"start":"1970-01-01T00:00:10.000Z","end":"1970-01-01T00:00:20.000Z"},"kind":"on_time","revision":0,"value":{"count":2}}` + "\n"
	reference := file("reference", `{"start":10000,"end":20000,"key":"a","count":2}`+"\n")
	built := claim{Title: "built-in", Process: Process{Args: []string{"cat", file("built", row)}}}
	plugged := claim{Title: "plug-in", Plugin: true, Process: Process{Args: []string{"cat", file("plugged", strings.Replace(row, `{"count":2}`, `{"stats":{"count":2}}`, 1))}}}
	wrong := claim{Title: "wrong", Process: Process{Args: []string{"cat", file("wrong", strings.Replace(row, "2}", "3}", 1))}}}
	broken := claim{Title: "broken", Process: Process{Args: []string{"cat", built.Process.Args[1], filepath.Join(dir, "missing")}}}
	for _, c := range []struct {
		name   string
		claims []claim
		want   string // of the error
	}{
		{"none", nil, ""},
		{"right ones, one after another", []claim{built, plugged, built}, ""},
		{"a wrong one among them", []claim{built, wrong, plugged}, "wrong: 1 rows, 1 in the reference, differ at 1 of them, such as window 10000 to 20000, key a, revision 0: count=3, the reference has count=2"},
		{"another shape than said", []claim{{Title: "x", Process: plugged.Process}}, "x: row 1 has no count"},
		{"the right rows, and then a failure", []claim{broken}, "broken: [cat "},
	} {
		given, err := json.Marshal(c.claims)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = q.compareAll(reference, string(given), &out)
		switch {
		case c.want == "" && (err != nil || out.String() != "1\n"):
			t.Errorf("%s: %q, %v", c.name, out.String(), err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0):
			t.Errorf("%s: %q, %v, want %q", c.name, out.String(), err, c.want)
		}
	}
}
