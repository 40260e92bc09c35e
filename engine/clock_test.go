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
	"tidemark/internal/env"
)

// begin is when the clock of a timed run starts, in ms: 2000-01-01, as synctest has it.
const begin = 946684800000

// timed is a job under a clock that moves only when every goroutine of the job waits, so
// that what happens when is exact, with any number of tasks.
type timed struct {
	yaml  string
	start time.Time         // by the clock; zero: begin
	files map[string]string // there from the start
	later []addition        // in order of time
	until time.Duration     // then the job is stopped; 0: it ends by itself
	turn  time.Duration     // what each batch waits for its turn
	write time.Duration     // what each write to standard output takes
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
