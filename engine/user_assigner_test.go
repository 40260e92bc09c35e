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
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// tiler is a window assigner that stands for a plug-in. As "slides" it gives windows of a
// size that start every slide ms, as "gaps" sessions with the gap of the record. A record
// with v = 13 is refused, one of 14 gets a window without a length.
type tiler struct {
	size, slide stream.Time
	merges      bool
}

func (a tiler) Info() udf.AssignerInfo {
	return udf.AssignerInfo{Name: "tiler", Inputs: []udf.Input{{Name: "value", Kind: stream.Int64}}, Merges: a.merges}
}

func (tiler) Close() error { return nil }

func (a tiler) Assign(rows *udf.Rows, out *udf.Assigned) error {
	for i, row := range rows.Sel {
		c := &rows.Batch.Cols[rows.Cols[0]]
		if c.Null(int(row)) {
			continue
		}
		add := func(start, end stream.Time) {
			out.Windows, out.Of = append(out.Windows, stream.Window{Start: start, End: end}), append(out.Of, uint32(i))
		}
		switch ts, v := rows.Batch.Time[row], c.Ints[row]; {
		case v == 13:
			return &udf.Failure{Op: i, Module: "tiler", Message: "unlucky"}
		case v == 14:
			add(ts, ts)
		case a.merges:
			add(ts, ts+100*stream.Time(v))
		default:
			for start := ts - ts%a.slide; start > ts-a.size; start -= a.slide {
				add(start, start+a.size)
			}
		}
	}
	return nil
}

// tilers makes them.
type tilers struct {
	nativePlugins
	builtins
}

func (tilers) Plugin(p *job.Plugin) (job.FunctionInfo, error) {
	if p.Name == "tally" {
		return tallies{}.Plugin(p)
	}
	info := job.FunctionInfo{Kind: job.AssignerKind, Inputs: []job.Input{{Name: "value", Kinds: []stream.Kind{stream.Int64}}}, Assigner: &job.AssignerInfo{Merges: p.Name == "gaps"}}
	if p.Name == "slides" {
		info.Params = []job.Param{{Name: "size", Kind: stream.Int64, Required: true}, {Name: "slide", Kind: stream.Int64, Required: true}}
	}
	return info, nil
}

func (tilers) Assigner(_ context.Context, p *job.Plugin, w *job.Window, kinds []stream.Kind) (udf.Assigner, error) {
	switch {
	case !slices.Equal(kinds, []stream.Kind{stream.Int64}):
		return nil, fmt.Errorf("asked for %s over %v", p.Name, kinds)
	case p.Name == "gaps":
		return tiler{merges: true}, nil
	}
	return tiler{size: stream.Time(w.Args[0].Int), slide: stream.Time(w.Args[1].Int)}, nil
}

func (tilers) Trigger(ctx context.Context, p *job.Plugin, t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error) {
	return tallies{}.Trigger(ctx, p, t, kinds)
}

// tiledJob has the sources a and b, and one step.
const tiledJob = `
version: 1
job: t
PLUGINS
sources:
  a: {file: {path: "a-*.jsonl"}, format: json, schema: {k: string, v: int64, gap: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 2s}}
B
steps:
  s: STEP
sinks:
  out: {from: s, stdout: {}, time_format: ms}
  late: {from: s.late, file: {path: late.jsonl}, time_format: ms}
`

// runTiled runs tiledJob with a step, and returns its rows, what is late and what has failed.
func runTiled(t *testing.T, step string, files map[string]string, set ...string) (rows, late []string, failed string, report engine.Report, err error) {
	t.Helper()
	dir := t.TempDir()
	var plugins strings.Builder
	for _, name := range []string{"slides", "gaps", "tally"} {
		write(t, dir, name+".wasm", "") // the resolver does not look into it
		if strings.Contains(step, "plugin: "+name) {
			fmt.Fprintf(&plugins, "  %[1]s: {file: %[1]s.wasm}\n", name)
		}
	}
	list := ""
	if plugins.Len() > 0 {
		list = "plugins:\n" + plugins.String()
	}
	b := ""
	if strings.Contains(step, "right: b") {
		b = `  b: {file: {path: "b-*.jsonl"}, format: json, schema: {v: int64, k: string, gap: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 2s}}`
	}
	for name, text := range files {
		write(t, dir, name, text)
	}
	yaml := strings.NewReplacer("PLUGINS", list, "B\n", b+"\n", "STEP", step).Replace(tiledJob)
	if strings.Contains(step, "dead_letter") {
		yaml += "  failed: {from: s.failed, file: {path: failed.jsonl}}\n"
	}
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: tilers{}, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: &out, FirstStart: time.Now(), Plugins: tilers{}})
	if err != nil {
		t.Fatal(err)
	}
	report, err = j.Run(t.Context())
	if b := report.Balance(); err == nil && len(b) > 0 {
		t.Errorf("the ledger does not add up: %v", b)
	}
	lines := func(text string) []string {
		l := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		slices.Sort(l)
		return l
	}
	lateText, _ := os.ReadFile(filepath.Join(dir, "late.jsonl"))
	failedText, _ := os.ReadFile(filepath.Join(dir, "failed.jsonl"))
	return lines(out.String()), lines(string(lateText)), string(failedText), report, err
}

