package guest_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// compiler returns a compiler that keeps code in memory.
func compiler(t *testing.T) *guest.InProcess {
	t.Helper()
	c, err := guest.NewInProcess(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func compile(t *testing.T, file []byte) *guest.Module {
	t.Helper()
	m, err := compiler(t).Compile(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// instance returns an instance of sum that is configured with scale 1.
func instance(t *testing.T, edits ...string) *guest.Instance {
	t.Helper()
	i, err := compile(t, wasmtest.Guest(t, "sum", edits...)).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	put(i, 0, 1)
	if s, err := i.Call(guest.Configure); s != abi.OK || err != nil {
		t.Fatalf("configure: %d, %v", s, err)
	}
	return i
}

// put writes a frame with one column of int64 and groups accumulators of 16 bytes.
func put(i *guest.Instance, groups int, values ...int64) (acc, out uint32) {
	f := i.Arena()
	n := len(values)
	group := abi.HeaderBytes + abi.DescriptorBytes
	data := group + abi.Align(4*n)
	acc = uint32(data + 8*n)
	out = acc + uint32(groups*16)
	h := abi.Header{Size: out + abi.MinOutput, Rows: uint32(n), Groups: uint32(groups), Cols: abi.HeaderBytes, NumCols: 1,
		Group: uint32(group), Acc: acc, Out: out, OutBytes: abi.MinOutput}
	h.Put(f)
	d := abi.Descriptor{Kind: abi.Int64, Data: uint32(data)}
	d.Put(f[abi.HeaderBytes:])
	clear(f[group:out])
	for k, v := range values {
		binary.LittleEndian.PutUint64(f[data+8*k:], uint64(v))
	}
	return acc, out
}

func TestCalls(t *testing.T) {
	i := instance(t)
	acc, _ := put(i, 1, 5, 7)
	if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
		t.Fatalf("add: %d, %v", s, err)
	}
	f := i.Arena()
	if sum, n := binary.LittleEndian.Uint64(f[acc:]), binary.LittleEndian.Uint64(f[acc+8:]); sum != 12 || n != 2 {
		t.Errorf("sum %d of %d values, want 12 of 2", sum, n)
	}
	if i.Op() != 1 {
		t.Errorf("op is %d, want 1", i.Op())
	}
}

func TestRefusalKeepsTheInstance(t *testing.T) {
	i := instance(t)
	_, out := put(i, 1, 5, -2)
	s, err := i.Call(guest.Add)
	if s != abi.Refused || err != nil {
		t.Fatalf("add: %d, %v", s, err)
	}
	if text := string(i.Arena()[out : out+i.OutUsed()]); text != "negative value" || i.Op() != 1 {
		t.Errorf("%q at %d", text, i.Op())
	}
	put(i, 1, 5)
	if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
		t.Errorf("next call: %d, %v", s, err)
	}
}

func TestTraps(t *testing.T) {
	for _, c := range []struct {
		name  string
		order int64
		want  string
	}{
		{"unreachable names the functions", -1, "unreachable in tm_aggregate_add"},
		{"a Go panic gives its own words", -3, "panic: value is -3"},
		{"a status that does not exist", -5, "protocol error: tm_aggregate_add answers status 9, which does not exist"},
		{"a frame that the guest cannot read", -8, "protocol error: tm_aggregate_add cannot read the frame"},
		{"endless recursion", -9, "stack overflow in forever, called by forever, called by forever, called by forever, called by forever"},
		{"a read outside the memory", -11, "out of bounds memory access in tm_aggregate_add"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := instance(t)
			put(i, 1, 5, 6, c.order)
			_, err := i.Call(guest.Add)
			trap, ok := errors.AsType[*guest.Trap](err)
			if !ok || trap.Message != c.want || trap.Op != 2 {
				t.Errorf("got %#v, want %q at 2", err, c.want)
			}
			if !errors.Is(err, fault.ErrGuest) {
				t.Error("class is not ErrGuest")
			}
			if !i.Broken() {
				t.Error("the instance lives on")
			}
		})
	}
}

func TestMemoryMayMoveDuringACall(t *testing.T) {
	i := instance(t)
	acc, _ := put(i, 1, 3, -4)
	if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
		t.Fatalf("add: %d, %v", s, err)
	}
	if sum := int64(binary.LittleEndian.Uint64(i.Arena()[acc:])); sum != -1 {
		t.Errorf("sum %d, want -1", sum)
	}
}

