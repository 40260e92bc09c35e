package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/checkpoint"
	"tidemark/engine/job"
	"tidemark/internal/sim"
)

// Simulations: a whole job under a clock and a scheduler of a seed, on a disk that fails, is
// full, is slow, and loses power; then the job goes on from its last checkpoint, until it is
// through. What it leaves behind must be what a run leaves that nobody has disturbed.
//
// make sim SEED=n repeats one of them; RUNS=n makes so many, from SEED on.
var (
	simSeed = flag.Uint64("seed", 1, "seed of the first simulation")
	simRuns = flag.Uint64("runs", 12, "how many simulations are made of each kind")
)

// simStart is when the first run of a simulated job starts.
var simStart = time.UnixMilli(t0)

// simulation is a job with its input.
type simulation struct {
	t      *testing.T
	seed   uint64
	dice   dice
	yaml   string
	set    []string
	input  map[string][]string // by path: the pieces in which it comes; a bounded job has all at the start
	follow bool

	files *sim.FS
	now   time.Time
	tries int
}

// simulated is what a run of a simulation did.
type simulated struct {
	report engine.Report
	calls  int // of the file system
	taken  int // checkpoints
	from   uint64
}

const (
	simInterval = 5 * time.Millisecond  // between two checkpoints
	simPause    = 7 * time.Millisecond  // between two pieces of a followed file
	simPoll     = 20 * time.Millisecond // between two looks for more of it
)

// errFed says that a followed job has had all of its input, and time to show what came of it.
var errFed = errors.New("all input is read")

// run runs the job once, with faults, from its last checkpoint, or from its beginning. Of a
// followed job, pieces more of each file come meanwhile.
func (s *simulation) run(ctx context.Context, pieces int, faults ...sim.Fault) (r simulated, err error) {
	s.tries++
	sched := sim.NewScheduler(s.seed<<8+uint64(s.tries), s.now)
	defer func() { s.now = sched.Now(); sched.Stop() }()
	sched.Jitter = []time.Duration{time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond}[s.tries%3]
	machine := sched.Env(s.files)
	machine.Cores = 1 + s.tries%3
	s.files.Inject(faults...)
	before := s.files.Calls()
	defer func() { r.calls = s.files.Calls() - before }()

	g, err := job.Load([]byte(s.yaml), job.LoadOptions{Name: "job.yaml", Dir: "/job", Resolver: builtins{}, Files: machine.FS, Set: s.set})
	if err != nil {
		return r, err
	}
	log := checkpoint.Open(checkpoint.OpenLocal(machine.FS, "/job/state"), machine.Rand)
	defer log.Close()
	if err := log.Claim(ctx); err != nil {
		return r, err
	}
	last, warnings, err := log.Last(ctx)
	if err != nil || len(warnings) > 0 && len(faults) == 0 {
		return r, errors.Join(err, fmt.Errorf("warnings %v", warnings))
	}
	if last != nil {
		r.from = last.Meta.ID
	}
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex // of r.taken and fresh
	fresh := false    // something has been read since somebody looked
	j, err := engine.New(run, g, engine.Options{Env: machine, Stdin: strings.NewReader(""), FirstStart: simStart, Checkpoints: log, Restore: last, Observe: func(e engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case engine.Progress:
			fresh = true
		case engine.Checkpointed:
			if e.Err == nil {
				r.taken++
			}
		}
	}})
	if err != nil {
		return r, err
	}
	var feeding sync.WaitGroup
	if s.follow {
		feeding.Go(func() {
			s.feed(run, sched, pieces)
			// Until nothing has been read for long, and that was decided.
			for still, taken := 0, 0; still < 3 && sched.Sleep(run, 10*simPoll) == nil; {
				mu.Lock()
				if fresh || r.taken == taken {
					still = 0
				} else {
					still++
				}
				fresh, taken = false, r.taken
				mu.Unlock()
			}
			stop(errFed)
		})
	}
	report, err := j.Run(run)
	stop(err)
	feeding.Wait()
	r.report = report
	return r, err
}

// feed has so many pieces of input come.
func (s *simulation) feed(ctx context.Context, clock *sim.Scheduler, pieces int) {
	for range pieces {
		for _, name := range slices.Sorted(maps.Keys(s.input)) {
			if rest := s.input[name]; len(rest) > 0 {
				s.files.Append(name, []byte(rest[0]))
				s.input[name] = rest[1:]
			}
		}
		if clock.Sleep(ctx, simPause) != nil {
			return
		}
	}
}

// left is how many pieces are still to come.
func (s *simulation) left() (n int) {
	for _, pieces := range s.input {
		n = max(n, len(pieces))
	}
	return n
}

