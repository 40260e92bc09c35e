package controller

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// locked are files that may be seen but not read; whoever runs the tests may be
// allowed to read anything.
type locked struct{ env.FS }

func (l locked) Open(name string) (env.File, error) {
	if strings.Contains(filepath.Base(name), "locked") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.FS.Open(name)
}

func TestLoadRefusesInputsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl", "locked.jsonl", "b-locked.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	machine := env.Real()
	machine.FS = locked{machine.FS}
	for _, row := range []struct{ name, path, want string }{
		{"one that can", "a.jsonl", ""},
		{"one that cannot", "locked.jsonl", "source in: open " + filepath.Join(dir, "locked.jsonl") + ": permission denied"},
		{"one of several", `"*.jsonl"`, "source in: open " + filepath.Join(dir, "b-locked.jsonl") + ": permission denied"},
		{"standard input", `"-"`, ""},
	} {
		yaml := `version: 1
job: counts
sources:
  in:
    file: {path: ` + row.path + `}
    format: json
    schema: {k: string}
    time: {field: ts, unit: ms}
    watermark: {out_of_orderness: 2s}
steps:
  s: {from: in, window: {tumbling: 5s}, aggregates: {n: {function: count}}}
sinks:
  out: {from: s, stdout: {}}
`
		_, err := Load(t.Context(), LoadRequest{YAML: []byte(yaml), Name: "job.yaml", Dir: dir, Machine: machine})
		if row.want == "" && err != nil || row.want != "" && (err == nil || err.Error() != row.want || !errors.Is(err, fault.ErrUser)) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}
