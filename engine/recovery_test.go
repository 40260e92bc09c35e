package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/internal/env"
	"tidemark/internal/sim"
)

// attempt is one run of a job with checkpoints, which goes on from the last one.
type attempt struct {
	files  *sim.FS
	yaml   string
	set    []string
	every  int           // batches between two checkpoints, 0: none
	stop   int           // batches after which it is cut off, 0: never
	enough int           // checkpoints that have taken something over after which it is, 0: never
	idle   time.Duration // after which it is cut off if it is not to be drained: it may have nothing to do
	drain  int64         // records after which a job that follows files is drained
	once   bool          // no more than one checkpoint is asked for
	halt   bool          // that is a savepoint, and some batches behind it the job is cut off
	from   uint64        // number of the savepoint to go on from; 0: the last checkpoint
	taken  func()        // called at each that comes about; nil: nothing is
	disk   string        // a directory for state, none of which may stay in memory then; "": all does
}

var errCut = errors.New("cut off")

// behindHalt is how many batches are read behind a savepoint that stops a job, before it is
// cut off.
const behindHalt = 3

// result is what a run has left behind.
type result struct {
	report engine.Report
	taken  int    // checkpoints of this run
	saved  uint64 // number of the savepoint that stopped it
	reused int    // of those, the ones that have taken something over
	onRuns bool   // it went on from one that has
}

func (a attempt) run(ctx context.Context) (r result, err error) {
	machine := env.Real()
	machine.FS = a.files
	g, err := job.Load([]byte(a.yaml), job.LoadOptions{Name: "job.yaml", Dir: "/job", Resolver: builtins{}, Files: machine.FS,
		Set: append([]string{"settings.checkpoint.interval=1h"}, a.set...)})
	if err != nil {
		return r, err
	}
	if a.disk != "" {
		g.Settings.State = job.State{Backend: job.DiskState}
	}
	log := checkpoint.Open(checkpoint.OpenLocal(machine.FS, "/job/state"), machine.Rand)
	defer log.Close()
	if err := log.Claim(ctx); err != nil {
		return r, err
	}
	last, warnings, err := log.Last(ctx)
	if err != nil || len(warnings) > 0 {
		return r, errors.Join(err, fmt.Errorf("warnings %v", warnings))
	}
	if a.from > 0 {
		if last, err = log.Load(ctx, a.from); err != nil {
			return r, err
		}
	}
	run, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	r.onRuns = last != nil && last.Reused() > 0
	var batches, taken, reused, halted atomic.Int64
	var fail atomic.Bool
	if a.disk != "" { // some checkpoints do not come about, and of some of these nobody knows
		tries := 0
		a.files.Inject(func(c sim.Call) (out sim.Outcome) {
			if c.Op == sim.OpLink && strings.HasPrefix(c.Name, "/job/state/log-") && fail.CompareAndSwap(true, false) {
				tries++
				out.Err, out.Done = syscall.ENOSPC, tries%2 == 0
			}
			return out
		})
	}
	read := map[string]int64{}
	var j *engine.Job
	want := make(chan struct{}, 1)
	j, err = engine.New(run, g, engine.Options{Env: machine, Stdin: strings.NewReader(""), FirstStart: time.Now(), StateDir: a.disk, Checkpoints: log, Restore: last, Observe: func(e engine.Event) {
		switch e := e.(type) {
		case engine.Progress:
			n := int(batches.Add(1))
			read[e.Source] = e.Read
			if all := read["in"] + read["other"]; a.drain > 0 && all == a.drain {
				a.drain = 0
				go func() { _ = j.Drain() }() // it may have ended by a cut
			}
			if a.every > 0 && n%a.every == 0 && !(a.once && n > a.every) {
				select {
				case want <- struct{}{}:
				default:
				}
			}
			if h := int(halted.Load()); a.stop > 0 && n >= a.stop || h > 0 && n >= h+behindHalt {
				cut(errCut)
			}
		case engine.Checkpointed:
			if e.Err == nil {
				taken.Add(1)
				if a.taken != nil {
					a.taken()
				}
				if e.Reused > 0 && int(reused.Add(1)) == a.enough {
					cut(errCut)
				}
			}
		}
	}})
	if err != nil {
		return r, err
	}
	if a.drain == 0 && a.idle > 0 {
		go func() {
			if machine.Clock.Sleep(run, a.idle) == nil {
				cut(errCut)
			}
		}()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			if _, ok := <-want; !ok {
				return
			}
			if a.halt {
				if id, err := j.HaltSaved(run); err == nil {
					r.saved = id
					halted.Store(batches.Load())
				}
				continue
			}
			kind := checkpoint.Periodic
			if a.disk != "" {
				if n%4 == 1 {
					kind = checkpoint.Savepoint
				}
				fail.Store(n%5 == 2)
			}
			_, _ = j.Checkpoint(run, kind) // refused at the end of the job
			fail.Store(false)
		}
	}()
	r.report, err = j.Run(run)
	close(want)
	<-done
	r.taken, r.reused = int(taken.Load()), int(reused.Load())
	return r, err
}

