package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConformanceRunsThePublishedScenarios(t *testing.T) {
	for _, args := range [][]string{{"conformance"}, {"conformance", "--restore"}} {
		out, stderr, code := tidemark(t, "", "", args...)
		if code != 0 || strings.TrimSpace(out) != "249 passed, 0 failed" {
			t.Errorf("exit code %d\n%s%s", code, out, stderr)
		}
	}
}

func TestConformanceNamesTheFirstDifference(t *testing.T) {
	// A window that ends at 10 does not fire at watermark 8, whatever this file says.
	file := filepath.Join(t.TempDir(), "wrong.json")
	wrong := `[{"id":"X-1","area":"a","rule":["S54"],"source":"made wrong",
		"job":{"kind":"window","window":{"type":"tumbling","size_ms":10},"function":"sum"},
		"steps":[{"record":{"ts":1,"key":"k","value":2}},{"watermark":8}],
		"expect":[{"after_step":1,"out":[{"key":"k","window":[0,10],"value":2,"ts":9}]}]}]`
	if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := tidemark(t, "", "", "conformance", file)
	if code != 1 || !strings.Contains(out, "X-1: record by record, parallelism 1: step 1") || !strings.HasSuffix(out, "0 passed, 1 failed\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(wrong, `"watermark":8`, `"watermarkk":8`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := tidemark(t, "", "", "conformance", file); code != 2 || !strings.Contains(stderr, "X-1") {
		t.Errorf("a file that cannot be read: exit code %d\n%s%s", code, out, stderr)
	}
}
