package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"tidemark/engine"
	"tidemark/internal/wasmtest"
)

// row is what the tests look at in a result row.
type row struct {
	Window   struct{ Start, End int64 }
	Kind     string
	Revision int
	Value    map[string]any
}

// results reads result rows and writes each as "start kind revision n".
func results(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	for _, line := range lines(text) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		v, err := json.Marshal([]any{r.Window.Start, r.Kind, r.Revision, r.Value["n"]})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(v))
	}
	return out
}

func TestRunWritesResultsToStandardOutputAndTheLedgerToStandardError(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": countJob, "in.jsonl": sequence + "{\"ts\":1}}\n"})
	stdout, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
	want := []string{`[0,"on_time",0,3]`, `[0,"update",1,4]`, `[5000,"on_time",0,2]`, `[10000,"on_time",0,2]`}
	if got := results(t, stdout); code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit code %d, rows %v, want %v", code, got, want)
	}
	// Blanks are for people.
	plain := regexp.MustCompile(` +`).ReplaceAllString(stderr, " ")
	for _, part := range []string{
		"job counts: parallelism 1, ordered replay, batches of 1,024 rows\n",
		"source in: in.jsonl, json\n time: ts in ms; quarantined if more than 5m ahead of the file's last change and the job's first start, whichever is later\n",
		" watermark: 2s behind the latest record, after each record\n",
		" budget of bad records: 1,000, or 1 % if that is more\n",
		"step s: in by k, tumbling 5s, allowed lateness 4s: n (count)\n",
		"sink s.late: s.late to memory, the last 100 rows (by default)\n",
		"in 10 = 1 + 0 + 9\n",          // read = bad + quarantined + passed on
		"s in 9 = 0 + 0 + 1 + 0 + 8\n", // passed on = filtered + failed + late + no window + counted
		"s in 8 = 0 + 8 + 0 | 2 1 4 1\n",
		"out s 4 stdout\n",
		"the last 1 of 1 s.late row (a sink {from: s.late} takes all):\n",
		`"late_by_ms":5000,"behind_ms":9000`,
		"the last 1 of 1 in.bad row",
	} {
		if !strings.Contains(plain, part) {
			t.Errorf("standard error lacks %q:\n%s", part, stderr)
		}
	}
}

func TestRunCompleteHasNothingLate(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": countJob, "in.jsonl": sequence})
	stdout, stderr, code := tidemark(t, dir, "", "run", "job.yaml", "--complete", "-o", "json")
	want := []string{`[0,"on_time",0,5]`, `[5000,"on_time",0,2]`, `[10000,"on_time",0,2]`}
	if got := results(t, stdout); code != 0 || !slices.Equal(got, want) {
		t.Errorf("exit code %d, rows %v, want %v", code, got, want)
	}
	var report engine.Report
	if err := json.Unmarshal([]byte(stderr), &report); err != nil {
		t.Fatalf("the ledger is no JSON: %v\n%s", err, stderr)
	}
	if l := report.Steps[0].Inputs[0]; l.Counted != 9 || l.Late != 0 || len(report.Balance()) > 0 {
		t.Errorf("the ledger has %+v", l)
	}
}

func TestRunReadsStandardInputAtAnyBatchSize(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": strings.Replace(countJob, "in.jsonl", `"-"`, 1)})
	want := []string{`[0,"on_time",0,3]`, `[0,"update",1,4]`, `[5000,"on_time",0,2]`, `[10000,"on_time",0,2]`}
	for _, rows := range []string{"1", "2", "1024"} {
		stdout, stderr, code := tidemark(t, dir, sequence, "run", "job.yaml", "--batch-rows", rows, "--set", "parallelism=${RATE}")
		if got := results(t, stdout); code != 0 || !slices.Equal(got, want) {
			t.Errorf("batches of %s: exit code %d, rows %v, want %v\n%s", rows, code, got, want, stderr)
		}
	}
}

func TestRunPublishesFilesAtTheEnd(t *testing.T) {
	dir := workspace(t, map[string]string{"in.jsonl": sequence,
		"job.yaml": strings.Replace(countJob, "stdout: {}, ", "file: {path: out/results.jsonl}, ", 1)})
	stdout, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
	if code != 0 || stdout != "" {
		t.Fatalf("exit code %d, standard output %q\n%s", code, stdout, stderr)
	}
	for name, n := range map[string]int{"results.jsonl": 4, "s.late.jsonl": 1, "in.bad.jsonl": 0} {
		text, err := os.ReadFile(filepath.Join(dir, "out", name))
		if err != nil || len(lines(string(text))) != n {
			t.Errorf("%s: %v, %d lines, want %d", name, err, len(lines(string(text))), n)
		}
	}
}

// running is a run that reads standard input and has begun.
type running struct {
	*exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr *bufio.Reader
}

