package engine_test

import (
	"bytes"
	"context"
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

// builtins resolves the engine's own functions and no plug-in.
type builtins struct{ engine.Builtins }

func (builtins) Plugin(*job.Plugin) (job.FunctionInfo, error) {
	return job.FunctionInfo{}, errors.New("no plug-ins here")
}

// run runs a job file over files of a new directory and returns what the job wrote to
// standard output, by line, and its report.
func run(t *testing.T, yaml string, files map[string]string, set ...string) ([]string, engine.Report, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return runIn(t, t.Context(), dir, yaml, set...)
}

func runIn(t *testing.T, ctx context.Context, dir, yaml string, set ...string) ([]string, engine.Report, error) {
	t.Helper()
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	j, err := engine.New(ctx, g, engine.Options{Env: machine, Stdout: &out, Stdin: strings.NewReader(""), FirstStart: time.Now()})
	if err != nil {
		return nil, engine.Report{}, err
	}
	report, err := j.Run(ctx)
	var lines []string
	if text := strings.TrimSuffix(out.String(), "\n"); text != "" {
		lines = strings.Split(text, "\n")
	}
	if b := report.Balance(); err == nil && len(b) > 0 {
		t.Errorf("the ledger does not add up: %v", b)
	}
	return lines, report, err
}

const countJob = `
version: 1
job: t
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 5s, allowed_lateness: 3s}
    aggregates:
      n: {function: count}
      sum: {function: sum, columns: {value: v}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

// record writes a line; the value is its number.
func record(k string, ts, v int) string {
	return fmt.Sprintf(`{"ts":%d,"k":%q,"v":%d}`+"\n", ts, k, v)
}

// value strips a row of its id, so that a test can say what it expects.
func values(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[strings.Index(l, `"key"`):]
	}
	return out
}

func TestTheSmallSequence(t *testing.T) {
	// 1, 2, 5, 4, 6, 10, 12 s with bound 2 s, windows of 5 s and lateness 3 s, and then
	// two late ones: 9 s comes after 16 s, when the watermark is 13,999 (M is 9,999 and
	// cleanup 12,999: too late), 13 s after 17 s (watermark 14,999 = M: an update).
	var in string
	for i, ts := range []int{1, 2, 5, 4, 6, 10, 12, 16, 9, 17, 13} {
		in += record("a", ts*1000, i)
	}
	got, report, err := run(t, countJob, map[string]string{"in.jsonl": in})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`"key":{"k":"a"},"window":{"start":0,"end":5000},"kind":"on_time","revision":0,"value":{"n":3,"sum":4}}`,
		`"key":{"k":"a"},"window":{"start":5000,"end":10000},"kind":"on_time","revision":0,"value":{"n":2,"sum":6}}`,
		`"key":{"k":"a"},"window":{"start":10000,"end":15000},"kind":"on_time","revision":0,"value":{"n":2,"sum":11}}`,
		`"key":{"k":"a"},"window":{"start":10000,"end":15000},"kind":"update","revision":1,"value":{"n":3,"sum":21}}`,
		`"key":{"k":"a"},"window":{"start":15000,"end":20000},"kind":"on_time","revision":0,"value":{"n":2,"sum":16}}`,
	}
	if v := values(got); !slices.Equal(v, want) {
		t.Errorf("got\n%s", strings.Join(v, "\n"))
	}
	in0 := report.Steps[0].Inputs[0]
	if in0.Late != 1 || in0.LateAccepted != 1 || in0.Counted != 10 || in0.Fired != 10 {
		t.Errorf("ledger: %+v", in0)
	}
	if last := report.Sinks[slices.IndexFunc(report.Sinks, func(s engine.SinkReport) bool { return s.From == "s.late" })].Last; len(last) != 1 ||
		!strings.Contains(last[0], `"late_by_ms":4000,"behind_ms":7000,"record":{"ts":9000,"k":"a","v":8}`) {
		t.Errorf("late: %v", last)
	}
}

// Rows are a function of the data alone: not of batch size, parallelism or the way
// that lines of several splits interleave in time (T6).
func TestRowsDoNotDependOnBatchesOrTasks(t *testing.T) {
	files := map[string]string{}
	for f := range 3 {
		var in strings.Builder
		for i := range 300 {
			ts := i*100 + (i*7919+f*13)%6000 // disorder of up to 6 s, three times the bound
			in.WriteString(record(fmt.Sprint("k", (i*31+f)%7), ts, i))
		}
		files[fmt.Sprintf("in-%d.jsonl", f)] = in.String()
	}
	var want []string
	for _, rows := range []int{1000, 1, 7, 64} {
		for _, p := range []int{1, 2, 4} {
			got, _, err := run(t, countJob, files, fmt.Sprint("settings.batch.rows=", rows), fmt.Sprint("parallelism=", p))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("batches of %d, parallelism %d: %d rows differ from the first run's %d", rows, p, len(got), len(want))
			}
		}
	}
	if len(want) < 60 {
		t.Errorf("only %d rows: the test shows nothing", len(want))
	}
}

func TestStoppingFiresNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.jsonl"), []byte(record("a", 1000, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _, err := runIn(t, ctx, dir, countJob)
	if !errors.Is(err, context.Canceled) || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTooManyBadRecordsEndTheJob(t *testing.T) {
	in := record("a", 1000, 1) + strings.Repeat("nonsense\n", 5)
	_, report, err := run(t, countJob, map[string]string{"in.jsonl": in}, "settings.bad_budget.count=4", "settings.bad_budget.share=0%")
	if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "in.jsonl:2") {
		t.Errorf("got %v", err)
	}
	if report.Sources[0].Bad != 5 {
		t.Errorf("%d bad", report.Sources[0].Bad)
	}
	if _, report, err = run(t, countJob, map[string]string{"in.jsonl": in}, "settings.bad_budget.count=5"); err != nil || report.Sources[0].Read != 6 {
		t.Errorf("within the budget: %v, read %d", err, report.Sources[0].Read)
	}
}

func TestAWrongUnitIsAnErrorAndNotManyBadRecords(t *testing.T) {
	for _, c := range []struct {
		unit, likely string
		factor       int
	}{
		{"ms", "is the unit s meant", 1}, {"ms", "is the unit us meant", 1000000}, {"s", "is the unit ms meant", 1000},
	} {
		in := fmt.Sprintf(`{"ts":%d,"k":"a","v":1}`+"\n", 1704067200*c.factor)
		_, report, err := run(t, countJob, map[string]string{"in.jsonl": in}, "sources.in.time.unit="+c.unit)
		if b := report.Balance(); len(b) > 0 {
			t.Errorf("unit %s: the ledger does not add up: %v", c.unit, b)
		}
		if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), c.likely) {
			t.Errorf("unit %s: got %v, want a hint at %s", c.unit, err, c.likely)
		}
	}
}
