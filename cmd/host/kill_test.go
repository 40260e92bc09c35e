//go:build kill && unix

package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/engine/checkpoint"
	"tidemark/internal/env"
)

// The promise of checkpoints, held against the binary: a job that is killed with SIGKILL at
// any moment, and run again until it has come to its end, gives the same rows, the same late,
// failed and bad records and the same ledger as without. `make kill` does it KILLS times over
// the jobs of kill_jobs_test.go; JOB=NAME does it to one of them. SEED gives the data, the
// jobs and the draws; when a process is hit is the machine's affair as well.

// killEnv is what `make kill` was asked for.
func killEnv(t *testing.T) (kills int, seed uint64, only string) {
	t.Helper()
	kills, seed = 200, uint64(time.Now().UnixNano())%1_000_000
	var err error
	if s := os.Getenv("KILLS"); s != "" {
		if kills, err = strconv.Atoi(s); err != nil || kills < 1 {
			t.Fatalf("KILLS must be a number above 0, is %q", s)
		}
	}
	if s := os.Getenv("SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("SEED must be a number, is %q", s)
		}
	}
	return kills, seed, os.Getenv("JOB")
}

// manySpilled is how many kills of jobs with state on disk must show something.
const manySpilled = 10

// fewKills is how many kills of a job are worth its undisturbed runs.
const fewKills = 3

