package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// followJob is countJob over a file that is waited on, with a checkpoint 50 times a second.
var followJob = strings.NewReplacer("version: 1", "version: 1\nsettings: {checkpoint: {interval: 20ms, dir: state}}",
	"path: in.jsonl", "path: in.jsonl, follow: true", "2s}", "2s, emit: record}", "stdout: {}", "file: {path: out/rows.jsonl}").Replace(countJob)

// shown are the result rows that readers see: key, window, revision and count.
func shown(t *testing.T, dir string) (rows []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "out", "rows*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines(string(raw)) {
			var row struct {
				Window   struct{ Start int64 }
				Revision int
				Value    struct{ N int }
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v: %q", name, err, line)
			}
			rows = append(rows, strings.Join([]string{time.UnixMilli(row.Window.Start).UTC().Format("05s"), "revision", string(rune('0' + row.Revision)), "n", string(rune('0' + row.Value.N))}, " "))
		}
	}
	slices.Sort(rows)
	return rows
}

// waitFor waits until readers see so many rows: a run shows them when a checkpoint has come
// about. There is nothing to wait on but the other process's files.
func waitFor(t *testing.T, dir string, rows int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); len(shown(t, dir)) < rows; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("there are %d rows, not %d", len(shown(t, dir)), rows)
		}
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestARunGoesOnWhereItWasKilled(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": followJob, "in.jsonl": sequence})
	r := launch(t, dir)
	waitFor(t, dir, 3) // two windows and an update, see sequence
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _, _ = r.end(t)

	// The window from 10 s holds 10 and 12, which only the killed run has read.
	appendTo(t, filepath.Join(dir, "in.jsonl"), seconds(14, 17))
	r = launch(t, dir)
	until(t, r.stderr, "restored: checkpoint ")
	waitFor(t, dir, 4)
	r.interrupt(t)
	_, stderr, code := r.end(t)
	want := []string{"00s revision 0 n 3", "00s revision 1 n 4", "05s revision 0 n 2", "10s revision 0 n 3"}
	if got := shown(t, dir); code != 130 || !slices.Equal(got, want) {
		t.Errorf("exit code %d, rows %q, want %q\n%s", code, got, want, stderr)
	}
	for _, text := range []string{"checkpoints: ", " completed, 0 failed", "stopped: nothing was fired; the next run goes on from the last checkpoint", "(what no checkpoint covers is not published)"} {
		if !strings.Contains(stderr, text) {
			t.Errorf("standard error lacks %q:\n%s", text, stderr)
		}
	}

	// A changed job does not go on by itself, but says what to do.
	paths := strings.Fields(checkpoints(t, dir))
	changed := strings.Replace(followJob, "allowed_lateness: 4s", "allowed_lateness: 5s", 1)
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code = tidemark(t, dir, "", "run", "job.yaml")
	if code != 2 || !strings.Contains(stderr, "step s (allowed_lateness was 4s, is 5s) is compatible. To take its state over say --from ") {
		t.Errorf("a changed job: exit code %d\n%s", code, stderr)
	}
	r = launch(t, dir, "--from", paths[len(paths)-1])
	until(t, r.stderr, "restored: checkpoint ")
	until(t, r.stderr, "  changed: step s: allowed_lateness was 4s, is 5s")
	appendTo(t, filepath.Join(dir, "in.jsonl"), seconds(16, 22))
	waitFor(t, dir, 5) // the window from 15 s holds 17 and 16
	r.interrupt(t)
	if _, stderr, code = r.end(t); code != 130 || !slices.Contains(shown(t, dir), "15s revision 0 n 2") {
		t.Errorf("exit code %d, rows %q\n%s", code, shown(t, dir), stderr)
	}

	// One that has a function changed begins empty where it is told to.
	other := strings.Replace(changed, "{function: count}", "{function: max, columns: {value: v}}", 1)
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code = tidemark(t, dir, "", "run", "job.yaml", "--from", "state")
	if code != 2 || !strings.Contains(stderr, "say --drop-state s, and it begins empty") {
		t.Errorf("another function: exit code %d\n%s", code, stderr)
	}
	r = launch(t, dir, "--from", "state", "--drop-state", "s")
	until(t, r.stderr, "  state given up: step s")
	r.interrupt(t)
	_, _, _ = r.end(t)

	r = launch(t, dir, "--fresh")
	until(t, r.stderr, "sink in.bad")
	r.interrupt(t)
	if _, stderr, _ := r.end(t); strings.Contains(stderr, "restored:") {
		t.Errorf("a fresh run:\n%s", stderr)
	}
}