// outputs reads the rows of all files that a job has written, sorted.
func outputs(t *testing.T, files *sim.FS) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, name := range files.Files() {
		if filepath.Dir(name) != "/job/out" {
			continue
		}
		text, err := files.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		slices.Sort(lines)
		out[filepath.Base(name)] = lines
	}
	return out
}

// ledger is what a report counts, as text.
func ledger(r engine.Report) string {
	for i := range r.Sinks {
		r.Sinks[i].Target = ""
	}
	r.Apart, r.Checkpoints = nil, nil
	for i := range r.Steps {
		r.Steps[i].State, r.Steps[i].Disk = 0, 0
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Wherever a job is cut off and however often, what it leaves behind in the end is what a
// run leaves that nobody has disturbed: rows, late and bad records, the ledger.
func TestACutOffChangesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cuts, restored, onDisk, reused, from := 0, 0, 0, 0, 0
	jobs := some(graphs)
	for seed := range uint64(jobs) {
		d := dice{rand.New(rand.NewPCG(seed, 1))}
		yaml := d.replayed()
		disk, keys, more := "", 5, 0
		if seed%3 == 0 && !strings.Contains(yaml, "kind: interval") {
			disk, keys, more = t.TempDir(), 40, 300
			onDisk++
		}
		files := d.inputs(keys, more)
		base := attempt{files: files.Kill(), yaml: yaml, set: []string{fmt.Sprint("settings.batch.rows=", []int{1, 3, 10}[d.IntN(3)]), fmt.Sprint("parallelism=", 1+d.IntN(4)), fmt.Sprint("settings.queue=", 1+d.IntN(4))}}
		if disk != "" { // several keys in each key group, of which some change
			base.set = append(base.set, "max_parallelism=8")
		}
		l := survives(ctx, t, d, base, files, fmt.Sprint("seed ", seed), seed%2 == 1, disk)
		cuts, restored, reused, from = cuts+l.cuts, restored+l.restored, reused+l.reused, from+l.from
	}
	t.Logf("%d cuts, %d of them behind a checkpoint of the same run; %d jobs have their state on disk: %d checkpoints have taken some of it over, and %d runs went on from such a one", cuts, restored, onDisk, reused, from)
	if reused < onDisk || from < onDisk/2 {
		t.Errorf("%d checkpoints have taken something over, %d runs went on from one", reused, from)
	}
	if onDisk < jobs/6 {
		t.Errorf("only %d jobs have their state on disk", onDisk)
	}
	if restored < jobs {
		t.Errorf("%d cuts, only %d of them behind a checkpoint of the same run", cuts, restored)
	}
}

// A job that is stopped behind a savepoint shows what was done until then and no more, though
// it goes on for a while. Whoever goes on then, from where the job stopped or from the
// savepoint, at any parallelism, leaves behind what an undisturbed run leaves.
func TestAStopBehindASavepoint(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	stops, jobs := 0, some(graphs)
	for seed := range uint64(jobs) {
		d := dice{rand.New(rand.NewPCG(seed, 5))}
		yaml, files := d.replay()
		base := attempt{files: files.Kill(), yaml: yaml, set: []string{"settings.batch.rows=3", fmt.Sprint("parallelism=", 1+d.IntN(4)), "settings.queue=2"}}
		clean, err := base.run(ctx)
		if err != nil {
			t.Fatalf("seed %d, undisturbed: %v\n%s", seed, err, yaml)
		}
		a := base
		a.files, a.every, a.once, a.halt = files.Kill(), 4+d.IntN(12), true, true
		r, err := a.run(ctx)
		if err == nil { // there was less to read
			continue
		}
		if !errors.Is(err, errCut) || r.saved == 0 {
			t.Fatalf("seed %d: %v, %+v\n%s", seed, err, r, yaml)
		}
		stops++
		if kinds := saved(t, a.files); !slices.Equal(kinds, []checkpoint.Kind{checkpoint.Savepoint, checkpoint.Stop}) {
			t.Fatalf("seed %d: checkpoints %v", seed, kinds)
		}
		for _, name := range a.files.Files() {
			if strings.HasPrefix(name, "/job/state/data-") {
				t.Errorf("seed %d: the state is written twice: %s", seed, name)
			}
		}
		shown := outputs(t, a.files)
		for _, from := range []uint64{0, r.saved} {
			next := base
			next.files, next.from = a.files.Kill(), from
			next.set = append(slices.Clone(base.set), fmt.Sprint("parallelism=", 1+d.IntN(4)))
			r, err := next.run(ctx)
			if err != nil {
				t.Fatalf("seed %d, from %d: %v\n%s", seed, from, err, yaml)
			}
			if got, want := outputs(t, next.files), outputs(t, base.files); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, from %d: got\n%s\nwant\n%s\nshown at the stop\n%s\nof\n%s %v", seed, from, text(got), text(want), text(shown), yaml, next.set)
			}
			if got, want := ledger(r.report), ledger(clean.report); got != want {
				t.Fatalf("seed %d, from %d: ledger\n%s\nwant\n%s\nof\n%s %v", seed, from, got, want, yaml, next.set)
			}
		}
	}
	t.Logf("%d jobs, %d stops", jobs, stops)
	if stops < jobs/4 {
		t.Errorf("%d of %d jobs were stopped", stops, jobs)
	}
}

