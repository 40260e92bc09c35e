package toolchain

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/abi"
	abibinary "tidemark/abi/binary"
	"tidemark/abi/guest"
	"tidemark/internal/env"
	"tidemark/internal/fault"
)

// offline takes away what a newcomer's machine without a network does not have.
func offline(t *testing.T) {
	t.Helper()
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("CARGO_NET_OFFLINE", "true")
}

func TestANewProjectTestsAndBuildsOffline(t *testing.T) {
	offline(t)
	var digests []string
	for _, parent := range []string{t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")} {
		dir := filepath.Join(parent, "high-values")
		if err := New(env.Real().FS, "go", "aggregate", dir); err != nil {
			t.Fatal(err)
		}
		built, err := Build(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if m := built.Manifest; m.Name != "high-values" || m.Aggregate.Width != 16 || !m.Aggregate.Params[0].HasDefault {
			t.Errorf("manifest: %+v", m)
		}
		digests = append(digests, built.Digest)

		file := filepath.Join(parent, "out.wasm")
		if err := built.Save(env.Real().FS, file); err != nil {
			t.Fatal(err)
		}
		saved, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := abibinary.Read(bytes.NewReader(saved))
		if err != nil {
			t.Fatal(err)
		}
		if err := abibinary.Check(info); err != nil || info.Digest != built.Digest {
			t.Errorf("saved module: digest %s, %v", info.Digest, err)
		}
		if bytes.Contains(saved, []byte(parent)) {
			t.Error("the module holds the path that it was built in")
		}
		if len(digests) > 1 {
			cmd := exec.Command("go", "test", "./...")
			cmd.Dir = dir
			if report, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("the project's own tests: %v\n%s", err, report)
			}
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("the same sources gave %s and %s", digests[0], digests[1])
	}
}

func TestNewProjectsOfTheOtherKindsTestAndBuildOffline(t *testing.T) {
	offline(t)
	for kind, is := range map[string]func(*abi.Manifest) bool{
		"process":  func(m *abi.Manifest) bool { return m.Process != nil && m.Process.KeyState },
		"pair":     func(m *abi.Manifest) bool { return m.Pair != nil && len(m.Pair.Right) == 1 },
		"assigner": func(m *abi.Manifest) bool { return m.Assigner != nil && !m.Assigner.Merges },
	} {
		dir := filepath.Join(t.TempDir(), "mine")
		if err := New(env.Real().FS, "go", kind, dir); err != nil {
			t.Fatal(err)
		}
		built, err := Build(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if m := built.Manifest; m.Name != "mine" || !is(m) {
			t.Errorf("%s: manifest %+v", kind, m)
		}
		for _, args := range [][]string{{"test", "./..."}, {"vet", "."}} {
			cmd := exec.Command("go", args...)
			cmd.Dir = dir
			if report, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: go %s: %v\n%s", kind, args[0], err, report)
			}
		}
	}
}

func TestBuildErrors(t *testing.T) {
	empty := t.TempDir()
	for _, row := range []struct {
		name, dir string
		want      []string
	}{
		{"a directory that does not exist", filepath.Join(empty, "none"), []string{"does not exist"}},
		{"a file", "build.go", []string{"is not a directory"}},
		{"a directory without sources", empty, []string{"has no sources of a plug-in", "tidemark plugin new --lang "}},
		{"sources that do not compile", "testdata/broken", []string{"main.go:4:15", "undeclared"}},
		{"a library", "testdata/library", []string{"testdata/library", "main"}},
		{"no aggregate", "testdata/nothing", []string{"no plug-in is registered"}},
		{"an accumulator with a pointer", "testdata/pointer", []string{"accumulator main.names holds all []string", "use VariableAggregate"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Build(t.Context(), row.dir)
			if !errors.Is(err, fault.ErrUser) {
				t.Fatalf("got %v, want an error of the user", err)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "goroutine") {
				t.Errorf("got a stack: %q", err)
			}
		})
	}
}

func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), "testdata/moody")
	if err == nil || !strings.Contains(err.Error(), "no Go toolchain") || !strings.Contains(err.Error(), "1.26") {
		t.Errorf("got %v", err)
	}
}

