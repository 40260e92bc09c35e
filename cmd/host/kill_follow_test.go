//go:build kill && unix

package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tidemark/engine"
)

// smallScale is how much of the data a job on followed input gets, while it runs.
const smallScale = 0.03

// lastTime is far behind all data: a line at it in each file has all windows close.
const lastTime = killStart + 7*24*3600_000

// published reads the rows of all epochs that readers see, by id and revision. Those of
// windows that hold the last lines are left out: only the end of an input closes them.
func (h *history) published(files map[string][]string) map[string]map[int]string {
	rows := map[string]map[int]string{}
	for name, all := range files {
		if !strings.HasPrefix(filepath.Base(name), "rows") {
			continue
		}
		for _, line := range all {
			var row struct {
				ID       string
				Revision int
				Window   struct{ End time.Time }
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil || row.ID == "" {
				h.fatalf("%s: %v: %q", name, err, line)
			}
			if row.Window.End.UnixMilli() > lastTime {
				continue
			}
			if rows[row.ID] == nil {
				rows[row.ID] = map[int]string{}
			}
			if before, twice := rows[row.ID][row.Revision]; twice {
				h.fatalf("%s: the same id and revision twice:\n%s\n%s", name, before, line)
			}
			rows[row.ID][row.Revision] = line
		}
	}
	return rows
}

// valuesOf are the values of the last revisions, by id.
func (h *history) valuesOf(rows map[string]map[int]string) map[string]string {
	values := map[string]string{}
	for id, revisions := range rows {
		last := slices.Max(slices.Collect(maps.Keys(revisions)))
		var row struct{ Value json.RawMessage }
		if err := json.Unmarshal([]byte(revisions[last]), &row); err != nil {
			h.t.Fatal(err)
		}
		values[id] = string(row.Value)
	}
	return values
}

// followed kills a job on followed input so many times, while its files grow, and compares
// with a run over the whole of them.
func (h *history) followed(kills int) {
	for done := 0; done < kills; {
		done += h.follow(min(maxTries, kills-done))
	}
}

// follow is one trial.
func (h *history) follow(kills int) (done int) {
	h.begin(h.job.text, "in")
	in := filepath.Join(h.dir, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		h.t.Fatal(err)
	}
	left := map[string]string{} // of each file
	for name, all := range h.small {
		left[name] = strings.Join(all, "\n") + "\n" + fmt.Sprintf(`{"ts":%d,"seq":-1,"k":"last","u":"last","v":0.00,"n":-2}`, int64(lastTime)) + "\n"
		h.extend(in, name, "")
	}
	names, whole := slices.Sorted(maps.Keys(left)), maps.Clone(left)

	// What the rows are in the end, by a job over files of the same names.
	dir := h.dir
	h.begin(h.job.plain, "in")
	if err := os.Mkdir(filepath.Join(h.dir, "in"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	for _, name := range names {
		h.extend(filepath.Join(h.dir, "in"), name, whole[name])
	}
	a := h.start()
	<-a.done
	files := h.outcome(a).files
	want, wantBad, wantRead := h.valuesOf(h.published(files)), h.bad(files), h.read(a)
	h.dir, h.steps = dir, nil

	// grow appends pieces, which may end in the middle of a line.
	grow := func(part float64) {
		for _, name := range names {
			n := min(len(left[name]), 1+int(part*float64(len(whole[name]))*2*h.r.Float64()))
			h.extend(in, name, left[name][:n])
			left[name] = left[name][n:]
		}
	}
	interval := h.checkpointing(200 * time.Millisecond)
	var seen map[string][]string
	for done < kills {
		a := h.start(append([]string{"--set", interval}, h.fast()...)...)
		end := time.Duration(50+h.r.IntN(900)) * time.Millisecond
		changes := h.r.IntN(2) == 0
		for time.Since(a.began) < end {
			grow(0.004)
			select {
			case <-a.done:
				h.fatalf("exit code %d\n%s", a.cmd.ProcessState.ExitCode(), a.text())
			case <-time.After(10 * time.Millisecond):
			}
		}
		if changes { // just behind a change of its files
			h.watch(a, 1+h.r.IntN(4))
		}
		if !h.kill(a) {
			h.fatalf("exit code %d\n%s", a.cmd.ProcessState.ExitCode(), a.text())
		}
		done++
		seen = h.kept(seen)
	}
	// The rest, and then until all is there.
	for _, name := range names {
		h.extend(in, name, left[name])
	}
	a = h.start(append([]string{"--set", interval}, h.fast()...)...)
	for {
		got := h.valuesOf(h.published(h.files()))
		if compareValues(want, got) == "" {
			break
		}
		select {
		case <-a.done:
			h.fatalf("%s\nexit code %d\n%s", compareValues(want, got), a.cmd.ProcessState.ExitCode(), a.text())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(a.began) > runLimit/2 {
			h.fatalf("the rows do not come: %s\n%s", compareValues(want, got), a.text())
		}
	}
	<-time.After(450 * time.Millisecond) // two checkpoints more: nothing may come twice
	if err := a.cmd.Process.Signal(syscall.SIGINT); err != nil {
		h.t.Fatal(err)
	}
	<-a.done
	if code := a.cmd.ProcessState.ExitCode(); code != 130 {
		h.fatalf("exit code %d\n%s", code, a.text())
	}
	files = h.kept(seen)
	rows := h.published(files)
	for id, revisions := range rows {
		if last := slices.Max(slices.Collect(maps.Keys(revisions))); len(revisions) != last+1 {
			h.fatalf("%s has %d revisions up to %d", id, len(revisions), last)
		}
	}
	if text := compareValues(want, h.valuesOf(rows)); text != "" {
		h.fatalf("%s", text)
	}
	h.sameLines("bad records", wantBad, h.bad(files))
	if got := h.read(a); got != wantRead {
		h.fatalf("the ledger says\n%s\nwithout a kill\n%s", got, wantRead)
	}
	h.noteEnd(a)
	return done
}

// bad are the records that were bad, of all epochs: each has to be there once.
func (h *history) bad(files map[string][]string) (all []string) {
	for name, rows := range files {
		if strings.Contains(name, ".bad") {
			all = append(all, strings.Split(strings.ReplaceAll(strings.Join(rows, "\n"), h.dir, "DIR"), "\n")...)
		}
	}
	slices.Sort(all)
	return all
}

// read is what the ledger says of the sources, and of the records that steps have taken.
func (h *history) read(a *attempt) string {
	text := a.text()
	var r engine.Report
	if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):strings.LastIndex(text, "}")+1]), &r); err != nil {
		h.fatalf("%v\n%s", err, text)
	}
	var b strings.Builder
	for _, s := range r.Sources {
		fmt.Fprintf(&b, "source %s: %d read, %d bad, %d quarantined, %d passed on\n", s.ID, s.Read, s.Bad, s.Quarantined, s.Passed)
	}
	for _, s := range r.Steps {
		for _, l := range s.Inputs {
			fmt.Fprintf(&b, "step %s from %s %s: %d filtered, %d failed, %d late, %d without a window, %d counted\n", s.ID, l.Source, l.Side, l.Filtered, l.Failed, l.Late, l.NoWindow, l.Counted)
		}
	}
	return b.String()
}

