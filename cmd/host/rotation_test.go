package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A file that is rotated when the run that follows it has been killed is read to its end, and
// then the one that has its name. What is left of it compressed is no such file.
func TestARunGoesOnWithARotatedFile(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": followJob, "in.jsonl": sequence})
	file := filepath.Join(dir, "in.jsonl")
	r := launch(t, dir)
	waitFor(t, dir, 3) // two windows and an update, see sequence
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _, _ = r.end(t)

	// The window from 10 s holds 10 and 12, which the killed run has read, and 14.
	appendTo(t, file, seconds(14))
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(seconds(17)), 0o600); err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(t.TempDir(), "in.jsonl.1")
	if err := os.Rename(file+".1", away); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
	if code != 2 || !strings.Contains(stderr, "split in.jsonl: the file does not begin as it did when it was read, or is shorter: it is another one now, and none in its directory is the old one") {
		t.Errorf("without the old file: exit code %d\n%s", code, stderr)
	}
	if err := os.Rename(away, file+".1"); err != nil {
		t.Fatal(err)
	}
	r = launch(t, dir)
	until(t, r.stderr, "restored: checkpoint ")
	waitFor(t, dir, 4)
	r.interrupt(t)
	_, stderr, code = r.end(t)
	want := []string{"00s revision 0 n 3", "00s revision 1 n 4", "05s revision 0 n 2", "10s revision 0 n 3"}
	if got := shown(t, dir); code != 130 || !slices.Equal(got, want) {
		t.Errorf("exit code %d, rows %q, want %q\n%s", code, got, want, stderr)
	}
}