func tiledRecord(k string, at, v, gap int) string {
	return fmt.Sprintf("{\"k\":%q,\"ts\":%d,\"v\":%d,\"gap\":%d}\n", k, at, v, gap)
}

// A plug-in that names the windows of a built-in assigner gives its rows, its late records
// and its ledger, at any batch size and parallelism, whether records that are refused are
// set aside or not.
func TestWindowsOfAPlugIn(t *testing.T) {
	files := map[string]string{}
	for f := range 2 {
		for _, side := range []string{"a", "b"} {
			var in strings.Builder
			for i := range 150 {
				v := i%11 + 20
				in.WriteString(tiledRecord([]string{"a", "b", "c"}[(i*31+f)%3], 40_000+i*100+(i*7919+f*13+len(side))%22_000, v, 100*v))
			}
			files[fmt.Sprintf("%s-%d.jsonl", side, f)] = in.String()
		}
	}
	slides := func(size, slide int) string {
		return fmt.Sprintf("plugin: slides, columns: {value: v}, args: {size: %d, slide: %d}", size, slide)
	}
	const (
		gaps       = "plugin: gaps, columns: {value: v}"
		aggregates = "aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}, all: {function: list, columns: {value: v}}}"
	)
	of := func(window, more string) string {
		return "{from: a, key: [k], window: {" + window + ", allowed_lateness: 3s}, " + aggregates + more + "}"
	}
	join := func(kind, window string) string {
		return "{from: {join: {left: a, right: b, kind: " + kind + "}}, key: [k], window: {" + window + ", allowed_lateness: 3s}}"
	}
	for _, c := range []struct{ name, plugin, builtin string }{
		{"tumbling", of(slides(5000, 5000), ""), of("tumbling: 5s", "")},
		{"sliding", of(slides(10_000, 1000), ""), of("sliding: {size: 10s, slide: 1s}", "")},
		{"sliding with gaps", of(slides(1000, 1500), ""), of("sliding: {size: 1s, slide: 1500ms}", "")},
		{"sessions", of(gaps, ""), of("session: {gap_field: gap}", "")},
		{"with a trigger", of(slides(10_000, 1000), ", trigger: {count: 5}"), of("sliding: {size: 10s, slide: 1s}", ", trigger: {count: 5}")},
		{"with a trigger of a user", of(slides(10_000, 1000), ", trigger: "+tallied(5)), of("sliding: {size: 10s, slide: 1s}", ", trigger: {count: 5}")},
		{"sessions with a trigger of a user", of(gaps, ", trigger: "+tallied(5)), of("session: {gap_field: gap}", ", trigger: {count: 5}")},
		{"with an evictor", of(slides(5000, 5000), ", evictor: {count: 3}"), of("tumbling: 5s", ", evictor: {count: 3}")},
		{"a join", join("window", slides(5000, 5000)), join("window", "tumbling: 5s")},
		{"a join in sessions", join("cogroup", gaps), join("cogroup", "session: {gap_field: gap}")},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, wantLate, _, report, err := runTiled(t, c.builtin, files)
			if err != nil || len(want) < 5 || report.Steps[0].Inputs[0].Late == 0 {
				t.Fatalf("%v, %d rows, ledger %+v", err, len(want), report.Steps[0].Inputs[0])
			}
			for _, s := range [][2]int{{1024, 1}, {1, 1}, {7, 3}} {
				for _, step := range []string{c.plugin, strings.TrimSuffix(c.plugin, "}") + ", on_error: dead_letter}"} {
					got, late, failed, r, err := runTiled(t, step, files, fmt.Sprint("settings.batch.rows=", s[0]), fmt.Sprint("parallelism=", s[1]))
					switch {
					case err != nil || failed != "":
						t.Errorf("batches of %d, parallelism %d: %v, failed %s", s[0], s[1], err, failed)
					case !slices.Equal(got, want):
						t.Errorf("batches of %d, parallelism %d: rows\n%s\nwant\n%s", s[0], s[1], strings.Join(got, "\n"), strings.Join(want, "\n"))
					case !slices.Equal(late, wantLate):
						t.Errorf("batches of %d, parallelism %d: late\n%s\nwant\n%s", s[0], s[1], strings.Join(late, "\n"), strings.Join(wantLate, "\n"))
					case !slices.Equal(r.Steps[0].Inputs, report.Steps[0].Inputs):
						t.Errorf("batches of %d, parallelism %d: ledger %+v, want %+v", s[0], s[1], r.Steps[0].Inputs, report.Steps[0].Inputs)
					}
				}
			}
		})
	}
}

