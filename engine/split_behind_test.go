package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/sim"
)

const unevenJob = `
version: 1
job: t
sources:
  fast: {file: {path: fast.jsonl, follow: true}, format: json, schema: {k: string}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 0s, idle_timeout: off, align: {group: g, max_drift: 1s, update: 10m}}}
  slow: {file: {path: slow.jsonl, follow: true}, format: json, schema: {k: string}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 0s, idle_timeout: off, align: {group: g, max_drift: 1s, update: 10m}}}
steps:
  s: {from: {union: [fast, slow]}, key: [k], window: {tumbling: 1s}, aggregates: {n: {function: count}}}
sinks:
  out: {from: s, file: {path: out/rows.jsonl}}
settings: {checkpoint: {interval: 1h, timeout: 10m}, batch: {rows: 2}, queue: 1000}
`

// uneven is a job of two files, of which one is held back for the other.
type uneven struct {
	files *sim.FS
	log   *checkpoint.Log
	begin time.Time
}

// before has f called in the goroutine of the fast source before each of its batches.
type before struct{ f func() }

func (b before) Acquire(ctx context.Context) error {
	operator, _ := pprof.Label(ctx, "operator")
	what, _ := pprof.Label(ctx, "work")
	if operator == "fast" && what == string(reading) {
		b.f()
	}
	return nil
}
func (before) Yield(context.Context, time.Duration, int64) error { return nil }
func (before) Release(time.Duration, int64)                      {}

func (u *uneven) make(t *testing.T, parallelism int, turns Turns, observe func(Event)) *Job {
	t.Helper()
	machine := env.Real()
	machine.FS, machine.Cores = u.files, 4
	g, err := job.Load([]byte(unevenJob), job.LoadOptions{Name: "job.yaml", Dir: "/job", Resolver: noPlugins{}, Files: u.files, Set: []string{fmt.Sprint("parallelism=", parallelism)}})
	if err != nil {
		t.Fatal(err)
	}
	if u.log != nil {
		_ = u.log.Close()
	}
	u.log = checkpoint.Open(checkpoint.OpenLocal(u.files, "/job/state"), machine.Rand)
	if err := u.log.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	last, _, err := u.log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j, err := New(t.Context(), g, Options{Env: machine, FirstStart: u.begin, Checkpoints: u.log, Restore: last, Turns: turns, Observe: observe})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// checkpointed runs a job, takes a checkpoint when it is time, and kills it.
func (u *uneven) checkpointed(t *testing.T, j *Job, when <-chan struct{}) Report {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = j.Run(ctx)
	}()
	select {
	case <-when:
	case <-time.After(time.Hour):
		t.Error("the time for a checkpoint does not come")
	}
	synctest.Wait()
	begun := time.Now()
	_, err := j.Checkpoint(ctx, checkpoint.Periodic)
	if took := time.Since(begun); err != nil || took > time.Second {
		t.Errorf("the checkpoint has taken %v: %v", took, err)
	}
	r := j.Status(ctx)
	stop(errors.New("enough"))
	<-ended
	u.files = u.files.Kill()
	return r
}

func uniqueLines(from, n int) []byte {
	var text strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&text, `{"ts":%d,"k":"f%d"}`+"\n", 1000*(i+1), i)
	}
	return []byte(text.String())
}

// A split that is paused when it has gone on from one file to the next has rows of the first
// in hand, which may be nowhere else any more. A checkpoint takes them in at once, and a job
// that goes on from it, and from a checkpoint of that, reads each record once.
func TestACheckpointPassesASplitBetweenTwoFiles(t *testing.T) {
	const fresh = 40
	for _, truncate := range []bool{false, true} {
		for _, parallelism := range []int{1, 4} {
			t.Run(fmt.Sprintf("truncated: %v, parallelism %d", truncate, parallelism), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					old := 60 // read at once
					if parallelism > 1 {
						old = 900 // some chunks
					}
					u := &uneven{files: sim.NewFS(env.Real().Clock), begin: time.Now()}
					u.files.Put("/job/fast.jsonl", uniqueLines(0, old))
					u.files.Put("/job/slow.jsonl", []byte(`{"ts":500,"k":"s"}`+"\n"))
					var j *Job
					rotated, crossed := false, make(chan struct{})
					j = u.make(t, parallelism, before{func() {
						s := j.feeds[0].splits[0]
						switch {
						case s.read == 0 || s.read >= int64(old):
						case !rotated:
							rotated = true
							if truncate {
								f, err := u.files.Create("/job/fast.jsonl", os.O_WRONLY, 0)
								if err == nil {
									err = errors.Join(f.Truncate(0), f.Close())
								}
								if err != nil {
									t.Error(err)
								}
							} else if err := u.files.Rename("/job/fast.jsonl", "/job/fast.jsonl.1"); err != nil {
								t.Error(err)
							}
							u.files.Append("/job/fast.jsonl", uniqueLines(old, fresh))
						case crossed == nil:
						case len(s.behind()) == 0:
							time.Sleep(1100 * time.Millisecond) // the successor is looked for, at last
						default:
							time.Sleep(11 * time.Minute) // a bound of the group is due
							close(crossed)
							crossed = nil
						}
					}}, nil)
					r := u.checkpointed(t, j, crossed)
					if read := r.Sources[0].Read; read == 0 || read >= int64(old) {
						t.Fatalf("%d records of the old file are read, of %d", read, old)
					}
					if !truncate {
						if err := u.files.Remove("/job/fast.jsonl.1"); err != nil {
							t.Fatal(err)
						}
					}

					// The bound still holds: nothing is read, and that is written down once more.
					at := r.Sources[0].Read
					now := make(chan struct{})
					close(now)
					if r = u.checkpointed(t, u.make(t, 5-parallelism, nil, nil), now); r.Sources[0].Read != at {
						t.Errorf("%d records are read behind the restore, %d before", r.Sources[0].Read, at)
					}

					u.files.Append("/job/slow.jsonl", []byte(`{"ts":10000000,"k":"s"}`+"\n"))
					read := map[string]int64{}
					j = u.make(t, parallelism, nil, func(e Event) {
						if p, ok := e.(Progress); ok {
							if read[p.Source] = p.Read; read["fast"] == int64(old+fresh) && read["slow"] == 2 {
								read["fast"] = -1
								go func() { _ = j.Drain() }()
							}
						}
					})
					if r, err := j.Run(t.Context()); err != nil || r.Sources[0].Bad > 0 {
						t.Fatal(err, r.Sources[0].Bad)
					}
					seen := map[string]int{}
					for _, name := range u.files.Files() {
						if dir, base := filepath.Split(name); dir != "/job/out/" || strings.HasPrefix(base, ".") || !strings.HasPrefix(base, "rows") {
							continue
						}
						text, err := u.files.Get(name)
						if err != nil {
							t.Fatal(err)
						}
						for line := range strings.Lines(string(text)) {
							var row struct {
								Key   struct{ K string }
								Value struct{ N int }
							}
							if err := json.Unmarshal([]byte(line), &row); err != nil {
								t.Fatal(err)
							}
							seen[row.Key.K] += row.Value.N
						}
					}
					for i := range old + fresh {
						if k := fmt.Sprint("f", i); seen[k] != 1 {
							t.Errorf("record %s is counted %d times", k, seen[k])
						}
					}
				})
			})
		}
	}
}
