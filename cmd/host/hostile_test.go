package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/host/api"
	"tidemark/internal/hostile"
	"tidemark/internal/wasmtest"
)

// The corpus of hostile modules against a host in a process of its own, which has a single
// turn, so that everybody wants it. Each module is refused when it is uploaded, or a job
// that uses it ends, with what its owner must be told; beside it runs a neighbour's job,
// which has its rows and its share of the CPU. `make hostile` runs all cases, others the
// quick ones.
func TestHostileModules(t *testing.T) {
	t.Parallel()
	short, long := hostile.NewNeighbour("short.jsonl", 200), hostile.NewNeighbour("long.jsonl", 1500)
	dir := workspace(t, map[string]string{short.File: short.Input, long.File: long.Input})
	h := &hostileHost{dir: dir, short: short, long: long, owner: tenantIn(t, dir, "a"), other: tenantIn(t, dir, "b")}
	h.server = serveFor(t, 20*time.Minute, dir, "TIDEMARK_TURNS_AT_ONCE=1", "TIDEMARK_QUOTA_JOBS=1000", "TIDEMARK_QUOTA_PLUGINS=1000", "TIDEMARK_QUOTA_PARALLELISM=16")
	if status, body := h.ask(t, "POST", "/v1/plugins", h.other, string(wasmtest.Guest(t, "sum"))); status != http.StatusCreated {
		t.Fatalf("the neighbour's plug-in: status %d, %s", status, body)
	}
	for i, c := range hostile.Corpus() {
		if c.Quick || everyCase {
			t.Run(c.Name, func(t *testing.T) { h.try(t, fmt.Sprintf("c%d", i), c) })
		}
	}

	// What was refused is not taken for compiled.
	done, err := filepath.Glob(filepath.Join(dir, "data", "compiled", "shells-*", "*"))
	if err != nil || len(done) != 1+h.taken {
		t.Errorf("%d shells of compiled modules, %v; %d modules were taken, and the neighbour's", len(done), err, h.taken)
	}
	if status, body := h.ask(t, "GET", "/readyz", "", ""); status != http.StatusOK {
		t.Errorf("at the end: status %d, %s", status, body)
	}
	stops := metricsOf(t, h.server, `tidemark_gc_stopping_seconds_(?:bucket\{le="(.*)"\}|count)`)
	code, log := h.end(t, syscall.SIGTERM)
	if code != 0 || strings.Contains(log, "BUG") {
		t.Errorf("exit code %d, log:\n%s", code, log)
	}
	all := stops[""]
	t.Logf("stops of the collector: %v, of which within 1 ms %v, 5 ms %v, 25 ms %v, 100 ms %v; peak of the host %d MiB",
		all, stops["0.001"], stops["0.005"], stops["0.025"], stops["0.1"], peak(h.server.ProcessState)>>20)
	// A guest that could not be stopped would hold each stop up for half a second. On a
	// machine that is busy with other things some take long anyway.
	if all < 10 || stops["0.005"] < .8*all || stops["0.1"] < .97*all {
		t.Error("plug-ins hold up the collector")
	}
	if most := int64(1 << 30); peak(h.server.ProcessState) > most {
		t.Errorf("the host has taken more than %d MiB", most>>20)
	}
}

// peak is the most memory that a process that has ended has had at once, in bytes.
func peak(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss << 10 }

// asking is what a hostile job may have alone, in seconds: before the neighbour's end is
// known here, and what was asked then is answered.
const asking = .1

// hostileHost is a host with two tenants.
type hostileHost struct {
	*server
	dir          string
	short, long  *hostile.Neighbour
	owner, other string  // tokens
	taken        int     // modules
	hadThen      float64 // had at the end of the neighbour's last job
}

// try uploads a module and runs it, beside the neighbour.
func (h *hostileHost) try(t *testing.T, id string, c hostile.Case) {
	module := c.Module(t, id)
	status, body := 0, ""
	push := func() { status, body = h.ask(t, "POST", "/v1/plugins", h.owner, string(module)) }
	if c.Bomb {
		h.compile(t, module)
		h.beside(t, id+"-upload", h.short, push)
	} else {
		push()
	}
	switch refused := status >= 400 && status < 500; {
	case c.Refused != "":
		if !refused || !strings.Contains(message(t, body), c.Refused) {
			t.Errorf("upload: status %d, %s; want %q", status, body, c.Refused)
		}
		return
	case c.Whatever && refused:
		t.Logf("refused: %s", message(t, body))
		return
	case status != http.StatusCreated:
		t.Fatalf("upload: status %d, %s", status, body)
	}
	h.taken++

	if err := os.WriteFile(filepath.Join(h.dir, "in.jsonl"), []byte(c.Input), 0o600); err != nil {
		t.Fatal(err)
	}
	neighbour, began := h.short, h.had(t)
	if c.Endless {
		neighbour = h.long
	}
	mine := h.beside(t, id, neighbour, func() { h.submit(t, h.owner, id, strings.ReplaceAll(c.Job, "VERSION", id)) })
	others := h.hadThen - began
	t.Logf("meanwhile the job had %.3f s of turns, the neighbour %.3f s", others, mine)
	if share := mine / (mine + max(0, others-asking)); !(share >= .4) {
		t.Errorf("the neighbour had %.3f of the CPU", share)
	}

	if c.Endless {
		if others < .1 {
			t.Error("nothing to defend against")
		}
		if j := h.job(t, "POST", "/v1/jobs/"+id+"/stop?wait=30s", h.owner); j.State != "stopped" {
			t.Errorf("after a stop it is %s: %s", j.State, j.Message)
		}
		return
	}
	j := h.wait(t, h.owner, id)
	want := "finished"
	if c.Message != "" || c.Whatever && j.State == "failed" && j.Message != "" {
		want = "failed"
	}
	if j.State != want || !strings.Contains(j.Message, c.Message) {
		t.Errorf("the job is %s: %s; want %s: %s", j.State, j.Message, want, c.Message)
	}
}

