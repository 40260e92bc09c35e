package main_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/wasmtest"
)

// sumJob counts and, by a plug-in, sums in windows of 5 s; it serves a run and a host.
// The fifth record comes too late and the sixth is bad.
const sumJob = `version: 1
job: sums
plugins:
  sum: {file: sum.wasm, ref: sum@1}
sources:
  in:
    file: {path: in.jsonl}
    format: json
    schema: {k: string, v: int64}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 5s}
    aggregates: {n: {function: count}, total: {plugin: sum, columns: {value: v}}}
sinks:
  out: {from: s, file: {path: out/results.jsonl}}
`

const sumInput = `{"ts":1000,"k":"a","v":1}
{"ts":2000,"k":"b","v":20}
{"ts":3000,"k":"a","v":300}
{"ts":9000,"k":"a","v":4000}
{"ts":4000,"k":"b","v":50000}
{"ts":9500,"k":"b","v":"six"}
`

// server is a host in a process of its own.
type server struct {
	*exec.Cmd
	address string
	log     chan string // all of it, when the process has closed it
}

// serve starts a host on dir/data that reads inputs from dir.
func serve(t *testing.T, dir string, env ...string) *server {
	t.Helper()
	return serveFor(t, time.Minute, dir, env...)
}

// serveFor is serve for a test that takes longer.
func serveFor(t *testing.T, limit time.Duration, dir string, env ...string) *server {
	t.Helper()
	s := &server{Cmd: commandFor(t, limit, dir, "serve", "--data", "data", "--inputs", ".", "--listen", "127.0.0.1:0"), log: make(chan string, 1)}
	s.Env = append(s.Env, env...)
	pipe, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() })
	out := bufio.NewReader(pipe)
	listening := regexp.MustCompile(`msg=listening address=(\S+)`)
	var seen strings.Builder
	for s.address == "" {
		line, err := out.ReadString('\n')
		seen.WriteString(line)
		if err != nil {
			t.Fatalf("the host does not listen: %v\n%s", err, seen.String())
		}
		if m := listening.FindStringSubmatch(line); m != nil {
			s.address = m[1]
		}
	}
	go func() { // ends with the process
		rest, _ := io.ReadAll(out)
		s.log <- seen.String() + string(rest)
	}()
	return s
}

