package guest_test

import (
	"bytes"
	"context"
	stdbinary "encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark/abi"
	"tidemark/abi/binary"
	"tidemark/abi/guest"
	"tidemark/internal/env"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// elsewhere returns a compiler over dir that does in this process what another one
// should, and counts how often.
func elsewhere(t *testing.T, dir string, prepared *int) *guest.Elsewhere {
	t.Helper()
	e, err := guest.NewElsewhere(t.Context(), dir, env.Real(), func(ctx context.Context, file []byte, dir string) error {
		*prepared++
		return guest.Prepare(ctx, env.Real().FS, file, dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// sums runs a module that was opened by its shell.
func sums(t *testing.T, e *guest.Elsewhere, file []byte) {
	t.Helper()
	m, err := e.Compile(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	i, err := m.Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	put(i, 0, 3) // scale
	if s, err := i.Call(guest.Configure); s != abi.OK || err != nil {
		t.Fatalf("configure: %d, %v", s, err)
	}
	acc, _ := put(i, 1, 5, 7)
	if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
		t.Fatalf("add: %d, %v", s, err)
	}
	if got := stdbinary.LittleEndian.Uint64(i.Arena()[acc:]); got != 36 {
		t.Errorf("3 × (5 + 7) is %d", got)
	}
}

// A module is prepared once for all processes that share a directory, and again when its
// machine code or its shell is gone or damaged: the shell's own code, which traps, never
// runs.
func TestModulesArePreparedOnce(t *testing.T) {
	dir := t.TempDir()
	file := wasmtest.Guest(t, "sum")
	one := func(pattern string) string {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) != 1 {
			t.Fatalf("%s: %q, %v", pattern, names, err)
		}
		return names[0]
	}
	for _, c := range []struct {
		name   string
		before func() error
		want   int
	}{
		{"the first time", func() error { return nil }, 1},
		{"another process", func() error { return nil }, 0},
		{"the machine code is gone", func() error { return os.Remove(one("wazero-*/*")) }, 1},
		{"the machine code is damaged", func() error { return os.WriteFile(one("wazero-*/*"), []byte("WAZEVO and so on"), 0o600) }, 1},
		{"the shell is damaged", func() error { return os.WriteFile(one("shells-*/*"), []byte("\x00asm\x01\x00\x00\x00\x01"), 0o600) }, 1},
		{"the shell is gone", func() error { return os.Remove(one("shells-*/*")) }, 1},
		{"all is well again", func() error { return nil }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.before(); err != nil {
				t.Fatal(err)
			}
			n := 0
			e := elsewhere(t, dir, &n)
			sums(t, e, file)
			sums(t, e, file)
			if n != c.want {
				t.Errorf("prepared %d times, want %d", n, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "making-*")); len(left) > 0 {
				t.Errorf("left over: %q", left)
			}
		})
	}
}

// Modules that differ in their code alone have the same shell but for a digest.
func TestShellsAreNotMixedUp(t *testing.T) {
	n := 0
	e := elsewhere(t, t.TempDir(), &n)
	sums(t, e, wasmtest.Guest(t, "sum"))
	other := wasmtest.Guest(t, "sum", "$v i64.const -1 i64.eq if unreachable end", "$v i64.const -100 i64.eq if unreachable end")
	m, err := e.Compile(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	i, err := m.Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	put(i, 0, 3)
	if s, err := i.Call(guest.Configure); s != abi.OK || err != nil {
		t.Fatalf("configure: %d, %v", s, err)
	}
	put(i, 1, -1)
	if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
		t.Errorf("it ran the code of the other module: %d, %v", s, err)
	}
	if n != 2 {
		t.Errorf("prepared %d times, want 2", n)
	}
}

func TestWhatAnotherProcessRefuses(t *testing.T) {
	n := 0
	e := elsewhere(t, t.TempDir(), &n)
	_, err := e.Compile(t.Context(), wasmtest.Guest(t, "sum", "$v i64.const -1 i64.eq if unreachable end", "$v i64.const -1 i64.eq if 1 drop"))
	if !errors.Is(err, fault.ErrUser) || n != 1 {
		t.Errorf("got %v after %d attempts", err, n)
	}
}

// extend appends entries to a section of a module.
func extend(t testing.TB, file []byte, id byte, n int, entries []byte) []byte {
	t.Helper()
	out := bytes.Clone(file[:8])
	found := false
	for rest := file[8:]; len(rest) > 0; {
		size, k := stdbinary.Uvarint(rest[1:])
		body := rest[1+k : 1+k+int(size)]
		if rest[0] == id {
			found = true
			count, c := stdbinary.Uvarint(body)
			body = append(append(stdbinary.AppendUvarint(nil, count+uint64(n)), body[c:]...), entries...)
		}
		out = append(stdbinary.AppendUvarint(append(out, rest[0]), uint64(len(body))), body...)
		rest = rest[1+k+int(size):]
	}
	if !found {
		t.Fatalf("there is no section %d", id)
	}
	return out
}

func repeat(n int, entry func(i int) []byte) (out []byte) {
	for i := range n {
		out = append(out, entry(i)...)
	}
	return out
}

// What a host keeps of a module, and does to open one that is prepared, is bounded
// whatever the module is; here are the largest that SPEC section 1 allows.
func TestWhatOpeningCosts(t *testing.T) {
	sum := wasmtest.Guest(t, "sum")
	info, err := binary.Read(bytes.NewReader(sum))
	if err != nil {
		t.Fatal(err)
	}
	most := abi.MaxFunctions - info.Functions
	many := func(n int, body []byte) []byte { // functions of type 0
		code := append(stdbinary.AppendUvarint(nil, uint64(len(body))), body...)
		return extend(t, extend(t, sum, 3, n, make([]byte, n)), 10, n, bytes.Repeat(code, n))
	}
	name := func(i int) []byte { return []byte{3, 'x', '0' + byte(i>>7), byte(i & 127)} }
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"functions with many locals", many(500, []byte{1, 0x96, 0x1f, 0x7e, 0, 11})}, // 3,990; more functions take long to compile
		{"functions of 150 bytes", many(most, append(append([]byte{0}, bytes.Repeat([]byte{0x41, 0, 0x1a}, 49)...), 0, 11))},
		{"types", extend(t, sum, 1, abi.MaxTypes-info.Types, repeat(abi.MaxTypes-info.Types, func(i int) []byte {
			return append([]byte{0x60, 9}, append(repeat(9, func(k int) []byte { return []byte{0x7c + byte(i>>k&1)} }), 0)...)
		}))},
		{"globals", extend(t, sum, 6, abi.MaxGlobals-info.Globals, bytes.Repeat([]byte{0x7f, 1, 0x41, 0, 11}, abi.MaxGlobals-info.Globals))},
		{"exports", extend(t, sum, 7, abi.MaxExports-len(info.Exports), repeat(abi.MaxExports-len(info.Exports), func(i int) []byte { return append(name(i), 3, 0) }))},
		{"data", extend(t, sum, 11, abi.MaxSegments-info.Segments, bytes.Repeat([]byte{0, 0x41, 0, 11, 1, 7}, abi.MaxSegments-info.Segments))},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			dir := t.TempDir()
			if _, err := elsewhere(t, dir, &n).Compile(t.Context(), c.file); err != nil {
				t.Fatal(err)
			}
			e := elsewhere(t, dir, &n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := e.Compile(t.Context(), c.file)
			if err != nil {
				t.Fatal(err)
			}
			i, err := m.Instantiate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			i.Close()
			kib := (after.TotalAlloc - before.TotalAlloc) >> 10
			t.Logf("%d KiB of module, %d KiB allocated", len(c.file)>>10, kib)
			if n != 1 || kib > 48<<10 {
				t.Errorf("prepared %d times, want 1; %d KiB allocated, want at most 48 MiB", n, kib)
			}
		})
	}
}

