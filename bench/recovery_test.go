package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/engine"
)

// cuts is how often a job is cut off before it may run to its end.
const cuts = 3

// Every workload in small, cut off behind checkpoints while it goes on: the rows of the file that
// is there in the end are the reference's, as if nothing had happened.
func TestRowsAfterAKill(t *testing.T) {
	errCut := errors.New("cut off")
	for _, q := range queries() {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			input := filepath.Join(dir, "lines.jsonl")
			var lines, reference bytes.Buffer
			if err := q.small.Generate(&lines); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(input, lines.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := q.reference(&lines, &reference); err != nil {
				t.Fatal(err)
			}
			want, err := q.readReference(&reference)
			if err != nil {
				t.Fatal(err)
			}
			// A job may be through before its first checkpoint has come about: then it has shown
			// nothing, and another one begins.
			for attempt := 1; ; attempt++ {
				out := filepath.Join(dir, fmt.Sprint(attempt), "rows.jsonl")
				cut := 0
				for ended := false; !ended; {
					ctx, cancel := context.WithCancelCause(t.Context())
					more := cut < cuts
					d := durable{
						text:  strings.Replace(q.jobFile(input, ""), "stdout: {}", fmt.Sprintf("file: {path: %q}", out), 1),
						set:   []string{"settings.batch.rows=7", "parallelism=2"},
						dir:   filepath.Join(filepath.Dir(out), "checkpoints"),
						every: int64(q.small.Lines / 50),
						watch: func(e engine.Event) {
							if c, ok := e.(engine.Checkpointed); ok && c.Err == nil && more {
								cancel(errCut)
							}
						},
					}
					report, err := d.run(ctx)
					cancel(nil)
					switch {
					case errors.Is(err, errCut):
						cut++
					case err != nil:
						t.Fatal(err)
					default:
						ended = true
						if b := report.Balance(); len(b) > 0 {
							t.Errorf("the ledger does not add up: %v", b)
						}
						if from := report.Checkpoints.Restored; cut > 0 && from == 0 {
							t.Error("the last run has begun from nothing")
						}
					}
				}
				f, err := os.Open(out)
				if err != nil {
					t.Fatal(err)
				}
				rows, err := q.compare(want, f, false)
				f.Close()
				if err != nil || rows == 0 {
					t.Fatalf("after %d cuts: %d rows, %v", cut, rows, err)
				}
				if cut > 0 {
					t.Logf("%d cuts", cut)
					return
				}
				if attempt == 20 {
					t.Fatalf("in %d attempts no checkpoint came about before the job's end", attempt)
				}
			}
		})
	}
}