// begin lays out the input as it is before the first run.
func (s *simulation) begin() {
	s.files, s.now = sim.NewFS(sim.NewClock(simStart)), simStart
	for name, pieces := range s.input {
		if s.follow {
			s.files.Put(name, nil)
		} else {
			s.files.Put(name, []byte(strings.Join(pieces, "")))
		}
	}
}

// finished reports whether a run came to its end.
func (s *simulation) finished(err error) bool {
	return err == nil || s.follow && errors.Is(err, errFed) && s.left() == 0
}

var epochFile = regexp.MustCompile(`-\d{6,}\.jsonl$`)

// rows are the lines of all results by their file, those of followed jobs whatever the epoch.
// Files that are not complete do not count.
func (s *simulation) rows() map[string][]string {
	out := map[string][]string{}
	for _, name := range s.files.Files() {
		if filepath.Dir(name) != "/job/out" || !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		content, err := s.files.Get(name)
		if err != nil {
			s.t.Fatal(err)
		}
		if s.follow && len(content) == 0 {
			s.t.Errorf("seed %d: %s is shown and has no row", s.seed, name)
		}
		base := epochFile.ReplaceAllString(filepath.Base(name), ".jsonl")
		out[base] = slices.AppendSeq(out[base], strings.Lines(string(content)))
	}
	if s.follow {
		out["rows.jsonl"] = s.finals(out["rows.jsonl"])
	}
	for _, lines := range out {
		slices.Sort(lines)
	}
	return out
}

// finals are the last values of results, by id. How often one fires before, and as what, is
// a matter of how records of a followed file travel together. No revision is there twice.
func (s *simulation) finals(lines []string) (last []string) {
	type row struct {
		ID       string          `json:"id"`
		Revision int             `json:"revision"`
		Key      json.RawMessage `json:"key"`
		Value    json.RawMessage `json:"value"`
	}
	latest, seen := map[string]row{}, map[string]bool{}
	for _, line := range lines {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.t.Fatalf("seed %d: %v in %q", s.seed, err, line)
		}
		this := fmt.Sprint(r.ID, " ", r.Revision)
		if seen[this] {
			s.t.Errorf("seed %d (make sim SEED=%[1]d): revision twice: %s", s.seed, line)
		}
		seen[this] = true
		if r.Revision >= latest[r.ID].Revision {
			latest[r.ID] = r
		}
	}
	for id, r := range latest {
		last = append(last, fmt.Sprintf("%s %s %s\n", id, r.Key, r.Value))
	}
	return last
}

// unlike names the lines that only one of two results has.
func unlike(got, want map[string][]string) string {
	count := map[string]int{}
	for name, lines := range want {
		for _, line := range lines {
			count[name+": "+line]++
		}
	}
	for name, lines := range got {
		for _, line := range lines {
			count[name+": "+line]--
		}
	}
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(count)) {
		if n := count[line]; n > 0 {
			fmt.Fprintf(&b, "%d missing: %s", n, line)
		} else if n < 0 {
			fmt.Fprintf(&b, "%d too many: %s", -n, line)
		}
	}
	return b.String()
}

// faults are what goes wrong in one run of about so many calls.
func (s *simulation) faults(calls int) []sim.Fault {
	d := s.dice
	odds := sim.Odds{Slow: 0.02, Delay: 30 * time.Millisecond, Errors: []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES}}
	switch d.IntN(4) {
	case 0: // of power alone
	case 1: // a disk that is full now and then: checkpoints fail, rows cannot be written
		odds.Fail, odds.Short, odds.Ops = 0.1, 0.1, sim.Changes()
	default:
		odds.Fail, odds.Short = 0.004, 0.004
	}
	return []sim.Fault{sim.HaltNth(1+d.IntN(2*calls), d.Uint64()), sim.Seeded(d.Uint64(), odds)}
}

// check compares the simulation with an undisturbed run, and returns what was seen.
func (s *simulation) check(ctx context.Context) (taken, restored int) {
	t := s.t
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d (make sim SEED=%[1]d): %s\nof\n%s %v", s.seed, fmt.Sprintf(format, args...), s.yaml, s.set)
	}
	input := s.input
	s.input = maps.Clone(input)
	s.begin()
	clean, err := s.run(ctx, s.left())
	if !s.finished(err) {
		fail("undisturbed: %v", err)
	}
	want := s.rows()

	s.input = maps.Clone(input)
	s.begin()
	disturbed := 1 + s.dice.IntN(5)
	for n := 1; ; n++ {
		var r simulated
		if n <= disturbed {
			r, err = s.run(ctx, s.dice.IntN(1+s.left()/2), s.faults(clean.calls)...)
		} else {
			r, err = s.run(ctx, s.left())
		}
		if ctx.Err() != nil {
			fail("run %d does not end", n)
		}
		taken += r.taken
		if r.from > 0 {
			restored++
		}
		if s.finished(err) {
			s.files = s.files.Crash(0) // what a job has shown is durable
			if got := s.rows(); fmt.Sprint(got) != fmt.Sprint(want) {
				fail("after %d runs:\n%s", n, unlike(got, want))
			}
			if got, want := ledger(r.report), ledger(clean.report); !s.follow && got != want {
				fail("after %d runs: ledger\n%s\nwant\n%s", n, got, want)
			}
			return taken, restored
		}
		if n > disturbed {
			fail("run %d, on a sound machine: %v", n, err)
		}
		if s.dice.IntN(2) == 0 {
			s.files = s.files.Kill()
		} else {
			s.files = s.files.Crash(s.dice.Uint64())
		}
		if s.dice.IntN(2) == 0 {
			s.set[1] = fmt.Sprint("parallelism=", []int{1, 2, 3, 4, 7}[s.dice.IntN(5)])
		}
	}
}

