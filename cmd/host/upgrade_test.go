package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/abi/toolchain"
)

// buildGuest builds a plug-in of testdata over a file.
func buildGuest(t *testing.T, name, file string) {
	t.Helper()
	built := pluginsBuilt["testdata/"+name]
	if built == nil {
		var err error
		if built, err = toolchain.Build(t.Context(), filepath.Join("testdata", name)); err != nil {
			t.Fatal(err)
		}
		pluginsBuilt["testdata/"+name] = built
	}
	if err := os.WriteFile(file, built.Module, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A run is killed, its plug-in replaced by a version whose accumulators have another layout,
// and the job goes on. The second version counts 5 more for what the first has begun, so the
// rows tell which accumulators were upgraded: of sums that senders or tasks held, once each.
func TestAPluginWithAnotherLayoutTakesOverItsState(t *testing.T) {
	yaml := strings.Replace(followJob, "{n: {function: count}}", "{n: {plugin: p}}", 1) + "plugins: {p: {file: p.wasm}}\n"
	for _, row := range []struct{ name, yaml string }{
		{"added up by senders", yaml},
		{"added up by the step", strings.Replace(yaml, "window: {", "on_error: {disable_plugin: {failures: 100, within: 10m}}\n    window: {", 1)},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := workspace(t, map[string]string{"job.yaml": row.yaml, "in.jsonl": sequence})
			module := filepath.Join(dir, "p.wasm")
			buildGuest(t, "upgrade/first", module)
			r := launch(t, dir)
			waitFor(t, dir, 3) // as in TestARunGoesOnWhereItWasKilled
			if err := r.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_, _, _ = r.end(t)

			// The window from 10 s holds 10 and 12, which the first version has counted.
			buildGuest(t, "upgrade/second", module)
			_, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
			if code != 2 || !strings.Contains(stderr, "aggregate 1.state was schema 1, is schema 2") || !strings.Contains(stderr, "is compatible. To take its state over say --from ") {
				t.Errorf("a changed plug-in: exit code %d\n%s", code, stderr)
			}
			appendTo(t, filepath.Join(dir, "in.jsonl"), seconds(14, 17, 23))
			paths := strings.Fields(checkpoints(t, dir))
			r = launch(t, dir, "--from", paths[len(paths)-1])
			until(t, r.stderr, "aggregate 1.state was schema 1, is schema 2")
			waitFor(t, dir, 5)
			r.interrupt(t)
			_, stderr, code = r.end(t)
			want := []string{"00s revision 0 n 3", "00s revision 1 n 4", "05s revision 0 n 2", "10s revision 0 n 8", "15s revision 0 n 1"}
			if got := shown(t, dir); code != 130 || !slices.Equal(got, want) {
				t.Errorf("exit code %d, rows %q, want %q\n%s", code, got, want, stderr)
			}

			// The first version does not know what the second has kept.
			buildGuest(t, "upgrade/first", module)
			paths = strings.Fields(checkpoints(t, dir))
			_, stderr, code = tidemark(t, dir, "", "run", "job.yaml", "--from", paths[len(paths)-1])
			for _, text := range []string{"aggregate 1.state was schema 2, is schema 1", "the new module does not say that it converts from that schema", "say --drop-state s"} {
				if code != 2 || !strings.Contains(stderr, text) {
					t.Errorf("exit code %d, standard error lacks %q:\n%s", code, text, stderr)
				}
			}
		})
	}
}
