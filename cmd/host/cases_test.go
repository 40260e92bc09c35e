package main_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/host/controller"
	"tidemark/internal/env"
	"tidemark/internal/sim"
)

// caseFile is one case of spec/cases.json: input lines, a job in plain words, and what
// must come out.
type caseFile struct {
	ID     string         `json:"id"`
	Lines  []string       `json:"input_lines"`
	Job    map[string]any `json:"job"`
	Expect struct {
		Rows        json.RawMessage  `json:"rows"`
		RowsInOrder json.RawMessage  `json:"rows_in_order"`
		Groups      int              `json:"groups"`
		Counters    map[string]int64 `json:"counters"`
		LateOutput  []string         `json:"late_output"`
		Error       string           `json:"error"`
	} `json:"expect"`
}

// elsewhere are the cases that are not run here, each with its reason.
var elsewhere = map[string]string{
	"C05-idle-partition-comes-back-old":        "there is no stop with drain; run with `tidemark test`, TestCasesThatNeedAClockAndAnEnd",
	"C39-processing-time-trigger-steady-input": "fed by the clock; run with `tidemark test`, TestCasesThatNeedAClockAndAnEnd",
	"C58-half-written-line":                    "fed in parts; TestAHalfWrittenLineWaitsForItsEnd",
	"C41-on-time-stays-on-time-after-restart":  "needs checkpoints",
	"C80-shutdown-keeps-open-windows":          "needs checkpoints",
	"C44-sink-refuses-then-recovers":           "needs a sink that is tried again, and checkpoints behind it",
	"C51-sum-overflow-output":                  "the product sets the record aside and not the window; run with `tidemark test`, TestCasesThatNeedAClockAndAnEnd",
	"C68-yaml-types":                           "no input: TestTextOfAJobFileStaysText",
	"C71-guest-traps-on-one-record":            "needs a guest that traps; engine/wasm and run_test.go have it",
	"C73-guest-grows-memory":                   "needs a guest that grows; engine/wasm has it",
	"C74-guest-too-new":                        "an upload: abi/binary and plugin_test.go have it",
	"C77-two-tenants-same-names":               "a host with tenants: host/api and host/controller have it",
	"C78-noisy-neighbour":                      "needs a fair share of the CPU between tenants",
	"C79-premature-idle":                       "needs a sink that blocks under a virtual clock: the tests of S12 in package engine",
}

// otherwise says where the product does something else than a case asks for, or counts it
// by another name, and why.
var otherwise = map[string]deviation{
	"C54-bom-and-crlf": {why: "a blank line is no record and no error, so nothing counts it", without: []string{"blank"}},
	"C59-case-and-duplicate-keys": {why: "of a repeated name the last value counts, which the case names as an option: the reader of one field does not look for others of its name",
		rows: `[{"key":"a","start":1704067200000,"end":1704067210000,"count":2,"sum":101}]`, without: []string{"duplicate_key", "counted"}},
	"C62-dotted-and-nested-names": {why: "a path that leads through no object is a wrong type, so the record is bad and not one without a key", instead: map[string]string{"missing_key": "wrong_type"}},
	"C63-null-and-scalar-records": {why: "in a file null is a record that is no object, like others; tombstones are Kafka's", without: []string{"tombstone"}},
}

// deviation is what is expected in place of what a case says.
type deviation struct {
	why     string
	rows    string            // other rows
	without []string          // counters that there are not
	instead map[string]string // counters by their name in the product
}

