package main_test

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// A run keeps its checkpoints in object storage, which the environment says how to reach;
// list and inspect read them there.
func TestCheckpointsInObjectStorage(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("tides"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(gofakes3.New(backend).Server())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()

	dir := workspace(t, map[string]string{"job.yaml": strings.Replace(countJob, "version: 1", "version: 1\nsettings: {checkpoint: {dir: s3://tides/counts}}", 1), "in.jsonl": sequence})
	run := func(args ...string) (string, string, int) {
		cmd := command(t, dir, args...)
		cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL="+server.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the exit code tells
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	if out, errs, code := run("run", "job.yaml"); code != 0 || !strings.Contains(out, `"n":2`) || !strings.Contains(errs, "checkpoints: every 10s to s3://tides/counts, of which") {
		t.Fatalf("run: exit code %d\n%s%s", code, out, errs)
	}
	for _, of := range []string{"job.yaml", "s3://tides/counts"} {
		out, errs, code := run("checkpoint", "list", of)
		rows := lines(out)
		if code != 0 || len(rows) != 2 || !strings.Contains(rows[1], "final") || !strings.Contains(rows[1], "s3://tides/counts/log-") {
			t.Fatalf("list %s: exit code %d\n%s%s", of, code, out, errs)
		}
		path := rows[1][strings.Index(rows[1], "s3://"):]
		if out, errs, code := run("checkpoint", "inspect", path); code != 0 || !strings.Contains(out, "by arrival") && !strings.Contains(out, "by place") {
			t.Errorf("inspect %s: exit code %d\n%s%s", path, code, out, errs)
		}
	}
	if out, errs, code := run("checkpoint", "list", "s3://tides"); code != 2 || !strings.Contains(errs, "PREFIX") {
		t.Errorf("a place without a prefix: exit code %d\n%s%s", code, out, errs)
	}
}