// replay is a random job over files, with its input.
func (d dice) replay() (yaml string, files *sim.FS) { return d.replayed(), d.inputs(5, 0) }

func (d dice) replayed() string {
	yaml := strings.Replace(d.graph(), "stdout: {}", "file: {path: out/rows.jsonl}", 1)
	for _, name := range []string{"w1", "w3"} {
		if strings.Contains(yaml, "\n  "+name+":") {
			yaml += fmt.Sprintf("  of_%[1]s: {from: %[1]s, file: {path: out/%[1]s.jsonl}}\n", name)
		}
	}
	return yaml
}

// inputs are files with records of so many keys, at least so many.
func (d dice) inputs(keys, least int) *sim.FS {
	files := sim.NewFS(env.Real().Clock)
	for _, name := range []string{"in", "other"} {
		for f := range 1 + d.IntN(3) {
			var text strings.Builder
			from, pace := d.IntN(3)*20_000, []int{10, 100, 300}[d.IntN(3)]
			for i := range least + 20 + d.IntN(200) {
				text.WriteString(record(fmt.Sprint("k", d.IntN(keys)), 20_000+from+i*pace+d.IntN(6000), d.IntN(8)-2))
				if d.IntN(20) == 0 {
					text.WriteString(d.one("rubbish\n", `{"k":"x"}`+"\n", "\n"))
				}
			}
			files.Put(fmt.Sprintf("/job/%s-%d.jsonl", name, f), []byte(text.String()))
		}
	}
	return files
}

// The last checkpoint decides that all rows are to be seen. Of whatever is left to do then, the
// next run does the rest, and reports what the one before would have reported.
func TestAProcessEndsBehindTheLastDecision(t *testing.T) {
	const yaml = `version: 1
job: end
sources:
  in: {file: {path: in.jsonl}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: 1s}}
steps:
  s: {from: in, key: [k], window: {tumbling: 10s}, aggregates: {n: {function: count}}}
sinks:
  rows: {from: s, file: {path: out/rows.jsonl}}
`
	base := sim.NewFS(env.Real().Clock)
	base.Put("/job/in.jsonl", []byte(record("a", 1000, 1)+record("b", 30_000, 1)+record("a", 2000, 1)+"rubbish\n"))
	undisturbed := attempt{files: base.Kill(), yaml: yaml}
	clean, err := undisturbed.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := outputs(t, undisturbed.files)
	for renames := 1; renames <= len(want); renames++ {
		a := attempt{files: base.Kill(), yaml: yaml}
		n := 0
		a.files.Inject(func(c sim.Call) (out sim.Outcome) {
			if c.Op == sim.OpRename {
				n++
				out.Halt = n == renames
			}
			return out
		})
		if _, err := a.run(t.Context()); !errors.Is(err, sim.ErrGone) {
			t.Fatalf("rename %d: the error is %v", renames, err)
		}
		a.files = a.files.Kill()
		r, err := a.run(t.Context())
		if err != nil {
			t.Fatalf("behind rename %d: %v", renames, err)
		}
		if got := outputs(t, a.files); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("behind rename %d: rows\n%s\nwant\n%s", renames, text(got), text(want))
		}
		if r.report.Checkpoints == nil || r.report.Checkpoints.Restored == 0 {
			t.Errorf("behind rename %d: the report names no checkpoint that it went on from", renames)
		}
		got, want := r.report, clean.report
		got.Checkpoints, want.Checkpoints = nil, nil
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("behind rename %d: the report is\n%+v\nwant\n%+v", renames, got, want)
		}
	}
	if len(want) != 3 { // results, late and bad records
		t.Errorf("the job has %d files", len(want))
	}
}

