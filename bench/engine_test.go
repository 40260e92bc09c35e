package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/abi/guest"
	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/engine/wasm"
	"tidemark/internal/env"
)

// functions are the engine's own and those of plug-ins.
type functions struct {
	engine.Builtins
	*wasm.Plugins
}

func (f functions) Plugin(p *job.Plugin) (job.FunctionInfo, error) { return f.Plugins.Describe(p) }

// Every workload in small, at other batch sizes and parallelisms: the engine's rows are the
// reference's. What the harness measures at full size, it also compares there.
func TestEngineGivesTheReferencesRows(t *testing.T) {
	compiler, err := guest.NewInProcess(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	machine := env.Real()
	modules := wasm.NewPlugins(compiler, wasm.Files(machine.FS))
	t.Cleanup(func() {
		if err := errors.Join(modules.Close(t.Context()), compiler.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	plugin, err := filepath.Abs("../internal/wasmtest/built/c/stats.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queries() {
		t.Run(q.name, func(t *testing.T) {
			input := filepath.Join(dir, q.name+".jsonl")
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
			check := func(plugin string, set ...string) {
				t.Helper()
				g, err := job.Load([]byte(q.jobFile(input, plugin)), job.LoadOptions{Name: "job.yaml", Dir: dir, Resolver: functions{Plugins: modules}, Files: machine.FS, Set: set})
				if err != nil {
					t.Fatal(err)
				}
				read, write := io.Pipe()
				j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdout: write, Stdin: strings.NewReader(""), Plugins: modules, FirstStart: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					report, err := j.Run(t.Context())
					if b := report.Balance(); err == nil && len(b) > 0 {
						err = fmt.Errorf("the ledger does not add up: %v", b)
					}
					write.CloseWithError(err)
				}()
				want, err := q.readReference(bytes.NewReader(reference.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				rows, err := q.compare(want, read, plugin != "")
				if err != nil || rows == 0 {
					t.Errorf("%v: %d rows, %v", set, rows, err)
				}
				read.CloseWithError(errors.New("the rows differ")) // so that the job ends
			}
			for i, rows := range []int{1, 7, 1024} {
				for k, parallelism := range []int{1, 2, 4} {
					if testing.Short() && (i+k)%3 != 0 {
						continue // each of both occurs once
					}
					check("", fmt.Sprint("settings.batch.rows=", rows), fmt.Sprint("parallelism=", parallelism))
				}
			}
			if len(q.runs) > 1 {
				check(plugin, "settings.batch.rows=100", "parallelism=2")
			}
		})
	}
}