func TestMemoryHasALimit(t *testing.T) {
	// 3 pages and 1,021 more are the limit; one page more is refused by memory.grow.
	i := instance(t, "1 memory.grow drop", "1021 memory.grow -1 i32.eq if unreachable end 1 memory.grow -1 i32.ne if unreachable end")
	put(i, 1, -4)
	if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
		t.Errorf("add: %d, %v", s, err)
	}
}

func TestArenaIsNotBelieved(t *testing.T) {
	const arena = "i64.const 0x0001_0000_0001_0000"
	for _, c := range []struct{ name, arena, want string }{
		{"not aligned", "i64.const 0x0001_0004_0001_0000", "protocol error: the arena is at 65540, not a multiple of 8"},
		{"too small", "i64.const 0x0001_0000_0000_ffff", "protocol error: the arena has 65535 bytes, it must have at least 65536"},
		{"too small for the head of a frame", "i64.const 0x0001_0000_0000_0008", "protocol error: the arena has 8 bytes, it must have at least 65536"},
		{"outside the memory", "i64.const 0x0002_0008_0001_0000", "protocol error: the arena, 65536 bytes at 131080, ends outside the memory of 196608 bytes"},
		{"beyond 4 GiB", "i64.const 0xffff_fff8_ffff_ffff", "protocol error: the arena, 4294967295 bytes at 4294967288, ends outside the memory of 196608 bytes"},
		{"a trap in its place", "unreachable", "unreachable in tm_arena"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compile(t, wasmtest.Guest(t, "sum", arena, c.arena)).Instantiate(t.Context())
			if err == nil || err.Error() != c.want || !errors.Is(err, fault.ErrGuest) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestInitializeRunsFirst(t *testing.T) {
	// Without _initialize, configure leaves scale at 0 and add traps.
	i, err := compile(t, wasmtest.Guest(t, "sum",
		"func tm_arena", "func _initialize\n  i64.const 1 global.set scale\nfunc tm_arena")).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	put(i, 1, 5)
	if s, err := i.Call(guest.Add); s != abi.OK || err != nil {
		t.Errorf("add: %d, %v", s, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"no module", []byte("\x7fELF\x02\x01\x01\x00"), "not a WebAssembly file"},
		{"no plug-in", wasmtest.Guest(t, "sum", "func tm_aggregate_add", "func add"), "does not export the function tm_aggregate_add"},
		{"code that is not valid", wasmtest.Guest(t, "sum", "func tm_arena -> i64\n", "func tm_arena -> i64\n  i64.add\n"), "compile plug-in sum: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compiler(t).Compile(t.Context(), c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, fault.ErrUser) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCacheOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	files := func() (n int) {
		err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	after := 0
	for run := range 2 { // the second compiler finds what the first one left
		c, err := guest.NewInProcess(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Compile(t.Context(), wasmtest.Guest(t, "sum"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Instantiate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		switch n := files(); {
		case run == 0 && n == 0:
			t.Fatal("nothing is on disk")
		case run == 1 && n != after:
			t.Errorf("%d files after the first run, %d after the second", after, n)
		default:
			after = n
		}
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := guest.NewInProcess(t.Context(), filepath.Join(file, "below")); !errors.Is(err, fault.ErrExternal) {
		t.Errorf("a directory below a file: %v", err)
	}
}

func TestInstancesOfAModuleAreApart(t *testing.T) {
	m := compile(t, wasmtest.Guest(t, "sum"))
	a, err := m.Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put(a, 0, 1)
	if _, err := a.Call(guest.Configure); err != nil {
		t.Fatal(err)
	}
	put(b, 1, 1)
	if _, err := b.Call(guest.Add); err == nil {
		t.Error("b was never configured and adds")
	}
	put(a, 1, 1)
	if s, err := a.Call(guest.Add); s != abi.OK || err != nil {
		t.Errorf("a after the end of b: %d, %v", s, err)
	}
}

func BenchmarkCall(b *testing.B) {
	c, err := guest.NewInProcess(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	m, err := c.Compile(b.Context(), wasmtest.Guest(b, "sum"))
	if err != nil {
		b.Fatal(err)
	}
	i, err := m.Instantiate(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	put(i, 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		if s, err := i.Call(guest.Configure); s != abi.OK || err != nil {
			b.Fatal(s, err)
		}
	}
}