// simulate makes simulations of a kind.
func simulate(t *testing.T, kind uint64, build func(s *simulation)) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(*simRuns)*20*time.Second)
	defer cancel()
	taken, restored, runs := 0, 0, *simRuns
	if underRace {
		runs = min(runs, 4)
	}
	for seed := *simSeed; seed < *simSeed+runs; seed++ {
		s := &simulation{t: t, seed: seed, dice: dice{rand.New(rand.NewPCG(seed, kind))}, input: map[string][]string{}}
		s.set = []string{fmt.Sprint("settings.batch.rows=", []int{1, 3, 10}[s.dice.IntN(3)]), fmt.Sprint("parallelism=", 1+s.dice.IntN(4)), fmt.Sprint("settings.queue=", 1+s.dice.IntN(4)),
			fmt.Sprint("settings.checkpoint.interval=", simInterval), "settings.checkpoint.tolerate=1000"}
		build(s)
		c, r := s.check(ctx)
		taken, restored = taken+c, restored+r
	}
	if restored == 0 && runs >= 10 {
		t.Error("no run has gone on from a checkpoint: they show too little")
	}
	t.Logf("%d checkpoints were taken, %d runs have gone on from one", taken, restored)
}

// lines makes records of five keys, some late and some rubbish.
func (d dice) lines(n, from, pace int) (all []string) {
	for i := range n {
		all = append(all, record(fmt.Sprint("k", d.IntN(5)), from+i*pace+d.IntN(6000), d.IntN(8)-2))
		if d.IntN(20) == 0 {
			all = append(all, d.one("rubbish\n", `{"k":"x"}`+"\n", "\n"))
		}
	}
	return all
}

// A bounded job of any graph over several files.
func TestSimBounded(t *testing.T) {
	simulate(t, 31, func(s *simulation) {
		d := s.dice
		s.yaml = strings.Replace(d.graph(), "stdout: {}", "file: {path: out/rows.jsonl}", 1)
		for _, name := range []string{"w1", "w3"} {
			if strings.Contains(s.yaml, "\n  "+name+":") {
				s.yaml += fmt.Sprintf("  of_%[1]s: {from: %[1]s, file: {path: out/%[1]s.jsonl}}\n", name)
			}
		}
		for _, name := range []string{"in", "other"} {
			for f := range 1 + d.IntN(3) {
				s.input[fmt.Sprintf("/job/%s-%d.jsonl", name, f)] = d.lines(20+d.IntN(200), 20_000+d.IntN(3)*20_000, []int{10, 100, 300}[d.IntN(3)])
			}
		}
	})
}

// A job that follows a file, whose records come piece by piece, whole or not, with a file of
// rows for each checkpoint. One split and one step: what is late then follows from the data.
func TestSimFollowed(t *testing.T) {
	simulate(t, 32, func(s *simulation) {
		d := s.dice
		s.follow, s.set = true, append(s.set, fmt.Sprint("settings.probe=", simPoll))
		s.yaml = fmt.Sprintf(`version: 1
job: t
sources:
  in: {file: {path: "in.jsonl", follow: true}, format: json, schema: {k: string, v: int64}, time: {field: ts, unit: ms}, watermark: {out_of_orderness: %s, idle_timeout: off, emit: record}}
steps:
  w: {from: in, key: [k], %s, aggregates: {n: {function: count}, sum: {function: sum, columns: {value: v}}}}
sinks:
  out: {from: w, file: {path: out/rows.jsonl}}
`, d.one("0s", "1s", "3s"), d.window(false))
		text := strings.Join(d.lines(40+d.IntN(100), 20_000, []int{100, 300}[d.IntN(2)]), "") + record("end", 10_000_000, 1)
		for len(text) > 0 {
			n := min(len(text), 1+d.IntN(400))
			s.input["/job/in.jsonl"] = append(s.input["/job/in.jsonl"], text[:n])
			text = text[n:]
		}
	})
}
