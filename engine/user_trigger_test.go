package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
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

// tally is a trigger that stands for a plug-in: it fires at every n-th record, as the
// built-in count does; a record with v = 13 is refused.
type tally struct{ n int64 }

func (tally) Info() udf.TriggerInfo {
	return udf.TriggerInfo{Name: "tally", Inputs: []udf.Input{{Name: "value", Kind: stream.Int64}}, Merges: true}
}

func (t tally) Decide(in *udf.TriggerOps, out *udf.Decisions) error {
	for i := range in.Ops {
		op, count := &in.Ops[i], func(state []byte) uint64 {
			return binary.LittleEndian.Uint64(append(slices.Clone(state), make([]byte, 8)...))
		}
		n := count(in.States.Get(i))
		switch op.What {
		case udf.OnElement:
			if in.Records.Columns.Cols[in.Records.Cols[0]].Ints[op.Row] == 13 {
				return &udf.Failure{Op: i, Module: "tally", Message: "unlucky"}
			}
			if n++; int64(n) >= t.n {
				n, out.Verdict[i] = 0, udf.VerdictFire
			}
		case udf.OnMerge:
			n += count(in.States.Data[op.From])
		default:
			continue
		}
		in.States.Set(i, binary.LittleEndian.AppendUint64(nil, n))
	}
	return nil
}

func (tally) Close() error { return nil }

// tallies makes them.
type tallies struct {
	nativePlugins
	builtins
}

func (tallies) Plugin(*job.Plugin) (job.FunctionInfo, error) {
	return job.FunctionInfo{Kind: job.TriggerKind, Inputs: []job.Input{{Name: "value", Kinds: []stream.Kind{stream.Int64}}},
		Params: []job.Param{{Name: "n", Kind: stream.Int64, Required: true}}, Trigger: &job.TriggerInfo{Merges: true}}, nil
}

func (tallies) Trigger(_ context.Context, p *job.Plugin, t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error) {
	if p.Name != "tally" || !slices.Equal(kinds, []stream.Kind{stream.Int64}) {
		return nil, fmt.Errorf("asked for %s over %v", p.Name, kinds)
	}
	return tally{t.Args[0].Int}, nil
}

