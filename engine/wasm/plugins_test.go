package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

func TestDescribe(t *testing.T) {
	file := wasmtest.Guest(t, "sum", `"default": 1}`, `"default": 1}, {"name": "unit", "type": "string"}, {"name": "limit", "type": "float64", "required": true}`)
	sum := sha256.Sum256(file)
	p := &job.Plugin{Name: "plug"}
	got, err := host(t, map[string][]byte{"plug": file}).Describe(p)
	if err != nil {
		t.Fatal(err)
	}
	want := job.FunctionInfo{
		Inputs:           []job.Input{{Name: "value", Kinds: []stream.Kind{stream.Int64}}},
		Outputs:          []stream.Field{{Name: "sum", Kind: stream.Int64}, {Name: "count", Kind: stream.Int64}},
		OrderInsensitive: true,
		Fixed:            true,
		Schema:           1, // as the manifest of the guest says
		Params: []job.Param{
			{Name: "scale", Kind: stream.Int64, Default: job.Arg{Name: "scale", Kind: stream.Int64, Int: 1}},
			{Name: "unit", Kind: stream.String},
			{Name: "limit", Kind: stream.Float64, Required: true},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if p.Digest != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s", p.Digest)
	}
}

func TestDescribeRefuses(t *testing.T) {
	ps := host(t, map[string][]byte{"elf": []byte("\x7fELF\x02\x01\x01\x00"), "sum": wasmtest.Guest(t, "sum")})
	for _, c := range []struct {
		p    job.Plugin
		want string
	}{
		{job.Plugin{Name: "elf"}, "not a WebAssembly file: it starts with 7f 45 4c 46: an ELF file"},
		{job.Plugin{Name: "none"}, "no file none"},
		{job.Plugin{Name: "sum", Digest: "00"}, ", not sha256:00"},
	} {
		if _, err := ps.Describe(&c.p); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, fault.ErrUser) {
			t.Errorf("%s: got %v, want %q", c.p.Name, err, c.want)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	open := Files(env.Real().FS)
	if _, err := open(&job.Plugin{File: filepath.Join(dir, "none.wasm")}); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, fault.ErrUser) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := open(&job.Plugin{File: dir}); !errors.Is(err, fault.ErrUser) || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	path := filepath.Join(dir, "sum.wasm")
	if err := os.WriteFile(path, wasmtest.Guest(t, "sum"), 0o600); err != nil {
		t.Fatal(err)
	}
	ps := NewPlugins(nil, open)
	if _, err := ps.Describe(&job.Plugin{Name: "sum", File: path}); err != nil {
		t.Error(err)
	}
}

func TestBindings(t *testing.T) {
	ps := host(t, map[string][]byte{"plug": wasmtest.Guest(t, "sum")})
	p := &job.Plugin{Name: "plug"}
	if _, err := ps.Describe(p); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kinds []stream.Kind
		want  string
	}{
		{nil, "plug-in plug: takes 1 columns, 0 are bound"},
		{[]stream.Kind{stream.Float64}, "plug-in plug: input value takes int64, the bound column is float64"},
	} {
		if _, err := ps.Aggregate(t.Context(), p, &job.Aggregate{}, c.kinds); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// counting counts what it compiles; the first waits for wait, if that is set.
type counting struct {
	guest.Compiler
	mu    sync.Mutex
	n     int
	start chan struct{} // closed by the first compilation
	wait  bool
}

func (c *counting) Compile(ctx context.Context, file []byte) (*guest.Module, error) {
	c.mu.Lock()
	c.n++
	first := c.n == 1
	c.mu.Unlock()
	if first && c.wait {
		close(c.start)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c.Compiler.Compile(ctx, file)
}

func counted(t *testing.T, files map[string][]byte) (*Plugins, *counting) {
	t.Helper()
	in, err := guest.NewInProcess(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Compiler: in, start: make(chan struct{})}
	ps := NewPlugins(c, memory(files))
	t.Cleanup(func() {
		if err := errors.Join(ps.Close(context.Background()), in.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return ps, c
}

var int64s = []stream.Kind{stream.Int64}

func TestModulesAreShared(t *testing.T) {
	files := map[string][]byte{"a": wasmtest.Guest(t, "sum"), "b": wasmtest.Guest(t, "sum")}
	ps, c := counted(t, files)
	var plugins []*job.Plugin
	for _, name := range []string{"a", "b"} {
		p := &job.Plugin{Name: name}
		if _, err := ps.Describe(p); err != nil {
			t.Fatal(err)
		}
		plugins = append(plugins, p)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			a, err := ps.Aggregate(t.Context(), plugins[i%2], &job.Aggregate{}, int64s)
			if err == nil {
				err = errors.Join(a.Close(), a.Close()) // once more does no harm
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if c.n != 1 {
		t.Errorf("compiled %d times, want once: both names are one module", c.n)
	}
}

func TestIdleModulesAreBounded(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range strings.Split("abcdef", "") {
		files[name] = wasmtest.Guest(t, "sum", `"name": "sum", "version"`, `"name": "`+name+`", "version"`)
	}
	ps, c := counted(t, files)
	use := func(name string) {
		p := &job.Plugin{Name: name}
		if _, err := ps.Describe(p); err != nil {
			t.Fatal(err)
		}
		a, err := ps.Aggregate(t.Context(), p, &job.Aggregate{}, int64s)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range strings.Split("abcdef", "") {
		use(name)
	}
	if len(ps.modules) != maxIdle || len(ps.idle) != maxIdle {
		t.Errorf("%d modules, %d idle, want %d", len(ps.modules), len(ps.idle), maxIdle)
	}
	use("c") // still there: b to f are four and c is one of them
	use("a") // gone
	if c.n != 7 {
		t.Errorf("compiled %d times, want 7", c.n)
	}
}

func TestChangedModuleIsRefused(t *testing.T) {
	files := map[string][]byte{"a": wasmtest.Guest(t, "sum")}
	ps, _ := counted(t, files)
	p := &job.Plugin{Name: "a"}
	if _, err := ps.Describe(p); err != nil {
		t.Fatal(err)
	}
	good := files["a"]
	files["a"] = wasmtest.Guest(t, "join")
	if _, err := ps.Aggregate(t.Context(), p, &job.Aggregate{}, int64s); err == nil || !strings.Contains(err.Error(), "has changed since the job was checked") {
		t.Errorf("got %v", err)
	}
	files["a"] = bytes.Clone(good) // a failure is not kept
	a, err := ps.Aggregate(t.Context(), p, &job.Aggregate{}, int64s)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCancelledCompilationIsNotOthers(t *testing.T) {
	ps, c := counted(t, map[string][]byte{"a": wasmtest.Guest(t, "sum")})
	c.wait = true
	p := &job.Plugin{Name: "a"}
	if _, err := ps.Describe(p); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := ps.Aggregate(ctx, p, &job.Aggregate{}, int64s); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who cancelled got %v", err)
		}
	})
	<-c.start
	wg.Go(func() {
		a, err := ps.Aggregate(t.Context(), p, &job.Aggregate{}, int64s)
		if err == nil {
			err = a.Close()
		}
		if err != nil {
			t.Errorf("the other one got %v", err)
		}
	})
	cancel()
	wg.Wait()
}
