package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/fault"
)

// crowdedJob reads two files as they come, a record a batch in turn. 300 windows of the fast
// one, with a key each, take some 60 KiB.
const crowdedJob = `
version: 1
job: t
settings: {batch: {rows: 1}, probe: 10ms, state_budget: 16KiB}
sources:
  in:
    file: {path: "*.jsonl"}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, emit: 10ms}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 1s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

// crowdedFiles are a file that is at 300 s when the other one, which has twenty records a
// second, is at 15 s.
func crowdedFiles() map[string]string {
	var fast, slow strings.Builder
	for s := range 300 {
		fast.WriteString(at(fmt.Sprintf("fast%d", s), s*1000))
		for i := range 20 {
			slow.WriteString(at("slow", s*1000+i*50))
		}
	}
	return map[string]string{"fast.jsonl": fast.String(), "slow.jsonl": slow.String()}
}

// TestSplitsThatAreAheadWait: what the fast file would hold open does not fit, so it waits
// for the slow one, and no row is another than without a budget.
func TestSplitsThatAreAheadWait(t *testing.T) {
	runs := map[string][]string{}
	for _, yaml := range []string{crowdedJob, strings.Replace(crowdedJob, "16KiB", "1GiB", 1)} {
		rows, report := timed{yaml: yaml, files: crowdedFiles(), turn: time.Millisecond}.run(t)
		if b := report.Balance(); len(b) > 0 {
			t.Errorf("the ledger does not add up: %v", b)
		}
		var got []string
		for _, r := range rows {
			got = append(got, r.text)
		}
		slices.Sort(got)
		runs[yaml] = got
	}
	got, want := runs[crowdedJob], runs[strings.Replace(crowdedJob, "16KiB", "1GiB", 1)]
	if len(want) != 600 || !slices.Equal(got, want) {
		t.Errorf("%d rows, %d without a budget to speak of, want 600 of either", len(got), len(want))
	}
}

// TestAStateThatDoesNotFitEndsTheJob: windows of five seconds have one key each, until one
// comes with a thousand.
func TestAStateThatDoesNotFitEndsTheJob(t *testing.T) {
	long := strings.Repeat("x", 150)
	var in strings.Builder
	for s := range 60 {
		in.WriteString(record("a", s*1000, 1))
		if s < 51 {
			continue
		}
		for i := range 200 {
			in.WriteString(record(fmt.Sprintf("key%d-%d", s, i), s*1000+i, 1))
		}
		in.WriteString(record(long, s*1000, 1))
	}
	files := map[string]string{"in.jsonl": in.String()}
	all, _, err := run(t, countJob, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range []string{"1", "64"} {
		rows, report, err := run(t, countJob, files, "settings.state_budget=64KiB", "settings.batch.rows="+batch)
		if !errors.Is(err, fault.ErrQuota) {
			t.Fatalf("batches of %s: %v", batch, err)
		}
		for _, part := range []string{" KiB, its budget is 64.0 KiB (settings.state_budget); step s has ", "window 1970-01-01T00:00:50.000Z to 1970-01-01T00:00:55.000Z has ",
			` keys; the key with most in one piece is {"k":"` + long + `"}, with `, "Raise the budget, or hold less"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("batches of %s: %q is not in: %v", batch, part, err)
			}
		}
		// The watermark has come to some second from 50 to 54: ten windows have fired, and no other has.
		if len(rows) != 10 || !slices.Equal(rows, all[:10]) {
			t.Errorf("batches of %s: %d rows before it ended", batch, len(rows))
		}
		source, step := report.Sources[0], report.Steps[0]
		l := step.Inputs[0]
		if source.Read != source.Passed || l.Counted != l.Open+l.Fired || l.Fired != 50 || l.Counted > source.Passed || step.State < 64<<10 {
			t.Errorf("batches of %s: the source has %+v, the step %+v with %d bytes", batch, source, l, step.State)
		}
	}
}

// TestStateIsTold: what the report says grows with what is open, and goes with it.
func TestStateIsTold(t *testing.T) {
	var in strings.Builder
	for i := range 1000 {
		in.WriteString(record(fmt.Sprint("k", i), i, 1))
	}
	_, report, err := run(t, countJob, map[string]string{"in.jsonl": in.String()})
	if err != nil {
		t.Fatal(err)
	}
	if report.Steps[0].State != 0 {
		t.Errorf("%d bytes at the end", report.Steps[0].State)
	}
	_, report, err = run(t, countJob, map[string]string{"in.jsonl": in.String()}, "settings.state_budget=32KiB")
	if s := report.Steps[0]; err == nil || s.State < 32<<10 || s.State > 128<<10 || s.Panes < 100 {
		t.Errorf("%v: %d bytes for %d panes", err, s.State, s.Panes)
	}
}