func TestAKillChangesNothing(t *testing.T) {
	kills, seed, only := killEnv(t)
	t.Logf("SEED=%d KILLS=%d", seed, kills)
	jobs := append(killJobs(t), followJobs()...)
	if only != "" {
		jobs = slices.DeleteFunc(jobs, func(j killJob) bool { return j.name != only })
		if len(jobs) == 0 {
			t.Fatalf("there is no job %s", only)
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	jobs = jobs[:min(len(jobs), max(1, kills/fewKills))]

	k := &killer{seed: seed, dir: t.TempDir()}
	for _, name := range []string{"data", "small", "plugins"} {
		if err := os.Mkdir(filepath.Join(k.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k.small = dataOf(seed, smallScale)
	dataOf(seed, 1).write(t, filepath.Join(k.dir, "data"))
	k.small.write(t, filepath.Join(k.dir, "small"))
	writePlugins(t, filepath.Join(k.dir, "plugins"), jobs)
	began := time.Now()
	t.Run("jobs", func(t *testing.T) {
		for i, j := range jobs {
			share := kills / len(jobs)
			if i < kills%len(jobs) {
				share++
			}
			t.Run(j.name, func(t *testing.T) {
				t.Parallel()
				h := k.newHistory(t, j)
				if j.plain == "" {
					h.bounded(share)
				} else {
					h.followed(share)
				}
			})
		}
	})
	t.Logf("SEED=%d: %d kills of %d jobs in %s: %d behind a checkpoint of the same run, %d of a run that had gone on from one, %d before anything was claimed; %d runs came to their end; %d restores, %d checkpoints; of jobs with state on disk %d kills, %d of them behind a checkpoint that has taken some of it over",
		seed, k.kills, len(jobs), time.Since(began).Round(time.Second), k.behind, k.again, k.early, k.ended, k.restores, k.checkpoints, k.spilled, k.reused)
	if !t.Failed() && only == "" && k.spilled >= manySpilled && k.reused == 0 {
		t.Errorf("%d kills of jobs with state on disk, and no checkpoint has taken any of it over", k.spilled)
	}
	if !t.Failed() && k.kills < kills {
		t.Errorf("%d kills, not %d", k.kills, kills)
	}
}

// killer is what all jobs share.
type killer struct {
	seed  uint64
	dir   string
	small killData

	mu    sync.Mutex
	kills int
	// Of these, behind a checkpoint of the same run, of a run that had gone on from one, and
	// before the run had claimed the log.
	behind, again, early         int
	spilled, reused              int // of jobs with state on disk, and of these behind a checkpoint that has taken some of it over
	ended, restores, checkpoints int
}

// history is what has been done to a job, told when it fails.
type history struct {
	*killer
	t    *testing.T
	job  killJob
	r    *rand.Rand
	code string // directory of machine code

	// Of the present trial:
	dir   string
	steps []string
	taken bool // there is a checkpoint
}

func (k *killer) newHistory(t *testing.T, j killJob) *history {
	sum := fnv.New64a()
	sum.Write([]byte(j.name))
	return &history{killer: k, t: t, job: j, r: rand.New(rand.NewPCG(k.seed, sum.Sum64())), code: filepath.Join(filepath.Dir(binary), "cache")}
}

// begin makes the directory of a trial.
func (h *history) begin(text, data string) {
	h.t.Helper()
	var err error
	if h.dir, err = os.MkdirTemp("", "tidemark-kill-"); err != nil {
		h.t.Fatal(err)
	}
	dir := h.dir
	h.t.Cleanup(func() {
		if !h.t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	h.steps, h.taken = nil, false
	text = strings.NewReplacer("DATA", data, "PLUGINS", filepath.Join(h.killer.dir, "plugins")).Replace(text)
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// fatalf ends the test of the job with what was done to it.
func (h *history) fatalf(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("SEED=%d JOB=%s (kept in %s):\n%s\n%s", h.seed, h.job.name, h.dir, strings.Join(h.steps, "\n"), fmt.Sprintf(format, args...))
}

// attempt is one run of the binary.
type attempt struct {
	cmd    *exec.Cmd
	stderr string        // path: of a pipe somebody would have to wait for all who hold it
	done   chan struct{} // closed when the process has ended; that of its job may follow
	began  time.Time
	before int // entries of the log
}

// text is what a run has said.
func (a *attempt) text() string {
	raw, err := os.ReadFile(a.stderr)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// runLimit ends what hangs.
const runLimit = 2 * time.Minute

// start runs the job in the directory of the trial.
func (h *history) start(flags ...string) *attempt {
	h.t.Helper()
	stderr, err := os.CreateTemp(h.dir, "stderr-")
	if err != nil {
		h.t.Fatal(err)
	}
	defer stderr.Close()
	a := &attempt{stderr: stderr.Name(), done: make(chan struct{}), before: h.log()}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	h.t.Cleanup(cancel)
	a.cmd = exec.CommandContext(ctx, binary, append([]string{"run", "job.yaml", "-o", "json", "--state", "home"}, flags...)...)
	a.cmd.Dir = h.dir
	a.cmd.Env = []string{"HOME=" + h.dir, "XDG_CACHE_HOME=" + h.code, "PATH=" + os.Getenv("PATH")}
	a.cmd.Stderr = stderr
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h.steps = append(h.steps, "run "+strings.Join(flags, " "))
	a.began = time.Now()
	if err := a.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait()
		close(a.done)
	}()
	return a
}

// kill ends a run with SIGKILL: its process, that of the job if this is another one, or both.
// It reports whether the run was still there.
func (h *history) kill(a *attempt) bool {
	pid := a.cmd.Process.Pid
	switch h.r.IntN(4) {
	case 0:
		pid = childOf(pid)
	case 1:
		pid = -pid // the group
	}
	select {
	case <-a.done:
		return false
	default:
	}
	at := time.Since(a.began)
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	<-a.done
	if !a.killed() {
		return false
	}
	h.noteKill(a, at)
	return true
}

// childOf returns the process that a run with plug-ins has started for its job, or else its own.
func childOf(pid int) int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return pid
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return pid
	}
	return child
}

// killed reports whether a run has ended by a kill, its own or that of its job's process.
func (a *attempt) killed() bool {
	status := a.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == syscall.SIGKILL ||
		status.ExitStatus() == 1 && strings.Contains(a.text(), "the job's process was ended by signal 9")
}

var logName = regexp.MustCompile(`^log-(\d+)$`)

// log returns the number of the last entry of the trial's log: they have numbers without
// gaps, one for each claim and each checkpoint.
func (h *history) log() (last int) {
	h.t.Helper()
	entries, err := os.ReadDir(filepath.Join(h.dir, "ckpt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		if m := logName.FindStringSubmatch(e.Name()); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				h.t.Fatal(err)
			}
			last = max(last, n)
		}
	}
	return last
}

// lastReuses reports whether the last checkpoint of the trial has taken over some of an earlier
// one.
func (h *history) lastReuses() bool {
	h.t.Helper()
	list, err := checkpoint.Open(checkpoint.OpenLocal(env.Real().FS, filepath.Join(h.dir, "ckpt")), env.Real().Rand).List(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	return len(list) > 0 && list[len(list)-1].Reused > 0
}

func (h *history) noteKill(a *attempt, at time.Duration) {
	last := h.log()
	entries := last - a.before
	reused := h.job.disk && h.lastReuses()
	h.steps = append(h.steps, fmt.Sprintf("  killed after %s, with %d more entries in the log, %d now", at.Round(time.Millisecond/10), entries, last))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kills++
	if h.job.disk {
		h.spilled++
		if reused {
			h.reused++
		}
	}
	if entries == 0 {
		h.early++
		return
	}
	if h.taken {
		h.again++
		h.restores++
	}
	if entries > 1 {
		h.behind++
		h.checkpoints += entries - 1
		h.taken = true
	}
}

// outcome is what a finished job has left: each file's lines in order of their text, and the
// report without what it says of checkpoints.
type outcome struct {
	files  map[string][]string
	report string
}

// files reads the files that readers see.
func (h *history) files() map[string][]string {
	h.t.Helper()
	found := map[string][]string{}
	names, err := filepath.Glob(filepath.Join(h.dir, "out", "*"))
	if err != nil {
		h.t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(h.dir, "out", "*", "*"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, name := range append(names, more...) {
		if filepath.Ext(name) != ".jsonl" || strings.HasPrefix(filepath.Base(name), ".") {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			h.t.Fatal(err)
		}
		if len(raw) > 0 && raw[len(raw)-1] != '\n' {
			h.fatalf("%s ends in half a line", name)
		}
		all := lines(string(raw))
		slices.Sort(all)
		rel, err := filepath.Rel(h.dir, name)
		if err != nil {
			h.t.Fatal(err)
		}
		found[rel] = all
	}
	return found
}

// outcome reads what a run that has come to its end has left.
func (h *history) outcome(a *attempt) outcome {
	h.t.Helper()
	text := a.text()
	i := strings.Index(text, "{")
	if code := a.cmd.ProcessState.ExitCode(); code != 0 || i < 0 {
		h.fatalf("exit code %d\n%s", code, text)
	}
	var report map[string]any
	if err := json.Unmarshal([]byte(text[i:]), &report); err != nil {
		h.fatalf("%v\n%s", err, text)
	}
	checkpoints, _ := report["checkpoints"].(map[string]any)
	if failed, _ := checkpoints["failed"].(float64); failed > 0 {
		h.fatalf("a checkpoint has failed: %v", checkpoints["error"])
	}
	restored, _ := checkpoints["restored"].(float64)
	if checkpoints != nil {
		h.mu.Lock()
		h.ended++
		h.checkpoints += max(0, h.log()-a.before-2)
		if restored > 0 {
			h.restores++
		}
		h.mu.Unlock()
	}
	delete(report, "checkpoints")
	steps, _ := report["steps"].([]any)
	for _, s := range steps {
		delete(s.(map[string]any), "state") // what memory holds, about
		delete(s.(map[string]any), "disk")
	}
	raw, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		h.t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, "out", "*progress*")); len(left) > 0 {
		h.fatalf("the job has finished, and %s is still there", left)
	}
	return outcome{h.files(), strings.ReplaceAll(string(raw), h.dir, "DIR")}
}

// same ends the test if an outcome differs from what it must be.
func (h *history) same(want, got outcome) {
	h.t.Helper()
	for name := range want.files {
		h.sameLines(name, want.files[name], got.files[name])
	}
	for name := range got.files {
		if _, ok := want.files[name]; !ok {
			h.fatalf("there is a file %s", name)
		}
	}
	if want.report != got.report {
		h.fatalf("the ledger differs:\n%s", difference(lines(want.report), lines(got.report)))
	}
}

func (h *history) sameLines(name string, want, got []string) {
	h.t.Helper()
	if !slices.Equal(want, got) {
		h.fatalf("%s: %d lines, %d without a kill\n%s", name, len(got), len(want), difference(want, got))
	}
}

// difference shows the first lines that one of two sorted texts has and the other has not.
func difference(want, got []string) string {
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range got {
		count[line]--
	}
	var missing, more []string
	for _, line := range slices.Concat(want, got) {
		switch n := count[line]; {
		case n > 0:
			missing = append(missing, fmt.Sprintf("  missing %d of %s", n, line))
		case n < 0:
			more = append(more, fmt.Sprintf("  %d too many of %s", -n, line))
		}
		delete(count, line)
	}
	return strings.Join(slices.Concat(missing[:min(5, len(missing))], more[:min(5, len(more))]), "\n") + fmt.Sprintf("\n  in all %d are missing and %d are too many", len(missing), len(more))
}

// checkpointing are the settings of a job that is killed.
func (h *history) checkpointing(interval time.Duration) string {
	return fmt.Sprintf("settings.checkpoint={interval: %s, dir: ckpt}", interval)
}

// bounded kills a job over input that ends so many times.
func (h *history) bounded(kills int) {
	data := filepath.Join(h.killer.dir, "data")
	h.begin(h.job.text, data)
	a := h.start()
	<-a.done
	want := h.outcome(a)
	var sizes []string
	for _, name := range slices.Sorted(maps.Keys(want.files)) {
		sizes = append(sizes, fmt.Sprintf("%d in %s", len(want.files[name]), filepath.Base(name)))
	}

	// How long it takes, and how often its files change, when nobody disturbs it.
	h.begin(h.job.text, data)
	const interval = 30 * time.Millisecond
	a = h.start("--set", h.checkpointing(interval))
	changes := h.watch(a, -1)
	length := time.Since(a.began)
	h.same(want, h.outcome(a))
	h.t.Logf("%s undisturbed, %d changes of files, %d entries in the log; rows: %s", length.Round(time.Millisecond), changes, h.log(), strings.Join(sizes, ", "))

	for done := 0; done < kills; {
		h.begin(h.job.text, data)
		moves := h.r.IntN(2) == 0 // another parallelism after each kill
		fixed := h.fast()
		for tries := 0; ; tries++ {
			flags := fixed
			if moves {
				flags = h.fast()
			}
			a := h.start(append([]string{"--set", h.checkpointing(interval)}, flags...)...)
			if done == kills || tries == maxTries {
				<-a.done
			} else if h.strike(a, length, changes) {
				done++
				for name, got := range h.files() { // a file is whole or not there
					h.sameLines(name, want.files[name], got)
				}
				continue
			}
			h.same(want, h.outcome(a))
			break
		}
	}
}

// maxTries is how often a job is killed before it is let to its end.
const maxTries = 6

// fast draws settings of how fast a job runs, of which rows must not depend.
func (h *history) fast() []string {
	return []string{"--set", fmt.Sprintf("parallelism=%d", 1+h.r.IntN(4)), "--batch-rows", strconv.Itoa([]int{16, 100, 1024, 1024}[h.r.IntN(4)])}
}

// strike kills a run at a moment that is drawn: some time after its start, or just after
// some change of its files. It reports whether the run was still there.
func (h *history) strike(a *attempt, length time.Duration, changes int) bool {
	if h.r.IntN(2) == 0 {
		wait := time.NewTimer(time.Duration(h.r.Int64N(int64(length))))
		defer wait.Stop()
		select {
		case <-a.done:
			return false
		case <-wait.C:
		}
		return h.kill(a)
	}
	h.watch(a, h.r.IntN(changes+1))
	if late := time.Duration(h.r.IntN(1000)) * time.Microsecond; h.r.IntN(2) == 0 {
		<-time.After(late)
	}
	return h.kill(a)
}

// lookEvery is how often the files of a run are looked at.
const lookEvery = 300 * time.Microsecond

// watch waits until the names in the directories of a run have changed so many times, or it
// has ended, and returns how many changes it has seen.
func (h *history) watch(a *attempt, changes int) int {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last string
	for seen := 0; ; {
		now := h.names("ckpt") + h.names("out")
		if now != last {
			last = now
			seen++
		}
		if changes >= 0 && seen >= changes {
			return seen
		}
		select {
		case <-a.done:
			return seen
		case <-tick.C:
		}
	}
}

func (h *history) names(dir string) string {
	entries, err := os.ReadDir(filepath.Join(h.dir, dir))
	if err != nil {
		return "" // not there yet
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name() + " ")
	}
	return b.String()
}
