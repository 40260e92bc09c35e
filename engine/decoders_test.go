package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/sim"
)

// decodersJob shows all that becomes of a record: rows, late, bad and passed records.
const decodersJob = `
version: 1
job: t
settings: {bad_budget: {count: 100000}}
sources:
  in:
    file: {path: "in*"}
    format: {json: {}, max_record: 200B}
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 100ms}
steps:
  pick:
    from: in
    filter: v != 3
  s:
    from: pick
    key: [k]
    window: {tumbling: 1s}
    aggregates: {n: {function: count}, all: {function: list, columns: {value: v}}}
sinks:
  rows: {from: s, stdout: {}}
  late: {from: s.late, stdout: {}}
  bad: {from: in.bad, stdout: {}}
  passed: {from: pick, stdout: {}}
`

func decodersInput(r *rand.Rand, lines int) string {
	var b strings.Builder
	for i := range lines {
		switch r.IntN(40) {
		case 0:
			b.WriteString("rubbish\n")
		case 1:
			fmt.Fprintf(&b, `{"k":"k1","v":1,"ts":"never"}`+"\n")
		case 2:
			fmt.Fprintf(&b, `{"k":"%s","v":1,"ts":%d}`+"\n", strings.Repeat("x", r.IntN(400)), i*10)
		case 3:
			fmt.Fprintf(&b, `{"k":"late","v":1,"ts":%d}`+"\n", max(0, i*10-5000))
		case 4:
			b.WriteString("\n")
		default:
			fmt.Fprintf(&b, `{"k":"k%d","v":%d,"ts":%d}`+"\n", r.IntN(20), r.IntN(5), i*10-r.IntN(150)+150)
		}
	}
	return b.String()
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// runOn runs a job on a machine with so many cores.
func runOn(t *testing.T, dir string, cores int, yaml string, set ...string) ([]string, engine.Report, error) {
	t.Helper()
	machine := env.Real()
	machine.Cores = cores
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: &out, FirstStart: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := j.Run(t.Context())
	rows := strings.Split(out.String(), "\n")
	slices.Sort(rows)
	return rows, report, err
}

// However many decode, of however many files: the same rows, late, bad and passed records,
// with the same lines, and the same counts.
func TestWhatIsReadDoesNotDependOnDecoders(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	for files := 1; files <= 3; files++ {
		dir := t.TempDir()
		for n := range files {
			if text := decodersInput(r, 2500); n == 1 {
				write(t, dir, fmt.Sprintf("in%d.jsonl.gz", n), zipped(t, text))
			} else {
				write(t, dir, fmt.Sprintf("in%d.jsonl", n), text)
			}
		}
		want, counts, err := runOn(t, dir, 0, decodersJob)
		if err != nil || len(want) < 2000*files || counts.Sources[0].Bad < int64(100*files) {
			t.Fatalf("%d rows, %d bad, %v", len(want), counts.Sources[0].Bad, err)
		}
		for _, parallelism := range []int{2, 8} {
			for _, rows := range []int{3, 64, 1024} {
				got, report, err := runOn(t, dir, 8, decodersJob, fmt.Sprintf("parallelism=%d", parallelism), fmt.Sprintf("settings.batch.rows=%d", rows))
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%d files, parallelism %d, batches of %d rows: %d lines of output, want %d; %v", files, parallelism, rows, len(got), len(want), err)
				}
				if got, want := fmt.Sprintf("%+v", report.Sources), fmt.Sprintf("%+v", counts.Sources); got != want {
					t.Errorf("%d files, parallelism %d, batches of %d rows: got\n%s\nwant\n%s", files, parallelism, rows, got, want)
				}
			}
		}
	}
}

// Half a compressed file, and a budget of bad records, end a job with decoders as they do
// without.
func TestWhatEndsAJobDoesSoWithDecoders(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	text := decodersInput(r, 20_000)
	for _, c := range []struct {
		name, file, set, want string
	}{
		{"half a file", zipped(t, text)[:len(zipped(t, text))/2], "parallelism=4", "breaks off in the middle"},
		{"too many bad records", text, "settings.bad_budget.count=50", "records are bad, more than bad_budget allows (50, or 1% of those read); the first: in0:"},
		{"half a file, which reads like bad records", zipped(t, strings.Repeat("rubbish\n", 200)+text)[:20_000], "settings.bad_budget.count=50", "breaks off in the middle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "in0", c.file)
			for _, cores := range []int{0, 4} {
				if _, _, err := runOn(t, dir, cores, decodersJob, "parallelism=4", c.set); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%d cores: got %v", cores, err)
				}
			}
		})
	}
}

// Files that are followed and already long are read by decoders, too, and then as they grow.
func TestFollowedFilesThatAreLongAlready(t *testing.T) {
	const lines, perWindow = 6000, 200
	line := func(i int) string { return fmt.Sprintf(`{"k":"a","ts":%d}`+"\n", t0+i*50) }
	for _, cores := range []int{0, 4} {
		dir := t.TempDir()
		for f := range 3 {
			var b strings.Builder
			for i := range lines {
				b.WriteString(line(i))
			}
			write(t, dir, fmt.Sprintf("in%d.jsonl", f), b.String())
		}
		machine := env.Real()
		machine.Clock, machine.Cores = sim.NewClock(time.UnixMilli(t0+lines*50)), cores
		g, err := job.Load([]byte(strings.NewReplacer("job: t", "job: t\nparallelism: 4\nsettings: {batch: {rows: 16}}", "idle_timeout: 2s", "idle_timeout: off").Replace(followJob)),
			job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		const closed = lines/perWindow - 1 // the last window is still open
		grow := make([]func(), closed)
		grow[closed-1] = func() { // closes it, and one more
			for f := range 3 {
				for i := range 2 * perWindow {
					write(t, dir, fmt.Sprintf("in%d.jsonl", f), line(lines+i))
				}
			}
		}
		out := &following{want: closed + 2, stop: cancel, then: grow}
		j, err := engine.New(ctx, g, engine.Options{Env: machine, Stdout: out})
		if err != nil {
			t.Fatal(err)
		}
		report, err := j.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSpace(out.out.String()), "\n")
		for i, row := range rows[:min(len(rows), closed+1)] {
			if want := fmt.Sprintf(`"window":{"start":%d,"end":%d},"kind":"on_time","revision":0,"value":{"n":%d}}`, t0+i*10_000, t0+(i+1)*10_000, 3*perWindow); !strings.Contains(row, want) {
				t.Errorf("%d cores: row %d is %s, want %s", cores, i, row, want)
			}
		}
		if l := report.Steps[0].Inputs[0]; l.Late != 0 || len(rows) < closed+2 {
			t.Errorf("%d cores: %d rows, ledger %+v", cores, len(rows), l)
		}
	}
}
