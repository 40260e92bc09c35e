package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	program := filepath.Join(t.TempDir(), "tidemark")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, args string
		names      []string
		page, err  string
	}{
		{"nothing said: everything", "-page P", known(), "P", ""},
		{"by name", "W3 loop", []string{"W3", "loop"}, "", ""},
		{"an unknown name", "W9", nil, "", `there is no workload or measure "W9", but W1, W2, W3, W4, W5, W6, heap`},
		{"a query is no workload", "W3-late", nil, "", `there is no workload or measure "W3-late"`},
		{"no rounds", "-rounds 0", nil, "", "-rounds must be at least 1, is 0"},
		{"no program", "-tidemark missing", nil, "", "make build guests makes it"},
	} {
		s, names, page, err := parse(append([]string{"-tidemark", program}, strings.Fields(c.args)...))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || !slices.Equal(names, c.names) || page != c.page || s.Whole != (c.page == "") || !filepath.IsAbs(s.Plugin) || s.Rounds != 5 {
			t.Errorf("%s: %+v, %q, %q, %v", c.name, s, names, page, err)
		}
	}
}

// The table's own rules: names tell queries apart, and the first run is that of built-in aggregates,
// which is measured always.
func TestQueries(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range queries() {
		if seen[q.name] || !strings.HasPrefix(q.name, q.group) {
			t.Errorf("query %s of %s", q.name, q.group)
		}
		seen[q.name] = true
		if first := q.runs[0]; first.language != "" || !first.always {
			t.Errorf("query %s begins with %+v", q.name, first)
		}
		if q.small.Lines > 20_000 || q.small.Permuted != q.data.Permuted || q.small.Late != q.data.Late {
			t.Errorf("query %s is %+v in small, in full %+v", q.name, q.small, q.data)
		}
	}
	if !seen[wide] || !seen[narrow] {
		t.Error("there is nothing to compare the cost of rows in")
	}
}
