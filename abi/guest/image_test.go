package guest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/wasmtest"
)

// slow is sum with a start that takes long: it fills a MiB of memory, part of it memory that
// it has grown by, changes globals, sleeps and draws numbers.
func slow(t *testing.T, more ...string) []byte {
	const at = "import wasi_snapshot_preview1.fd_write"
	return wasmtest.Guest(t, "sum", append([]string{at, `import wasi_snapshot_preview1.random_get i32 i32 -> i32
import wasi_snapshot_preview1.poll_oneoff i32 i32 i32 i32 -> i32
` + at, "global scale i64 0", `global scale i64 0
global turns i64 5
global most i32 7`, "func tm_arena -> i64", `func _initialize | i:i32
  GROW
  0 =i
  loop
    i64.const 1 global.get turns i64.add global.set turns
    $i 200000 i32.add $i i32.store 0
    $i 4 i32.add =i
    $i FILLED i32.lt_u br_if 0
  end
  global.get most 12 i32.mul global.set most
  190000 40 call random_get drop
  190100 0 i32.store8 8
  190124 1000000000 i32.store 0
  190100 190200 1 190300 call poll_oneoff drop

func tm_arena -> i64`, "memory 3", "memory PAGES"}, more...)...)
}

// larger has slow begin with less memory than it needs, and fixed with all; there it wipes
// out some of its data, which nothing else is near.
var (
	larger = []string{"GROW", "17 memory.grow drop", "PAGES", "3", "FILLED", "1000000"}
	fixed  = []string{"GROW", "1245184 0 i32.store 0", "PAGES", "20", "FILLED", "1000000", "data 1024", "data 1245184 \"gone\"\ndata 1024"}
)

// configured starts a module and configures it with a scale.
func configured(t *testing.T, m *guest.Module, scale int64) *guest.Instance {
	t.Helper()
	i, err := m.Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	put(i, 0, scale)
	if s, err := i.Call(guest.Configure); s != abi.OK || err != nil {
		t.Fatalf("configure: %d, %v", s, err)
	}
	return i
}

// same compares all of two instances.
func same(t *testing.T, what string, got, want *guest.Instance) {
	t.Helper()
	m, g, h := got.Whole()
	wm, wg, wh := want.Whole()
	if !bytes.Equal(m, wm) || !slices.Equal(g, wg) || !slices.Equal(h, wh) || got.Usage() != want.Usage() {
		t.Fatalf("%s: memory of %d bytes, want %d, equal %v; globals %v, want %v; %v, want %v; %+v, want %+v",
			what, len(m), len(wm), bytes.Equal(m, wm), g, wg, h, wh, got.Usage(), want.Usage())
	}
}

func capture(t *testing.T, i *guest.Instance) *guest.Image {
	t.Helper()
	img, ok := i.Capture()
	if !ok {
		t.Fatal("no image")
	}
	t.Cleanup(img.Close)
	return img
}

func of(t *testing.T, img *guest.Image) *guest.Instance {
	t.Helper()
	i, err := img.Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

// An instance of an image is, to the last bit, one that has been started and configured,
// and it stays that on the same calls, whatever others of the image do.
func TestAnInstanceOfAnImage(t *testing.T) {
	for name, memory := range map[string][]string{"memory that it has grown by": larger, "the memory that it begins with": fixed} {
		t.Run(name, func(t *testing.T) {
			m := compile(t, slow(t, memory...))
			want := configured(t, m, 3)
			img := capture(t, configured(t, m, 3))
			for range 3 {
				i, twin := of(t, img), configured(t, m, 3)
				same(t, "at first", i, twin)
				same(t, "at first", i, want)
				for _, c := range [][]int64{{5, 7}, {-4, 1}, {-2}, {9}} { // -4 grows the memory, -2 is refused
					for _, x := range []*guest.Instance{i, twin} {
						put(x, 1, c...)
						if _, err := x.Call(guest.Add); err != nil {
							t.Fatal(err)
						}
					}
					same(t, "after calls", i, twin)
				}
				put(i, 1, -1)
				if _, err := i.Call(guest.Add); err == nil {
					t.Error("it does not trap")
				}
				b := i.Arena()
				for k := range b {
					b[k] = 0xaa // nobody else sees it
				}
			}
		})
	}
}

// The original goes on by itself, too.
func TestAnImageAndItsOriginalAreApart(t *testing.T) {
	m := compile(t, slow(t, larger...))
	want, original := configured(t, m, 2), configured(t, m, 2)
	img := capture(t, original)
	same(t, "the original", original, want)
	put(original, 1, 5, -4)
	if s, err := original.Call(guest.Add); s != abi.OK || err != nil {
		t.Fatal(s, err)
	}
	same(t, "the image", of(t, img), want)
	original.Close()
	i := of(t, img)
	img.Close()
	same(t, "behind its image's end", i, want)
	if _, err := img.Instantiate(t.Context()); err == nil || !strings.Contains(err.Error(), "its image is closed") {
		t.Errorf("got %v", err)
	}
}

// What follows from numbers that are drawn and times that are asked for is the same.
func TestNumbersAndTimeGoOn(t *testing.T) {
	draws := append(slices.Clone(larger), "      $v i64.const -2 i64.eq if", "      $v i64.const -12 i64.eq if 1600 8 call random_get drop $f $f i32.load 24 i32.add 1600 i64.load 0 i64.store 0 0 return end\n      $v i64.const -2 i64.eq if")
	m := compile(t, slow(t, draws...))
	anew := configured(t, m, 1)
	i := of(t, capture(t, configured(t, m, 1)))
	for range 3 {
		var drawn [2]uint64
		for k, x := range []*guest.Instance{anew, i} {
			acc, _ := put(x, 1, -12)
			if s, err := x.Call(guest.Add); s != abi.OK || err != nil {
				t.Fatal(s, err)
			}
			drawn[k] = binary.LittleEndian.Uint64(x.Arena()[acc:])
		}
		if drawn[0] != drawn[1] || drawn[0] == 0 {
			t.Errorf("drawn %x", drawn)
		}
	}
}

// The end of a job's context ends the calls of an instance of an image.
func TestAnInstanceOfAnImageEndsWithItsContext(t *testing.T) {
	m := compile(t, slow(t, append(slices.Clone(larger), "$v i64.const -1 i64.eq if unreachable end", "$v i64.const -1 i64.eq if loop br 0 end end")...))
	img := capture(t, configured(t, m, 1))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	i, err := img.Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	cancel(why)
	put(i, 1, -1)
	if _, err := i.Call(guest.Add); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestNoImageIsMade(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"a start that costs little", wasmtest.Guest(t, "sum")},
		{"a start that costs memory alone", wasmtest.Guest(t, "sum", "func tm_arena -> i64", "func _initialize\n  100 memory.grow drop\nfunc tm_arena -> i64")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if img, ok := configured(t, compile(t, c.file), 1).Capture(); ok {
				img.Close()
				t.Error("there is an image")
			}
		})
	}
}
