package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// takenOver is a job whose plug-in is replaced, and what it is given before and behind that.
type takenOver struct {
	name, plugin, step string
	before, after      string   // records: "1 a x" is a text x of key a at 1 s
	shown, want        []string // rows that readers see before, and in the end
}

// upgradeJob waits on its file, with windows of 5 s, 2 s out of order, 4 s late.
func upgradeJob(step string, parallelism int) string {
	return fmt.Sprintf(`version: 1
job: upgrades
parallelism: %d
settings: {checkpoint: {interval: 20ms, dir: state}}
plugins: {p: {file: p.wasm}}
sources:
  in:
    file: {path: in.jsonl, follow: true}
    format: json
    schema: {k: string, w: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s, emit: record}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 5s, allowed_lateness: 4s}
    %s
sinks:
  out: {from: s, file: {path: out/rows.jsonl}, time_format: ms}
`, parallelism, step)
}

// texts makes records of takenOver's form.
func texts(t *testing.T, records string) string {
	t.Helper()
	var b strings.Builder
	for _, r := range strings.Split(records, ", ") {
		var at float64
		var key, text string
		if _, err := fmt.Sscan(r, &at, &key, &text); err != nil {
			t.Fatalf("%q: %v", r, err)
		}
		fmt.Fprintf(&b, "{\"ts\":%d,\"k\":%q,\"w\":%q}\n", int64(at*1000), key, text)
	}
	return b.String()
}

// values are the rows that readers see: key, start of the window in seconds, revision, value.
func values(t *testing.T, dir string) (rows []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "out", "rows*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines(string(raw)) {
			var row struct {
				Key      struct{ K string }
				Window   struct{ Start int64 }
				Revision int
				Value    json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v: %q", name, err, line)
			}
			rows = append(rows, fmt.Sprintf("%s %02d %d %s", row.Key.K, row.Window.Start/1000, row.Revision, row.Value))
		}
	}
	slices.Sort(rows)
	return rows
}

// kept are the files of a directory, by name.
func kept(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// begun runs the first version, in Go, until readers see what it gives, and kills it. It
// returns the last checkpoint.
func (x *takenOver) begun(t *testing.T, dir string) string {
	t.Helper()
	buildGuest(t, "upgrade/"+x.plugin, filepath.Join(dir, "p.wasm"))
	r := launch(t, dir)
	waitFor(t, dir, len(x.shown))
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _, _ = r.end(t)
	if got := values(t, dir); !slices.Equal(got, x.shown) {
		t.Fatalf("the first version gives %q, want %q", got, x.shown)
	}
	paths := strings.Fields(checkpoints(t, dir))
	return paths[len(paths)-1]
}

// replaced puts the standard plug-in, in C, in the place of its first version.
func (x *takenOver) replaced(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "p.wasm"), wasmtest.Built(t, "c", x.plugin), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A plug-in in another language, with another layout, takes over what the first has kept, of
// open windows and of those that late records may still change: the rows tell, since neither
// reads the other's bytes. The second run has three subtasks where the first had one.
func TestAllKindsOfStateAreTakenOver(t *testing.T) {
	// [0, 5) fires at 8, and [5, 10) at 13; 4 and 4.5 update the former, until 11.
	const before, after = "1 a x, 2 b y, 3 a z, 8 a p, 8.5 b q, 4 a late", "4.5 b later, 7 a r, 13 c end"
	for _, x := range []takenOver{
		{
			"accumulators that vary in size", "history", "aggregates: {h: {plugin: p, columns: {value: w}}}", before, after,
			[]string{`a 00 0 {"h":{"count":2,"last":"z"}}`, `a 00 1 {"h":{"count":3,"last":"late"}}`, `b 00 0 {"h":{"count":1,"last":"y"}}`},
			[]string{`a 05 0 {"h":{"count":2,"last":"r"}}`, `b 00 1 {"h":{"count":2,"last":"later"}}`, `b 05 0 {"h":{"count":1,"last":"q"}}`},
		},
		{
			"states of keys and windows of a process function", "visits", "aggregates: {n: {function: count}}\n    process: {plugin: p}", before, after,
			[]string{`a 00 0 {"of_key":1,"of_window":1}`, `a 00 1 {"of_key":2,"of_window":2}`, `b 00 0 {"of_key":1,"of_window":1}`},
			[]string{`a 05 0 {"of_key":3,"of_window":1}`, `b 00 1 {"of_key":2,"of_window":2}`, `b 05 0 {"of_key":3,"of_window":1}`},
		},
		{
			"states of a trigger", "every", "trigger: {plugin: p, args: {n: 3}}\n    aggregates: {n: {function: count}}",
			"1 a x, 2 b x, 3 b x, 4 a x, 1 d x, 1 c x, 2 c x, 3 c x", "4 b x, 4 a x, 4 d x", // c fires, then what has two
			[]string{`c 00 0 {"n":3}`},
			[]string{`a 00 0 {"n":3}`, `b 00 0 {"n":3}`},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := workspace(t, map[string]string{"job.yaml": upgradeJob(x.step, 1), "in.jsonl": texts(t, x.before)})
			from := x.begun(t, dir)
			x.replaced(t, dir)
			if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(upgradeJob(x.step, 3)), 0o600); err != nil {
				t.Fatal(err)
			}
			appendTo(t, filepath.Join(dir, "in.jsonl"), texts(t, x.after))
			r := launch(t, dir, "--from", from)
			until(t, r.stderr, ".state was schema 1, is schema 2")
			want := slices.Sorted(slices.Values(slices.Concat(x.shown, x.want)))
			waitFor(t, dir, len(want))
			r.interrupt(t)
			_, stderr, code := r.end(t)
			if got := values(t, dir); code != 130 || !slices.Equal(got, want) {
				t.Errorf("exit code %d, rows %q, want %q\n%s", code, got, want, stderr)
			}
		})
	}
}