const tallyJob = `
version: 1
job: t
plugins: {tally: {file: tally.wasm}}
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s}
steps:
  s: {from: in, key: [k], window: WINDOW, trigger: TRIGGER, aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}, on_error: ON_ERROR}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

// tallied is how a job file asks for a tally of n.
func tallied(n int) string {
	return fmt.Sprintf("{plugin: tally, columns: {value: v}, args: {n: %d}}", n)
}

// runTally runs tallyJob, and returns its rows and what is in the failed output.
func runTally(t *testing.T, window, trigger, onError string, files map[string]string, set ...string) (rows []string, failed string, report engine.Report, err error) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "tally.wasm", "") // the resolver does not look into it
	for name, text := range files {
		write(t, dir, name, text)
	}
	yaml := strings.NewReplacer("WINDOW", window, "TRIGGER", trigger, "ON_ERROR", onError).Replace(tallyJob)
	if !strings.Contains(trigger, "plugin") {
		yaml = strings.Replace(yaml, "plugins: {tally: {file: tally.wasm}}", "", 1)
	}
	if onError == "dead_letter" {
		yaml += "  failed: {from: s.failed, file: {path: out/failed.jsonl}}\n"
	}
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: tallies{}, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: &out, FirstStart: time.Now(), Plugins: tallies{}})
	if err != nil {
		t.Fatal(err)
	}
	report, err = j.Run(t.Context())
	if b := report.Balance(); err == nil && len(b) > 0 {
		t.Errorf("the ledger does not add up: %v", b)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "out/failed.jsonl"))
	rows = strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(rows)
	return rows, string(text), report, err
}

// A plug-in that fires as a built-in trigger does gives its rows, at any batch size and
// parallelism, whether records that are refused are set aside or not.
func TestTriggersOfAPlugIn(t *testing.T) {
	files := map[string]string{}
	for f := range 2 {
		var in strings.Builder
		for i := range 150 {
			in.WriteString(record([]string{"a", "b", "c"}[(i*31+f)%3], 40_000+i*100+(i*7919+f*13)%14_000, i%11+20))
		}
		files[fmt.Sprintf("in-%d.jsonl", f)] = in.String()
	}
	for _, c := range []struct{ window, trigger, builtin string }{
		{"{tumbling: 5s, allowed_lateness: 3s}", tallied(3), "{count: 3}"},
		{"{tumbling: 5s}", "{purging: " + tallied(4) + "}", "{purging: {count: 4}}"},
		{"{tumbling: 5s}", "{processing_timeout: {after: 1d, trigger: " + tallied(4) + "}}", "{processing_timeout: {after: 1d, trigger: {count: 4}}}"},
		{"{sliding: {size: 10s, slide: 1s}}", tallied(20), "{count: 20}"}, // windows share slices
		{"{session: 1s, allowed_lateness: 5s}", tallied(3), "{count: 3}"},
		{"{global: {}}", tallied(7), "{count: 7}"},
	} {
		t.Run(c.window, func(t *testing.T) {
			want, _, report, err := runTally(t, c.window, c.builtin, "fail", files)
			if err != nil || len(want) < 5 {
				t.Fatalf("%v, %d rows", err, len(want))
			}
			for _, s := range [][2]int{{1024, 1}, {1, 1}, {7, 3}} {
				for _, onError := range []string{"fail", "dead_letter"} {
					got, _, r, err := runTally(t, c.window, c.trigger, onError, files, fmt.Sprint("settings.batch.rows=", s[0]), fmt.Sprint("parallelism=", s[1]))
					if err != nil || !slices.Equal(got, want) || r.Steps[0].Inputs[0] != report.Steps[0].Inputs[0] {
						t.Errorf("batches of %d, parallelism %d, %s: %v, ledger %+v, want %+v\n%s\nwant\n%s", s[0], s[1], onError, err, r.Steps[0].Inputs[0], report.Steps[0].Inputs[0], strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
			}
		})
	}
}

func TestARecordThatATriggerRefuses(t *testing.T) {
	const window = "{session: 1s}"
	in := record("a", 1000, 1) + record("a", 2500, 1) + record("a", 1800, 13) + record("a", 1800, 2)
	files := map[string]string{"in.jsonl": in}
	// The third record would make one session of the two, and leaves no trace; the fourth does.
	got, failed, report, err := runTally(t, window, tallied(3), "dead_letter", files)
	want := `"window":{"start":1000,"end":3500},"kind":"early","revision":0,"value":{"n":3,"sum":4}}`
	if err != nil || len(got) != 1 || !strings.HasSuffix(got[0], want) {
		t.Errorf("%v, got %v, want %s", err, got, want)
	}
	if l := report.Steps[0].Inputs[0]; l.Failed != 1 || l.Counted != 3 {
		t.Errorf("ledger %+v", l)
	}
	if !strings.Contains(failed, `"line":3`) || !strings.Contains(failed, `"message":"plug-in tally refused: unlucky","plugin":"tally"`) {
		t.Errorf("failed: %s", failed)
	}
	_, _, _, err = runTally(t, window, tallied(3), "fail", files)
	if want := "record in.jsonl:3 in window 1970-01-01T00:00:01.000Z to 1970-01-01T00:00:03.500Z: plug-in tally refused: unlucky"; !errors.Is(err, fault.ErrGuest) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What validate shows is what is run: a trigger that purges keeps windows from sharing.
func TestPlansWithTriggersOfAPlugIn(t *testing.T) {
	for _, purges := range []bool{false, true} {
		g := &job.Graph{}
		st := &job.Step{ID: "s", Window: &job.Window{Kind: job.Sliding, Time: job.EventTime, Size: 10 * time.Second, Slide: time.Second}, Trigger: &job.Trigger{Kind: job.TriggerPlugin, Plugin: "tally", MayPurge: purges},
			Aggregates: []job.Aggregate{{Name: "n", Function: "count", AnyOrder: true, Fixed: true}}}
		want := "slice"
		if purges {
			want = "pane"
		}
		if c := engine.PlanOf(g, st); string(c.Contents) != want {
			t.Errorf("purges %v: contents %s, want %s: %s", purges, c.Contents, want, c.Reason)
		}
	}
}
