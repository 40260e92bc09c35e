package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// quietJob follows files with a bound of 0 s; more settings of the watermark in place of
// MORE.
const quietJob = `
version: 1
job: t
sources:
  in:
    file: {path: "in*.jsonl", follow: true}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, MORE}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 10s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

func quiet(more string) string { return strings.Replace(quietJob, "MORE", more, 1) }

// specCase is a case of spec/cases.json.
type specCase struct {
	ID     string   `json:"id"`
	Lines  []string `json:"input_lines"`
	Expect struct {
		Rows []struct {
			Key               string
			Start, End, Count int64
		}
	}
}

func caseOf(t *testing.T, id string) (in string, want []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "spec", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	for _, r := range raw {
		var c specCase
		if !strings.Contains(string(r), id) || json.Unmarshal(r, &c) != nil || !strings.HasPrefix(c.ID, id) {
			continue
		}
		for _, r := range c.Expect.Rows {
			want = append(want, fmt.Sprintf(`"key":{"k":%q},"window":{"start":%d,"end":%d},"kind":"on_time","revision":0,"value":{"n":%d}}`, r.Key, r.Start, r.End, r.Count))
		}
		return strings.Join(c.Lines, "\n") + "\n", want
	}
	t.Fatal("there is no case " + id)
	return "", nil
}

// The lines of the cases are of 2024; the clock is half a minute on.
func casesStart() time.Time { return time.Date(2024, 1, 1, 0, 0, 30, 0, time.UTC) }

func TestCase02AQuietStreamCloses(t *testing.T) {
	in, want := caseOf(t, "C02")
	files := map[string]string{"in.jsonl": in}
	rows, report := timed{yaml: quiet("idle_timeout: 2s, when_all_idle: advance"), start: casesStart(), files: files, until: time.Minute}.run(t)
	same(t, texts(rows), want...)
	// The last record is of second 3, so the end of the window is 7 s behind it.
	if len(rows) == 1 && (rows[0].at < 6900*time.Millisecond || rows[0].at > 7400*time.Millisecond) {
		t.Errorf("closed after %v", rows[0].at)
	}
	if s := report.Sources[0].Splits[0]; !s.Idle {
		t.Errorf("split %+v: it is idle, only the source is not", s)
	}
	for _, more := range []string{"idle_timeout: 2s", "idle_timeout: off"} {
		if rows, _ := (timed{yaml: quiet(more), start: casesStart(), files: files, until: time.Minute}).run(t); len(rows) > 0 {
			t.Errorf("%s: time went on by itself: %v", more, rows)
		}
	}
}

func TestCase04APartitionThatNeverHadARecord(t *testing.T) {
	in, want := caseOf(t, "C04")
	rows, _ := timed{yaml: quiet("idle_timeout: 2s"), start: casesStart(), files: map[string]string{"in-0.jsonl": in, "in-1.jsonl": ""}, until: time.Minute}.run(t)
	same(t, texts(rows), want...)
	for _, r := range rows { // between the timeout and three probes of 200 ms more (S9)
		if r.at < 2*time.Second || r.at > 2700*time.Millisecond {
			t.Errorf("closed after %v", r.at)
		}
	}
}

// The record is 9 s ahead of the clock. Time must not run ahead further: the window ends
// when the clock has come there, though the split is idle long before (S16a).
func TestTimeThatGoesOnNeverPassesTheClock(t *testing.T) {
	yaml := quiet("idle_timeout: 2s, when_all_idle: advance")
	rows, report := timed{yaml: yaml, files: map[string]string{"in.jsonl": at("a", 9000)}, until: 19 * time.Second,
		later: []addition{{15 * time.Second, "in.jsonl", at("a", 9500) + at("a", 18000)}}}.run(t)
	same(t, texts(rows), counted("a", 0, 10, 1))
	if len(rows) == 1 && (rows[0].at < 10*time.Second || rows[0].at > 10400*time.Millisecond) {
		t.Errorf("closed after %v", rows[0].at)
	}
	if l := report.Steps[0].Inputs[0]; l.Late != 1 || l.Open != 1 {
		t.Errorf("ledger %+v: what was closed stays closed", l)
	}
}

// A source without files is idle, and stays so (S20): it does not hold a union back.
func TestASourceWithoutSplitsHoldsNobodyBack(t *testing.T) {
	yaml := strings.Replace(quiet("idle_timeout: 2s"), "steps:", `  none:
    file: {path: "none*.jsonl", follow: true}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, idle_timeout: 2s}
steps:`, 1)
	yaml = strings.Replace(yaml, "from: in\n", "from: {union: [in, none]}\n", 1)
	rows, _ := timed{yaml: yaml, files: map[string]string{"in.jsonl": at("a", 1000)}, until: 10 * time.Second,
		later: []addition{{5 * time.Second, "in.jsonl", at("a", 11000)}}}.run(t)
	same(t, texts(rows), counted("a", 0, 10, 1))
	if len(rows) == 1 && rows[0].at > 5300*time.Millisecond {
		t.Errorf("closed after %v", rows[0].at)
	}
}

// The only file goes away, and is given up a minute later; that moves no time (S20), so that the records of the next one
// are not late and go into the window that is open. A deleted file that comes again under
// its name is another split.
func TestASplitThatIsGoneEndsNoTime(t *testing.T) {
	rows, report := timed{yaml: quiet("idle_timeout: off"), files: map[string]string{"in-0.jsonl": at("a", 1000)}, until: 2 * time.Minute,
		later: []addition{{time.Second, "in-0.jsonl", ""}, {90 * time.Second, "in-0.jsonl", at("a", 2000) + at("a", 12000)}}}.run(t)
	same(t, texts(rows), counted("a", 0, 10, 2))
	if l := report.Steps[0].Inputs[0]; l.Late != 0 || l.Counted != 3 {
		t.Errorf("ledger %+v", l)
	}
	if s := report.Sources[0].Splits; len(s) != 2 || !s[0].Finished || s[1].Finished {
		t.Errorf("splits %+v", s)
	}
}

// Every result of the first step takes its writer 1 s, and there are 61 of them, so that
// the source is blocked for most of a minute. The second file has one record and is quiet
// from then on, but nobody could have read more of it: it is not idle before the source
// is free again (S12). About a dozen results are on their way then.
func TestBlockedIsNotIdle(t *testing.T) {
	yaml := strings.Replace(quiet("idle_timeout: 2s"), "steps:\n", "steps:\n  each:\n    from: in\n    key: [k]\n    window: {global: {}}\n    trigger: {purging: {count: 1}}\n    aggregates: {n: {function: count}}\n", 1)
	yaml += "  slow: {from: each, stdout: {}, time_format: ms}\nsettings: {batch: {rows: 1}, queue: 1}\n"
	var in strings.Builder
	for i := range 60 {
		in.WriteString(at("a", 16000+i))
	}
	rows, _ := timed{yaml: yaml, files: map[string]string{"in-0.jsonl": in.String(), "in-1.jsonl": at("b", 1000)}, write: time.Second, until: 2 * time.Minute}.run(t)
	seen := false
	for _, r := range rows {
		if !strings.Contains(r.text, `"window":null`) {
			seen = true
			same(t, values([]string{r.text}), counted("b", 0, 10, 1))
			if r.at < 45*time.Second || r.at > 65*time.Second {
				t.Errorf("idle after %v", r.at)
			}
		}
	}
	if !seen || len(rows) != 62 {
		t.Errorf("%d rows", len(rows))
	}
}