// Of damaged checkpoints the newest intact one is taken, with a warning; where there is none,
// or the inputs are others, the message says what to do.
func TestARunWhoseCheckpointsAreDamaged(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": followJob, "in.jsonl": sequence})
	r := launch(t, dir)
	waitFor(t, dir, 3)
	appendTo(t, filepath.Join(dir, "in.jsonl"), seconds(14, 17)) // the fourth row, of a later checkpoint
	waitFor(t, dir, 4)
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _, _ = r.end(t)

	const otherwise = "to begin from nothing say --fresh, and from another checkpoint --from: tidemark checkpoint list job.yaml shows which there are"
	before := shown(t, dir)
	file := filepath.Join(dir, "in.jsonl")
	input, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(seconds(3, 2, 1)+string(input)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
	if code != 2 || !strings.Contains(stderr, "split in.jsonl: the file does not begin as it did when it was read") || !strings.Contains(stderr, otherwise) {
		t.Errorf("another input: exit code %d\n%s", code, stderr)
	}
	if got := shown(t, dir); !slices.Equal(got, before) {
		t.Errorf("rows %q, and before %q", got, before)
	}
	if err := os.WriteFile(file, input, 0o600); err != nil {
		t.Fatal(err)
	}

	paths := strings.Fields(checkpoints(t, dir))
	if len(paths) < 2 {
		t.Fatalf("there are checkpoints %q only", paths)
	}
	newest := paths[len(paths)-1]
	raw, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(newest, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	r = launch(t, dir)
	until(t, r.stderr, "tidemark: warning: a checkpoint is damaged, the one before is taken: checkpoint file "+newest+": its checksum differs")
	until(t, r.stderr, "restored: checkpoint ")
	r.interrupt(t)
	if _, stderr, code := r.end(t); code != 130 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}

	for _, path := range strings.Fields(checkpoints(t, dir)) {
		if err := os.Truncate(path, 10); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr, code = tidemark(t, dir, "", "run", "job.yaml")
	if code != 1 || !strings.Contains(stderr, "tidemark: no checkpoint in "+filepath.Join(dir, "state")+" is intact: checkpoint file ") || !strings.Contains(stderr, otherwise) {
		t.Errorf("only damaged ones: exit code %d\n%s", code, stderr)
	}
}

// checkpoints are the paths of the checkpoints in state.
func checkpoints(t *testing.T, dir string) string {
	t.Helper()
	out, stderr, code := tidemark(t, dir, "", "checkpoint", "list", "state", "-o", "yaml")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	var paths []string
	for _, line := range lines(out) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "path: "); ok {
			paths = append(paths, path)
		}
	}
	return strings.Join(paths, " ")
}

func TestWrongBeginnings(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": strings.Replace(countJob, "version: 1", "version: 1\nsettings: {checkpoint: {dir: state}}", 1), "without.yaml": countJob, "in.jsonl": sequence})
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"job.yaml --fresh --from 3", 2, "leave one out"},
		{"job.yaml --drop-state s", 2, "--drop-state belongs to --from CHECKPOINT"},
		{"without.yaml --fresh", 2, "without.yaml takes no checkpoints"},
		{"without.yaml --from state", 2, "without.yaml takes no checkpoints"},
		{"job.yaml --from 3", 3, "there is no checkpoint 3 in"},
		{"job.yaml --from state/log-000000000003", 3, "--from: there is no checkpoint"},
		{"job.yaml --from none", 3, "there are no checkpoints in"},
		{"job.yaml", 0, "checkpoints: every 10s to state, of which the last 3 stay"},
		{"job.yaml", 0, "standard output takes nothing back"}, // a job that has finished begins anew
	} {
		stdout, stderr, code := tidemark(t, dir, "", append([]string{"run"}, strings.Fields(row.args)...)...)
		if code != row.code || !strings.Contains(stderr, row.want) || strings.Contains(stderr, "restored:") || (code == 0) != strings.Contains(stdout, `"n":2`) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s%s", row.args, code, row.code, row.want, stdout, stderr)
		}
	}
}
