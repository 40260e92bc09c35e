package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/env"
)

// begin is when the clock of a timed run starts, in ms: 2000-01-01, as synctest has it.
const begin = 946684800000

// timed is a job under a clock that moves only when every goroutine of the job waits, so
// that what happens when is exact, with any number of tasks.
type timed struct {
	yaml  string
	start time.Time                 // by the clock; zero: begin
	clock func(env.Clock) env.Clock // in place of it; nil: the same
	files map[string]string         // there from the start
	later []addition                // in order of time
	until time.Duration             // then the job is stopped; 0: it ends by itself
	turn  time.Duration             // what each batch waits for its turn
	write time.Duration             // what each write to standard output takes
}

// addition is text that comes to a file at a time; without text the file is deleted.
type addition struct {
	at         time.Duration
	file, text string
}

// row is a result row and when it was written, after the start.
type row struct {
	at   time.Duration
	text string
}

// slowTurns lets each batch wait.
type slowTurns struct {
	clock env.Clock
	wait  time.Duration
}

func (s slowTurns) Acquire(ctx context.Context) error { return s.clock.Sleep(ctx, s.wait) }
func (slowTurns) Release(time.Duration, int64)        {}

func (slowTurns) Yield(context.Context, time.Duration, int64) error { return nil }

// shifted is a clock that shows another time.
type shifted struct {
	env.Clock
	by time.Duration
}

func (s shifted) Now() time.Time { return s.Clock.Now().Add(s.by) }

// stamped notes when lines are written.
type stamped struct {
	clock env.Clock
	start time.Time
	takes time.Duration
	mu    sync.Mutex
	rows  []row
}

func (s *stamped) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.mu.Lock()
		s.rows = append(s.rows, row{s.clock.Now().Sub(s.start), strings.TrimSpace(line)})
		s.mu.Unlock()
	}
	if s.takes > 0 {
		return len(p), s.clock.Sleep(context.Background(), s.takes)
	}
	return len(p), nil
}

func (c timed) run(t *testing.T) (rows []row, report engine.Report) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.files {
		write(t, dir, name, text)
	}
	synctest.Test(t, func(t *testing.T) {
		machine := env.Real()
		if !c.start.IsZero() {
			machine.Clock = shifted{machine.Clock, c.start.Sub(machine.Clock.Now())}
		}
		if c.clock != nil {
			machine.Clock = c.clock(machine.Clock)
		}
		g, err := job.Load([]byte(c.yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := &stamped{clock: machine.Clock, start: machine.Clock.Now(), takes: c.write}
		o := engine.Options{Env: machine, Stdout: out, FirstStart: machine.Clock.Now()}
		if c.turn > 0 {
			o.Turns = slowTurns{machine.Clock, c.turn}
		}
		j, err := engine.New(ctx, g, o)
		if err != nil {
			t.Fatal(err)
		}
		var script sync.WaitGroup
		script.Go(func() {
			now := time.Duration(0)
			for _, a := range c.later {
				if machine.Clock.Sleep(ctx, a.at-now) != nil {
					return
				}
				now = a.at
				if a.text != "" {
					write(t, dir, a.file, a.text)
				} else if err := os.Remove(filepath.Join(dir, a.file)); err != nil {
					t.Error(err)
				}
			}
			if c.until > 0 && machine.Clock.Sleep(ctx, c.until-now) == nil {
				cancel()
			}
		})
		report, err = j.Run(ctx)
		cancel()
		script.Wait()
		switch {
		case c.until > 0 && !errors.Is(err, context.Canceled), c.until == 0 && err != nil:
			t.Errorf("the job ended with %v", err)
		}
		rows = out.rows
	})
	return rows, report
}

// texts are rows without their ids and times.
func texts(rows []row) []string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = r.text
	}
	return values(lines)
}

