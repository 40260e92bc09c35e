package sink_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/engine/sink"
	"tidemark/engine/sink/sinktest"
	"tidemark/internal/env"
)

var disk = env.Real().FS

// dir is a directory with the files of one sink.
type dir struct {
	fs      env.FS
	path    string
	options sink.FileOptions
}

func (d dir) Open(t *testing.T, from sink.Restored) sink.Sink {
	t.Helper()
	s, err := sink.OpenFile(d.fs, d.path, d.options, from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Seen reads like somebody who knows nothing of sinks: every file that a pattern finds.
func (d dir) Seen(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	entries, err := d.fs.ReadDir(filepath.Dir(d.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".inprogress") {
			continue
		}
		f, err := d.fs.Open(filepath.Join(filepath.Dir(d.path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(&all, f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if d.options.PerEpoch && n == 0 {
			t.Errorf("%s has no rows", e.Name())
		}
	}
	return all.String()
}

// stdout is a stream that outlives its writers.
type stdout struct{ b *bytes.Buffer }

func (s stdout) Open(*testing.T, sink.Restored) sink.Sink { return sink.NewStream(s.b, "stdout") }
func (s stdout) Seen(*testing.T) string                   { return s.b.String() }

// memory is lost with its process.
type memory struct{ m *sink.Memory }

func (m *memory) Open(*testing.T, sink.Restored) sink.Sink {
	m.m = sink.NewMemory(1 << 20)
	return m.m
}

func (m *memory) Seen(*testing.T) string {
	if last := m.m.Last(); len(last) > 0 {
		return strings.Join(last, "\n") + "\n"
	}
	return ""
}

func TestSuite(t *testing.T) {
	for _, row := range []struct {
		name     string
		features sinktest.Features
		world    func(t *testing.T) sinktest.World
	}{
		{"one file", sinktest.Features{ExactlyOnce: true, Lasting: true}, func(*testing.T) sinktest.World {
			return dir{newDisk(), "/out/rows.jsonl", sink.FileOptions{}}
		}},
		{"a file for each epoch", sinktest.Features{ExactlyOnce: true, PerEpoch: true, Lasting: true}, func(*testing.T) sinktest.World {
			return dir{newDisk(), "/out/rows.jsonl", perEpoch}
		}},
		{"one file on a disk", sinktest.Features{ExactlyOnce: true, Lasting: true, Slow: true}, func(t *testing.T) sinktest.World {
			return dir{disk, filepath.Join(t.TempDir(), "out", "rows.jsonl"), sink.FileOptions{}}
		}},
		{"a file for each epoch on a disk", sinktest.Features{ExactlyOnce: true, PerEpoch: true, Lasting: true, Slow: true}, func(t *testing.T) sinktest.World {
			return dir{disk, filepath.Join(t.TempDir(), "out", "rows.jsonl"), perEpoch}
		}},
		{"a stream", sinktest.Features{Lasting: true}, func(*testing.T) sinktest.World { return stdout{&bytes.Buffer{}} }},
		{"memory", sinktest.Features{}, func(*testing.T) sinktest.World { return &memory{} }},
	} {
		t.Run(row.name, func(t *testing.T) { sinktest.Run(t, row.features, row.world) })
	}
}

func open(t *testing.T, path string, o sink.FileOptions, from sink.Restored) sink.Sink {
	t.Helper()
	s, err := sink.OpenFile(disk, path, o, from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// epoch writes rows and prepares.
func epoch(t *testing.T, s sink.Sink, n uint64, rows string, last bool) (from sink.Restored) {
	t.Helper()
	if err := s.Write([]byte(rows)); err != nil {
		t.Fatal(err)
	}
	pending, err := s.Prepare(n, last)
	if err != nil {
		t.Fatal(err)
	}
	return sink.Restored{Epoch: n, Pending: pending}
}

func commit(t *testing.T, s sink.Sink, from sink.Restored) {
	t.Helper()
	if err := s.Commit(from.Pending); err != nil {
		t.Fatal(err)
	}
}

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// refused checks the class of an error, and what its text must say.
func refused(t *testing.T, err, class error, says ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("error %v, want one of class %v", err, class)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}
