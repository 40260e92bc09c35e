package configs_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The job with a process function gives, with its time held to the end, what follows from
// the data: windows are counted, and looked at one after the other, here.
func TestAlertsAreThoseOfTheData(t *testing.T) {
	const size, limit, after = 3_600_000, 5, 2
	compressed, err := os.ReadFile("data/weblog.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]map[int64]int{} // of a client, by start of the window
	for d := json.NewDecoder(z); ; {
		var r struct {
			Client string
			TS     int64
		}
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if counts[r.Client] == nil {
			counts[r.Client] = map[int64]int{}
		}
		counts[r.Client][r.TS-r.TS%size]++
	}
	var wantAlerts, wantCalm []string
	for client, windows := range counts {
		n, total, since, end := 0, 0, int64(0), int64(0)
		finish := func(window, at int64) {
			if n >= after {
				wantCalm = append(wantCalm, fmt.Sprintf("%s %d: lasted %d, over %d", client, window, at-since, at))
			}
			n, total = 0, 0
		}
		for _, start := range slices.Sorted(maps.Keys(windows)) {
			if end != start { // there was a window without records, in which nothing fired
				finish(start, end)
			}
			if windows[start] < limit {
				finish(start, start)
				end = start + size
				continue
			}
			if n == 0 {
				since = start
			}
			n, total, end = n+1, total+windows[start], start+size
			if n >= after {
				wantAlerts = append(wantAlerts, fmt.Sprintf("%s %d: %d windows since %d with %d", client, start, n, since, total))
			}
		}
	}
	if len(wantAlerts) < 50 || len(wantCalm) < 20 {
		t.Fatalf("%d alerts and %d ends: too few to show anything", len(wantAlerts), len(wantCalm))
	}

	plugins := buildPlugins(t)
	modules := openModules(t)
	for _, files := range []int{1, 3} {
		c := goldenCase{Config: "weblog_alerts.yaml", Data: "weblog.jsonl.gz", Complete: true, Splits: files}
		dir := t.TempDir()
		// Half a day is too short for the end of a run to be told of by a client who comes back
		// later, and the computation above knows of no end of memory.
		yaml := bytes.ReplaceAll(c.prepare(t, dir, plugins), []byte("state_ttl: 12h"), []byte("state_ttl: off"))
		yaml = bytes.ReplaceAll(yaml, []byte(".jsonl}}"), []byte(".jsonl}, time_format: ms}"))
		for _, s := range allShapes {
			c.run(t, dir, yaml, s, modules)
			out := filepath.Join(dir, "out", "weblog_alerts")
			alerts := alertRows(t, filepath.Join(out, "results.jsonl"), func(client string, start int64, v map[string]int64) string {
				return fmt.Sprintf("%s %d: %d windows since %d with %d", client, start, v["windows"], v["since"], v["total"])
			})
			calm := alertRows(t, filepath.Join(out, "calm.jsonl"), func(client string, start int64, v map[string]int64) string {
				return fmt.Sprintf("%s %d: lasted %d, over %d", client, start, v["lasted_ms"], v["over"])
			})
			if d := firstDifference(wantAlerts, alerts); d != "" {
				t.Fatalf("%d files, %+v: alerts: %s", files, s, d)
			}
			if d := firstDifference(wantCalm, calm); d != "" {
				t.Fatalf("%d files, %+v: calm: %s", files, s, d)
			}
		}
	}
}

// alertRows reads result rows of a client's windows.
func alertRows(t *testing.T, name string, show func(client string, start int64, v map[string]int64) string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var r struct {
			Key    struct{ Client string }
			Window struct{ Start int64 }
			Value  map[string]int64
		}
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, show(r.Key.Client, r.Window.Start, r.Value))
	}
}

// firstDifference compares rows without regard to their order.
func firstDifference(want, got []string) string {
	slices.Sort(want)
	slices.Sort(got)
	for i := range max(len(want), len(got)) {
		var w, g string
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if cmp.Compare(w, g) != 0 {
			return fmt.Sprintf("%d rows, want %d: got %q, want %q", len(got), len(want), g, w)
		}
	}
	return ""
}
