package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// Windows of many keys, and what several kinds of steps make of them: each step holds some
// megabytes.
const bigJob = `
version: 1
job: t
parallelism: 2
sources:
  in:
    file: {path: "records*.txt"}
    format: json
    schema: {k: string, v: float64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s}
steps:
  tumbling:
    from: in
    key: [k]
    window: {tumbling: 20s, allowed_lateness: 3s}
    aggregates:
      n: {function: count}
      sum: {function: sum, columns: {value: v}}
  sliding:
    from: in
    key: [k]
    window: {sliding: {size: 20s, slide: 10s}}
    aggregates:
      sum: {function: sum, columns: {value: v}}
  sessions:
    from: in
    key: [k]
    window: {session: 15s}
    aggregates:
      sum: {function: sum, columns: {value: v}}
      last: {function: last, columns: {value: v}}
sinks:
  a: {from: tumbling, file: {path: tumbling.jsonl}, time_format: ms}
  b: {from: sliding, file: {path: sliding.jsonl}, time_format: ms}
  c: {from: sessions, file: {path: sessions.jsonl}, time_format: ms}
  d: {from: tumbling.late, file: {path: late.jsonl}, time_format: ms}
`

// bigFiles have 15,000 records in 60 s, of 5,000 keys: each comes back after 20 s. One in a
// hundred is late.
func bigFiles() map[string]string {
	var a, b strings.Builder
	for i := range 15_000 {
		ts := 4 * i
		if i%100 == 99 {
			ts -= 9000
		}
		w := &a
		if i%2 == 1 {
			w = &b
		}
		fmt.Fprintf(w, `{"ts":%d,"k":"key-%d","v":%d.%d}`+"\n", max(ts, 0), i*7919%5000, i%1000, i%7)
	}
	return map[string]string{"records-a.txt": a.String(), "records-b.txt": b.String()}
}

// runBig runs the job in a directory of its own, and returns the lines of its files.
func runBig(t *testing.T, yaml string, files map[string]string, state string, set ...string) (map[string][]string, engine.Report, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: new(bytes.Buffer), FirstStart: time.Now(), StateDir: state})
	if err != nil {
		return nil, engine.Report{}, err
	}
	report, err := j.Run(t.Context())
	got := map[string][]string{}
	names, gerr := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if gerr != nil {
		t.Fatal(gerr)
	}
	for _, name := range names {
		text, rerr := os.ReadFile(name)
		if rerr != nil {
			t.Fatal(rerr)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(lines)
		got[strings.TrimSuffix(filepath.Base(name), ".jsonl")] = lines
	}
	return got, report, err
}

// A job with several times as much state as it has memory for gives the same rows, with the
// same ids, the same late records and the same ledger.
func TestAJobWithItsStateOnDisk(t *testing.T) {
	files := bigFiles()
	want, before, err := runBig(t, bigJob, files, "")
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	got, after, err := runBig(t, bigJob, files, state, "settings.state.backend=disk", "settings.state.memory=1MiB")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tumbling", "sliding", "sessions", "late"} {
		if len(want[name]) < 15 || !slices.Equal(got[name], want[name]) {
			t.Errorf("%s has %d lines, want %d, and not the same", name, len(got[name]), len(want[name]))
		}
	}
	for i, s := range after.Steps {
		if fmt.Sprint(s.Inputs) != fmt.Sprint(before.Steps[i].Inputs) {
			t.Errorf("step %s: ledger %+v, want %+v", s.ID, s.Inputs, before.Steps[i].Inputs)
		}
	}
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("the run has left %v, %v", left, err)
	}
}

func TestStateThatCannotGoToDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, yaml, state, want string
		class                   error
	}{
		{"no directory", bigJob, "", "there is no directory for state", fault.ErrUser},
		{"a file in the place of the directory", bigJob, file, file, fault.ErrExternal},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := runBig(t, c.yaml, map[string]string{"records-a.txt": "", "records-b.txt": ""}, c.state, "settings.state.backend=disk")
			if !errors.Is(err, c.class) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("got %v, want a %v that says %q", err, c.class, c.want)
			}
		})
	}
}