func TestGoVersions(t *testing.T) {
	for _, row := range []struct {
		found string
		want  string
	}{
		{"go1.26", ""},
		{"go1.26.8", ""},
		{"go1.27rc1", ""},
		{"go1.26.1 X:jsonv2", ""},
		{"go1.26.0-custom", ""},
		{"devel go1.27-abcdef Mon Jan 5", ""},
		{"go1.25.9", "Go 1.26 or newer is needed to build a plug-in, /bin/go is 1.25.9"},
		{"go1.9", "/bin/go is 1.9"},
		{"", `/bin/go says that its version is ""`},
		{"gccgo 14", "says that its version is"},
	} {
		err := judgeGo(row.found, "/bin/go")
		if (row.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: got %v, want %q", row.found, err, row.want)
		}
	}
}

// moody is a plug-in of testdata, running.
type moody struct {
	t      *testing.T
	module *guest.Module
	*guest.Instance
}

func startMoody(t *testing.T, dir string) *moody {
	t.Helper()
	built, err := Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := guest.NewInProcess(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	module, err := c.Compile(t.Context(), built.Module)
	if err != nil {
		t.Fatal(err)
	}
	m := &moody{t: t, module: module}
	m.restart()
	return m
}

func (m *moody) restart() {
	m.t.Helper()
	i, err := m.module.Instantiate(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(i.Close)
	m.Instance = i
	h := abi.Header{Size: 8192, Rows: 1, Cols: 96, Out: 4096, OutBytes: 4096}
	h.Put(i.Arena())
	if st, err := i.Call(guest.Configure); err != nil || st != abi.OK {
		m.t.Fatalf("configure: %d, %v", st, err)
	}
}

// add calls tm_aggregate_add with a record for each mood, all of one group.
func (m *moody) add(moods ...string) (abi.Status, error) {
	const column, group, offsets, blob, out = 96, 128, 256, 512, 4096
	b := m.Arena()
	clear(b[:out])
	(&abi.Descriptor{Kind: abi.String, Data: offsets, Blob: blob, BlobBytes: out - blob}).Put(b[column:])
	end := 0
	for i, s := range moods {
		end += copy(b[blob+end:], s)
		binary.LittleEndian.PutUint32(b[offsets+4*(i+1):], uint32(end))
	}
	h := abi.Header{Size: 2 * out, Rows: uint32(len(moods)), Groups: 1, Cols: column, NumCols: 1, Group: group, Out: out, OutBytes: out}
	h.Put(b)
	return m.Call(guest.Add)
}

func TestAGuestSaysWhatWentWrong(t *testing.T) {
	m := startMoody(t, "testdata/moody")
	st, err := m.add("calm", "calm", "error", "calm")
	if err != nil || st != abi.Refused || m.Op() != 2 {
		t.Fatalf("an error: status %d, op %d, %v", st, m.Op(), err)
	}
	if got := string(m.Arena()[4096:][:m.OutUsed()]); got != "in no mood for this" {
		t.Errorf("an error: message %q", got)
	}
	if st, err = m.add("calm"); err != nil || st != abi.OK {
		t.Errorf("after an error the instance is dead: status %d, %v", st, err)
	}
	for _, row := range []struct {
		name  string
		moods []string
		op    uint32
		want  []string
	}{
		{"a panic", []string{"calm", "panic"}, 1, []string{"panic: a fit of temper", "main.(*moods).Add", "main.go:"}},
		{"an index out of range", []string{"index"}, 0, []string{"index out of range [0] with length 0", "main.(*moods).Add"}},
		{"endless recursion", []string{"calm", "calm", "deep"}, 2, []string{"used more than 504000000 fuel"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m.restart()
			_, err := m.add(row.moods...)
			var trap *guest.Trap
			if !errors.As(err, &trap) || trap.Op != row.op {
				t.Fatalf("got %v, want a trap at record %d", err, row.op)
			}
			for _, want := range row.want {
				if !strings.Contains(trap.Message, want) {
					t.Errorf("got %q, want it to say %q", trap.Message, want)
				}
			}
			if strings.Contains(trap.Message, "sdk/go.") {
				t.Errorf("the message names places of the SDK: %q", trap.Message)
			}
		})
	}
}

// A guest's collector works only while the guest yields, which the SDK must do: 200
// MiB of garbage pass through a memory of 64.
func TestGarbageIsCollectedBetweenCalls(t *testing.T) {
	m := startMoody(t, "testdata/moody")
	for i := range 3200 {
		if st, err := m.add("calm"); err != nil || st != abi.OK {
			t.Fatalf("call %d: status %d, %v", i, st, err)
		}
	}
}