// launch starts a run.
func launch(t *testing.T, dir string, flags ...string) *running {
	t.Helper()
	r := &running{Cmd: command(t, dir, append([]string{"run", "job.yaml"}, flags...)...)}
	pipe := func(rc io.Reader, err error) *bufio.Reader {
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(rc)
	}
	var err error
	if r.stdin, err = r.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r.stdout, r.stderr = pipe(r.StdoutPipe()), pipe(r.StderrPipe())
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	return r
}

// begin starts a run, gives it records that fire the window from 0 to 5 s, and
// returns when it has written that row: then its tasks are at work.
func begin(t *testing.T, dir string) *running {
	t.Helper()
	r := launch(t, dir)
	if _, err := io.WriteString(r.stdin, seconds(1, 20)); err != nil {
		t.Fatal(err)
	}
	until(t, r.stdout, `"window":{"start":0,"end":5000}`)
	return r
}

func (r *running) interrupt(t *testing.T) {
	t.Helper()
	if err := r.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
}

// end reads what is still written, and returns the exit code.
func (r *running) end(t *testing.T) (stdout, stderr string, code int) {
	t.Helper()
	out, err := io.ReadAll(r.stdout)
	if err != nil {
		t.Fatal(err)
	}
	errs, err := io.ReadAll(r.stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Wait()
	return string(out), string(errs), r.ProcessState.ExitCode()
}

// until reads to a line with this text.
func until(t *testing.T, in *bufio.Reader, text string) {
	t.Helper()
	for seen := ""; !strings.Contains(seen, text); {
		line, err := in.ReadString('\n')
		seen += line
		if err != nil {
			t.Fatalf("the output ends without %q: %v\n%s", text, err, seen)
		}
	}
}

// stdinJob is countJob over standard input.
var stdinJob = strings.Replace(countJob, "in.jsonl", `"-"`, 1)

func TestInterruptStopsCleanlyAndFiresNothing(t *testing.T) {
	r := begin(t, workspace(t, map[string]string{"job.yaml": stdinJob}))
	r.interrupt(t) // the input stays open, and the window from 20 s holds a record
	stdout, stderr, code := r.end(t)
	if code != 130 || stdout != "" {
		t.Errorf("exit code %d, and standard output goes on with %q", code, stdout)
	}
	plain := regexp.MustCompile(` +`).ReplaceAllString(stderr, " ")
	for _, part := range []string{
		"tidemark: stopping; Ctrl-C again ends at once\n",
		"s in 2 = 1 + 1 + 0 |", // open, fired, unfired
		"stopped: nothing was fired",
		"tidemark: job counts: interrupted\n",
	} {
		if !strings.Contains(plain, part) {
			t.Errorf("standard error lacks %q:\n%s", part, stderr)
		}
	}
}

func TestInterruptEndsAPlugInThatDoesNotReturn(t *testing.T) {
	begins := "func tm_aggregate_add f:i32 -> i32 | g:i32 i:i32 pos:i32 d:i32 data:i32 len:i32 null:i32\n"
	guest := wasmtest.Guest(t, "join", begins, begins+"  loop br 0 end\n")
	// The step that hangs gets each batch before the one whose row is waited for. It
	// tries each record by itself, which takes many seconds.
	job := strings.Replace(stdinJob, "steps:\n", `steps:
  hangs:
    from: in
    on_error: dead_letter
    window: {tumbling: 5s}
    aggregates: {n: {plugin: endless, columns: {text: k}}}
`, 1) + "  hung: {from: hangs, stdout: {}}\nplugins: {endless: {file: endless.wasm}}\n"
	r := begin(t, workspace(t, map[string]string{"job.yaml": job, "endless.wasm": string(guest)}))
	r.interrupt(t)
	_, stderr, code := r.end(t)
	if code != 130 || !strings.Contains(stderr, "stopped: nothing was fired") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// The compiler can be stopped between two functions only, and one can take long.
func TestASecondInterruptEndsWhatDoesNotStop(t *testing.T) {
	dull := strings.Repeat("0 0 i32.load 0 i32.store 0 $x $y i32.add =y ", 20)
	guest := wasmtest.Guest(t, "join", "func tm_arena", "func slow x:i32 y:i32\n  block\n"+
		strings.Repeat("    0 i32.load 0 br_if 0 "+dull+"\n", 8_000)+"  end\nfunc tm_arena")
	job := strings.Replace(stdinJob, "steps:\n", `steps:
  waits:
    from: in
    window: {tumbling: 5s}
    aggregates: {n: {plugin: slow, columns: {text: k}}}
`, 1) + "  slow: {from: waits, stdout: {}}\nplugins: {slow: {file: slow.wasm}}\n"
	r := launch(t, workspace(t, map[string]string{"job.yaml": job, "slow.wasm": string(guest)}))
	until(t, r.stderr, "step waits: ")
	r.interrupt(t)
	until(t, r.stderr, "tidemark: stopping; Ctrl-C again ends at once")
	r.interrupt(t)
	if _, stderr, code := r.end(t); code != 130 || strings.Contains(stderr, "stopped") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// A plug-in that keeps failing is disabled: what would need it is set aside, and told.
func TestAPlugInThatIsDisabled(t *testing.T) {
	job := strings.NewReplacer("v: float64", "v: int64", "function: count", "plugin: sum, columns: {value: v}", "    from: in\n",
		"    from: in\n    on_error: {disable_plugin: {failures: 2, within: 1m}}\n").Replace(countJob) + "plugins: {sum: {file: sum.wasm}}\n"
	var in strings.Builder
	for i, v := range []int{2, -1, 3, -2, 4, 5} { // it traps, and it refuses: enough
		fmt.Fprintf(&in, `{"ts":%d,"k":"a","v":%d}`+"\n", 1000+i, v)
	}
	dir := workspace(t, map[string]string{"job.yaml": job, "sum.wasm": string(wasmtest.Guest(t, "sum")), "in.jsonl": in.String()})
	stdout, stderr, code := tidemark(t, dir, "", "run", "job.yaml")
	if code != 0 || stdout != "" {
		t.Errorf("exit code %d, standard output %q", code, stdout)
	}
	for _, want := range []string{
		"step s: plug-in sum is disabled in 1 part, and 3 records or firings were set aside; in the first it is disabled since 1970-01-01T00:00:01.003Z, after 2 failures within 1m; the last one: negative value\n",
		"the last 5 of 5 s.failed rows",
		`"message":"aggregate n: plug-in sum refused: negative value"`,
		`"message":"plug-in sum not called: it is disabled since 1970-01-01T00:00:01.003Z, after 2 failures within 1m; the last one: negative value","plugin":"sum","record":{"ts":1005,`,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error lacks %q:\n%s", want, stderr)
		}
	}
}

func TestAPlugInThatBreaksOnOneRecord(t *testing.T) {
	job := strings.NewReplacer("v: float64", "v: int64", "function: count", "plugin: sum, columns: {value: v}").Replace(countJob) +
		"plugins: {sum: {file: sum.wasm}}\n"
	record := func(v string) string { return `{"ts":1000,"k":"a","v":` + v + "}\n" }
	rows := []struct {
		name, v, onError string
		code             int
		want             []string // in standard error
		sum              string   // in standard output
	}{
		{"it traps, and the job fails", "-1", "fail", 1, []string{"tidemark: job counts failed: ", "sum", "unreachable", "record in.jsonl:2", "ended early: 1 record from in had not been taken by step s"}, ""},
		{"it refuses, and the job fails", "-2", "fail", 1, []string{"tidemark: job counts failed: ", "negative value"}, ""},
		{"it traps, and the record goes aside", "-1", "dead_letter", 0, []string{"the last 1 of 1 s.failed row", `"line":2`, `"v":-1`}, `"value":{"n":{"sum":5,"count":2}}`},
		{"it panics, and the record goes aside", "-3", "dead_letter", 0, []string{"the last 1 of 1 s.failed row", "value is -3"}, `"value":{"n":{"sum":5,"count":2}}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := workspace(t, map[string]string{"job.yaml": job, "sum.wasm": string(wasmtest.Guest(t, "sum")),
				"in.jsonl": record("2") + record(row.v) + record("3")})
			stdout, stderr, code := tidemark(t, dir, "", "run", "job.yaml", "--set", "steps.s.on_error="+row.onError)
			if code != row.code || !strings.Contains(stdout, row.sum) || (row.sum == "") != (stdout == "") {
				t.Errorf("exit code %d, want %d, standard output %q\n%s", code, row.code, stdout, stderr)
			}
			for _, part := range row.want {
				if !strings.Contains(stderr, part) {
					t.Errorf("standard error lacks %q:\n%s", part, stderr)
				}
			}
		})
	}
}

func TestRunWritesAProfile(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": countJob, "in.jsonl": sequence})
	_, plain, _ := tidemark(t, dir, "", "run", "job.yaml")
	_, stderr, code := tidemark(t, dir, "", "run", "job.yaml", "--cpu-profile", "cpu.pprof")
	if code != 0 || stderr != plain {
		t.Errorf("exit code %d, standard error\n%s\nwithout a profile\n%s", code, stderr, plain)
	}
	f, err := os.Open(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil || len(p.SampleType) != 2 || p.SampleType[1].Type != "cpu" {
		t.Errorf("not a CPU profile: %v, %v", p, err)
	}
	if _, stderr, code := tidemark(t, dir, "", "run", "job.yaml", "--cpu-profile", "no/such/directory"); code == 0 || !strings.Contains(stderr, "--cpu-profile: ") {
		t.Errorf("exit code %d, standard error %q", code, stderr)
	}
}