// beside does something as soon as a job of the neighbour is at work, and waits for the end
// of that, which must be as if it were alone. It returns the time of turns that the job had
// meanwhile, in seconds.
func (h *hostileHost) beside(t *testing.T, id string, n *hostile.Neighbour, do func()) float64 {
	t.Helper()
	h.submit(t, h.other, id, n.Job)
	first := h.job(t, "GET", "/v1/jobs/"+id, h.other)
	for first.CPU.Turns == 0 && first.State != "failed" {
		first = h.job(t, "GET", "/v1/jobs/"+id, h.other)
	}
	do()
	last := h.wait(t, h.other, id)
	h.hadThen = h.had(t)
	if last.State != "finished" {
		t.Errorf("the neighbour is %s: %s", last.State, last.Message)
	}
	status, rows := h.ask(t, "GET", "/v1/jobs/"+id+"/results", h.other, "")
	if diff := n.Differ(rows); status != http.StatusOK || diff != "" {
		t.Errorf("the neighbour's rows: status %d, %s", status, diff)
	}
	return last.CPU.Seconds - first.CPU.Seconds
}

// compile has the host's command compile a module, as the host does, to look at what that
// has taken. Of memory that is at least what this process has now, since the system counts
// what a process has before it becomes another program.
func (h *hostileHost) compile(t *testing.T, module []byte) {
	t.Helper()
	cmd := command(t, h.dir, "compile-plugin", t.TempDir())
	cmd.Stdin = bytes.NewReader(module)
	debug.FreeOSMemory()
	own := resident(t)
	out, err := cmd.CombinedOutput()
	p := cmd.ProcessState
	t.Logf("compilation: %v, %.60q…, %v of processor time, %d MiB", err, out, p.UserTime()+p.SystemTime(), peak(p)>>20)
	// The limit is on data; of the program's own file there are pages in memory, too.
	program, err := os.Stat(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	if most := max(400<<20+program.Size(), own); peak(p) > most {
		t.Errorf("the compiler has taken %d MiB, at most %d are allowed", peak(p)>>20, most>>20)
	}
}

// resident is the memory in bytes that this process has now.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var all, here int64
	if _, err := fmt.Sscan(string(text), &all, &here); err != nil {
		t.Fatal(err)
	}
	return here * int64(os.Getpagesize())
}

func (h *hostileHost) submit(t *testing.T, token, id, file string) {
	t.Helper()
	if status, body := h.ask(t, "POST", "/v1/jobs?id="+id, token, file); status != http.StatusAccepted {
		t.Fatalf("submit: status %d, %s\n%s", status, body, file)
	}
}

// wait waits for the end of a job.
func (h *hostileHost) wait(t *testing.T, token, id string) api.Job {
	t.Helper()
	return h.job(t, "GET", "/v1/jobs/"+id+"?wait=60s", token)
}

func (h *hostileHost) job(t *testing.T, method, path, token string) api.Job {
	t.Helper()
	status, body := h.ask(t, method, path, token, "")
	var j api.Job
	if err := json.Unmarshal([]byte(body), &j); status != http.StatusOK || err != nil {
		t.Fatalf("%s: status %d, %s", path, status, body)
	}
	return j
}

// had is the time of turns that the owner of the modules has had, in seconds.
func (h *hostileHost) had(t *testing.T) float64 {
	t.Helper()
	return metricsOf(t, h.server, `tidemark_tenant_turn_seconds_total\{tenant="(a)"\}`)["a"]
}

// message is what a failure tells, with its details.
func message(t *testing.T, body string) string {
	t.Helper()
	var f struct {
		Error struct {
			Message string
			Details []struct{ Message string }
		}
	}
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	text := f.Error.Message
	for _, d := range f.Error.Details {
		text += "\n" + d.Message
	}
	return text
}

// metricsOf are the metrics that a pattern matches, by the label in its group.
func metricsOf(t *testing.T, s *server, pattern string) map[string]float64 {
	t.Helper()
	status, text := s.ask(t, "GET", "/metrics", "", "")
	if status != http.StatusOK {
		t.Fatalf("metrics: status %d", status)
	}
	out := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^`+pattern+` (.*)$`).FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		out[m[1]] = v
	}
	return out
}
