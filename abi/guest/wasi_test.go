package guest_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/internal/wasmtest"
)

// wasi is a guest whose tm_aggregate_create calls one host function and stores what it
// answers at acc. Memory below 1,024 is the function's to write to.
const wasi = `
memory 3
%s
func tm_arena -> i64
  i64.const 0x0001_0000_0001_0000
func tm_configure f:i32 -> i32
  0
func tm_aggregate_create f:i32 -> i32
  %s
  0
func tm_aggregate_add f:i32 -> i32
  0
func tm_aggregate_merge f:i32 -> i32
  0
func tm_aggregate_result f:i32 -> i32
  0
manifest {"name": "wasi", "version": "1", "aggregate": {"inputs": [],
  "outputs": [{"name": "x", "type": "int64"}], "accumulator": {"width": 8, "schema": 1}}}
`

// Each row calls functions and leaves 16 bytes at acc: answers first, then memory.
func TestWASI(t *testing.T) {
	// store keeps the answer of the call before it in word k of acc.
	acc := "$f $f i32.load 24 i32.add"
	answer := func(k int, call string) string { return fmt.Sprintf("%s %s i32.store %d ", acc, call, 4*k) }
	memory := func(k, at int) string { return fmt.Sprintf("%s %d i32.load 0 i32.store %d ", acc, at, 4*k) }
	for _, c := range []struct {
		name, function, code string
		want                 [4]uint32
	}{
		{"the clock shows one second", "clock_time_get",
			answer(0, "1 i64.const 1 64 call clock_time_get") + memory(1, 64) + memory(2, 68), [4]uint32{0, 1_000_000_000, 0}},
		{"the clock has nowhere to write", "clock_time_get", answer(0, "1 i64.const 1 -4 call clock_time_get"), [4]uint32{21}},
		// splitmix64 from seed 0 gives e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f.
		{"random numbers of splitmix64", "random_get",
			answer(0, "64 8 call random_get") + memory(1, 64) + memory(2, 68) + "80 3 call random_get drop " + memory(3, 80), [4]uint32{0, 0x7b1dcdaf, 0xe220a839, 0xb965f4}},
		{"what is left of a random number is dropped", "random_get",
			"64 3 call random_get drop 72 8 call random_get drop " + memory(0, 72) + memory(1, 76), [4]uint32{0xa1b965f4, 0x6e789e6a}},
		{"there are no arguments", "args_sizes_get",
			"64 7 i32.store 0 68 7 i32.store 0 " + answer(0, "64 68 call args_sizes_get") + memory(1, 64) + memory(2, 68), [4]uint32{}},
		{"there is no environment", "environ_get", answer(0, "64 68 call environ_get"), [4]uint32{}},
		{"yielding does nothing", "sched_yield", answer(0, "call sched_yield"), [4]uint32{}},
		{"a file is no descriptor", "fd_write", answer(0, "3 64 0 72 call fd_write"), [4]uint32{8}},
		{"printed bytes are counted", "fd_write",
			"64 1024 i32.store 0 68 5 i32.store 0 72 2048 i32.store 0 76 7 i32.store 0 " + answer(0, "1 64 2 80 call fd_write") + memory(1, 80), [4]uint32{0, 12}},
		{"printed bytes lie outside", "fd_write",
			"64 -8 i32.store 0 68 16 i32.store 0 " + answer(0, "2 64 1 80 call fd_write"), [4]uint32{21}},
		{"so does the list of what is printed", "fd_write", answer(0, "2 -16 4 80 call fd_write") + answer(1, "2 0 0x7fffffff 80 call fd_write"), [4]uint32{21, 28}},
		{"other functions on descriptors know none", "fd_prestat_get", answer(0, "3 64 call fd_prestat_get"), [4]uint32{8}},
		{"nothing to wait for", "poll_oneoff", answer(0, "64 512 0 768 call poll_oneoff"), [4]uint32{28}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := callWASI(t, c.code, c.function); got != c.want {
				t.Errorf("got %x, want %x", got, c.want)
			}
		})
	}
}

// A guest that sleeps waits for its clock to move.
func TestWASIPollMovesTheClock(t *testing.T) {
	acc := "$f $f i32.load 24 i32.add"
	code := "64 i64.const 42 i64.store 0 64 i64.const 5000 i64.store 24 " + // a clock, 5,000 ns from now
		"112 i32.const 1 i32.store8 8 " + // reading from a descriptor
		acc + " 64 512 2 768 call poll_oneoff i32.store 0 " +
		"1 i64.const 1 800 call clock_time_get drop " + acc + " 800 i32.load 0 i32.store 4 " +
		acc + " 512 i32.load 0 i32.store 8 " + // userdata of the first event
		acc + " 544 i32.load 8 i32.store 12 " // errno and type of the second
	got, _ := callWASI(t, code, "poll_oneoff", "clock_time_get")
	if want := [4]uint32{0, 1_000_005_000, 42, 0x1_0008}; got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func callWASI(t *testing.T, code string, functions ...string) (got [4]uint32, fuel int64) {
	t.Helper()
	var imports strings.Builder
	for _, f := range abi.WASI() {
		for _, name := range functions {
			if f.Name == name {
				fmt.Fprintf(&imports, "import %s.%s", abi.WASIModule, f.Name)
				for _, p := range f.Type().Params {
					imports.WriteString(" " + p.String())
				}
				imports.WriteString(" -> i32\n")
			}
		}
	}
	file, err := wasmtest.Assemble(fmt.Sprintf(wasi, imports.String(), code))
	if err != nil {
		t.Fatal(err)
	}
	i, err := compile(t, file).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	acc, _ := put(i, 1)
	before := i.Fuel()
	if s, err := i.Call(guest.Create); s != abi.OK || err != nil {
		t.Fatalf("create: %d, %v", s, err)
	}
	for k := range got {
		got[k] = binary.LittleEndian.Uint32(i.Arena()[int(acc)+4*k:])
	}
	return got, i.Fuel() - before
}