func readCases(t *testing.T) []caseFile {
	t.Helper()
	text, err := os.ReadFile("../../spec/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []caseFile
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// word returns a field of the job in plain words.
func (c *caseFile) word(name string) string {
	s, _ := c.Job[name].(string)
	return s
}

func (c *caseFile) followed() bool { return strings.Contains(c.word("source"), "follow") }

var (
	tumblingWords = regexp.MustCompile(`^tumbling (\d+\w+)(?:, shown in \S+)?$`)
	offsetWords   = regexp.MustCompile(`^tumbling (\d+\w+), offset (\d+\w+)$`)
	slidingWords  = regexp.MustCompile(`^sliding (\d+\w+) every (\d+\w+)$`)
	sessionWords  = regexp.MustCompile(`^session, gap (\d+\w+)$`)
	dayWords      = regexp.MustCompile(`^tumbling, 1 calendar day in (\S+)$`)
)

// yaml writes the job file of a case. Words that it does not know fail the test.
func (c *caseFile) yaml(t *testing.T, parallelism, batch int) string {
	t.Helper()
	unknown := func(field string) {
		t.Errorf("%s: field %s of the job is not understood: %q", c.ID, field, c.word(field))
	}
	field, unit := "ts", "ms"
	switch c.word("timestamp") {
	case "field ts, integer, unit ms":
	case "field ts, RFC 3339 text":
		unit = "rfc3339"
	case "field seen_at, RFC 3339 text":
		field, unit = "seen_at", "rfc3339"
	default:
		unknown("timestamp")
	}
	key := map[string]string{"field k": "k", "field device": "device", "fields k1 and k2": "k1, k2", "path a then b": "a.b"}[c.word("key")]
	if key == "" {
		unknown("key")
	}
	value := "int64"
	if strings.Contains(strings.Join(c.Lines, ""), "1.0") || strings.Contains(strings.Join(c.Lines, ""), "e308") {
		value = "float64"
	}
	schema := []string{"v: " + value}
	for _, k := range strings.Split(key, ", ") {
		schema = append(schema, k+": string")
	}
	filters := map[string]string{"": "", "keep type == b": `type == "b"`, "drop type == drop": `type != "drop"`}
	if c.word("filter") != "" {
		schema = append(schema, "type: string")
	}
	expr, ok := filters[c.word("filter")]
	if !ok {
		unknown("filter")
	}
	var aggregates []string
	for _, a := range strings.Split(c.word("aggregate"), ", ") {
		line, ok := map[string]string{"count": "count: {function: count}", "sum of v": "sum: {function: sum, columns: {value: v}}", "max of v": "max: {function: max, columns: {value: v}}"}[a]
		if !ok {
			unknown("aggregate")
		}
		aggregates = append(aggregates, line)
	}
	window := ""
	switch w := c.word("window"); {
	case tumblingWords.MatchString(w):
		window = "tumbling: " + tumblingWords.FindStringSubmatch(w)[1]
	case offsetWords.MatchString(w):
		m := offsetWords.FindStringSubmatch(w)
		window = fmt.Sprintf("tumbling: {size: %s, offset: %s}", m[1], m[2])
	case slidingWords.MatchString(w):
		m := slidingWords.FindStringSubmatch(w)
		window = fmt.Sprintf("sliding: {size: %s, slide: %s}", m[1], m[2])
	case sessionWords.MatchString(w):
		window = "session: " + sessionWords.FindStringSubmatch(w)[1]
	case dayWords.MatchString(w):
		window = "day: " + dayWords.FindStringSubmatch(w)[1]
	default:
		unknown("window")
	}
	trigger := ""
	switch c.word("trigger") {
	case "once, when the watermark passes the window end", "at window end, then once per late event":
	case "every 2 events and at window end":
		trigger = "\n    trigger: {count_or_timeout: {n: 2, after: 10s}}"
	default:
		unknown("trigger")
	}
	nulls := "keep"
	if _, ok := c.Expect.Counters["missing_key"]; ok {
		nulls = "drop" // of the two that there are
	}
	times := fmt.Sprintf("field: %s, unit: %s", field, unit)
	if c.Job["allow_before_1970"] == true {
		times += ", plausible: false"
	}
	watermark := "emit: record, out_of_orderness: " + c.word("out_of_orderness")
	if w := c.word("idle_timeout"); w != "" && c.followed() {
		watermark += ", idle_timeout: " + w
	}
	if strings.HasPrefix(c.word("when_all_idle"), "advance") {
		watermark += ", when_all_idle: advance"
	}
	return fmt.Sprintf(`
version: 1
job: %s
parallelism: %d
settings: {batch: {rows: %d}}
sources:
  in:
    file: {path: "in*.jsonl", follow: %t}
    format: json
    schema: {%s}
    time: {%s}
    watermark: {%s}
steps:
  s:
    from: in
    filter: %q
    key: [%s]
    null_key: %s
    window: {%s, allowed_lateness: %s}%s
    aggregates: {%s}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
  late: {from: s.late, file: {path: late.jsonl}}
  bad: {from: in.bad, file: {path: bad.jsonl}}
`, c.ID, parallelism, batch, c.followed(), strings.Join(schema, ", "), times, watermark, cmp.Or(expr, "true"), key, nulls, window, c.word("allowed_lateness"), trigger, strings.Join(aggregates, ", "))
}

// files writes the lines to the files that the case deals them out to.
func (c *caseFile) files(t *testing.T, dir string) {
	t.Helper()
	parts := map[string][]string{"in-0.jsonl": c.Lines}
	switch p := c.word("partitions"); {
	case p == "":
	case strings.HasPrefix(p, "2 partitions; every line goes to partition 0"):
		parts["in-1.jsonl"] = nil
	case strings.HasPrefix(p, "lines 1-4 are file 1, lines 5-8 are file 2"):
		parts = map[string][]string{"in-0.jsonl": c.Lines[:4], "in-1.jsonl": c.Lines[4:]}
	default:
		t.Errorf("%s: partitions are not understood: %q", c.ID, p)
	}
	for name, lines := range parts {
		text := strings.Join(lines, "\n")
		if len(lines) > 0 {
			text += "\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// known are the fields of a job that yaml, files and the runs below know.
var known = []string{"timestamp", "key", "aggregate", "window", "out_of_orderness", "allowed_lateness", "trigger", "end_of_input", "filter", "source", "idle_timeout",
	"when_all_idle", "partitions", "allow_before_1970", "null_key", "late_output", "guard", "batching", "workers", "panes", "line_end"}

func TestCases(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCases(t) {
		seen[c.ID] = true
		if elsewhere[c.ID] != "" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			for name := range c.Job {
				if !slices.Contains(known, name) {
					t.Fatalf("field %s of the job is not understood: %v", name, c.Job[name])
				}
			}
			for _, v := range []struct{ parallelism, batch int }{{1, 1}, {1, 1024}, {2, 7}, {4, 2}} {
				dir := t.TempDir()
				c.files(t, dir)
				got := c.run(t, dir, c.yaml(t, v.parallelism, v.batch))
				c.compare(t, got)
				if t.Failed() {
					t.Fatalf("parallelism %d, batches of %d", v.parallelism, v.batch)
				}
			}
		})
	}
	for id := range maps.Keys(elsewhere) {
		if !seen[id] {
			t.Errorf("%s is listed and does not exist", id)
		}
	}
}

// caseRun is what came of a case.
type caseRun struct {
	rows      []map[string]any
	late, bad []map[string]any
	report    engine.Report
	err       error
}

// lockedBuffer is standard output of a job that is looked at while it runs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// run runs a job file with the host's own means. A followed one is stopped when it has
// done with all lines and half a minute of its virtual clock has gone by.
func (c *caseFile) run(t *testing.T, dir, yaml string) caseRun {
	t.Helper()
	wanted := strings.Count(string(c.Expect.Rows), `"start"`)
	return runCase(t, dir, yaml, c.followed(), func(r *engine.Report, rows int, elapsed time.Duration) bool {
		return int(r.Sources[0].Read) == len(c.Lines) && len(r.Balance()) == 0 && rows >= wanted && elapsed > 30*time.Second
	})
}

func runCase(t *testing.T, dir, yaml string, followed bool, done func(*engine.Report, int, time.Duration) bool) caseRun {
	t.Helper()
	machine := env.Real()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if followed {
		machine.Clock = sim.NewClock(start)
	}
	modules, err := controller.OpenModules(t.Context(), machine, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := modules.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	loaded, err := controller.Load(t.Context(), controller.LoadRequest{YAML: []byte(yaml), Name: "job.yaml", Dir: dir, Machine: machine, Modules: modules})
	if err != nil {
		t.Fatalf("%v\n%s", err, yaml)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out lockedBuffer
	var watch sync.WaitGroup
	var got caseRun
	got.report, got.err = loaded.Run(ctx, controller.NewLife(nil), controller.RunOptions{
		Stdout: &out, FirstStart: start,
		Up: func(j *engine.Job) {
			if !followed {
				return
			}
			watch.Go(func() {
				for ctx.Err() == nil {
					r := j.Status(ctx)
					if len(r.Busy) == 0 && done(&r, len(lines(out.String())), machine.Clock.Now().Sub(start)) {
						cancel()
					}
				}
			})
		},
	})
	cancel()
	watch.Wait()
	if followed && errors.Is(got.err, context.Canceled) {
		got.err = nil
	}
	got.rows = objects(t, out.String())
	for name, to := range map[string]*[]map[string]any{"late.jsonl": &got.late, "bad.jsonl": &got.bad} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			*to = objects(t, string(text))
		}
	}
	return got
}

func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, line := range lines(text) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var o map[string]any
		if err := d.Decode(&o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, o)
	}
	return out
}

// kinds are the names that cases have for kinds of rows.
var kinds = map[string]string{"final": "on_time", "late-update": "update", "early": "early"}

// compare compares rows, counters and late output with what the case expects.
func (c *caseFile) compare(t *testing.T, got caseRun) {
	t.Helper()
	if c.Expect.Error != "" {
		if got.err == nil || !strings.Contains(got.err.Error(), "is the unit s meant?") || len(got.rows) > 0 {
			t.Errorf("want %q\n got %v with %d rows", c.Expect.Error, got.err, len(got.rows))
		}
		return
	}
	if got.err != nil {
		t.Fatal(got.err)
	}
	if c.Expect.Groups > 0 {
		keys := map[string]bool{}
		for _, r := range got.rows {
			keys[fmt.Sprint(r["key"])] = true
		}
		if len(keys) != c.Expect.Groups || len(got.rows) != c.Expect.Groups {
			t.Errorf("want %d groups, got %d in %d rows", c.Expect.Groups, len(keys), len(got.rows))
		}
	}
	other := otherwise[c.ID]
	text := slices.Concat(c.Expect.Rows, c.Expect.RowsInOrder) // one of them is there
	if other.rows != "" {
		text = []byte(other.rows)
	}
	var want []map[string]any
	if len(text) > 0 {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) > 0 {
		c.compareRows(t, want, got.rows)
	}
	for _, line := range got.report.Balance() {
		t.Error(line)
	}
	for name, n := range c.Expect.Counters {
		if as, ok := other.instead[name]; ok {
			name = as
		}
		if slices.Contains(other.without, name) {
			continue
		}
		if count, ok := counter(name, got); !ok || count != n {
			t.Errorf("%s: want %d, got %d", name, n, count)
		}
	}
	if c.Expect.LateOutput != nil {
		var records []string
		for _, l := range got.late {
			record, err := json.Marshal(l["record"])
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, string(record))
		}
		if !slices.Equal(records, c.Expect.LateOutput) {
			t.Errorf("late output: want %q, got %q", c.Expect.LateOutput, records)
		}
	}
}

