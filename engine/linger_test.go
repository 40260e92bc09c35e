package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/sim"
)

// trickle is a virtual clock that writes a record for each millisecond that somebody
// sleeps.
type trickle struct {
	*sim.Clock
	write   func(ms int64)
	written atomic.Int64
	most    int64
	stop    func()
	slept   func(time.Duration)
}

func (c *trickle) Sleep(ctx context.Context, d time.Duration) error {
	c.slept(d)
	from := c.Now().UnixMilli()
	if err := c.Clock.Sleep(ctx, d); err != nil {
		return err
	}
	for ms := range d.Milliseconds() {
		if c.written.Load() == c.most {
			c.stop()
			break
		}
		c.write(from + ms)
		c.written.Add(1)
	}
	return nil
}

// A record a millisecond: with a linger of 50 ms no record waits for longer, and batches
// have 50 records.
func TestRecordsOfATrickleTravelTogetherAndNoneWaitsForLong(t *testing.T) {
	for _, cores := range []int{1, 4} { // with decoders beside the task
		t.Run(fmt.Sprintf("%d cores", cores), func(t *testing.T) { testTrickle(t, cores) })
	}
}

func testTrickle(t *testing.T, cores int) {
	const linger, records = 50 * time.Millisecond, 4000
	dir := t.TempDir()
	write(t, dir, "in.jsonl")
	yaml := strings.Replace(followJob, "job: t", "job: t\nparallelism: 4\nsettings: {batch: {linger: 50ms}}", 1)
	machine := env.Real()
	machine.Cores = cores
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: builtins{}, Files: machine.FS})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var read, batches int64
	clock := &trickle{Clock: sim.NewClock(time.UnixMilli(t0)), most: records, stop: cancel,
		write: func(ms int64) { write(t, dir, "in.jsonl", record("a", int(ms), 1)) }}
	clock.slept = func(d time.Duration) { // only the source's task sleeps
		if d > linger {
			t.Errorf("looked away for %v", d)
		}
		if n := clock.written.Load(); read != n {
			t.Errorf("waits with %d records read of %d that were there", read, n)
		}
	}
	machine.Clock = clock
	j, err := engine.New(ctx, g, engine.Options{Env: machine, Stdout: new(strings.Builder), Observe: func(e engine.Event) {
		if p, ok := e.(engine.Progress); ok && p.Read > read {
			read = p.Read
			batches++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if most := int64(records/linger.Milliseconds()) + 1; read < records-int64(linger/time.Millisecond) || batches > most {
		t.Errorf("%d of %d records in %d batches, want them in at most %d", read, records, batches, most)
	}
}
