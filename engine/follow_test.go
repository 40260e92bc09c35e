package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/sim"
)

const followJob = `
version: 1
job: t
sources:
  in:
    file: {path: "in*.jsonl", follow: true}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s, idle_timeout: 2s}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 10s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

// following is a job that runs until it has written a number of lines.
type following struct {
	mu   sync.Mutex
	out  bytes.Buffer
	want int
	stop func()
	then []func() // called as lines come, before the next
}

func (f *following) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.Write(p)
	if n := strings.Count(f.out.String(), "\n"); n >= f.want {
		f.stop()
	} else if len(f.then) >= n && f.then[n-1] != nil {
		f.then[n-1]()
		f.then[n-1] = nil
	}
	return len(p), nil
}

// follow runs followJob under a virtual clock until so many rows are out; then are
// called after the first row, the second, and so on.
func follow(t *testing.T, dir string, rows int, then ...func()) ([]string, engine.Report, time.Duration) {
	t.Helper()
	return followYAML(t, dir, followJob, rows, then...)
}

func followYAML(t *testing.T, dir, yaml string, rows int, then ...func()) ([]string, engine.Report, time.Duration) {
	t.Helper()
	start := time.Date(2024, 1, 1, 0, 0, 30, 0, time.UTC)
	clock := sim.NewClock(start)
	machine := env.Real()
	machine.Clock = clock
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out := &following{want: rows, stop: cancel, then: then}
	j, err := engine.New(ctx, g, engine.Options{Env: machine, Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	report, err := j.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v after %q", err, out.out.String())
	}
	return values(strings.Split(strings.TrimSpace(out.out.String()), "\n")), report, clock.Now().Sub(start)
}

func write(t *testing.T, dir, name string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Join(lines, "")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

const t0 = 1704067200000 // 2024-01-01

func TestASplitThatNeverHadARecordBecomesIdle(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in-0.jsonl", record("a", t0+1000, 1), record("a", t0+11000, 1), record("a", t0+21000, 1))
	write(t, dir, "in-1.jsonl")
	got, _, took := follow(t, dir, 2)
	want := []string{
		`"key":{"k":"a"},"window":{"start":1704067200000,"end":1704067210000},"kind":"on_time","revision":0,"value":{"n":1}}`,
		`"key":{"k":"a"},"window":{"start":1704067210000,"end":1704067220000},"kind":"on_time","revision":0,"value":{"n":1}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	// Never before the timeout (S9); how long the rows then take to come out is not the
	// clock's business.
	if took < 2*time.Second {
		t.Errorf("idle after %v of processing time", took)
	}
}

