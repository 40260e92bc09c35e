package engine_test

import (
	"bytes"
	"context"
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

// splitter is a function of single records that stands for a plug-in: of a record with v it
// makes v%3 records whose v is v/3, and whose part counts them. It refuses 13, always breaks
// down at 14, and once at 15.
type splitter struct{ worn *bool }

func (splitter) Info() udf.MapInfo {
	return udf.MapInfo{Inputs: []udf.Input{{Name: "v", Kind: stream.Int64}}, Outputs: []stream.Field{{Name: "v", Kind: stream.Int64}, {Name: "part", Kind: stream.String}}}
}

func (s splitter) Call(rows *udf.Rows, out *udf.Emitted) error {
	for i, row := range rows.Sel {
		v := rows.Batch.Cols[rows.Cols[0]].Ints[row]
		switch {
		case v == 13:
			return &udf.Failure{Op: i, Module: "split", Message: "unlucky"}
		case v == 14, v == 15 && !*s.worn:
			*s.worn = *s.worn || v == 15
			return &udf.Failure{Op: -1, Trap: true, Module: "split", Message: "unreachable"}
		}
		for part := range v % 3 {
			text := fmt.Sprint("p", part)
			out.Cols[0].AppendInt(v / 3)
			out.Cols[1].AppendStr(stream.Str{Off: uint32(len(out.Blob)), Len: uint32(len(text))})
			out.Blob = append(out.Blob, text...)
			out.Of = append(out.Of, uint32(i))
		}
	}
	return nil
}

func (splitter) Close() error { return nil }

// mapHost makes splitters.
type mapHost struct {
	nativePlugins
	builtins
}

func (mapHost) Plugin(*job.Plugin) (job.FunctionInfo, error) {
	return job.FunctionInfo{Kind: job.MapKind, Inputs: []job.Input{{Name: "v", Kinds: []stream.Kind{stream.Int64}}}, Outputs: splitter{}.Info().Outputs}, nil
}

func (mapHost) Map(context.Context, *job.Plugin, *job.Map, []stream.Kind) (udf.Map, error) {
	return splitter{new(bool)}, nil
}

const mapJob = `
version: 1
job: t
PLUGINS
sources:
  in: {file: {path: "in*.jsonl"}, format: json, schema: {k: string, v: int64SCHEMA}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 1s}}
steps:
  m: {from: in, STEP}
  s: {from: m, key: [k, part], window: {tumbling: 5s}, aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

func runMap(t *testing.T, yaml string, files map[string]string, set ...string) ([]string, engine.Report, error) {
	t.Helper()
	dir := t.TempDir()
	files = maps.Clone(files)
	files["split.wasm"] = "" // the resolver does not look into it
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	machine, host := env.Real(), mapHost{}
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
	for i, l := range lines { // ids are of a job's graph
		lines[i] = l[max(0, strings.Index(l, `"key"`)):]
	}
	slices.Sort(lines)
	if b := report.Balance(); err == nil && len(b) > 0 {
		t.Errorf("the ledger does not add up: %v", b)
	}
	return lines, report, err
}

// What a function makes of records is what a file would have held that had its records in
// place of them, at any batch size and parallelism.
func TestAFunctionOfSingleRecords(t *testing.T) {
	files, made := map[string]string{}, map[string]string{}
	none, failed := 0, 0
	for f := range 2 {
		var in, out strings.Builder
		for i := range 300 {
			k, ts, v := fmt.Sprint("k", i%3), 20_000+i*100+(i*7919+f*13)%3000, i%20
			in.WriteString(record(k, ts, v))
			switch {
			case v == 13 || v == 14:
				failed++
			case v%3 == 0:
				none++
				// A record that is dropped moves time all the same.
				fmt.Fprintf(&out, `{"ts":%d,"k":"gone","v":0,"part":"p"}`+"\n", ts)
				continue
			}
			if v == 13 || v == 14 {
				fmt.Fprintf(&out, `{"ts":%d,"k":"gone","v":0,"part":"p"}`+"\n", ts)
				continue
			}
			for part := range v % 3 {
				fmt.Fprintf(&out, `{"ts":%d,"k":%q,"v":%d,"part":"p%d"}`+"\n", ts, k, v/3, part)
			}
		}
		files[fmt.Sprintf("in-%d.jsonl", f)], made[fmt.Sprintf("in-%d.jsonl", f)] = in.String(), out.String()
	}
	plain := strings.NewReplacer("PLUGINS\n", "", "SCHEMA", ", part: string", "STEP", "filter: k != 'gone'").Replace(mapJob)
	want, _, err := runMap(t, plain, made)
	if err != nil || len(want) < 20 {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	with := strings.NewReplacer("PLUGINS", "plugins: {split: {file: split.wasm}}", "SCHEMA", "", "STEP", "map: {plugin: split, columns: {v: v}}, on_error: dead_letter").Replace(mapJob)
	for _, c := range [][2]int{{1024, 1}, {1, 1}, {7, 3}} {
		got, report, err := runMap(t, with, files, fmt.Sprint("settings.batch.rows=", c[0]), fmt.Sprint("parallelism=", c[1]))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("batches of %d, parallelism %d: %v\n%s\nwant\n%s", c[0], c[1], err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if l := report.Steps[0].Inputs[0]; l.Filtered != int64(none) || l.Failed != int64(failed) || l.Counted != int64(600-none-failed) {
			t.Errorf("ledger %+v, want %d without records and %d refused", l, none, failed)
		}
	}
}

// Fields that the function does not make are carried over, in the order that project gives.
func TestFieldsBesideThoseThatAFunctionMakes(t *testing.T) {
	yaml := strings.NewReplacer("PLUGINS", "plugins: {split: {file: split.wasm}}", "SCHEMA", "",
		"STEP", "map: {plugin: split, columns: {v: v}}, project: [part, k, v]").Replace(mapJob)
	yaml = yaml[:strings.Index(yaml, "  s: ")] + "sinks:\n  out: {from: m, stdout: {}, time_format: ms}\n"
	got, _, err := runMap(t, yaml, map[string]string{"in.jsonl": record("a", 1000, 5) + record("b", 2000, 3) + record("c", 3000, 4)})
	for i, l := range got {
		got[i] = l[strings.Index(l, `"value"`):]
	}
	slices.Sort(got)
	want := []string{`"value":{"part":"p0","k":"a","v":1}}`, `"value":{"part":"p0","k":"c","v":1}}`, `"value":{"part":"p1","k":"a","v":1}}`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestARecordThatAFunctionRefusesEndsTheJob(t *testing.T) {
	yaml := strings.NewReplacer("PLUGINS", "plugins: {split: {file: split.wasm}}", "SCHEMA", "", "STEP", "map: {plugin: split, columns: {v: v}}").Replace(mapJob)
	for v, want := range map[int]string{13: "step m: record in.jsonl:2: plug-in split refused: unlucky", 14: "step m: record in.jsonl:2: plug-in split trapped: unreachable"} {
		_, _, err := runMap(t, yaml, map[string]string{"in.jsonl": record("a", 1000, 5) + record("b", 2000, v) + record("c", 3000, 4)})
		if !errors.Is(err, fault.ErrGuest) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