// compareRows writes both sides in the words of the case and compares them: in order of
// the case for rows_in_order, which have one key, else in any.
func (c *caseFile) compareRows(t *testing.T, want, got []map[string]any) {
	t.Helper()
	var wanted, came []string
	for _, w := range want {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(w)) {
			parts = append(parts, fmt.Sprintf("%s=%s", name, strings.TrimSuffix(fmt.Sprint(w[name]), ".0")))
		}
		wanted = append(wanted, strings.Join(parts, " "))
	}
	for _, g := range got {
		window, _ := g["window"].(map[string]any)
		value, _ := g["value"].(map[string]any)
		said := map[string]any{"start": window["start"], "end": window["end"]}
		for _, k := range g["key"].(map[string]any) {
			said["key"] = k
		}
		maps.Copy(said, value)
		for p, kind := range kinds {
			if g["kind"] == kind {
				said["pane"] = p
			}
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(want[0])) {
			parts = append(parts, fmt.Sprintf("%s=%v", name, said[name]))
		}
		came = append(came, strings.Join(parts, " "))
	}
	if c.Expect.RowsInOrder == nil {
		slices.Sort(wanted)
		slices.Sort(came)
	}
	if !slices.Equal(wanted, came) {
		t.Errorf("want\n  %s\ngot\n  %s", strings.Join(wanted, "\n  "), strings.Join(came, "\n  "))
	}
}