func TestAnIdleSplitThatComesBackOldHoldsTimeButOpensNothingClosed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in-0.jsonl", record("a", t0+1000, 1), record("a", t0+25000, 1))
	write(t, dir, "in-1.jsonl", record("a", t0+2000, 1))
	got, report, _ := follow(t, dir, 2, func() {
		// The first window has fired without split 1. Its old record is late; with new
		// ones in both splits time goes on at the lower of the two.
		write(t, dir, "in-1.jsonl", record("a", t0+3000, 1), record("a", t0+32000, 1))
		write(t, dir, "in-0.jsonl", record("a", t0+33000, 1))
	})
	want := []string{
		`"key":{"k":"a"},"window":{"start":1704067200000,"end":1704067210000},"kind":"on_time","revision":0,"value":{"n":2}}`,
		`"key":{"k":"a"},"window":{"start":1704067220000,"end":1704067230000},"kind":"on_time","revision":0,"value":{"n":1}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if l := report.Steps[0].Inputs[0]; l.Late != 1 || l.Behind != 1 {
		t.Errorf("ledger %+v", l)
	}
}

func TestANewFileIsFound(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "in-0.jsonl", record("a", t0+1000, 1), record("a", t0+11000, 1))
	got, report, _ := follow(t, dir, 2, func() {
		write(t, dir, "in-1.jsonl", record("b", t0+12000, 1), record("b", t0+21000, 1))
	})
	if len(got) < 2 || !strings.Contains(got[1], `"start":1704067210000`) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if len(report.Sources[0].Splits) != 2 {
		t.Errorf("splits %+v", report.Sources[0].Splits)
	}
}

// The first batch after a pause finds the source idle. Its records are seen at the
// watermark from before it, however far they themselves move time.
func TestARecordAfterAPauseIsNotLateBecauseOfThoseBehindIt(t *testing.T) {
	for _, emit := range []string{"record", "{every: 2}", "200ms"} {
		dir := t.TempDir()
		write(t, dir, "in-0.jsonl", record("a", t0+1000, 1), record("a", t0+11000, 1))
		yaml := strings.Replace(followJob, "idle_timeout: 2s}", "idle_timeout: 2s, emit: "+emit+"}", 1)
		then := func() {
			write(t, dir, "in-0.jsonl", record("a", t0+15000, 1), record("a", t0+25000, 1), record("a", t0+35000, 1), record("a", t0+45000, 1), record("a", t0+55000, 1))
		}
		got, report, _ := followYAML(t, dir, yaml, 4, then)
		if l := report.Steps[0].Inputs[0]; l.Late != 0 || len(got) < 4 || !strings.Contains(got[1], `"value":{"n":2}`) {
			t.Errorf("emit %s: ledger %+v, rows\n%s", emit, l, strings.Join(got, "\n"))
		}
	}
}

// later is a file system in which something happens when its patterns are looked at,
// once a time has come.
type later struct {
	env.FS
	clock env.Clock
	at    time.Time
	do    func()
}

func (l *later) Glob(pattern string) ([]string, error) {
	if l.do != nil && !l.clock.Now().Before(l.at) {
		l.do()
		l.do = nil
	}
	return l.FS.Glob(pattern)
}

// A followed file that was deleted long ago holds time back no more. It does not end
// time either, and a file of its name that comes later is read.
func TestAFollowedFileThatIsGone(t *testing.T) {
	for _, row := range []struct {
		name, idle string
		others     bool // a second split, which is idle
	}{
		{"the only one", "2s", false},
		{"beside one that is idle", "2s", true},
		{"no split is ever idle", "off", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "in-0.jsonl", record("a", t0+1000, 1), record("a", t0+11000, 1))
			if row.others {
				write(t, dir, "in-1.jsonl")
			}
			start := time.Date(2024, 1, 1, 0, 0, 30, 0, time.UTC)
			clock := sim.NewClock(start)
			machine := env.Real()
			machine.Clock = clock
			g, err := job.Load([]byte(strings.Replace(followJob, "idle_timeout: 2s", "idle_timeout: "+row.idle, 1)), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS})
			if err != nil {
				t.Fatal(err)
			}
			machine.FS = &later{machine.FS, clock, start.Add(3 * time.Minute), func() {
				write(t, dir, "in-0.jsonl", record("a", t0+15000, 1), record("a", t0+25000, 1))
			}}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			out := &following{want: 2, stop: cancel, then: []func(){func() {
				if err := os.Remove(filepath.Join(dir, "in-0.jsonl")); err != nil {
					t.Error(err)
				}
			}}}
			j, err := engine.New(ctx, g, engine.Options{Env: machine, Stdout: out})
			if err != nil {
				t.Fatal(err)
			}
			report, err := j.Run(ctx)
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			rows := strings.Split(strings.TrimSpace(out.out.String()), "\n")
			if len(rows) != 2 || !strings.Contains(rows[1], `"start":1704067210000`) || !strings.Contains(rows[1], `"value":{"n":2}`) {
				t.Errorf("got\n%s", strings.Join(rows, "\n"))
			}
			if l := report.Steps[0].Inputs[0]; l.Late != 0 {
				t.Errorf("ledger %+v", l)
			}
		})
	}
}
