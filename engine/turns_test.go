package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
)

// oneTurn is a host with a single turn. It notes who broke the rules.
type oneTurn struct {
	t    *testing.T
	free chan struct{} // holds a token while the turn is free

	mu    sync.Mutex
	held  int
	given int
}

func newOneTurn(t *testing.T) *oneTurn {
	o := &oneTurn{t: t, free: make(chan struct{}, 1)}
	o.free <- struct{}{}
	return o
}

func (o *oneTurn) Acquire(ctx context.Context) error {
	select {
	case <-o.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held++
	o.given++
	if o.held > 1 {
		o.t.Error("two hold the turn")
	}
	return nil
}

func (o *oneTurn) Yield(ctx context.Context, _ time.Duration, _ int64) error {
	o.Release(0, 0)
	return o.Acquire(ctx)
}

func (o *oneTurn) Release(cpu time.Duration, fuel int64) {
	o.mu.Lock()
	o.held--
	if o.held < 0 || cpu < 0 || fuel != 0 {
		o.t.Errorf("%d hold the turn behind a Release of %v and %d fuel; there are no plug-ins", o.held, cpu, fuel)
	}
	o.mu.Unlock()
	o.free <- struct{}{}
}

// gate is a standard output that takes nothing until it is opened.
type gate struct {
	open chan struct{}
	bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(p)
}

// turnsJob has what tasks can wait for: queues of one batch between several tasks, a step
// that reads another, records that a filter lets through, others that are bad or late, and
// sinks.
const turnsJob = `
version: 1
job: t
parallelism: 3
settings: {batch: {rows: 8}, queue: 1, bad_budget: {count: 10000}}
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s}
steps:
  pick:
    from: in
    filter: v >= 0
  s:
    from: pick
    key: [k]
    window: {tumbling: 1s}
    aggregates: {n: {function: count}, all: {function: list, columns: {value: v}}}
  all:
    from: s
    window: {tumbling: 4s}
    aggregates: {n: {function: sum, columns: {value: n}}}
sinks:
  rows: {from: s, stdout: {}}
  totals: {from: all, stdout: {}}
  late: {from: s.late, stdout: {}}
  bad: {from: in.bad, stdout: {}}
  passed: {from: pick, stdout: {}}
`

func turnsInput() map[string]string {
	files := map[string]string{}
	for n := range 4 {
		var b strings.Builder
		for i := range 2000 {
			switch {
			case i%100 == 50:
				b.WriteString("rubbish\n")
			case i%100 == 70:
				fmt.Fprintf(&b, `{"k":"k%d","v":%d,"ts":%d}`+"\n", i%7, i, max(0, i*10-5000))
			default:
				fmt.Fprintf(&b, `{"k":"k%d","v":%d,"ts":%d}`+"\n", i%7, i-10, i*10)
			}
		}
		files[fmt.Sprintf("in%d.jsonl", n)] = b.String()
	}
	return files
}

// fireJob fires so much at once that the sink's queue is full in the middle of a batch.
const fireJob = `
version: 1
job: t
sources:
  in:
    file: {path: "in*.jsonl"}
    format: json
    schema: {v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s}
steps:
  s:
    from: in
    key: [v]
    window: {tumbling: 1h}
    aggregates: {n: {function: count}}
sinks:
  rows: {from: s, stdout: {}}
`

func fireInput() map[string]string {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, `{"v":%d,"ts":%d}`+"\n", i, i)
	}
	return map[string]string{"in.jsonl": b.String()}
}

// A task that waits holds no turn: with a single one for all tasks a job comes to its end
// with the same rows as without, and while the sinks take nothing nobody has it.
func TestATaskThatWaitsHoldsNoTurn(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		files      map[string]string
	}{
		{"queues and sinks", turnsJob, turnsInput()},
		{"decoders", turnsJob, map[string]string{"in.jsonl": turnsInput()["in0.jsonl"]}},
		{"a sink in the middle of a batch", fireJob, fireInput()},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := loadTurns(t, c.yaml, c.files)
			var want []string
			for _, turns := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					out := &gate{open: make(chan struct{})}
					o := engine.Options{Env: env.Real(), Stdout: out, FirstStart: time.Now()}
					o.Env.Cores = 3
					one := newOneTurn(t)
					if turns {
						o.Turns = one
					}
					j, err := engine.New(t.Context(), g, o)
					if err != nil {
						t.Fatal(err)
					}
					ended := make(chan error)
					go func() {
						_, err := j.Run(t.Context())
						ended <- err
					}()
					synctest.Wait() // until all tasks wait
					if one.held != 0 {
						t.Error("all tasks wait, and one of them has the turn")
					}
					close(out.open)
					if err := <-ended; err != nil {
						t.Fatal(err)
					}
					if one.held != 0 || turns && one.given < 40 {
						t.Errorf("%d hold a turn at the end, %d were given", one.held, one.given)
					}
					rows := strings.Split(out.String(), "\n")
					slices.Sort(rows)
					if !turns {
						want = rows
					}
					if !slices.Equal(rows, want) || len(rows) < 1000 {
						t.Errorf("%d rows with turns, %d without", len(rows), len(want))
					}
				})
			}
		})
	}
}

func loadTurns(t *testing.T, yaml string, files map[string]string) *job.Graph {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: env.Real().FS})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A job that is stopped while its tasks wait for the turn of another ends.
func TestAJobEndsWhileItWaitsForItsTurn(t *testing.T) {
	testAJobEnds(t, turnsInput())
}

// The same where the tasks of a source have decoders.
func TestAJobWithDecodersEndsWhileItWaitsForItsTurn(t *testing.T) {
	testAJobEnds(t, map[string]string{"in.jsonl": turnsInput()["in0.jsonl"]})
}

func testAJobEnds(t *testing.T, files map[string]string) {
	g := loadTurns(t, turnsJob, files)
	synctest.Test(t, func(t *testing.T) {
		one := newOneTurn(t)
		out := &gate{open: make(chan struct{})}
		o := engine.Options{Env: env.Real(), Stdout: out, FirstStart: time.Now(), Turns: one}
		o.Env.Cores = 3
		j, err := engine.New(t.Context(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := one.Acquire(t.Context()); err != nil { // another job has it
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := j.Run(ctx)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("got %v", err)
		}
		if one.held != 1 || one.given != 1 {
			t.Errorf("%d hold the turn, %d were given", one.held, one.given)
		}
	})
}
