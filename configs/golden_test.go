package configs_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/engine"
	"tidemark/host/controller"
	"tidemark/internal/env"
)

// The example jobs give exactly the rows, late rows and counters that an independent
// computation gives (expected/README.md), at any batch size and parallelism.

// goldenCase is an entry of expected/cases.json.
type goldenCase struct {
	Config   string `json:"config"`
	Data     string `json:"data"`
	Source   string `json:"source"`
	Step     string `json:"step"`
	Complete bool   `json:"complete"`
	Splits   int    `json:"splits"`
	Results  string `json:"results"`
	Late     string `json:"late"` // empty: no late rows
	// Sides are the rows of side outputs, by the name of the sink that writes one.
	Sides  map[string]string `json:"sides"`
	Ledger map[string]int64  `json:"ledger"`
}

func (c goldenCase) name() string {
	name := strings.TrimSuffix(c.Config, ".yaml")
	if c.Complete {
		name += "/complete"
	} else {
		name += "/bounds"
	}
	return fmt.Sprintf("%s/%d_files", name, c.Splits)
}

// shape is a way to run a job that must not change its rows.
type shape struct{ batch, parallelism int }

// shapes are all ways for small inputs; for large ones each batch size and each
// parallelism occurs once.
var (
	allShapes = []shape{{1, 1}, {1, 2}, {1, 4}, {7, 1}, {7, 2}, {7, 4}, {1024, 1}, {1024, 2}, {1024, 4}}
	fewShapes = []shape{{1, 4}, {7, 2}, {1024, 1}}
)

// largeRecords is where an input counts as large.
const largeRecords = 10_000

func TestExamplesGiveTheExpectedRows(t *testing.T) {
	plugins := buildPlugins(t)
	modules := openModules(t)
	for _, c := range goldenCases(t) {
		t.Run(c.name(), func(t *testing.T) {
			shapes := allShapes
			if c.Ledger["read"] >= largeRecords {
				shapes = fewShapes
			}
			dir := t.TempDir()
			yaml := c.prepare(t, dir, plugins)
			for _, s := range shapes {
				t.Run(fmt.Sprintf("batch_%d_parallelism_%d", s.batch, s.parallelism), func(t *testing.T) {
					c.check(t, dir, yaml, s, modules)
				})
			}
		})
	}
}

func goldenCases(t *testing.T) (cases []goldenCase) {
	t.Helper()
	raw, err := os.ReadFile("expected/cases.json")
	if err == nil {
		err = json.Unmarshal(raw, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// check runs the job and compares its rows, late rows and counters.
func (c goldenCase) check(t *testing.T, dir string, yaml []byte, s shape, modules controller.Modules) {
	t.Helper()
	wantResults, wantLate := expectedRows(t, c.Results), rows{}
	if c.Late != "" {
		wantLate = expectedRows(t, c.Late)
	}
	report := c.run(t, dir, yaml, s, modules)
	out := filepath.Join(dir, "out", strings.TrimSuffix(c.Config, ".yaml"))
	if d := differences(wantResults, readRowFile(t, filepath.Join(out, "results.jsonl"), false)); d != "" {
		t.Errorf("results differ:\n%s", d)
	}
	for name, want := range c.Sides {
		if d := differences(expectedRows(t, want), readRowFile(t, filepath.Join(out, name+".jsonl"), false)); d != "" {
			t.Errorf("%s differ:\n%s", name, d)
		}
	}
	late := filepath.Join(out, "late.jsonl") // where the job has a sink for it
	if _, err := os.Stat(late); err != nil {
		late = filepath.Join(out, c.Step+".late.jsonl")
	}
	if d := differences(wantLate, readRowFile(t, late, true)); d != "" {
		t.Errorf("late rows differ:\n%s", d)
	}
	c.checkLedger(t, report)
}

// prepare lays out a directory in which the job runs: its data, in as many files as
// the case says, and the job file pointed to them and to the plug-ins. The job file
// is returned.
func (c goldenCase) prepare(t *testing.T, dir, plugins string) []byte {
	t.Helper()
	yaml, err := os.ReadFile(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	yaml = bytes.ReplaceAll(yaml, []byte("../bin/plugins/"), []byte(plugins+"/"))
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	compressed, err := os.ReadFile("data/" + c.Data)
	if err != nil {
		t.Fatal(err)
	}
	if c.Splits == 1 {
		writeFile(t, filepath.Join(dir, "data", c.Data), compressed)
		return yaml
	}
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	stem, suffix, _ := strings.Cut(strings.TrimSuffix(c.Data, ".gz"), ".")
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	header := ""
	if suffix == "csv" {
		header, lines = lines[0], lines[1:]
	}
	for i, part := range roundRobin(lines, c.Splits) {
		writeFile(t, filepath.Join(dir, "data", fmt.Sprintf("%s-%d.%s", stem, i, suffix)), []byte(header+strings.Join(part, "")))
	}
	return bytes.ReplaceAll(yaml, []byte("data/"+c.Data), fmt.Appendf(nil, "data/%s-*.%s", stem, suffix))
}

// roundRobin deals lines out to n parts, line i to part i mod n.
func roundRobin(lines []string, n int) [][]string {
	parts := make([][]string, n)
	for i, line := range lines {
		parts[i%n] = append(parts[i%n], line)
	}
	return parts
}

// run runs the job the way `tidemark run` does.
func (c goldenCase) run(t *testing.T, dir string, yaml []byte, s shape, modules controller.Modules) engine.Report {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	machine := env.Real()
	loaded, err := controller.Load(t.Context(), controller.LoadRequest{
		YAML: yaml, Name: c.Config, Dir: dir, Machine: machine, Modules: modules,
		Set: []string{fmt.Sprintf("settings.batch.rows=%d", s.batch), fmt.Sprintf("parallelism=%d", s.parallelism)},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := loaded.Run(t.Context(), controller.NewLife(nil), controller.RunOptions{
		FirstStart: machine.Clock.Now(), Complete: c.Complete,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// checkLedger compares every counter, by its name in JSON.
func (c goldenCase) checkLedger(t *testing.T, report engine.Report) {
	t.Helper()
	if len(report.Sources) != 1 || len(report.Steps) != 1 || len(report.Steps[0].Inputs) != 1 {
		t.Fatalf("the report is not of one source and one step: %+v", report)
	}
	got := map[string]int64{}
	for _, part := range []any{report.Sources[0], report.Steps[0], report.Steps[0].Inputs[0]} {
		raw, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for name, value := range members {
			var n int64
			if json.Unmarshal(value, &n) == nil {
				got[name] = n
			}
		}
	}
	for name, want := range c.Ledger {
		if n, there := got[name]; !there || n != want {
			t.Errorf("ledger: %s is %d, want %d", name, n, want)
		}
	}
	if panes := report.Steps[0].Panes; panes != 0 {
		t.Errorf("%d panes are left at the end", panes)
	}
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