// counter returns the counter of the ledger that a case means; ok is false for a name
// that is not known.
func counter(name string, got caseRun) (n int64, ok bool) {
	source, step := got.report.Sources[0], got.report.Steps[0].Inputs[0]
	reasons := func(of ...string) (int64, bool) {
		for _, b := range got.bad {
			if r, _ := b["reason"].(string); slices.Contains(of, r) {
				n++
			}
		}
		return n, true
	}
	switch name {
	case "read":
		return source.Read, true
	case "quarantined":
		return source.Quarantined, true
	case "counted":
		return step.Counted, true
	case "late":
		return step.Late, true
	case "no_window":
		return step.NoWindow, true
	case "filtered", "missing_key":
		return step.Filtered, true
	case "counted_closed":
		return step.Fired, true
	case "in_open_windows":
		return step.Open, true
	case "bad_timestamp":
		return reasons("bad_time", "missing_time")
	case "bad_json":
		// Of a followed job the output is not published before its end: the ledger tells.
		if len(got.bad) == 0 {
			return source.Bad, true
		}
		return reasons("invalid_json")
	case "bad_number":
		return reasons("out_of_range")
	case "wrong_type":
		return reasons("wrong_type")
	case "not_an_object": // null is one for us
		all, _ := reasons("wrong_type")
		for _, b := range got.bad {
			if b["raw"] == "null" {
				all--
			}
		}
		return all, true
	}
	return 0, false
}

