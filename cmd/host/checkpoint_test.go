package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/engine/checkpoint"
	"tidemark/internal/env"
)

// writeCheckpoints makes a directory with a checkpoint and a savepoint.
func writeCheckpoints(t *testing.T, dir string) (paths []string) {
	t.Helper()
	log := checkpoint.Open(checkpoint.OpenLocal(env.Real().FS, dir), env.Real().Rand)
	if err := log.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []checkpoint.Kind{checkpoint.Periodic, checkpoint.Savepoint} {
		w := log.Begin(checkpoint.Meta{
			Kind: kind, Job: "counts", Plan: "abc", Taken: 1_700_000_000_123, FirstStart: 1_600_000_000_000, MaxParallelism: 64,
			Operators: []checkpoint.OperatorInfo{
				{ID: "", Kind: "job", Parallelism: 2, Description: `[{"name":"name","value":"counts"}]`},
				{ID: "by_k", Kind: "step", Parallelism: 3, Description: `[{"name":"key","value":"k"},{"name":"window","value":"tumbling 10s, offset 0s"}]`},
			},
			Plugins: []checkpoint.PluginInfo{{Name: "stats", Digest: "d1", Schema: 2}},
			Summary: []checkpoint.KeyValue{{Key: "step by_k", Value: "7 windows are open"}},
		})
		for n := range uint32(3) {
			if err := w.Add(t.Context(), checkpoint.Section{Operator: "by_k", Kind: checkpoint.KindGroup, Number: n, Version: 1, Body: make([]byte, 1000)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Publish(t.Context()); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, w.Checkpoint().Path())
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestCheckpointsAreListedAndInspected(t *testing.T) {
	dir := workspace(t, map[string]string{"job.yaml": strings.Replace(countJob, "version: 1", "version: 1\nsettings: {checkpoint: {dir: state}}", 1), "in.jsonl": ""})
	paths := writeCheckpoints(t, filepath.Join(dir, "state"))
	for _, of := range []string{"state", "job.yaml"} {
		out, errs, code := tidemark(t, dir, "", "checkpoint", "list", of)
		rows := lines(out)
		if code != 0 || len(rows) != 3 || !strings.Contains(rows[1], "periodic   counts  2023-11-14T22:13:20.123Z") || !strings.Contains(rows[2], "savepoint") || !strings.HasSuffix(rows[2], "state/"+filepath.Base(paths[1])) {
			t.Errorf("list %s: exit code %d\n%s%s", of, code, out, errs)
		}
		out, errs, code = tidemark(t, dir, "", "checkpoint", "inspect", of, "-o", "json")
		var got struct {
			ID        uint64
			Kind, Job string
			Operators []struct {
				ID       string
				Sections []struct {
					Kind  string
					Count int
					Bytes int64
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
			t.Fatalf("inspect %s: exit code %d, %v\n%s", of, code, err, errs)
		}
		if got.ID != 2 || got.Kind != "savepoint" || len(got.Operators) != 2 || len(got.Operators[1].Sections) != 1 {
			t.Fatalf("inspect %s: %+v", of, got)
		}
		if s := got.Operators[1].Sections[0]; s.Kind != "group" || s.Count != 3 || s.Bytes < 3000 || s.Bytes > 3300 {
			t.Errorf("inspect %s: %+v", of, s)
		}
	}

	out, errs, code := tidemark(t, dir, "", "checkpoint", "inspect", paths[0])
	for _, want := range []string{"periodic", "first start      2020-09-13T12:26:40.000Z", "7 windows are open", "sha256:d1, schema 2", "by_k       step            3", "3 of group", "window  tumbling 10s, offset 0s"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s%s", want, out, errs)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// What a checkpoint has in files of earlier ones is told.
func TestCheckpointsThatReuseFiles(t *testing.T) {
	dir := t.TempDir()
	log := checkpoint.Open(checkpoint.OpenLocal(env.Real().FS, dir), env.Real().Rand)
	if err := log.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	var earlier *checkpoint.Checkpoint
	for n := range 2 {
		w := log.Begin(checkpoint.Meta{Kind: checkpoint.Periodic})
		if err := w.Add(t.Context(), checkpoint.Section{Operator: "by_k", Kind: checkpoint.KindGroup, Body: make([]byte, 10)}); err != nil {
			t.Fatal(err)
		}
		var err error
		if n == 0 {
			err = w.Add(t.Context(), checkpoint.Section{Operator: "by_k", Kind: checkpoint.KindDisk, Body: make([]byte, 1000)})
		} else {
			err = w.Reuse(earlier.Find("by_k", checkpoint.KindDisk)[0])
		}
		if err := errors.Join(err, w.Publish(t.Context())); err != nil {
			t.Fatal(err)
		}
		earlier = w.Checkpoint()
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list", dir, "-o", "json"}, {"inspect", dir, "-o", "json"}} {
		out, errs, code := tidemark(t, dir, "", append([]string{"checkpoint"}, args...)...)
		type sizes struct{ Bytes, Reused int64 }
		all := []sizes{{1000, 0}, {}}
		err := json.Unmarshal([]byte(out), &all)
		if args[0] == "inspect" {
			err = json.Unmarshal([]byte(out), &all[1])
		}
		if len(all) != 2 || code != 0 || err != nil {
			t.Fatalf("%v: exit code %d, %v\n%s%s", args, code, err, out, errs)
		}
		if all[0].Reused != 0 || all[1].Reused < 1000 || all[1].Reused > 1100 || all[1].Bytes < all[1].Reused+10 {
			t.Errorf("%v: %+v", args, all)
		}
	}
}

func TestCheckpointsThatCannotBeShown(t *testing.T) {
	dir := workspace(t, map[string]string{"empty/x": "", "job.yaml": countJob, "in.jsonl": ""})
	paths := writeCheckpoints(t, filepath.Join(dir, "state"))
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 0x10
	if err := os.WriteFile(paths[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"list empty", 0, "there are no checkpoints in empty"},
		{"list none", 0, "there are no checkpoints in none"},
		{"list job.yaml", 0, "there are no checkpoints in"},
		{"list state", 0, filepath.Base(paths[0])},
		{"inspect " + paths[0], 1, filepath.Base(paths[0])},
		{"inspect state/log-000000000099", 3, "tidemark checkpoint list"},
		{"inspect empty", 3, "there are no checkpoints in"},
		{"inspect", 2, "checkpoint inspect wants"},
		{"list state -o csv", 2, "-o must be"},
	} {
		out, errs, code := tidemark(t, dir, "", append([]string{"checkpoint"}, strings.Fields(row.args)...)...)
		if code != row.code || !strings.Contains(out+errs, row.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s%s", row.args, code, row.code, row.want, out, errs)
		}
	}
	out, _, _ := tidemark(t, dir, "", "checkpoint", "list", "state")
	if !strings.Contains(out, "damaged") || !strings.Contains(out, "savepoint") {
		t.Errorf("a damaged one hides the other, or itself:\n%s", out)
	}
}