// life is what a job has come through.
type life struct {
	cuts     int
	restored int // of the cuts, those behind a checkpoint of the same run
	reused   int // checkpoints that have taken something over
	from     int // runs that went on from such a one
}

// survives runs a job to its end, and again, over the same files, with cuts until it comes to
// its end; rescaled: each time at another parallelism, which is the second setting of the job. With a
// directory its state is there.
// It compares what both have left behind.
func survives(ctx context.Context, t *testing.T, d dice, base attempt, files *sim.FS, what string, rescaled bool, disk string) (l life) {
	t.Helper()
	clean, err := base.run(ctx)
	if err != nil {
		t.Fatalf("%s, undisturbed: %v\n%s", what, err, base.yaml)
	}
	want := outputs(t, base.files)
	a := base
	a.set = slices.Clone(base.set)
	a.files = files.Kill()
	a.every = 1 + d.IntN(10)
	if a.disk = disk; disk != "" {
		a.every = 1 + d.IntN(3)
		c := base // the same rows, and no sums in place of records for windows that overlap
		c.files, c.disk = files.Kill(), disk
		if clean, err = c.run(ctx); err != nil {
			t.Fatalf("%s, undisturbed on disk: %v\n%s", what, err, base.yaml)
		}
	}
	for n := 1; ; n++ {
		if a.stop = 1 + d.IntN(20*n); disk != "" && d.IntN(4) > 0 {
			a.stop, a.enough = 0, 1+d.IntN(3)
		} else {
			a.enough = 0
		}
		if rescaled {
			a.set[1] = fmt.Sprint("parallelism=", []int{1, 2, 3, 4, 7}[d.IntN(5)])
		}
		r, err := a.run(ctx)
		l.reused += r.reused
		if r.onRuns {
			l.from++
		}
		if err == nil {
			if got := outputs(t, a.files); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s, after %d cuts: got\n%s\nwant\n%s\nof\n%s %v", what, n-1, text(got), text(want), a.yaml, a.set)
			}
			if got, want := ledger(r.report), ledger(clean.report); got != want {
				t.Fatalf("%s, after %d cuts: ledger\n%s\nwant\n%s\nof\n%s %v", what, n-1, got, want, a.yaml, a.set)
			}
			return l
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("%s, run %d: %v\n%s %v", what, n, err, a.yaml, a.set)
		}
		l.cuts++
		if d.IntN(2) == 0 {
			a.files = a.files.Kill()
		} else {
			a.files = a.files.Crash(d.Uint64())
		}
		if r.taken > 0 {
			l.restored++
		}
	}
}

func text(files map[string][]string) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s:\n%s\n", name, strings.Join(files[name], "\n"))
	}
	return b.String()
}

// some is how many of a number of random jobs are made: fewer with -short, and under the race detector.
func some(jobs int) int {
	switch {
	case underRace:
		return jobs / 10
	case testing.Short():
		return jobs / 3
	}
	return jobs
}

// followedJobs is how many of those are made at random.
const followedJobs = 30