// Cases whose lines are fed by the clock, or that end by a drain, run by hand.
func TestCasesThatNeedAClockAndAnEnd(t *testing.T) {
	job := `
version: 1
job: cases
sources:
  in:
    file: {path: "in-*.jsonl", follow: true}
    format: json
    schema: {k: string, v: float64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, emit: record, idle_timeout: 2s}
steps:
  s: {from: in, key: [k], WINDOW, on_error: dead_letter, aggregates: {count: {function: count}, sum: {function: sum, columns: {value: v}}}}
sinks:
  out: {from: s, file: {path: out.jsonl}}
`
	for _, c := range []struct{ id, window, steps string }{
		// C05: five seconds pass between lines 3 and 4, so that split 1 is idle.
		{"C05-idle-partition-comes-back-old", "window: {tumbling: 10s}", `
  - {split: p0, records: [LINE0]}
  - {split: p1, records: [LINE1]}
  - {split: p0, records: [LINE2]}
  - {clock: +5s, expect: {rows: [{key: {k: a}, window: {start: 1704067200000, end: 1704067210000}, value: {count: 2}}]}}
  - {split: p1, records: [LINE3], expect: {late: [{split: p1, line: 2, window: {start: 1704067200000}, record: {ts: 1704067203000}}]}}
  - {end_of_input: true, expect: {rows: [{key: {k: a}, window: {start: 1704067220000, end: 1704067230000}, value: {count: 1}}]}}
`},
		// C39: a line each 300 ms. A pane's delay runs from its first record: it fires 2 s
		// behind lines 1 and 8 (at 2.1 s), so at 2 s with 7 lines and at 4.1 s with 7 more, and at 6.2 s
		// with the last six.
		{"C39-processing-time-trigger-steady-input", "window: {global: {}}, trigger: {purging: {processing_timeout: {trigger: never, after: 2s}}}", "EACH300MS" + `
  - {clock: +5s, expect: {rows: [{value: {count: 7}}, {value: {count: 7}}, {value: {count: 6}}]}}
`},
		// C51: the record that takes the sum out of its range is set aside with the reason,
		// and the window's result is that of the others.
		{"C51-sum-overflow-output", "window: {tumbling: 10s}", `
  - {records: [LINE0, LINE1], expect: {failed: [{line: 2, key: {k: a}, window: {start: 1704067200000}}]}}
  - {end_of_input: true, expect: {rows: [{value: {count: 1, sum: 1.7e308}}]}}
`},
	} {
		steps := c.steps
		for _, f := range readCases(t) {
			if f.ID != c.id {
				continue
			}
			each := ""
			for i, l := range f.Lines {
				quoted := "'" + l + "'"
				each += "\n  - {records: [" + quoted + "]}\n  - {clock: +300ms}"
				steps = strings.ReplaceAll(steps, fmt.Sprintf("LINE%d", i), quoted)
			}
			steps = strings.ReplaceAll(steps, "EACH300MS", each)
		}
		dir := workspace(t, map[string]string{"job.yaml": strings.Replace(job, "WINDOW", c.window, 1),
			"job.test.yaml": "version: 1\njob: job.yaml\ntests:\n- name: t\n  steps:\n" + steps})
		if out, stderr, code := tidemark(t, dir, "", "test", "job.test.yaml"); code != 0 {
			t.Errorf("%s: exit code %d\n%s%s", c.id, code, out, stderr)
		}
	}
}