func TestARecordWhoseWindowsAreRefused(t *testing.T) {
	const step = "{from: a, key: [k], window: {plugin: gaps, columns: {value: v}}, aggregates: {n: {function: count}}"
	in := tiledRecord("a", 1000, 10, 0) + tiledRecord("a", 1500, 13, 0) + tiledRecord("a", 1500, 14, 0) + tiledRecord("a", 1900, 10, 0) + `{"k":"a","ts":1800,"v":null,"gap":1}` + "\n"
	files := map[string]string{"a-0.jsonl": in}
	got, _, failed, report, err := runTiled(t, step+", on_error: dead_letter}", files)
	want := `"window":{"start":1000,"end":2900},"kind":"on_time","revision":0,"value":{"n":2}}`
	if err != nil || len(got) != 1 || !strings.HasSuffix(got[0], want) {
		t.Errorf("%v, got %v, want %s", err, got, want)
	}
	if l := report.Steps[0].Inputs[0]; l.Failed != 2 || l.Counted != 2 || l.NoWindow != 1 {
		t.Errorf("ledger %+v", l)
	}
	for _, want := range []string{`"line":2`, `"message":"plug-in tiler refused: unlucky","plugin":"tiler"`, `"line":3`,
		`"message":"plug-in tiler refused: the assigner answers the window [1500, 1500), whose start is not below its end"`, `"window":null`} {
		if !strings.Contains(failed, want) {
			t.Errorf("failed does not have %s: %s", want, failed)
		}
	}
	_, _, _, _, err = runTiled(t, step+"}", files)
	if want := "record a-0.jsonl:2 in no window: plug-in tiler refused: unlucky"; !errors.Is(err, fault.ErrGuest) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What validate shows is what is run.
func TestPlansWithWindowsOfAPlugIn(t *testing.T) {
	for _, merges := range []bool{false, true} {
		st := &job.Step{ID: "s", Window: &job.Window{Kind: job.PluginWindow, Time: job.EventTime, Plugin: "gaps", Columns: []job.Column{{Input: "value", Field: "v"}}, Merges: merges},
			Aggregates: []job.Aggregate{{Name: "n", Function: "count", AnyOrder: true, Fixed: true}}}
		c := engine.PlanOf(&job.Graph{}, st)
		if string(c.Contents) != "pane" || c.Bulk || c.Local || !strings.HasPrefix(c.Reason, "a plug-in says which windows a record is in") {
			t.Errorf("merges %v: %+v", merges, c)
		}
	}
}

// A preview runs no plug-in, and says so instead of "no window".
func TestAPreviewOfWindowsOfAPlugIn(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "gaps.wasm", "")
	write(t, dir, "a-0.jsonl", tiledRecord("a", 1000, 10, 0))
	yaml := strings.NewReplacer("PLUGINS", "plugins: {gaps: {file: gaps.wasm}}", "B\n", "\n", "STEP",
		"{from: a, key: [k], window: {plugin: gaps, columns: {value: v}}, aggregates: {n: {function: count}}}").Replace(tiledJob)
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: tilers{}, Files: machine.FS})
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := engine.Preview(t.Context(), g, engine.Options{Env: machine, FirstStart: time.Now(), Plugins: tilers{}}, 5)
	if err != nil || len(rows) != 1 || len(rows[0].Steps) != 1 {
		t.Fatalf("%v, %+v", err, rows)
	}
	if s := rows[0].Steps[0]; !s.Plugin || s.Windows != 0 || len(s.Key) != 1 || s.Key[0].Value != "a" {
		t.Errorf("got %+v", s)
	}
}
