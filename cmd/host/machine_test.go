package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

func TestRunNeedsNoDirectoryForCompiledPlugIns(t *testing.T) {
	plugin := strings.Replace(strings.Replace(countJob, "function: count", "plugin: sum, columns: {value: v}", 1), "v: float64", "v: int64", 1) +
		"plugins: {sum: {file: sum.wasm}}\n"
	dir := workspace(t, map[string]string{"in.jsonl": `{"ts":1000,"k":"a","v":2}` + "\n", "job.yaml": countJob,
		"plugin.yaml": plugin, "sum.wasm": string(wasmtest.Guest(t, "sum")), "file": ""})
	for _, row := range []struct {
		name, job string
		warnings  int
	}{
		{"without plug-ins nobody misses it", "job.yaml", 0},
		{"plug-ins are compiled in each run, which is said once", "plugin.yaml", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			cmd := command(t, dir, "run", row.job)
			cmd.Env = append(cmd.Env, "XDG_CACHE_HOME=", "HOME="+filepath.Join(dir, "file", "below"), "XDG_STATE_HOME="+t.TempDir())
			var out, errs strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || len(lines(out.String())) != 1 {
				t.Errorf("%v, standard output %q\n%s", err, out.String(), errs.String())
			}
			if n := strings.Count(errs.String(), "XDG_CACHE_HOME"); n != row.warnings {
				t.Errorf("%d warnings name XDG_CACHE_HOME, want %d:\n%s", n, row.warnings, errs.String())
			}
		})
	}
	cmd := command(t, dir, "run", "plugin.yaml")
	cache := t.TempDir()
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "XDG_CACHE_HOME") {
		t.Errorf("%v\n%s", err, out)
	}
	if kept, err := os.ReadDir(filepath.Join(cache, "tidemark", "wasm")); err != nil || len(kept) != 2 {
		t.Errorf("%v: the cache has %d entries, want the machine code and the shells", err, len(kept))
	}
}
