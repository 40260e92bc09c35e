package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tidemark/engine/job"
	"tidemark/engine/source"
	"tidemark/engine/source/sourcetest"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// dir is a directory of files; names get the suffix of a log.
type dir struct {
	path string
	pack func(t *testing.T, content []byte) []byte // nil: files are plain
}

func (d dir) Write(t *testing.T, name string, content []byte) {
	if d.pack != nil {
		content = d.pack(t, content)
	}
	appendTo(t, filepath.Join(d.path, name+".log"), string(content))
}

func (d dir) Source(t *testing.T, follow bool) source.Source {
	return newFile(t, job.FileSource{Path: filepath.Join(d.path, "*.log"), Glob: true, Base: d.path, Follow: follow}, env.Real())
}

func newFile(t *testing.T, spec job.FileSource, e env.Env) *source.File {
	t.Helper()
	f, err := source.NewFile(spec, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func appendTo(t *testing.T, path, content string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
}

func packGzip(t *testing.T, content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packZstd(t *testing.T, content []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(content, nil)
}

// packGzipTwice makes a file of two members.
func packGzipTwice(t *testing.T, content []byte) []byte {
	half := len(content) / 2
	return append(packGzip(t, content[:half]), packGzip(t, content[half:])...)
}

func TestFilesPassTheSuite(t *testing.T) {
	all := sourcetest.Features{Seek: true, Many: true, Follow: true}
	packed := sourcetest.Features{Seek: true, Many: true}
	for _, row := range []struct {
		name     string
		features sourcetest.Features
		pack     func(t *testing.T, content []byte) []byte
	}{
		{"plain", all, nil},
		{"gzip", packed, packGzip},
		{"gzip of two members", packed, packGzipTwice},
		{"zstd", packed, packZstd},
	} {
		t.Run(row.name, func(t *testing.T) {
			sourcetest.Run(t, row.features, func(t *testing.T) sourcetest.World { return dir{t.TempDir(), row.pack} })
		})
	}
}

// stdin is a world whose one split is standard input.
type stdin struct {
	pack func(t *testing.T, content []byte) []byte
	data *bytes.Buffer
}

func (s stdin) Write(t *testing.T, name string, content []byte) {
	if s.pack != nil {
		content = s.pack(t, content)
	}
	s.data.Write(content)
}

func (s stdin) Source(t *testing.T, follow bool) source.Source {
	f, err := source.NewFile(job.FileSource{Path: source.Stdin}, env.Real(), s.data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestStandardInputPassesTheSuite(t *testing.T) {
	for name, pack := range map[string]func(t *testing.T, content []byte) []byte{"plain": nil, "gzip": packGzip, "zstd": packZstd} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, sourcetest.Features{}, func(t *testing.T) sourcetest.World { return stdin{pack, &bytes.Buffer{}} })
		})
	}
}

func TestPathsThatCannotBeRead(t *testing.T) {
	d := t.TempDir()
	appendTo(t, filepath.Join(d, "file"), "x")
	if err := os.MkdirAll(filepath.Join(d, "sub", "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		spec job.FileSource
		want string
	}{
		{"a missing file", job.FileSource{Path: "none"}, "none does not exist"},
		{"a missing file, followed", job.FileSource{Path: "none", Follow: true}, "none does not exist"},
		{"a directory", job.FileSource{Path: "sub"}, "sub is a directory"},
		{"a path below a file", job.FileSource{Path: "file/x"}, "a part of the path is a file"},
		{"a pattern that matches nothing", job.FileSource{Path: "*.none", Glob: true}, "no file matches"},
		{"a pattern that matches directories only", job.FileSource{Path: "sub/*", Glob: true}, "no file matches"},
		{"a broken pattern", job.FileSource{Path: "[", Glob: true}, "no valid pattern"},
		{"standard input that is not there", job.FileSource{Path: source.Stdin}, "no standard input"},
		{"standard input, followed", job.FileSource{Path: source.Stdin, Follow: true}, "standard input"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.spec.Path != source.Stdin {
				row.spec.Path = filepath.Join(d, row.spec.Path)
			}
			f, err := source.NewFile(row.spec, env.Real(), nil)
			if err == nil {
				_, err = f.Splits(context.Background())
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("%v, want %q", err, row.want)
			}
			if !errors.Is(err, fault.ErrUser) {
				t.Errorf("%v is no user's error", err)
			}
		})
	}
}

func TestSplitsAreNamedRelativeToTheJob(t *testing.T) {
	d := t.TempDir()
	if err := os.MkdirAll(filepath.Join(d, "data", "dir.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.jsonl", "a.jsonl", "c.txt"} {
		appendTo(t, filepath.Join(d, "data", name), "12345")
	}
	f := newFile(t, job.FileSource{Path: filepath.Join(d, "data", "*.jsonl"), Glob: true, Base: filepath.Join(d, "job")}, env.Real())
	splits, err := f.Splits(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range splits {
		names = append(names, s.ID)
		info, err := os.Stat(s.Path)
		if err != nil || s.Size != 5 || int64(s.ModTime) != info.ModTime().UnixMilli() {
			t.Errorf("%+v, %v", s, err)
		}
	}
	if !slices.Equal(names, []string{"../data/a.jsonl", "../data/b.jsonl"}) {
		t.Errorf("%q", names)
	}
}

func TestDamagedFiles(t *testing.T) {
	content := bytes.Repeat([]byte("some text that compresses, number 1\n"), 10_000)
	zipped, packed := packGzip(t, content), packZstd(t, content)
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for _, row := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"a gzip file cut in the middle", zipped[:len(zipped)/2], "breaks off"},
		{"a gzip file cut in the checksum", zipped[:len(zipped)-3], "breaks off"},
		{"a gzip file cut in the header", zipped[:5], "breaks off"},
		{"a gzip file with a wrong checksum", flipped, "the compressed data is damaged: gzip: invalid checksum"},
		{"text behind a gzip file", append(bytes.Clone(zipped), "text"...), "gzip"},
		{"a zstd file cut in the middle", packed[:len(packed)/2], "breaks off"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data.jsonl")
			appendTo(t, path, string(row.bytes))
			f := newFile(t, job.FileSource{Path: path}, env.Real())
			r, err := f.Open(context.Background(), source.Split{Path: path}, 0)
			if err == nil {
				_, err = io.Copy(io.Discard, readerOf(r))
				if cerr := r.Close(); cerr != nil {
					t.Error(cerr)
				}
			}
			if !errors.Is(err, fault.ErrExternal) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want an outside failure that names the file and %q", err, row.want)
			}
		})
	}
}

