package engine_test

import (
	"bytes"
	"io"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"tidemark/engine"
	"tidemark/engine/job"
	"tidemark/internal/env"
)

// looker is a standard output that looks at the process's goroutines when the first rows
// come, while all tasks of the job are there, and then ends the input.
type looker struct {
	end  func() error
	seen string
}

func (l *looker) Write(p []byte) (int, error) {
	if l.seen == "" {
		var out bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
			return 0, err
		}
		l.seen = out.String()
	}
	return len(p), l.end()
}

// A profile of a host says which task of which job it was.
func TestGoroutinesCarryTheNamesOfTheirTasks(t *testing.T) {
	const yaml = `
version: 1
job: labels
parallelism: 2
sources:
  in:
    file: {path: "-"}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 0s}
steps:
  s:
    from: in
    key: [k]
    window: {tumbling: 1s}
    aggregates: {n: {function: count}}
sinks:
  out: {from: s, stdout: {}}
`
	machine := env.Real()
	g, err := job.Load([]byte(yaml), job.LoadOptions{Name: "job.yaml", Resolver: builtins{}, Files: machine.FS})
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	go func() { _, _ = feed.Write([]byte("{\"ts\":1,\"k\":\"a\"}\n{\"ts\":5000,\"k\":\"a\"}\n")) }() // fails if the job does, which is told below
	out := &looker{end: feed.Close}
	j, err := engine.New(t.Context(), g, engine.Options{Env: machine, Stdin: in, Stdout: out, FirstStart: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"job":"labels", "number":"0", "operator":"in", "work":"source"`,
		`"job":"labels", "number":"0", "operator":"s", "work":"step"`,
		`"job":"labels", "number":"1", "operator":"s", "work":"step"`,
		`"job":"labels", "number":"0", "operator":"out", "work":"sink"`,
	} {
		if !strings.Contains(out.seen, want) {
			t.Errorf("no goroutine is labelled %s:\n%s", want, out.seen)
		}
	}
}