// end sends a signal and returns the exit code and the log.
func (s *server) end(t *testing.T, signals ...os.Signal) (int, string) {
	t.Helper()
	for _, sig := range signals {
		if err := s.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	log := <-s.log
	_ = s.Wait() // the exit code tells
	return s.ProcessState.ExitCode(), log
}

// as runs a client's command for the owner of a token.
func (s *server) as(t *testing.T, dir, token string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return tidemark(t, dir, "", append(args, "--host", s.address, "--token", token)...)
}

// ask sends a request as it stands.
func (s *server) ask(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// must fails the test unless a command ended with the code and said the text.
func must(t *testing.T, what string, code, wantCode int, text, want string) {
	t.Helper()
	if code != wantCode || !strings.Contains(text, want) {
		t.Errorf("%s: exit code %d, want %d, with %q in:\n%s", what, code, wantCode, want, text)
	}
}

// tenantIn makes a tenant with a token, on the host's directory.
func tenantIn(t *testing.T, dir, name string) string {
	t.Helper()
	_, errs, code := tidemark(t, dir, "", "tenant", "create", name, "--data", "data")
	must(t, "tenant create", code, 0, errs, "tenant "+name+" made")
	token, errs, code := tidemark(t, dir, "", "token", "create", name, "--data", "data")
	must(t, "token create", code, 0, errs, "")
	return strings.TrimSpace(token)
}

func sorted(text string) []string {
	out := lines(text)
	slices.Sort(out)
	return out
}

// A host and two tenants, from an empty directory to a restart, over HTTP.
func TestServe(t *testing.T) {
	t.Parallel()
	guest := string(wasmtest.Guest(t, "sum"))
	dir := workspace(t, map[string]string{"job.yaml": sumJob, "in.jsonl": sumInput, "sum.wasm": guest, "text.wasm": "#!/bin/sh\n",
		"follow.yaml": strings.Replace(sumJob, "path: in.jsonl", "path: in.jsonl, follow: true", 1)})
	a, b := tenantIn(t, dir, "a"), tenantIn(t, dir, "b")
	_, errs, code := tidemark(t, dir, "", "tenant", "create", "a", "--data", "data")
	must(t, "a tenant that there is", code, 4, errs, "tenant a exists")
	_, errs, code = tidemark(t, dir, "", "token", "create", "c", "--data", "data")
	must(t, "a token for nobody", code, 3, errs, "no tenant c")
	_, errs, code = tidemark(t, dir, "", "serve")
	must(t, "a host without a place", code, 2, errs, "data must be set")

	h := serve(t, dir)
	_, errs, code = tidemark(t, dir, "", "serve", "--data", "data", "--listen", "127.0.0.1:0")
	must(t, "a second host on the same data", code, 4, errs, "another host is running on it")

	t.Run("a file that is no plug-in is refused with reasons", func(t *testing.T) {
		_, errs, code := h.as(t, dir, a, "plugin", "push", "text.wasm")
		must(t, "push", code, 2, errs, "script")
		status, body := h.ask(t, "POST", "/v1/plugins", a, "\x00asm\x01\x00\x00\x00")
		if status != 400 || strings.Count(body, `{"message":`) < 3 || !strings.Contains(body, "tidemark plugin build") {
			t.Errorf("an empty module: status %d, %s", status, body)
		}
	})
	t.Run("a plug-in is uploaded once", func(t *testing.T) {
		out, errs, code := h.as(t, dir, a, "plugin", "push", "sum.wasm")
		must(t, "push", code, 0, out+errs, "sum@1")
		if status, body := h.ask(t, "POST", "/v1/plugins", a, guest); status != 200 {
			t.Errorf("the same again: status %d, %s", status, body)
		}
		other := string(wasmtest.Guest(t, "sum", `"negative value"`, `"negative VALUE"`))
		if status, body := h.ask(t, "POST", "/v1/plugins", a, other); status != 409 || !strings.Contains(body, "new version") {
			t.Errorf("other bytes under the same name: status %d, %s", status, body)
		}
	})
	t.Run("all problems of a job file are told, with their places", func(t *testing.T) {
		status, body := h.ask(t, "POST", "/v1/jobs", a, strings.NewReplacer("unit: ms", "unit: msec", "function: count", "function: cuont").Replace(sumJob))
		var f struct {
			Error struct {
				Code    string
				Details []struct {
					Line, Column int
					Message      string
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &f); err != nil {
			t.Fatal(err)
		}
		if status != 400 || f.Error.Code != "invalid" || len(f.Error.Details) != 2 || f.Error.Details[0].Line != 10 || f.Error.Details[1].Line != 17 {
			t.Errorf("status %d, %s", status, body)
		}
	})
	t.Run("another tenant has no such plug-in", func(t *testing.T) {
		_, errs, code := h.as(t, dir, b, "job", "submit", "job.yaml")
		must(t, "submit", code, 2, errs, "no plug-in sum@1; none has been uploaded yet")
	})

	_, errs, code = tidemark(t, dir, "", "run", "job.yaml")
	must(t, "run", code, 0, errs, "")
	wanted := func(t *testing.T, name string) []string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(dir, "out", name))
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) == 0 {
			t.Fatalf("the run wrote nothing to %s, so there is nothing to compare", name)
		}
		return sorted(string(raw))
	}
	results := func(t *testing.T, h *server) {
		t.Helper()
		for port, name := range map[string]string{"results": "results.jsonl", "late": "s.late.jsonl", "bad": "in.bad.jsonl"} {
			out, errs, code := h.as(t, dir, a, "job", "results", "one", "--port", port)
			must(t, port, code, 0, errs, "")
			if got, want := sorted(out), wanted(t, name); !slices.Equal(got, want) {
				t.Errorf("%s of the host:\n%s\nof the run:\n%s", port, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	t.Run("a job gives the rows of a run", func(t *testing.T) {
		out, errs, code := h.as(t, dir, a, "job", "submit", "job.yaml", "--id", "one", "--wait", "-o", "json")
		must(t, "submit", code, 0, out+errs, `"state":"finished"`)
		for _, want := range []string{`"read":6,"bad":1,"quarantined":0,"passed":5`, `"id":"in.jsonl","read":6,"watermark":"end","high":"1970-01-01T00:00:09.000Z"`, `"late":1`, `"counted":4`} {
			if !strings.Contains(out, want) {
				t.Errorf("%s is not in %s", want, out)
			}
		}
		results(t, h)
		if status, body := h.ask(t, "POST", "/v1/jobs?id=one", a, sumJob); status != 200 {
			t.Errorf("asked again: status %d, %s", status, body)
		}
		out, errs, code = h.as(t, dir, a, "job", "get", "one")
		must(t, "get", code, 0, out+errs, "read 6 = bad 1 + quarantined 0 + passed on 5")
		if fuel := regexp.MustCompile(`cpu +\d+\.\d{3} s in [\d,]+ turns, \d+\.\d{3} s waited for them; plug-ins burnt [1-9][\d,]* fuel`); !fuel.MatchString(out) {
			t.Errorf("what it has had of the CPU is not in\n%s", out)
		}
		out, errs, code = h.as(t, dir, a, "job", "list")
		must(t, "list", code, 0, out+errs, "one  sums  finished")
	})
	t.Run("what is another's is unknown", func(t *testing.T) {
		for _, args := range [][]string{{"get", "one"}, {"results", "one"}, {"stop", "one"}, {"delete", "one"}} {
			out, errs, code := h.as(t, dir, b, append([]string{"job"}, args...)...)
			must(t, args[0], code, 3, errs, "no job one")
			if out != "" {
				t.Errorf("%s says %s", args[0], out)
			}
		}
		if status, body := h.ask(t, "GET", "/v1/jobs", b, ""); status != 200 || body != "{\"jobs\":[]}\n" {
			t.Errorf("list: status %d, %s", status, body)
		}
	})
	t.Run("no token, or a wrong one, opens nothing", func(t *testing.T) {
		for _, token := range []string{"", "rubbish", a[:len(a)-1] + "~"} {
			if status, body := h.ask(t, "GET", "/v1/jobs/one", token, ""); status != 401 || !strings.Contains(body, `"code":"denied"`) {
				t.Errorf("token %q: status %d, %s", token, status, body)
			}
		}
		_, errs, code := h.as(t, dir, "rubbish", "job", "list")
		must(t, "list", code, 5, errs, "the token is not valid")
		_, errs, code = tidemark(t, dir, "", "job", "list", "--host", h.address)
		must(t, "list", code, 5, errs, "no token")
	})
	t.Run("a job that follows its input is stopped and deleted", func(t *testing.T) {
		_, errs, code := h.as(t, dir, a, "job", "submit", "follow.yaml", "--id", "endless")
		must(t, "submit", code, 0, errs, "")
		_, errs, code = h.as(t, dir, a, "job", "get", "endless", "--wait", "--timeout", "50ms")
		must(t, "waiting for what does not end", code, 124, errs, "")
		_, errs, code = h.as(t, dir, a, "job", "delete", "endless")
		must(t, "deleting a live job", code, 4, errs, "stop it first")
		out, errs, code := h.as(t, dir, a, "savepoint", "create", "endless") // which has run for 50 ms
		must(t, "a savepoint", code, 0, out+errs, "source in")
		_, errs, code = h.as(t, dir, b, "savepoint", "create", "endless")
		must(t, "a savepoint of another's job", code, 3, errs, "no job endless")
		out, errs, code = h.as(t, dir, a, "job", "get", "endless")
		must(t, "get", code, 0, errs, "")
		if told := regexp.MustCompile(`checkpoints +1 completed, 0 failed; the last one, 1, at 20.*: 0\.\d{3} s, [\d,]+ bytes`); !told.MatchString(out) {
			t.Errorf("what became of its checkpoints is not in\n%s", out)
		}
		out, errs, code = h.as(t, dir, a, "job", "stop", "endless", "--savepoint")
		must(t, "stop", code, 0, out+errs, "stopped")
		out, errs, code = h.as(t, dir, a, "savepoint", "list", "endless")
		must(t, "list of savepoints", code, 0, errs, "")
		if strings.Count(out, "savepoint  20") != 2 {
			t.Errorf("there are not two savepoints in\n%s", out)
		}
		_, errs, code = h.as(t, dir, a, "savepoint", "create", "endless")
		must(t, "a savepoint of a stopped job", code, 4, errs, "job endless is stopped: a savepoint is taken of a job that runs")
		out, errs, code = h.as(t, dir, a, "job", "results", "endless")
		must(t, "results", code, 0, errs, "not complete")
		// The watermark has passed the first window; the one that it stands in does not fire.
		if strings.Contains(out, `"start":"1970-01-01T00:00:05.000Z"`) {
			t.Errorf("a stop has fired: %s", out)
		}
		_, errs, code = h.as(t, dir, a, "job", "start", "endless", "--from", "999")
		must(t, "a start from nowhere", code, 3, errs, "there is no checkpoint 999")
		out, errs, code = h.as(t, dir, a, "job", "start", "endless", "follow.yaml", "--from", "1")
		must(t, "a start from a savepoint", code, 0, out+errs, "endless")
		_, errs, code = h.as(t, dir, a, "job", "start", "endless")
		must(t, "a second start", code, 4, errs, "it can go on when it has ended")
		out, errs, code = h.as(t, dir, a, "job", "stop", "endless")
		must(t, "stop", code, 0, out+errs, "stopped")
		_, errs, code = h.as(t, dir, a, "job", "stop", "endless", "--savepoint", "--drain")
		must(t, "a drain with a savepoint", code, 2, errs, "exclude each other")
		_, errs, code = h.as(t, dir, a, "job", "submit", "follow.yaml", "--id", "drained")
		must(t, "submit", code, 0, errs, "")
		_, errs, code = h.as(t, dir, a, "job", "get", "drained", "--wait", "--timeout", "50ms")
		must(t, "waiting for what does not end", code, 124, errs, "")
		out, errs, code = h.as(t, dir, a, "job", "stop", "drained", "--drain")
		must(t, "a drain", code, 0, out+errs, "finished")
		out, errs, code = h.as(t, dir, a, "job", "results", "drained")
		must(t, "what it gives", code, 0, out+errs, `"kind":"incomplete"`)
		if strings.Contains(errs, "not complete") {
			t.Errorf("a drained job: %s", errs)
		}
		_, errs, code = h.as(t, dir, a, "job", "delete", "endless")
		must(t, "delete", code, 0, errs, "")
		_, errs, code = h.as(t, dir, a, "job", "get", "endless")
		must(t, "after that", code, 3, errs, "no job endless")
	})
	t.Run("health, metrics and the description are open", func(t *testing.T) {
		for path, want := range map[string]string{
			"/healthz": "ok", "/readyz": "ready", "/version": `"abi":1`, "/openapi.yaml": "/v1/jobs/{id}/results:",
			"/metrics": `tidemark_step_records_total{job="one",operator="s",reason="late",tenant="a"} 1`,
		} {
			if status, body := h.ask(t, "GET", path, "", ""); status != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: status %d, %q is not in %s", path, status, want, body)
			}
		}
	})

	// A crash, while a job runs; then an orderly end.
	_, errs, code = h.as(t, dir, a, "job", "submit", "follow.yaml", "--id", "cut")
	must(t, "submit", code, 0, errs, "")
	h.end(t, syscall.SIGKILL)
	h = serve(t, dir)
	t.Run("a restart keeps jobs, results and tokens", func(t *testing.T) {
		results(t, h)
		out, errs, code := h.as(t, dir, a, "savepoint", "create", "cut")
		for code == 4 && (strings.Contains(errs, "is starting:") || strings.Contains(errs, "is created:")) { // until it runs
			out, errs, code = h.as(t, dir, a, "savepoint", "create", "cut")
		}
		must(t, "a job that goes on", code, 0, out+errs, "source in")
		out, errs, code = h.as(t, dir, a, "job", "get", "cut")
		must(t, "get", code, 0, out+errs, "running")
		if !regexp.MustCompile(`restarts +1\n`).MatchString(out) {
			t.Errorf("that it goes on is not told:\n%s", out)
		}
		out, errs, code = h.as(t, dir, a, "job", "submit", "job.yaml", "--id", "two", "--wait")
		must(t, "submit", code, 0, out+errs, "finished")
	})
	if code, log := h.end(t, syscall.SIGTERM); code != 0 || !strings.Contains(log, "go on from their checkpoints") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
	_, errs, code = h.as(t, dir, a, "job", "list")
	must(t, "a host that is not there", code, 1, errs, "refused")
}

// endless is sum with an add that does not return.
func endless(t *testing.T) string {
	t.Helper()
	begins := "func tm_aggregate_add f:i32 -> i32 | i:i32 n:i32 data:i32 group:i32 acc:i32 a:i32 v:i64\n"
	return string(wasmtest.Guest(t, "sum", begins, begins+"  loop br 0 end\n"))
}

func TestServeWithAPlugInThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	// Each record of the second job is tried twice and goes aside: that takes minutes.
	aside := strings.NewReplacer("    from: in\n", "    from: in\n    on_error: dead_letter\n", "in.jsonl", "many.jsonl").Replace(sumJob)
	dir := workspace(t, map[string]string{
		"job.yaml": sumJob, "in.jsonl": sumInput, "endless.wasm": endless(t), "sum.wasm": string(wasmtest.Guest(t, "sum")),
		"aside.yaml": aside, "many.jsonl": strings.Repeat(`{"ts":1000,"k":"a","v":1}`+"\n", 1_000),
	})
	a, b := tenantIn(t, dir, "a"), tenantIn(t, dir, "b")
	h := serve(t, dir)
	out, errs, code := h.as(t, dir, a, "plugin", "push", "endless.wasm")
	must(t, "push", code, 0, out+errs, "sum@1")
	out, errs, code = h.as(t, dir, b, "plugin", "push", "sum.wasm")
	must(t, "push", code, 0, out+errs, "sum@1")

	_, errs, code = h.as(t, dir, a, "job", "submit", "aside.yaml", "--id", "aside")
	must(t, "submit", code, 0, errs, "")
	out, errs, code = h.as(t, dir, a, "job", "submit", "job.yaml", "--id", "one", "--wait")
	must(t, "the job fails", code, 1, out+errs, "plug-in sum trapped: used more than 502000000 fuel in a call with 1 record and 1 accumulator in tm_aggregate_add")
	must(t, "the job fails", code, 1, out+errs, "in.jsonl:1")
	out, errs, code = h.as(t, dir, b, "job", "submit", "job.yaml", "--id", "neighbour", "--wait")
	must(t, "the neighbour", code, 0, out+errs, "finished")

	out, errs, code = h.as(t, dir, a, "job", "get", "aside")
	must(t, "still at it", code, 0, out+errs, "running")
	out, errs, code = h.as(t, dir, a, "job", "stop", "aside")
	must(t, "stop", code, 0, out+errs, "stopped")
	if code, log := h.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
}

// A host that is shut down does not wait for a guest, either.
func TestServeShutsDownAroundAPlugInThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	aside := strings.Replace(sumJob, "    from: in\n", "    from: in\n    on_error: dead_letter\n", 1)
	dir := workspace(t, map[string]string{
		"job.yaml": aside, "in.jsonl": strings.Repeat(`{"ts":1000,"k":"a","v":1}`+"\n", 1_000), "sum.wasm": endless(t),
	})
	a := tenantIn(t, dir, "a")
	h := serve(t, dir)
	out, errs, code := h.as(t, dir, a, "plugin", "push", "sum.wasm")
	must(t, "push", code, 0, out+errs, "sum@1")
	_, errs, code = h.as(t, dir, a, "job", "submit", "job.yaml", "--id", "one")
	must(t, "submit", code, 0, errs, "")
	for out = ""; code == 0 && !strings.Contains(out, "running"); {
		out, errs, code = h.as(t, dir, a, "job", "get", "one")
	}
	must(t, "get", code, 0, out+errs, "running")
	if code, log := h.end(t, syscall.SIGTERM); code != 0 || !strings.Contains(log, "interrupted") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
}