// BenchmarkOpen compares a module that is read as a whole, with its machine code at hand,
// with one that another process has prepared.
func BenchmarkOpen(b *testing.B) {
	sum := wasmtest.Guest(b, "sum")
	n := 49_000
	body := append(append([]byte{0}, bytes.Repeat([]byte{0x41, 0, 0x1a}, 49)...), 0, 11)
	code := append(stdbinary.AppendUvarint(nil, uint64(len(body))), body...)
	crafted := extend(b, extend(b, sum, 3, n, make([]byte, n)), 10, n, bytes.Repeat(code, n))
	dir := b.TempDir()
	for _, c := range []struct {
		name string
		open func() (guest.Compiler, error)
	}{
		{"whole", func() (guest.Compiler, error) { return guest.NewInProcess(b.Context(), dir) }},
		{"shell", func() (guest.Compiler, error) {
			return guest.NewElsewhere(b.Context(), dir, env.Real(), func(ctx context.Context, file []byte, dir string) error {
				return guest.Prepare(ctx, env.Real().FS, file, dir)
			})
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			first := true
			for b.Loop() {
				b.StopTimer()
				o, err := c.open()
				if err == nil && first {
					_, err = o.Compile(b.Context(), crafted)
					err = errors.Join(err, o.Close(b.Context()))
					first = false
					if err == nil {
						o, err = c.open()
					}
				}
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				m, err := o.Compile(b.Context(), crafted)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := errors.Join(m.Close(b.Context()), o.Close(b.Context())); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