// same complains about rows that are not the wanted ones.
func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// counted is the row of a window that counted n records of key k, on time; start and end
// in seconds after begin.
func counted(k string, start, end, n int) string {
	return fmt.Sprintf(`"key":{"k":%q},"window":{"start":%d,"end":%d},"kind":"on_time","revision":0,"value":{"n":%d}}`, k, begin+start*1000, begin+end*1000, n)
}

// at is a record of key k; ms after begin.
func at(k string, ms int) string { return record(k, begin+ms, 1) }

// lastTick lets one more tick come while the ticker is being stopped, as a real one can.
type lastTick struct{ env.Clock }

func (c lastTick) Tick(d time.Duration, f func()) func() {
	stop := c.Clock.Tick(d, f)
	return func() { _ = c.Clock.Sleep(context.Background(), 15*time.Millisecond); f(); stop() }
}

// A tick that comes when the step has ended fires nothing: its sinks are closed (S58).
func TestATickBehindTheEnd(t *testing.T) {
	yaml := strings.Replace(steps("  s:\n    from: in\n    key: [k]\n    window: {tumbling: 5ms, time: processing}\n    aggregates: {n: {function: count}}\n", "s"), `"in*.jsonl"`, `"in.jsonl"`, 1)
	rows, report := timed{yaml: yaml, files: map[string]string{"in.jsonl": at("a", 0) + at("b", 0)},
		clock: func(c env.Clock) env.Clock { return lastTick{c} }}.run(t)
	if in := report.Steps[0].Inputs[0]; len(rows) != 0 || in.Counted != 2 || in.Open != 2 || in.Fired != 0 {
		t.Errorf("got %v, ledger %+v", texts(rows), in)
	}
}

// A step becomes idle in the very batch that fires its windows: b's last record, then b is
// idle, and a was before. What reads it sees both, the rows first, also through a step
// without a window; then the watermark of the other input goes on alone.
func TestIdlenessIsPassedOn(t *testing.T) {
	source := func(name, idle string) string {
		return "  " + name + ":\n    file: {path: " + name + ".jsonl, follow: true}\n    format: json\n    schema: {k: string, v: int64}\n    time: {field: ts, unit: ms}\n    watermark: {out_of_orderness: 0s, idle_timeout: " + idle + "}\n"
	}
	for _, from := range []string{"w", "p"} {
		yaml := "version: 1\njob: t\nsources:\n" + source("a", "4s") + source("b", "1s") + source("c", "1h") + "steps:\n" +
			"  w: {from: {union: [a, b]}, key: [k], window: {tumbling: 1s}, aggregates: {n: {function: count}}}\n" +
			"  wc: {from: c, key: [k], window: {tumbling: 1s}, aggregates: {n: {function: count}}}\n" +
			"  z: {from: {union: [" + from + ", wc]}, key: [k], window: {tumbling: 10s}, aggregates: {n: {function: count}}}\n"
		if from == "p" {
			yaml += "  p: {from: w, filter: n > 0}\n"
		}
		yaml += "sinks:\n  out: {from: z, stdout: {}, time_format: ms}\n"
		rows, report := timed{yaml: yaml, files: map[string]string{
			"a.jsonl": at("a", 100) + at("a", 2000), // two windows of w; the last one of b stays open
			"b.jsonl": at("a", 100) + at("a", 6000),
			"c.jsonl": at("c", 100),
		}, later: []addition{{10 * time.Second, "c.jsonl", at("c", 12000) + at("c", 40000)}}, until: 30 * time.Second}.run(t)
		same(t, texts(rows), counted("a", 0, 10, 2), counted("c", 0, 10, 1), counted("c", 10, 20, 1))
		for _, r := range rows {
			if r.at > 11*time.Second {
				t.Errorf("%s: %s came at %v", from, r.text, r.at)
			}
		}
		for _, s := range report.Steps { // p is where w is
			if want := map[string]stream.Time{"w": 5999, "p": 5999, "wc": 39999, "z": 39999}[s.ID]; s.Watermark != begin+want {
				t.Errorf("%s: watermark of %s is %d", from, s.ID, s.Watermark-begin)
			}
		}
	}
}