// A state that the new module refuses ends the start, with the reason; what was kept is as it
// was, and the old module goes on from it.
func TestARefusedUpgradeLeavesTheCheckpointAsItIs(t *testing.T) {
	x := takenOver{plugin: "visits", step: "aggregates: {n: {function: count}}\n    process: {plugin: p}",
		before: "1 a x, 2 b y, 8 a p, 4 a x, 4 a x, 4 a x", // [0, 5) of a fires four times
		shown:  []string{`a 00 0 {"of_key":1,"of_window":1}`, `a 00 1 {"of_key":2,"of_window":2}`, `a 00 2 {"of_key":3,"of_window":3}`, `a 00 3 {"of_key":4,"of_window":4}`, `b 00 0 {"of_key":1,"of_window":1}`}}
	dir := workspace(t, map[string]string{"job.yaml": upgradeJob(x.step, 1), "in.jsonl": texts(t, x.before)})
	from := x.begun(t, dir)
	before := kept(t, filepath.Join(dir, "state"))
	x.replaced(t, dir)
	_, stderr, code := tidemark(t, dir, "", "run", "job.yaml", "--from", from)
	if code == 0 || !strings.Contains(stderr, "plug-in p cannot upgrade what it keeps from schema 1: the count of a window has 1 byte") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	after := kept(t, filepath.Join(dir, "state"))
	for name, was := range before { // a start may leave a log of its own, which holds nothing
		if after[name] != was {
			t.Errorf("%s has changed", name)
		}
	}
	if paths := strings.Fields(checkpoints(t, dir)); paths[len(paths)-1] != from {
		t.Errorf("the last checkpoint is %s, was %s", paths[len(paths)-1], from)
	}

	buildGuest(t, "upgrade/visits", filepath.Join(dir, "p.wasm"))
	appendTo(t, filepath.Join(dir, "in.jsonl"), texts(t, "13 c end"))
	r := launch(t, dir)
	waitFor(t, dir, len(x.shown)+1)
	r.interrupt(t)
	_, stderr, code = r.end(t)
	want := slices.Sorted(slices.Values(append(slices.Clone(x.shown), `a 05 0 {"of_key":5,"of_window":1}`)))
	if got := values(t, dir); code != 130 || !slices.Equal(got, want) {
		t.Errorf("the old module: exit code %d, rows %q, want %q\n%s", code, got, want, stderr)
	}
}