// A Reader that has given half of its bytes is asked whether they are sound.
func TestVerify(t *testing.T) {
	content := bytes.Repeat([]byte("some text that compresses, number 1\n"), 10_000)
	zipped := packGzip(t, content)
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for _, row := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"sound", zipped, ""},
		{"damaged", flipped, "the compressed data is damaged: gzip: invalid checksum"},
		{"cut off", zipped[:len(zipped)-1], "the compressed data breaks off in the middle"},
		{"not compressed", content, ""},
	} {
		path := filepath.Join(t.TempDir(), "data.jsonl")
		appendTo(t, path, string(row.bytes))
		r, err := newFile(t, job.FileSource{Path: path}, env.Real()).Open(t.Context(), source.Split{Path: path}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, len(content)/2)); err != nil {
			t.Fatal(err)
		}
		err = r.(source.Verifier).Verify(t.Context())
		if row.want == "" && err != nil || row.want != "" && (!errors.Is(err, fault.ErrExternal) || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func readerOf(r source.Reader) io.Reader { return readerFunc(r.Read) }

func TestStandardInputIsReadOnce(t *testing.T) {
	f, err := source.NewFile(job.FileSource{Path: source.Stdin}, env.Real(), strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	splits, err := f.Splits(context.Background())
	if err != nil || len(splits) != 1 || splits[0].ID != "-" {
		t.Fatal(splits, err)
	}
	r, err := f.Open(context.Background(), splits[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open(context.Background(), splits[0], 0); !errors.Is(err, fault.ErrUser) {
		t.Errorf("the second time: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A pipe whose writer is silent must not hold up the task, nor the end of the job.
func TestStandardInputNeverWaits(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	f, err := source.NewFile(job.FileSource{Path: source.Stdin}, env.Real(), in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Open(context.Background(), source.Split{Path: source.Stdin}, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	if n, err := r.Read(p); n != 0 || !errors.Is(err, source.ErrWait) {
		t.Errorf("before anything was written: %d, %v", n, err)
	}
	if _, err := out.WriteString("1\n"); err != nil { // fewer bytes than tell gzip from zstd
		t.Fatal(err)
	}
	<-r.(source.Waker).Ready()
	if n, err := r.Read(p); string(p[:n]) != "1\n" || err != nil {
		t.Errorf("%q, %v", p[:n], err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// blocked is a terminal at which nobody types.
type blocked struct{ entered, never chan struct{} }

func (b blocked) Read([]byte) (int, error) {
	b.entered <- struct{}{}
	<-b.never
	return 0, io.EOF
}

func TestCloseDoesNotWaitForATerminal(t *testing.T) {
	b := blocked{make(chan struct{}), make(chan struct{})}
	f, err := source.NewFile(job.FileSource{Path: source.Stdin}, env.Real(), b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Open(context.Background(), source.Split{Path: source.Stdin}, 0)
	if err != nil {
		t.Fatal(err)
	}
	<-b.entered
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	close(b.never)
}

// clock is a clock that the test sets.
type clock struct {
	env.Clock
	now time.Time
}

func (c *clock) Now() time.Time { return c.now }

// log is a followed file, or several, and what its readers said.
type log struct {
	t     *testing.T
	dir   string
	clock *clock
	spec  job.FileSource
	env   env.Env
	src   *source.File
	open  map[string]source.Reader
	spent []source.Trace    // as a checkpoint keeps it
	read  map[string]string // of the file that is being read, by split
}

func newLog(t *testing.T, pattern string, glob bool) *log {
	l := &log{t: t, dir: t.TempDir(), clock: &clock{now: time.Unix(1000, 0)}, env: env.Real(), open: map[string]source.Reader{}, read: map[string]string{}}
	l.env.Clock = l.clock
	l.spec = job.FileSource{Path: filepath.Join(l.dir, pattern), Glob: glob, Base: l.dir, Follow: true}
	l.src = newFile(t, l.spec, l.env)
	t.Cleanup(func() {
		for _, r := range l.open {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return l
}

func (l *log) path(name string) string { return filepath.Join(l.dir, name) }

func (l *log) write(name, content string) { appendTo(l.t, l.path(name), content) }

func (l *log) rename(from, to string) {
	l.t.Helper()
	if err := os.Rename(l.path(from), l.path(to)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *log) truncate(name string) {
	l.t.Helper()
	if err := os.Truncate(l.path(name), 0); err != nil {
		l.t.Fatal(err)
	}
}

// age has a file be from long ago.
func (l *log) age(name string) {
	l.t.Helper()
	if err := os.Chtimes(l.path(name), time.Time{}, time.Unix(0, 0)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *log) remove(name string) {
	l.t.Helper()
	if err := os.Remove(l.path(name)); err != nil {
		l.t.Fatal(err)
	}
}

// look lists splits, opens the new ones and reads them all in turn until they wait.
// It returns what came: "name: bytes", with | where a split began anew and $ where it
// ended.
func (l *log) look() string {
	l.t.Helper()
	splits, err := l.src.Splits(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, s := range splits {
		r := l.open[s.ID]
		if r == nil {
			if r, err = l.src.Open(context.Background(), s, 0); err != nil {
				l.t.Fatal(err)
			}
			l.open[s.ID] = r
		}
		got, p := "", make([]byte, 4)
		for {
			n, err := r.Read(p)
			got += string(p[:n])
			if errors.Is(err, source.ErrWait) {
				break
			}
			if err == io.EOF {
				got += "$"
				delete(l.open, s.ID)
				if err := r.Close(); err != nil {
					l.t.Error(err)
				}
				break
			}
			l.read[s.ID] += string(p[:n])
			if errors.Is(err, source.ErrRestart) {
				got += "|"
				l.read[s.ID] = ""
			} else if err != nil {
				l.t.Fatal(err)
			}
		}
		if got != "" {
			out = append(out, s.ID+": "+got)
		}
	}
	return strings.Join(out, ", ")
}

func (l *log) expect(want string) {
	l.t.Helper()
	if got := l.look(); got != want {
		l.t.Errorf("%q, want %q", got, want)
	}
}

func (l *log) later(d time.Duration) { l.clock.now = l.clock.now.Add(d) }

func TestRotationByRename(t *testing.T) {
	l := newLog(t, "app.log", false)
	l.write("app.log", "one\n")
	l.expect("app.log: one\n")
	l.rename("app.log", "app.log.1")
	l.write("app.log.1", "two\n") // the writer still has the old file
	l.expect("app.log: two\n")
	l.expect("") // the successor is not there yet
	l.write("app.log", "three\n")
	l.expect("") // the old file may still get something
	l.write("app.log.1", "late")
	l.expect("app.log: late")
	l.expect("")
	l.later(time.Second)
	l.expect("app.log: |three\n")
	l.write("app.log", "four\n")
	l.expect("app.log: four\n")
	l.write("app.log.1", "too late")
	l.expect("")
}

func TestTruncation(t *testing.T) {
	l := newLog(t, "app.log", false)
	l.write("app.log", "one\ntwo\n")
	l.expect("app.log: one\ntwo\n")
	if err := os.Truncate(l.path("app.log"), 0); err != nil {
		t.Fatal(err)
	}
	l.expect("app.log: |")
	l.write("app.log", "three\n")
	l.expect("app.log: three\n")
	if err := os.Truncate(l.path("app.log"), 0); err != nil {
		t.Fatal(err)
	}
	l.write("app.log", "4\n")
	l.expect("app.log: |4\n")
}

// Rotation renames files into the pattern: none is read twice.
func TestRotationWithinThePattern(t *testing.T) {
	l := newLog(t, "app.log*", true)
	l.expect("") // a followed pattern may match nothing at first
	l.write("app.log", "one\n")
	l.expect("app.log: one\n")
	l.rename("app.log", "app.log.1")
	l.write("app.log", "two\n")
	l.expect("")
	l.later(time.Second)
	l.expect("app.log: |two\n")

	l.rename("app.log.1", "app.log.2")
	l.rename("app.log", "app.log.1")
	l.write("app.log", "three\n")
	l.expect("")
	l.later(time.Second)
	l.expect("app.log: |three\n")

	l.remove("app.log.2")
	l.expect("")
	l.write("app.log.2", "a file of its own\n")
	l.expect("app.log.2: a file of its own\n")
}

// A system may give a deleted file's identity to the next one that is made.
func TestRotationThatDeletesTheOldest(t *testing.T) {
	l := newLog(t, "app.log*", true)
	l.write("app.log", "one\n")
	l.expect("app.log: one\n")
	l.rename("app.log", "app.log.1")
	l.write("app.log", "two\n")
	l.expect("")
	l.later(time.Second)
	l.expect("app.log: |two\n")
	l.expect("") // app.log.1 is known and no reader holds it
	l.remove("app.log.1")
	l.rename("app.log", "app.log.1")
	l.write("app.log", "3\n")
	l.expect("")
	l.later(time.Second)
	l.expect("app.log: |3\n")
	l.write("app.log", "three\n")
	l.expect("app.log: three\n")
}

// Files that were there from the start are splits; when rotation moves them along,
// their readers do not read each other's files again.
func TestRotationOfFilesThatAreRead(t *testing.T) {
	l := newLog(t, "app.log*", true)
	l.write("app.log.1", "old\n")
	l.write("app.log", "new\n")
	l.expect("app.log: new\n, app.log.1: old\n")
	l.rename("app.log.1", "app.log.2")
	l.rename("app.log", "app.log.1")
	l.write("app.log", "newer\n")
	l.expect("")
	l.later(time.Second)
	l.expect("app.log: |newer\n")
	l.later(time.Second)
	l.expect("")
}

func TestADeletedFileEnds(t *testing.T) {
	for _, row := range []struct {
		name string
		play func(l *log)
	}{
		{"after a minute without anything new", func(l *log) {
			l.remove("a.log")
			l.expect("") // from here on
			l.later(time.Minute - 1)
			l.expect("")
			l.later(1)
			l.expect("a.log: $")
			l.later(time.Hour)
			l.expect("")
		}},
		{"but not while its writer goes on", func(l *log) {
			writer, err := os.OpenFile(l.path("a.log"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				l.t.Fatal(err)
			}
			defer writer.Close()
			l.remove("a.log")
			l.expect("")
			l.later(time.Minute)
			if _, err := writer.WriteString("late"); err != nil {
				l.t.Fatal(err)
			}
			l.expect("a.log: late")
			l.later(time.Minute - 1)
			l.expect("")
			l.later(1)
			l.expect("a.log: $")
		}},
		{"a successor that comes in time continues the split", func(l *log) {
			l.remove("a.log")
			l.expect("")
			l.later(time.Minute - 1)
			l.write("a.log", "two")
			l.expect("")
			l.later(time.Second)
			l.expect("a.log: |two")
			l.later(time.Hour)
			l.expect("")
		}},
		{"one that comes too late is another split", func(l *log) {
			l.remove("a.log")
			l.expect("")
			l.later(time.Minute)
			l.expect("a.log: $")
			l.write("a.log", "two")
			l.expect("a.log: two")
			l.later(time.Hour)
			l.expect("")
		}},
		{"one that lies under another name does not", func(l *log) {
			l.rename("a.log", "b.log")
			l.expect("")
			l.later(time.Hour)
			l.expect("")
			l.write("b.log", "two")
			l.expect("a.log: two")
			l.remove("b.log")
			l.expect("")
			l.later(time.Minute)
			l.expect("a.log: $")
		}},
		{"one whose name another reader's file has, and is not read twice", func(l *log) {
			l.write("b.log", "old")
			l.expect("b.log: old")
			l.remove("b.log")
			l.rename("a.log", "b.log")
			l.expect("")
			l.later(time.Second)
			l.expect("") // the reader of b.log sees that the reader of a.log has it
			l.later(time.Minute)
			l.expect("b.log: $")
			l.write("b.log", "two")
			l.expect("a.log: two")
		}},
		{"with a byte that could have begun a compressed file", func(l *log) {
			l.write("b.log", "\x1f")
			l.expect("")
			l.remove("b.log")
			l.expect("")
			l.later(time.Minute)
			l.expect("")
			l.expect("b.log: \x1f")
			l.expect("")
			l.later(time.Minute)
			l.expect("b.log: $")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLog(t, "*.log", true)
			l.write("a.log", "one")
			l.expect("a.log: one")
			row.play(l)
		})
	}
}

// A job that names one file waits for it, however long its successor takes.
func TestTheOneFileIsWaitedFor(t *testing.T) {
	l := newLog(t, "a.log", false)
	l.write("a.log", "one")
	l.expect("a.log: one")
	l.remove("a.log")
	l.expect("")
	l.later(time.Hour)
	r := l.open["a.log"]
	if _, err := r.Read(make([]byte, 9)); !errors.Is(err, source.ErrWait) {
		t.Errorf("an hour after the file was deleted: %v", err)
	}
	l.write("a.log", "two")
	l.expect("")
	l.later(time.Second)
	l.expect("a.log: |two")
}

func TestDeletedFilesLeaveRoomForNewOnes(t *testing.T) {
	l := newLog(t, "*.log", true)
	name := func(round, i int) string { return fmt.Sprintf("%d-%03d.log", round, i) }
	const files = 500 // more than half of what may be followed
	for round := range 3 {
		for i := range files {
			l.write(name(round, i), "")
		}
		l.look()
		if len(l.open) > 2*files {
			t.Fatalf("round %d: %d files are open", round, len(l.open))
		}
		for i := range files {
			l.remove(name(round, i))
		}
		l.look()
		l.later(time.Minute)
	}
	l.look()
	l.look()
	if len(l.open) != 0 {
		t.Errorf("in the end %d readers have not ended", len(l.open))
	}
}

func TestFollowedFilesNeedDescriptors(t *testing.T) {
	for _, row := range []struct {
		name           string
		process, files int
		want           string
	}{
		{"as many as there is room for", 100, 50, ""},
		{"one more", 100, 51, "names 51 files that stay open; this process may have 100 files open, and 50 of them for these: let the process open more files (ulimit -n"},
		{"nobody knows the limit", 0, 900, ""},
		{"more than is followed at all", 0, 901, "names 901 files, at most 900 are possible"},
		{"most of a large limit", 1024, 900, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, e := t.TempDir(), env.Real()
			e.OpenFiles = row.process
			for i := range row.files {
				appendTo(t, filepath.Join(d, fmt.Sprintf("%03d.log", i)), "")
			}
			f := newFile(t, job.FileSource{Path: filepath.Join(d, "*.log"), Glob: true, Follow: true}, e)
			splits, err := f.Splits(context.Background())
			if row.want == "" {
				if err != nil || len(splits) != row.files {
					t.Errorf("%d splits, %v", len(splits), err)
				}
				return
			}
			if !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want a user's error with %q", err, row.want)
			}
		})
	}
}

func TestDeletedFilesCountAmongTheOpenOnes(t *testing.T) {
	d, e := t.TempDir(), env.Real()
	e.OpenFiles = 10 // five of them for the source
	f := newFile(t, job.FileSource{Path: filepath.Join(d, "*.log"), Glob: true, Follow: true}, e)
	for i := range 6 {
		path := filepath.Join(d, fmt.Sprintf("%d.log", i))
		appendTo(t, path, "")
		splits, err := f.Splits(context.Background())
		if i == 5 {
			if want := "names 2 files that stay open, and 4 are deleted"; !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Open(context.Background(), splits[len(splits)-1], 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if i < 4 {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// counted is a file system that has few descriptors.
type counted struct {
	env.FS
	limit      int
	open, most *int
}

func (c counted) Open(name string) (env.File, error) {
	if *c.open == c.limit {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	*c.open++
	*c.most = max(*c.most, *c.open)
	return countedFile{f, c.open}, nil
}

type countedFile struct {
	env.File
	open *int
}

func (f countedFile) Close() error {
	*f.open--
	return f.File.Close()
}

// An ordered replay has all files of a pattern in hand at once.
func TestMoreFilesThanDescriptors(t *testing.T) {
	for _, row := range []struct {
		name string
		pack func(t *testing.T, content []byte) []byte
	}{{"plain", nil}, {"gzip", packGzip}, {"zstd", packZstd}} {
		t.Run(row.name, func(t *testing.T) {
			const files, pieces, piece = 100, 9, 1000
			w := dir{t.TempDir(), row.pack}
			content := func(i int) []byte {
				return bytes.Repeat([]byte(fmt.Sprintf("file %3d\n", i)), pieces*piece/9)
			}
			for i := range files {
				w.Write(t, fmt.Sprintf("%03d", i), content(i))
			}
			var open, most int
			e := env.Real()
			e.OpenFiles = 320 // a sixteenth is the source's to keep
			e.FS = counted{e.FS, 21, &open, &most}
			f := newFile(t, job.FileSource{Path: filepath.Join(w.path, "*.log"), Glob: true}, e)
			splits, err := f.Splits(context.Background())
			if err != nil || len(splits) != files {
				t.Fatalf("%d splits, %v", len(splits), err)
			}
			readers, got := make([]source.Reader, files), make([][]byte, files)
			for i, s := range splits {
				if readers[i], err = f.Open(context.Background(), s, 0); err != nil {
					t.Fatal(err)
				}
			}
			p := make([]byte, piece)
			for live := files; live > 0; {
				live = 0
				for i, r := range readers {
					n, err := r.Read(p)
					got[i] = append(got[i], p[:n]...)
					if err == nil {
						live++
					} else if err != io.EOF {
						t.Fatal(err)
					}
				}
			}
			for i := range files {
				if !bytes.Equal(got[i], content(i)) {
					t.Errorf("file %d: %d bytes, or others", i, len(got[i]))
				}
			}
			if open != 0 {
				t.Errorf("%d descriptors are held behind the end", open)
			}
			for _, r := range readers {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if open != 0 || most < 20 {
				t.Errorf("%d descriptors are open in the end, at most %d were: 20 may be kept", open, most)
			}
		})
	}
}

func TestFilesThatChangeBetweenReads(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(t *testing.T, path string)
		want   string
	}{
		{"replaced", func(t *testing.T, path string) {
			appendTo(t, path+".new", strings.Repeat("x", 100))
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, "another file has taken its place"},
		{"removed", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "it was removed while it was being read"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a")
			appendTo(t, path, "0123456789")
			e := env.Real()
			e.OpenFiles = 1 // nothing to keep
			f := newFile(t, job.FileSource{Path: path}, e)
			r, err := f.Open(context.Background(), source.Split{Path: path}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := r.Read(make([]byte, 4)); n != 4 || err != nil {
				t.Fatal(n, err)
			}
			row.change(t, path)
			if _, err := r.Read(make([]byte, 4)); !errors.Is(err, fault.ErrExternal) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want an outside failure that names the file and %q", err, row.want)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALackOfDescriptorsSaysWhatToDo(t *testing.T) {
	var open, most int
	e := env.Real()
	e.FS = counted{e.FS, 0, &open, &most}
	path := filepath.Join(t.TempDir(), "a")
	appendTo(t, path, "x")
	f := newFile(t, job.FileSource{Path: path}, e)
	if _, err := f.Open(context.Background(), source.Split{Path: path}, 0); !errors.Is(err, fault.ErrExternal) || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("%v", err)
	}
}

func TestFollowedFilesAreNotCompressed(t *testing.T) {
	for name, content := range map[string][]byte{"gzip": packGzip(t, []byte("x")), "zstd": packZstd(t, []byte("x"))} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t, "a", false)
			l.write("a", "")
			r, err := l.src.Open(context.Background(), source.Split{Path: l.path("a")}, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			l.write("a", string(content[:1]))
			if _, err := r.Read(make([]byte, 9)); !errors.Is(err, source.ErrWait) {
				t.Errorf("after one byte: %v", err)
			}
			l.write("a", string(content[1:]))
			if _, err := r.Read(make([]byte, 9)); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "compressed") {
				t.Errorf("%v", err)
			}
		})
	}
}
