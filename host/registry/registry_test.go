package registry

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/guest"
	"tidemark/host/catalog"
	"tidemark/host/tenant"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// open makes a registry for the tenants a and b.
func open(t *testing.T, dir string) *Registry {
	t.Helper()
	cat, err := catalog.Open(t.Context(), dir, env.Real())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	for _, id := range []tenant.ID{"a", "b"} {
		if err := cat.CreateTenant(t.Context(), id, time.Unix(0, 0)); err != nil && !errors.Is(err, fault.ErrConflict) {
			t.Fatal(err)
		}
	}
	r, err := Open(dir, cat, env.Real(), tenant.DefaultQuota(), compiles(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compiles tries modules as a host does, but for the process of its own.
func compiles(t *testing.T) func(context.Context, []byte) error {
	t.Helper()
	c, err := guest.NewInProcess(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return func(ctx context.Context, module []byte) error {
		m, err := c.Compile(ctx, module)
		if err != nil {
			return err
		}
		return m.Close(ctx)
	}
}

// module is the smallest module that passes the check: it exports a memory and
// every function that an aggregate needs, each with a body that traps.
func module(name, version string) []byte {
	var types, funcs, exports, code []byte
	n := byte(0)
	for _, f := range abi.Exports(&abi.Manifest{Aggregate: &abi.Aggregate{}}) {
		if !f.Required {
			continue
		}
		types = append(types, 0x60, byte(len(f.Type.Params)))
		for _, v := range f.Type.Params {
			types = append(types, byte(v))
		}
		types = append(types, byte(len(f.Type.Results)))
		for _, v := range f.Type.Results {
			types = append(types, byte(v))
		}
		funcs = append(funcs, n)
		exports = append(append(append(exports, byte(len(f.Name))), f.Name...), 0, n)
		code = append(code, 3, 0, 0x00, 0x0b) // no locals, unreachable, end
		n++
	}
	exports = append(append(append(exports, byte(len(abi.ExportMemory))), abi.ExportMemory...), 2, 0)
	section := func(id, count byte, body []byte) []byte {
		size := len(body) + 1 // below 2^14: at most two bytes of LEB128
		return append([]byte{id, byte(size&0x7f) | 0x80, byte(size >> 7), count}, body...)
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(1, n, types)...)
	out = append(out, section(3, n, funcs)...)
	out = append(out, section(5, 1, []byte{0, 1})...)
	out = append(out, section(7, n+1, exports)...)
	out = append(out, section(10, n, code)...)
	return binary.WithManifest(out, []byte(`{"name":"`+name+`","version":"`+version+`","aggregate":{"inputs":[],`+
		`"outputs":[{"name":"n","type":"int64"}],"accumulator":{"width":8,"schema":1}}}`))
}

func TestPutAndResolve(t *testing.T) {
	r, ctx := open(t, t.TempDir()), t.Context()
	file := module("stats", "1.0")
	p, created, err := r.Put(ctx, "a", file)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	if stored, err := os.ReadFile(r.Path(p.Digest)); err != nil || string(stored) != string(file) {
		t.Errorf("stored %d bytes, %v", len(stored), err)
	}
	if again, created, err := r.Put(ctx, "a", file); err != nil || created || again.Digest != p.Digest {
		t.Errorf("the same again: created %v, %v", created, err)
	}
	for _, ref := range []string{"stats@1.0", "sha256:" + p.Digest, "sha256:" + strings.ToUpper(p.Digest)} {
		if got, err := r.Resolve(ctx, "a", ref); err != nil || got.Digest != p.Digest {
			t.Errorf("%s: %+v, %v", ref, got, err)
		}
	}
	for _, c := range []struct {
		name  string
		id    tenant.ID
		ref   string
		class error
		text  string
	}{
		{"another tenant's digest is unknown", "b", "sha256:" + p.Digest, fault.ErrUnknown, "none has been uploaded yet"},
		{"another tenant's name is unknown", "b", "stats@1.0", fault.ErrUnknown, "no plug-in stats@1.0"},
		{"what there is, is listed", "a", "stats@2", fault.ErrUnknown, "there are: stats@1.0"},
		{"a bare name is no reference", "a", "stats", fault.ErrUser, "name@version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := r.Resolve(ctx, c.id, c.ref); !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v", err)
			}
		})
	}
	other := append(module("stats", "1.0"), 0, 2, 1, 'x') // one more custom section
	if _, _, err := r.Put(ctx, "a", other); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("other bytes under the same name and version: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	r := open(t, t.TempDir())
	for _, c := range []struct {
		name   string
		module []byte
		want   []string
	}{
		{"an ELF file", []byte("\x7fELF\x02\x01\x01\x00"), []string{"ELF"}},
		{"Wasm without our marker: all that is wrong", []byte("\x00asm\x01\x00\x00\x00"), []string{"plugin build", "memories", "export"}},
		{"no version", module("stats", ""), []string{"name@version"}},
		{"a version that no reference can hold", module("stats", "1 2"), []string{"name@version"}},
		{"code that sets a global which does not exist", bytes.Replace(wasmtest.Guest(t, "sum"), []byte{0x24, 0}, []byte{0x24, 1}, 1), []string{"function 3: byte ", "global 1, and there are 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := r.Put(t.Context(), "a", c.module)
			if !errors.Is(err, fault.ErrUser) {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
	if files, err := filepath.Glob(filepath.Join(r.dir, "*")); err != nil || len(files) > 0 {
		t.Errorf("refused modules left files: %v, %v", files, err)
	}
}

// failing is a file system on which a rename fails, as on a full disk.
type failing struct{ env.FS }

func (failing) Rename(string, string) error { return fs.ErrPermission }

func TestNothingIsLeftOfAFailedWrite(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir)
	r.env.FS = failing{r.env.FS}
	if _, _, err := r.Put(t.Context(), "a", module("stats", "1")); !errors.Is(err, fault.ErrExternal) {
		t.Errorf("got %v", err)
	}
	if files, err := filepath.Glob(filepath.Join(r.dir, tempPrefix+"*")); err != nil || len(files) > 0 {
		t.Errorf("left over: %v, %v", files, err)
	}
	if all, err := r.List(t.Context(), "a"); err != nil || len(all) > 0 {
		t.Errorf("a module without bytes is listed: %v, %v", all, err)
	}
}

func TestOpenRemovesWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "plugins", tempPrefix+"00")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o700), os.WriteFile(left, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}
