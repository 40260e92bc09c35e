package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

func TestPluginConformance(t *testing.T) {
	dir := workspace(t, map[string]string{
		"good/stats.wasm": string(wasmtest.Built(t, "c", "stats")),
		"bad/stats.wasm":  string(wasmtest.Built(t, "c", "distinct")),
		"file":            "",
	})
	out, stderr, code := tidemark(t, dir, "", "plugin", "conformance", "good", "--only", "stats")
	if code != 0 || !strings.HasPrefix(out, "stats             passed: ") || !strings.HasSuffix(out, "\n1 passed, 0 failed, 0 missing\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	out, stderr, code = tidemark(t, dir, "", "plugin", "conformance", "good", "--only", "stats,probe")
	if want := "probe             missing: there is no " + filepath.Join("good", "probe.wasm") + "\n"; code != 1 ||
		!strings.HasPrefix(out, want) || !strings.HasSuffix(out, "\n1 passed, 0 failed, 1 missing\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	out, stderr, code = tidemark(t, dir, "", "plugin", "conformance", "bad", "--only", "stats")
	const want = `stats             FAILED: 1 failure
  abi/conformance/vectors/stats/manifest.json: the manifest, all but sdk
    want  `
	if code != 1 || !strings.HasPrefix(out, want) || !strings.Contains(out, `    got    "Name": "distinct",`) || !strings.HasSuffix(out, "\n0 passed, 1 failed, 0 missing\n") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"none"}, "none"},
		{[]string{"file"}, "file is not a directory"},
		{[]string{"good", "--only", "stat"}, "there is no standard plug-in stat, they are probe, stats, "},
		{nil, "the folder of the modules"},
	} {
		out, stderr, code := tidemark(t, dir, "", append([]string{"plugin", "conformance"}, c.args...)...)
		if code != 2 || out != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: exit code %d\n%s%s", c.args, code, out, stderr)
		}
	}
}
