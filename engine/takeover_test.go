package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/sim"
)

func TestRoomForChanges(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []int64
		want int64
	}{
		{"nothing to build on", nil, 0},
		{"run 0", []int64{100}, 100},
		{"changes leave the rest", []int64{100, 30, 20}, 50},
		{"changes are as much as run 0", []int64{100, 60, 40}, 0},
		{"changes are more", []int64{100, 60, 60}, 0},
		{"one run less than there may be", []int64{100, 1, 1, 1, 1, 1, 1, 1}, 93},
		{"as many as there may be", []int64{100, 1, 1, 1, 1, 1, 1, 1, 1}, 0},
	} {
		if got := room(c.runs); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestFilesThatAreDeserted(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []fileUse
		want  string
	}{
		{"there are none", nil, ""},
		{"all is needed", []fileUse{{"a", 100, 100}, {"b", 10, 10}}, ""},
		{"half is needed", []fileUse{{"a", 100, 60}, {"b", 100, 40}}, ""},
		{"little of a small one is needed", []fileUse{{"a", 1000, 900}, {"b", 100, 1}}, ""},
		{"little of a large one is needed", []fileUse{{"a", 1000, 100}, {"b", 300, 290}}, "a"},
		{"the least needed go first, and no more than must", []fileUse{{"a", 100, 30}, {"b", 100, 10}, {"c", 100, 90}}, "b"},
		{"the same need goes by name", []fileUse{{"b", 100, 40}, {"c", 50, 20}, {"a", 100, 40}}, "a"},
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(deserted(c.files))), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// longJob has windows that stay open while its files grow.
const longJob = `
version: 1
job: t
max_parallelism: 8
parallelism: 2
sources:
  in: {file: {path: "in*.jsonl", follow: true}, format: json, schema: {k: string, v: int64, s: string}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 2s}}
steps:
  tumbling: {from: in, key: [k], window: {tumbling: 1h}, aggregates: {n: {function: count}, v: {function: sum, columns: {value: v}}, s: {function: last, columns: {value: s}}}}
  sessions: {from: in, key: [k], window: {session: 1h}, aggregates: {s: {function: last, columns: {value: s}}}}
sinks:
  a: {from: tumbling, file: {path: out/tumbling.jsonl}}
  b: {from: sessions, file: {path: out/sessions.jsonl}}
settings: {checkpoint: {interval: 1h}, queue: 1}
`

// longRun is a run of the job with all of its state on disk, or, without, in memory.
type longRun struct {
	t      *testing.T
	files  *sim.FS
	log    *checkpoint.Log
	job    *Job
	read   chan int64
	events chan Checkpointed
	stop   context.CancelCauseFunc
	ended  chan error
}

func startLong(ctx context.Context, t *testing.T, files *sim.FS, onDisk bool, set ...string) *longRun {
	t.Helper()
	r := &longRun{t: t, files: files, read: make(chan int64, 1000), events: make(chan Checkpointed, 100), ended: make(chan error, 1)}
	machine := env.Real()
	machine.FS = files
	g, err := job.Load([]byte(longJob), job.LoadOptions{Name: "job.yaml", Dir: "/job", Resolver: noPlugins{}, Files: files, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	if onDisk {
		g.Settings.State = job.State{Backend: job.DiskState}
	}
	r.log = checkpoint.Open(checkpoint.OpenLocal(files, "/job/state"), machine.Rand)
	if err := r.log.Claim(ctx); err != nil {
		t.Fatal(err)
	}
	last, warnings, err := r.log.Last(ctx)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	run, stop := context.WithCancelCause(ctx)
	r.stop = stop
	if r.job, err = New(run, g, Options{Env: machine, Stdin: strings.NewReader(""), FirstStart: time.Now(), StateDir: t.TempDir(), Checkpoints: r.log, Restore: last, Observe: func(e Event) {
		switch e := e.(type) {
		case Progress:
			r.read <- e.Read
		case Checkpointed:
			r.events <- e
		}
	}}); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := r.job.Run(run)
		r.ended <- err
	}()
	return r
}

// until waits for the source to have read so many records of this job.
func (r *longRun) until(n int64) {
	r.t.Helper()
	for {
		select {
		case read := <-r.read:
			if read == n {
				return
			}
		case err := <-r.ended:
			r.t.Fatalf("the run has ended: %v", err)
		}
	}
}

// checkpoint takes one.
func (r *longRun) checkpoint(ctx context.Context, kind checkpoint.Kind) Checkpointed {
	r.t.Helper()
	_, _ = r.job.Checkpoint(ctx, kind) // the event says the same
	return <-r.events
}

func (r *longRun) end() {
	r.stop(errors.New("enough"))
	<-r.ended
	if err := r.log.Close(); err != nil {
		r.t.Fatal(err)
	}
}

func records(from, n, ts int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"ts":%d,"k":"key-%d","v":%d,"s":"text"}`+"\n", ts, from+i, i%7)
	}
	return []byte(b.String())
}

// A checkpoint of a job whose state is on disk writes what has changed since the one before;
// a savepoint, and the first one behind a start, are whole. Files that are needed stay, and
// others go, however many checkpoints come.
func TestACheckpointWritesWhatHasChanged(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	const keys = 1500
	files := sim.NewFS(env.Real().Clock)
	files.Put("/job/in.jsonl", records(0, keys, 1000))
	r := startLong(ctx, t, files, true, "settings.checkpoint.retain=2")
	r.until(keys)
	take := func(kind checkpoint.Kind) Checkpointed {
		t.Helper()
		c := r.checkpoint(ctx, kind)
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		return c
	}
	first := take(checkpoint.Periodic)
	same := take(checkpoint.Periodic)
	saved := take(checkpoint.Savepoint)
	n := int64(keys)
	more := func(from, k int) {
		t.Helper()
		n += int64(k)
		files.Append("/job/in.jsonl", records(from, k, 1500))
		r.until(n)
	}
	more(100, 10)
	little := take(checkpoint.Periodic)
	more(0, keys)
	all := take(checkpoint.Periodic)

	if first.Reused != 0 || first.Bytes < 100*keys {
		t.Errorf("the first one: %+v, want all of it", first)
	}
	if same.Bytes > first.Bytes/20 || same.Reused < first.Bytes*9/10 {
		t.Errorf("one behind which nothing was changed: %+v, the first %+v", same, first)
	}
	if saved.Reused != 0 || saved.Bytes < first.Bytes*3/4 {
		t.Errorf("a savepoint: %+v, the first %+v", saved, first)
	}
	if little.Bytes > first.Bytes/20 || little.Bytes <= same.Bytes || little.Reused < first.Bytes*9/10 {
		t.Errorf("10 of %d keys were changed: %+v, the first %+v", keys, little, first)
	}
	if all.Bytes < first.Bytes*9/10 {
		t.Errorf("all keys were changed: %+v, the first %+v", all, first)
	}

	most := 0
	for range 24 { // a third of the keys, never the first two thirds again
		more(keys*2/3, keys/3)
		take(checkpoint.Periodic)
		size := 0
		for _, name := range files.Files() {
			if strings.HasPrefix(name, "/job/state/data-") {
				text, err := files.Get(name)
				if err != nil {
					t.Fatal(err)
				}
				size += len(text)
			}
		}
		most = max(most, size)
	}
	if most > 5*int(first.Bytes) {
		t.Errorf("the checkpoints have had %d bytes, and all state is %d", most, first.Bytes)
	}
	list, err := r.log.List(ctx)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d checkpoints are kept, %v", len(list), err)
	}
	r.end()

	// Behind a start all is whole again, and what was restored is what was there.
	r = startLong(ctx, t, files.Kill(), true)
	if c := r.checkpoint(ctx, checkpoint.Periodic); c.Err != nil || c.Reused != 0 || c.Bytes < first.Bytes*9/10 {
		t.Errorf("the first one behind a start: %+v", c)
	}
	if c := r.checkpoint(ctx, checkpoint.Periodic); c.Err != nil || c.Reused < first.Bytes*9/10 {
		t.Errorf("the second one behind a start: %+v", c)
	}
	r.end()
}

// What an earlier checkpoint has written and a later one needs is checked with the later one,
// and the file that is damaged is named.
func TestDamageOfWhatWasTakenOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	files := sim.NewFS(env.Real().Clock)
	files.Put("/job/in.jsonl", records(0, 300, 1000))
	r := startLong(ctx, t, files, true)
	r.until(300)
	for range 2 {
		if c := r.checkpoint(ctx, checkpoint.Periodic); c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	last, _, err := r.log.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ref := last.Find("sessions", checkpoint.KindDisk)[0]
	if last.Reused() == 0 || !strings.Contains(ref.File(), "-000000000001-") {
		t.Fatalf("the second checkpoint has %s in %s", ref, ref.File())
	}
	r.end()
	text, err := files.Get("/job/state/" + ref.File())
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	files.Put("/job/state/"+ref.File(), text)
	_, _, err = checkpoint.Open(checkpoint.OpenLocal(files, "/job/state"), env.Real().Rand).Last(ctx)
	if !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), ref.File()) {
		t.Errorf("got %v, want the name of %s", err, ref.File())
	}
}

// A checkpoint that somebody has deleted is nothing to build on: the next attempt fails, and
// the one behind it is whole.
func TestACheckpointThatWasDeletedIsNotTakenOver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	files := sim.NewFS(env.Real().Clock)
	files.Put("/job/in.jsonl", records(0, 300, 1000))
	r := startLong(ctx, t, files, true)
	defer r.end()
	r.until(300)
	first := r.checkpoint(ctx, checkpoint.Periodic)
	saved := r.checkpoint(ctx, checkpoint.Savepoint)
	if first.Err != nil || saved.Err != nil {
		t.Fatal(first.Err, saved.Err)
	}
	if err := r.log.Delete(ctx, first.Number); err != nil {
		t.Fatal(err)
	}
	if c := r.checkpoint(ctx, checkpoint.Periodic); !errors.Is(c.Err, fault.ErrConflict) {
		t.Errorf("it builds on what was deleted: %+v", c)
	}
	if c := r.checkpoint(ctx, checkpoint.Periodic); c.Err != nil || c.Reused != 0 || c.Bytes < first.Bytes {
		t.Errorf("the next one: %+v, the first %+v", c, first)
	}
}

// A step whose key groups and runs do not fit together is refused.
func TestKeyGroupsAreReadWithTheirRuns(t *testing.T) {
	type section struct {
		kind    string
		number  uint32
		version uint16
		body    string
	}
	floor := "\x07\x00\x00\x00\x00\x00\x00\x00"
	group := func(n uint32, version uint16) section {
		return section{checkpoint.KindGroup, n, version, fmt.Sprintf("%sgroup %d", floor, n)}
	}
	run := func(n, run int) section {
		return section{checkpoint.KindDisk, checkpoint.RunNumber(n, run), 1, fmt.Sprintf("run %d of %d", run, n)}
	}
	for _, c := range []struct {
		name     string
		sections []section
		want     string
	}{
		{"none", nil, ""},
		{"in memory", []section{group(1, 1), group(3, 1)}, "1@7 group 1 []; 3@7 group 3 []; "},
		{"on disk, some of another task", []section{group(1, 2), group(2, 2), group(3, 1), group(5, 2), run(1, 0), run(2, 0), run(2, 1), run(5, 0), run(5, 1), run(5, 2)},
			"1@7 group 1 [run 0 of 1]; 3@7 group 3 []; 5@7 group 5 [run 0 of 5 run 1 of 5 run 2 of 5]; "},
		{"no runs", []section{group(1, 2)}, "key group 1 has 0 runs of its state on disk, and the layout 2"},
		{"runs of a group that has none", []section{group(1, 1), run(1, 0)}, "key group 1 has 1 runs of its state on disk, and the layout 1"},
		{"a run too few", []section{group(1, 2), run(1, 0), run(1, 2)}, "key group 1 has run 2 of its state on disk, and not what comes before it"},
		{"no first run", []section{group(1, 2), run(1, 1)}, "key group 1 has run 1 of its state on disk, and not what comes before it"},
		{"runs without a group", []section{group(1, 2), run(1, 0), run(3, 0)}, "key group 3 has runs of its state on disk, and no section"},
		{"runs without a group before another", []section{group(3, 2), run(1, 0), run(3, 0)}, "key group 1 has runs of its state on disk, and no section"},
		{"a section cut short", []section{{checkpoint.KindGroup, 1, 1, "short"}}, "key group 1 has 0 runs"},
	} {
		k := newKept(t, sim.NewFS(env.Real().Clock), "/job/state")
		w := k.log.Begin(checkpoint.Meta{})
		for _, s := range c.sections {
			if err := w.Add(t.Context(), checkpoint.Section{Operator: "s", Kind: s.kind, Number: s.number, Version: s.version, Body: []byte(s.body)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Publish(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := ""
		for g, err := range readGroups(t.Context(), w.Checkpoint(), "s", func(group int) bool { return group%2 == 1 }) {
			if err != nil {
				if !errors.Is(err, fault.ErrCorrupt) {
					t.Errorf("%s: %v", c.name, err)
				}
				got = err.Error()
				break
			}
			got += fmt.Sprintf("%d@%d %s %s; ", g.Group, g.Floor, g.State, g.Runs)
		}
		if got != c.want && !strings.HasSuffix(got, c.want) && !strings.Contains(got, "step s: "+c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A restore does not hold all state in memory: the job has some fifth of its state there, and
// reads the rest key group by key group.
func TestARestoreHoldsAKeyGroupAtATime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const keys = 10_000 // with 2 KB each in either step
	files := sim.NewFS(env.Real().Clock)
	files.Put("/job/in.jsonl", bytes.ReplaceAll(records(0, keys, 1000), []byte("text"), bytes.Repeat([]byte("text"), 500)))
	r := startLong(ctx, t, files, true, "max_parallelism=64")
	r.until(keys)
	c := r.checkpoint(ctx, checkpoint.Periodic)
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	r.end()
	heap := func() int64 { // without stopping anybody
		m := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(m)
		return int64(m[0].Value.Uint64())
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // of what lives is what may be dead at a time
	r, files = nil, files.Kill()
	runtime.GC()
	before, most := heap(), int64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // looks at the heap until it is told to stop
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				most = max(most, heap())
				runtime.Gosched()
			}
		}
	}()
	r = startLong(ctx, t, files, true, "max_parallelism=64")
	close(stop)
	<-stopped
	r.end()
	t.Logf("state of %d bytes; the heap grew by %d at most", c.Bytes, most-before)
	if most-before > c.Bytes*2/5 {
		t.Errorf("of %d bytes of state the restore has held %d", c.Bytes, most-before)
	}
}