func (h *history) noteEnd(a *attempt) {
	entries := h.log() - a.before
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended++
	if h.taken {
		h.restores++
	}
	h.checkpoints += max(0, entries-1)
}

// kept sees to it that files that were published stay as they are.
func (h *history) kept(seen map[string][]string) map[string][]string {
	h.t.Helper()
	now := h.files()
	for name, want := range seen {
		got, ok := now[name]
		if !ok {
			h.fatalf("%s was there, and is gone", name)
		}
		h.sameLines(name, want, got)
	}
	h.published(now)
	return now
}

// compareValues says in what two sets of results differ; empty: not at all.
func compareValues(want, got map[string]string) string {
	var missing, other, more []string
	for id, value := range want {
		switch is, ok := got[id]; {
		case !ok:
			missing = append(missing, fmt.Sprintf("missing: %s with %s", id, value))
		case is != value:
			other = append(other, fmt.Sprintf("different: %s is %s, must be %s", id, is, value))
		}
	}
	for id, value := range got {
		if _, ok := want[id]; !ok {
			more = append(more, fmt.Sprintf("too many: %s with %s", id, value))
		}
	}
	if len(missing)+len(other)+len(more) == 0 {
		return ""
	}
	var text []string
	for _, part := range [][]string{missing, other, more} {
		slices.Sort(part)
		text = append(text, part[:min(4, len(part))]...)
	}
	return fmt.Sprintf("%d results are missing, %d different, %d too many:\n%s", len(missing), len(other), len(more), strings.Join(text, "\n"))
}

// extend appends text to a file.
func (h *history) extend(dir, name, text string) {
	h.t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
}