// C58: the first 15 bytes of line 2 are no record, and no error, until the rest is there.
func TestAHalfWrittenLineWaitsForItsEnd(t *testing.T) {
	const id = "C58-half-written-line"
	all := readCases(t)
	c := all[slices.IndexFunc(all, func(c caseFile) bool { return c.ID == id })]
	dir := t.TempDir()
	file := filepath.Join(dir, "in-0.jsonl")
	first := c.Lines[0] + "\n" + c.Lines[1][:15]
	if err := os.WriteFile(file, []byte(first), 0o644); err != nil {
		t.Fatal(err)
	}
	// There is no drain: the window stays open, with all three.
	var appended time.Duration
	got := runCase(t, dir, c.yaml(t, 1, 1024), true, func(r *engine.Report, _ int, elapsed time.Duration) bool {
		s := r.Sources[0]
		if appended == 0 && s.Read == 1 && elapsed > time.Second {
			appended = elapsed
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(c.Lines[1][15:] + "\n" + c.Lines[2] + "\n")
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Error(err)
			}
		}
		return s.Read >= 3 && len(r.Balance()) == 0
	})
	if s, l := got.report.Sources[0], got.report.Steps[0].Inputs[0]; got.err != nil || s.Read != 3 || s.Bad != 0 || l.Counted != 3 || l.Open != 3 {
		t.Errorf("%v: source %+v, step %+v", got.err, s, l)
	}
}

// C68: text that YAML takes for a number is refused with what to write, and never changed;
// what is taken stays as it is written. (The name of a job begins with a letter, so that
// none looks like a number: one of digits is refused.)
func TestTextOfAJobFileStaysText(t *testing.T) {
	for _, text := range []string{"0000017", "NO", "1.10", "off", "1e3"} {
		for _, written := range []string{text, `"` + text + `"`} {
			yaml := strings.Replace(countJob, "stdout: {}", "file: {path: "+written+"}", 1)
			dir := workspace(t, map[string]string{"job.yaml": yaml, "in.jsonl": sequence})
			_, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
			_, err := os.Stat(filepath.Join(dir, text))
			taken := code == 0 && err == nil
			refused := code == 2 && strings.Contains(stderr, `write "`+text+`"`) && written == text
			if !taken && !refused {
				t.Errorf("%s: exit code %d, %v\n%s", written, code, err, stderr)
			}
		}
	}
}
