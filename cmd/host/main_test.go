package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"tidemark/internal/wasmtest"
)

// binary is the command under test, built once.
var binary string

func TestMain(m *testing.M) {
	// Systems count into what a child has had at most what its parent had when it started,
	// so that garbage here would fail tests of how little memory the binary takes.
	debug.SetGCPercent(100)
	dir, err := os.MkdirTemp("", "tidemark-test")
	if err == nil {
		binary = filepath.Join(dir, "tidemark")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// command prepares a run of the binary in dir, with a home of its own. Machine code of
// plug-ins is kept for all runs of the package.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	return commandFor(t, time.Minute, dir, args...)
}

// commandFor is command with a limit of its own.
func commandFor(t *testing.T, limit time.Duration, dir string, args ...string) *exec.Cmd {
	t.Helper()
	// What hangs is ended before the test is, so that no process is left behind.
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = dir
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(filepath.Dir(binary), "cache"), "PATH=" + os.Getenv("PATH"), "RATE=2"}
	return cmd
}

// tidemark runs the binary to its end.
func tidemark(t *testing.T, dir, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(t, dir, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// workspace writes files to a new directory.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lines splits text into its lines, without the last line end.
func lines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// seconds makes records with these times.
func seconds(times ...float64) string {
	var b strings.Builder
	for _, t := range times {
		fmt.Fprintf(&b, "{\"ts\":%d,\"k\":\"a\",\"v\":%g}\n", int64(t*1000), t)
	}
	return b.String()
}

// countJob counts records in windows of 5 s, 2 s out of order, 4 s late.
const countJob = `version: 1
job: counts
sources:
  in:
    file: {path: in.jsonl}
    format: json
    schema: {k: string, v: float64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 5s, allowed_lateness: 4s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: s, stdout: {}, time_format: ms}
`

// sequence is small enough to follow by hand. With a bound of 2 s the watermark after
// 10 is 7,999 ms, which fires [0, 5); 4.5 comes behind it and updates that window
// (cleaned up at 4,999 + 4,000 ms); 12 moves the watermark to 9,999, which fires
// [5, 10) and cleans up [0, 5); so 3 is late by 9,999 - 4,999 ms.
var sequence = seconds(1, 2, 5, 4, 6, 10, 4.5, 12, 3)

// withPlugin is countJob with a plug-in in place of count.
var withPlugin = strings.Replace(countJob, "{n: {function: count}}", "{n: {plugin: p}}", 1) + "plugins: {p: {file: p.wasm}}\n"

func TestExitCodes(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string // beside job.yaml and in.jsonl
		args  []string
		code  int
		want  string // in standard error
	}{
		{"a fine job", nil, []string{"run", "job.yaml"}, 0, "source"},
		{"no command", nil, nil, 0, ""},
		{"a misspelt command", nil, []string{"rnu"}, 2, `tidemark: there is no command "rnu"; did you mean run?`},
		{"an unknown flag", nil, []string{"run", "job.yaml", "--speed"}, 2, "tidemark: run: unknown flag: --speed; tidemark run --help lists the flags\n"},
		{"an unknown flag of no command", nil, []string{"--speed"}, 2, "tidemark: unknown flag: --speed; tidemark --help lists the flags\n"},
		{"no job file named", nil, []string{"run"}, 2, "tidemark: run wants a job file"},
		{"two job files named", nil, []string{"validate", "job.yaml", "job.yaml"}, 2, "tidemark: validate wants a job file"},
		{"a form that there is not", nil, []string{"validate", "job.yaml", "-o", "xml"}, 2, `-o must be table or json or yaml, is "xml"`},
		{"a job file that is not there", nil, []string{"run", "none.yaml"}, 2, "tidemark: job file none.yaml: no such file or directory"},
		{"a directory as job file", nil, []string{"run", "."}, 2, "tidemark: job file .: is a directory"},
		{"an input that is not there", nil, []string{"run", "job.yaml", "--set", "sources.in.file.path=x.jsonl"}, 2, "there is no file x.jsonl"},
		{"a directory as input", nil, []string{"run", "job.yaml", "--set", "sources.in.file.path=."}, 2, "is a directory"},
		{"an invalid setting", nil, []string{"run", "job.yaml", "--set", "parallelism=0"}, 2, "tidemark: --set parallelism: must be between 1 and"},
		{"a batch of no rows", nil, []string{"run", "job.yaml", "--batch-rows", "0"}, 2, "--set settings.batch.rows: must be between 1 and"},
		{"a sink below a file", nil, []string{"run", "job.yaml", "--set", "sinks.out={from: s, file: {path: in.jsonl/out.jsonl}}"}, 2, "in.jsonl is a file, so nothing can lie below it"},
		{"a full disk", nil, []string{"run", "job.yaml", "--set", "sinks.out={from: s, file: {path: /dev/full}}"}, 1, "no space left on device"},
		{"a plug-in that is not there", map[string]string{"p.yaml": withPlugin},
			[]string{"run", "p.yaml"}, 2, "there is no file p.wasm"},
		{"a plug-in that is not Wasm", map[string]string{"p.wasm": "#!/bin/sh\n", "p.yaml": withPlugin},
			[]string{"run", "p.yaml"}, 2, "p.yaml:18:21: plug-in p cannot be used: not a WebAssembly file: it starts with 23 21 2f 62: a script"},
		// Each line has the place; other problems of the module are in between.
		{"a Wasm file without our marker", map[string]string{"p.wasm": "\x00asm\x01\x00\x00\x00", "p.yaml": withPlugin},
			[]string{"run", "p.yaml"}, 2, "p.yaml:18:21: plug-in p cannot be used: no section named tidemark: not a plug-in; build it with tidemark plugin build\np.yaml:18:21: plug-in p cannot be used: "},
		{"a plug-in of another version of the ABI", map[string]string{"p.wasm": otherVersion(t), "p.yaml": withPlugin},
			[]string{"run", "p.yaml"}, 2, "plug-in p cannot be used: built for ABI version 2, this host speaks version 1\n"},
		{"a duration without unit", nil, []string{"run", "job.yaml", "--set", "sources.in.watermark.out_of_orderness=2"}, 2,
			"tidemark: --set sources.in.watermark.out_of_orderness: must have a unit, is 2; say 2s or 2ms\n"},
		{"more bad records than allowed", map[string]string{"in.jsonl": "{\n{\n{\n"}, []string{"run", "job.yaml", "--set", "settings.bad_budget.count=2"}, 1, "tidemark: job counts failed: "},
		{"seconds given as milliseconds", map[string]string{"in.jsonl": "{\"ts\":1500000000}\n"}, []string{"run", "job.yaml"}, 2, "tidemark: job counts failed: "},
		{"preview of seconds given as milliseconds", map[string]string{"in.jsonl": "{\"ts\":1500000000}\n"}, []string{"preview", "job.yaml"}, 2, "ts"},
		{"complete, but followed", nil, []string{"run", "job.yaml", "--complete", "--set", "sources.in.file.follow=true"}, 2, "source in is followed"},
		{"a preview of nothing", nil, []string{"preview", "job.yaml", "-n", "0"}, 2, "-n must be between 1 and"},
		{"a comparison with a file that is not there", nil, []string{"diff", "in.jsonl", "none"}, 2, "in.jsonl:1: not a result row"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"job.yaml": countJob, "in.jsonl": sequence}
			for name, text := range row.files {
				files[name] = text
			}
			_, stderr, code := tidemark(t, workspace(t, files), "", row.args...)
			if code != row.code || !strings.Contains(stderr, row.want) {
				t.Errorf("exit code %d, want %d, and in standard error %q:\n%s", code, row.code, row.want, stderr)
			}
			if strings.Contains(stderr, "\r") {
				t.Error("progress is drawn, but standard error is no terminal")
			}
		})
	}
}

// otherVersion is a plug-in whose marker says version 2 of the ABI: a number of four
// bytes behind the section's name.
func otherVersion(t *testing.T) string {
	guest := string(wasmtest.Guest(t, "sum"))
	i := strings.Index(guest, "\x08tidemark\x01\x00\x00\x00{")
	if i < 0 {
		t.Fatal("the guest has no marker")
	}
	i += len("\x08tidemark")
	return guest[:i] + "\x02" + guest[i+1:]
}
