package main_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValidatePrintsSettingsWithTheirOrigin(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": countJob, "in.jsonl": sequence})
	stdout, stderr, code := tidemark(t, dir, "", "validate", "job.yaml", "--set", "parallelism=${RATE}")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	plain := strings.Join(strings.Fields(stdout), " ")
	for _, part := range []string{
		"job counts is valid",
		"parallelism ${RATE} --set",
		"sources.in.watermark.out_of_orderness 2s job.yaml:9",
		"sources.in.time.max_future 5m default",
		"s pane native",
		"source in 1 file,",
		"sink in.bad in.bad to memory, the last 100 rows",
	} {
		if !strings.Contains(plain, part) {
			t.Errorf("the output lacks %q:\n%s", part, stdout)
		}
	}
}

func TestValidateAsJSONAndYAML(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": countJob, "in.jsonl": sequence})
	stdout, _, code := tidemark(t, dir, "", "validate", "job.yaml", "-o", "json")
	var v struct {
		Job      string
		Settings []struct{ Key, Value, Origin string }
		Plan     []struct{ Step, Contents string }
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if v.Job != "counts" || len(v.Settings) < 20 || len(v.Plan) != 1 || v.Plan[0].Contents != "pane" {
		t.Errorf("got %+v", v)
	}
	stdout, _, code = tidemark(t, dir, "", "validate", "job.yaml", "-o", "yaml")
	if code != 0 || !strings.HasPrefix(stdout, "job: counts\nsettings:\n") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func TestValidateSaysWhatOverlappingWindowsCost(t *testing.T) {
	rows := []struct{ window, functions, contents, cost string }{
		{"{sliding: {size: 60s, slide: 1s}}", "{n: {function: count}}", "slice", "a record touches one"},
		{"{sliding: {size: 60s, slide: 1s}}", "{n: {function: last, columns: {value: v}}}", "pane", "a record touches 60; the trigger is called 60 times for each record"},
		{"{sliding: {size: 60s, slide: 7s}, time: processing}", "{n: {function: count}}", "pane", "a record touches 9;"},
		{"{tumbling: 60s}", "{n: {function: count}}", "pane", "a record touches one"},
		{"{sliding: {size: 60s, slide: 1s}}\n    trigger: {continuous: 10s}", "{n: {function: count}}", "slice", "a record touches one; the trigger is called 60 times for each record"},
		{"{sliding: {size: 60s, slide: 1s}}\n    trigger: {count: 100}", "{n: {function: count}}", "slice", "a record touches one; the trigger is called 60 times for each record"},
		{"{sliding: {size: 60s, slide: 1s}}\n    trigger: {count: 3}", "{n: {function: count}}", "pane", "a record touches 60; the trigger is called 60 times for each record"},
		{"{sliding: {size: 60s, slide: 1s}}\n    trigger: {count: 3}\n    on_error: dead_letter", "{n: {function: count}}", "slice", "a record touches one"},
		{"{sliding: {size: 60s, slide: 1s}}\n    trigger: {purging: {count: 100}}", "{n: {function: count}}", "pane", "a record touches 60"},
		{"{sliding: {size: 60s, slide: 20s}}\n    trigger: {count: 100}", "{n: {function: count}}", "pane", "a record touches 3"},
		{"{session: 30s, allowed_lateness: 1m}", "{n: {function: count}}", "pane", "one accumulator for each key and open window; a record touches one"},
		{"{session: 30s}\n    trigger: {count: 3}", "{n: {function: count}}", "pane", "a record touches 1; the trigger is called once for each record"},
		{"{session: 30s}", "{n: {function: count}, all: {function: list, columns: {value: v}}}", "elements", "each record in 1 window"},
		{"{count: {size: 100, slide: 10}}", "{n: {function: count}}", "slice", "a record touches one; the trigger is called once for each record"},
		{"{count: {size: 100, slide: 10}}", "{n: {function: count}, all: {function: list, columns: {value: v}}}", "elements", "each record in 1 window"},
	}
	for _, row := range rows {
		src := strings.NewReplacer("{tumbling: 5s, allowed_lateness: 4s}", row.window, "{n: {function: count}}", row.functions).Replace(countJob)
		dir := workspace(t, map[string]string{"job.yaml": src, "in.jsonl": sequence})
		stdout, stderr, code := tidemark(t, dir, "", "validate", "job.yaml", "-o", "json")
		var v struct {
			Plan []struct{ Contents, Cost string }
		}
		if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
		}
		if len(v.Plan) != 1 || v.Plan[0].Contents != row.contents || !strings.Contains(v.Plan[0].Cost, row.cost) {
			t.Errorf("%s: got %+v", row.window, v.Plan)
		}
	}
}

func TestAllProblemsOfAJobAreShownAtOnce(t *testing.T) {
	src := strings.NewReplacer("2s", "2", "tumbling: 5s", "tumblin: 5s", "function: count", "function: cuont").Replace(countJob)
	dir := workspace(t, map[string]string{"job.yaml": src, "in.jsonl": sequence})
	_, stderr, code := tidemark(t, dir, "", "validate", "job.yaml")
	want := `job.yaml:9:35: sources.in.watermark.out_of_orderness must have a unit, is 2; say 2s or 2ms
job.yaml:14:5: steps.s.window must name a kind of window: tumbling, sliding, session, day, count, global or plugin, such as {tumbling: 10s}
job.yaml:14:14: unknown key tumblin in steps.s.window; did you mean tumbling?
job.yaml:15:32: steps.s.aggregates.n.function: there is no function cuont; did you mean count?
tidemark: 4 problems
`
	if code != 2 || stderr != want {
		t.Errorf("exit code %d, got:\n%s\nwant:\n%s", code, stderr, want)
	}
}

func TestVersionIsACommandAndAFlag(t *testing.T) {
	want, _, _ := tidemark(t, t.TempDir(), "", "version")
	got, stderr, code := tidemark(t, t.TempDir(), "", "--version")
	if got != want || code != 0 || stderr != "" || !strings.HasPrefix(got, "tidemark ") {
		t.Errorf("exit code %d, %q, want %q\n%s", code, got, want, stderr)
	}
}

func TestVersionNamesTheABI(t *testing.T) {
	stdout, _, code := tidemark(t, t.TempDir(), "", "version", "-o", "json")
	var v struct {
		Version, Commit, Go string
		ABI                 int
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, stdout)
	}
	if v.Version == "" || v.Commit == "" || !strings.HasPrefix(v.Go, "go1.") || v.ABI != 1 {
		t.Errorf("got %+v", v)
	}
}
