package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
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

// pace is a generator that stands for a plug-in. It says what built-in ones say, from a
// state that is the highest time seen; a record with v = 13 is refused, and the first call
// with one of v = 14 breaks down.
type pace struct {
	say  func(ts, high stream.Time, k string) stream.Time
	worn bool
}

func (*pace) Info() udf.GeneratorInfo {
	return udf.GeneratorInfo{Inputs: []udf.Input{{Name: "k", Kind: stream.String, Nullable: true}, {Name: "v", Kind: stream.Int64, Nullable: true}}}
}

func (p *pace) Records(in *udf.Timed, own []byte, wm []stream.Time) ([]byte, error) {
	high := stream.MinTime
	if len(own) > 0 {
		high = stream.Time(binary.LittleEndian.Uint64(own))
	}
	for i, ts := range in.Time {
		high = max(high, ts)
		switch v := in.Columns.Cols[in.Cols[1]].Ints[i]; {
		case v == 13:
			return nil, &udf.Failure{Op: i, Module: "pace", Message: "unlucky"}
		case v == 14 && !p.worn:
			p.worn = true
			return nil, &udf.Failure{Op: i, Trap: true, Module: "pace", Message: "unreachable"}
		}
		wm[i] = p.say(ts, high, string(in.Columns.Cols[in.Cols[0]].Strs[i].Bytes(in.Columns.Blob)))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(high)), nil
}

func (p *pace) Tick(now stream.Time, own []byte) (stream.Time, []byte, error) {
	return stream.MaxTime, own, nil // it is not believed that much
}

func (*pace) Close() error { return nil }

// pacer makes generators.
type pacer struct {
	nativePlugins
	builtins
	fn *pace
}

func (pacer) Plugin(*job.Plugin) (job.FunctionInfo, error) {
	return job.FunctionInfo{Kind: job.GeneratorKind, Inputs: []job.Input{{Name: "k", Kinds: []stream.Kind{stream.String}}, {Name: "v", Kinds: []stream.Kind{stream.Int64}}}}, nil
}

func (p pacer) Generator(context.Context, *job.Plugin, *job.Watermark, []stream.Kind) (udf.Generator, error) {
	return p.fn, nil
}

const paceJob = `
version: 1
job: t
PLUGINS
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {WATERMARK}
steps:
  s: {from: in, key: [k], window: {tumbling: 5s, allowed_lateness: 3s}, aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

const pacePlugin = "plugin: pace, columns: {k: k, v: v}"

// runPace runs paceJob with a generator of its own, or, without fn, a built-in one.
func runPace(t *testing.T, fn *pace, watermark string, files map[string]string, set ...string) ([]string, engine.Report, error) {
	t.Helper()
	dir := t.TempDir()
	files = maps.Clone(files)
	files["pace.wasm"] = "" // the resolver does not look into it
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	yaml, host := strings.Replace(paceJob, "WATERMARK", watermark, 1), pacer{fn: fn}
	if fn != nil {
		yaml = strings.Replace(yaml, "PLUGINS", "plugins: {pace: {file: pace.wasm}}", 1)
	} else {
		yaml = strings.Replace(yaml, "PLUGINS\n", "", 1)
	}
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: host, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: &out, FirstStart: time.Now(), Plugins: host})
	if err != nil {
		t.Fatal(err)
	}
	report, err := j.Run(t.Context())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(lines)
	if b := report.Balance(); err == nil && len(b) > 0 {
		t.Errorf("the ledger does not add up: %v", b)
	}
	return lines, report, err
}

// A plug-in that says what a built-in generator says gives its rows, at any batch size and
// parallelism: the watermark stands behind the same record.
func TestWatermarksOfAPlugIn(t *testing.T) {
	files := map[string]string{}
	for f := range 3 {
		var in strings.Builder
		for i := range 200 {
			in.WriteString(record([]string{"a", "b", "mark"}[(i*31+f)%3], 40_000+i*100+(i*7919+f*13)%14_000, i%11+20))
		}
		files[fmt.Sprintf("in-%d.jsonl", f)] = in.String()
	}
	for _, c := range []struct {
		name, builtin string
		say           func(ts, high stream.Time, k string) stream.Time
	}{
		{"a bound", "out_of_orderness: 2s", func(ts, high stream.Time, _ string) stream.Time { return high - 2000 - 1 }},
		{"what falls says nothing", "out_of_orderness: 2s", func(ts, _ stream.Time, _ string) stream.Time { return ts - 2000 - 1 }},
		{"markers", "marker: k == 'mark'", func(ts, _ stream.Time, k string) stream.Time {
			if k == "mark" {
				return ts
			}
			return stream.MinTime
		}},
		{"every tenth record", "out_of_orderness: 2s, emit: {every: 10}", func(ts, high stream.Time, _ string) stream.Time { return high - 2000 - 1 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, report, err := runPace(t, nil, c.builtin, files)
			if l := report.Steps[0].Inputs[0]; err != nil || l.Late == 0 || l.LateAccepted == 0 {
				t.Fatalf("%v: %+v", err, l)
			}
			watermark := pacePlugin
			if at := strings.Index(c.builtin, ", emit"); at > 0 {
				watermark += c.builtin[at:]
			}
			for _, s := range [][2]int{{1024, 1}, {1, 1}, {7, 3}} {
				got, r, err := runPace(t, &pace{say: c.say}, watermark, files, fmt.Sprint("settings.batch.rows=", s[0]), fmt.Sprint("parallelism=", s[1]))
				if err != nil || !slices.Equal(got, want) || r.Steps[0].Inputs[0] != report.Steps[0].Inputs[0] {
					t.Errorf("batches of %d, parallelism %d: %v, ledger %+v\n%s\nwant\n%s", s[0], s[1], err, r.Steps[0].Inputs[0], strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// Whatever it claims, time is not further than what was seen, and does not end.
func TestAWatermarkAheadOfAllTimesIsNotBelieved(t *testing.T) {
	files := map[string]string{"in.jsonl": record("a", 1000, 1) + record("a", 4000, 2) + record("a", 3000, 3) + record("a", 9000, 4) + record("a", 8000, 5)}
	want, _, err := runPace(t, &pace{say: func(_, high stream.Time, _ string) stream.Time { return high }}, pacePlugin, files)
	if err != nil {
		t.Fatal(err)
	}
	got, report, err := runPace(t, &pace{say: func(stream.Time, stream.Time, string) stream.Time { return stream.MaxTime }}, pacePlugin, files)
	if l := report.Steps[0].Inputs[0]; err != nil || !slices.Equal(got, want) || l.Late != 0 || l.Behind != 2 {
		t.Errorf("%v, %+v\n%s\nwant\n%s", err, l, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestARecordThatAGeneratorRefusesEndsTheJob(t *testing.T) {
	bound := func(ts, _ stream.Time, _ string) stream.Time { return ts - 1 }
	files := map[string]string{"in.jsonl": record("a", 1000, 1) + "nonsense\n" + record("a", 2000, 13)}
	_, _, err := runPace(t, &pace{say: bound}, pacePlugin, files)
	if want := "source in: split in.jsonl: line 3: watermark: plug-in pace refused: unlucky"; !errors.Is(err, fault.ErrGuest) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	// One that breaks down is tried once more, on a fresh instance.
	files["in.jsonl"] = record("a", 1000, 1) + record("a", 2000, 14)
	if got, _, err := runPace(t, &pace{say: bound}, pacePlugin, files); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
