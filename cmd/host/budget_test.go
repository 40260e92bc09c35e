package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A run that is over its state budget says from which checkpoint it goes on, and does so under
// a larger budget: the rows are those of a run that had it from the start.
func TestARunOverItsBudgetGoesOnUnderALargerOne(t *testing.T) {
	var in strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&in, `{"ts":%d,"k":"key-%d","v":1}`+"\n", i*10, i%2500)
	}
	job := strings.NewReplacer("version: 1", "version: 1\nsettings: {checkpoint: {interval: 1h, dir: state}, batch: {rows: 100}}", "stdout: {}", "file: {path: out/rows.jsonl}").Replace(countJob)
	rows := func(dir string) []string {
		raw, err := os.ReadFile(filepath.Join(dir, "out", "rows.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		all := lines(string(raw))
		slices.Sort(all)
		return all
	}
	files := map[string]string{"job.yaml": job, "in.jsonl": in.String()}
	undisturbed := workspace(t, files)
	if _, stderr, code := tidemark(t, undisturbed, "", "run", "job.yaml"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	dir := workspace(t, files)
	_, stderr, code := tidemark(t, dir, "", "run", "job.yaml", "--set", "settings.state_budget=32KiB")
	if ok, _ := regexp.MatchString(`failed: the state of the job takes [0-9.]+ KiB, its budget is 32.0 KiB .*Checkpoint 1 was taken at the stop: with a larger settings.state_budget the job goes on from it`, stderr); code != 1 || !ok {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if list, _, _ := tidemark(t, dir, "", "checkpoint", "list", "job.yaml"); !strings.Contains(list, " stop ") {
		t.Errorf("the checkpoints are\n%s", list)
	}
	if _, stderr, code = tidemark(t, dir, "", "run", "job.yaml", "--set", "settings.state_budget=64MiB"); code != 0 || !strings.Contains(stderr, "restored: checkpoint ") {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if got, want := rows(dir), rows(undisturbed); !slices.Equal(got, want) || len(want) != 5000 {
		t.Errorf("%d rows, %d of an undisturbed run", len(got), len(want))
	}
}