// A job that follows files publishes what is decided, epoch by epoch: each row once, however
// often it is cut off while records come, and in the end the values of a job that has seen
// all of them at once.
func TestACutOffOfAFollowedJobPublishesEachRowOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cuts, restored, early := 0, 0, 0
	for seed, jobs := uint64(0), 0; jobs < some(followedJobs); seed++ {
		d := dice{rand.New(rand.NewPCG(seed, 2))}
		yaml := strings.Replace(d.graph(), "stdout: {}", "file: {path: out/rows.jsonl}", 1)
		if strings.Contains(yaml, "trigger:") || strings.Contains(yaml, "evictor:") || strings.Contains(yaml, "{count:") {
			continue // what they show depends on the order in which files are read
		}
		jobs++
		for _, bound := range []string{"0s", "1s", "2s"} {
			yaml = strings.ReplaceAll(yaml, "out_of_orderness: "+bound, "out_of_orderness: 200s") // nothing is late
		}
		for _, name := range []string{"in", "other"} {
			if strings.Contains(yaml, name+": {file") {
				yaml = strings.Replace(yaml, "path: \""+name+"-*.jsonl\"", "path: \""+name+"-*.jsonl\", follow: true", 1)
			}
		}
		yaml = strings.ReplaceAll(yaml, "{function: list,", "{function: sorted_list,") // order is that of arrival
		var pieces []struct{ name, text string }
		total := int64(0)
		for i := range 20 + d.IntN(60) {
			var text strings.Builder
			n := 1 + d.IntN(8)
			for range n {
				text.WriteString(record(fmt.Sprint("k", d.IntN(5)), 20_000+i*500+d.IntN(6000), d.IntN(8)-2))
			}
			name := d.one("in", "other")
			if !strings.Contains(yaml, name+": {file") {
				continue
			}
			total += int64(n)
			pieces = append(pieces, struct{ name, text string }{fmt.Sprintf("/job/%s-%d.jsonl", name, d.IntN(3)), text.String()})
		}
		whole := sim.NewFS(env.Real().Clock)
		for _, p := range pieces {
			whole.Append(p.name, []byte(p.text))
		}
		base := attempt{files: whole, yaml: strings.ReplaceAll(yaml, ", follow: true", ""), set: []string{"settings.batch.rows=3", fmt.Sprint("parallelism=", 1+d.IntN(3))}}
		if _, err := base.run(ctx); err != nil {
			t.Fatalf("seed %d, undisturbed: %v\n%s", seed, err, yaml)
		}
		want := finals(t, base.files)

		a := attempt{files: sim.NewFS(env.Real().Clock), yaml: yaml, set: base.set, every: 1 + d.IntN(3)}
		for n := 1; ; n++ {
			for range 1 + d.IntN(8) {
				if len(pieces) > 0 {
					a.files.Append(pieces[0].name, []byte(pieces[0].text))
					pieces = pieces[1:]
				}
			}
			a.idle = time.Duration(100+20*n) * time.Millisecond
			a.stop = 3 + d.IntN(10*n)
			if len(pieces) == 0 {
				a.drain, a.stop = total, 0
			}
			r, err := a.run(ctx)
			if err == nil {
				break
			}
			if !errors.Is(err, errCut) {
				t.Fatalf("seed %d, run %d: %v\n%s %v", seed, n, err, yaml, a.set)
			}
			cuts++
			if r.taken > 0 {
				restored++
			}
			a.files = a.files.Kill()
		}
		if got := finals(t, a.files); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: got\n%v\nwant\n%v\nof\n%s %v", seed, got, want, yaml, a.set)
		}
		for name := range outputs(t, a.files) {
			if strings.HasPrefix(name, "rows-") {
				early++
			}
		}
	}
	t.Logf("%d cuts, %d of them behind a checkpoint of the same run, %d files of epochs", cuts, restored, early)
	if restored < some(followedJobs)/4 {
		t.Errorf("%d cuts, only %d of them behind a checkpoint of the same run", cuts, restored)
	}
}

// finals reads the result rows of a job that may have written some files: the value of the
// last revision of each. It fails where one has two.
func finals(t *testing.T, files *sim.FS) map[string]string {
	t.Helper()
	type row struct {
		ID       string
		Revision int
		Key      json.RawMessage
		Window   json.RawMessage
		Value    json.RawMessage
	}
	seen, last, final := map[string]bool{}, map[string]int{}, map[string]string{}
	for name, lines := range outputs(t, files) {
		if !strings.HasPrefix(name, "rows") {
			continue
		}
		for _, line := range lines {
			if line == "" {
				continue
			}
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
			which := fmt.Sprint(r.ID, " ", r.Revision)
			if seen[which] {
				t.Fatalf("%s: id and revision come twice: %s", name, line)
			}
			seen[which] = true
			if n, ok := last[r.ID]; !ok || r.Revision >= n {
				last[r.ID], final[r.ID] = r.Revision, fmt.Sprintf("%s %s %s", r.Key, r.Window, r.Value)
			}
		}
	}
	return final
}
