package guest_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/wasmtest"
)

// mapped returns how many pages of memory this process has mapped and has in use.
func mapped(t *testing.T) (size, resident int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("this system does not say what a process has mapped")
	}
	f := strings.Fields(string(text))
	for i, n := range []*int{&size, &resident} {
		if *n, err = strconv.Atoi(f[i]); err != nil {
			t.Fatal(err)
		}
	}
	return size, resident
}

// An instance's memory goes back to the system with it, also if it never came to be, and
// the next one's is zero.
func TestMemoryGoesBackWithTheInstance(t *testing.T) {
	m := compile(t, wasmtest.Guest(t, "sum"))
	broken := compile(t, wasmtest.Guest(t, "sum", "data 1024", "data 9999999"))
	use := func() {
		i, err := m.Instantiate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		arena := i.Arena()
		for n, b := range arena {
			if b != 0 {
				t.Fatalf("byte %d of a new arena is %d", n, b)
			}
			arena[n] = 0xff
		}
		i.Close()
		if _, err := broken.Instantiate(t.Context()); err == nil {
			t.Fatal("data outside the memory was taken")
		}
	}
	use()
	runtime.GC()
	size, resident := mapped(t)
	for range 200 {
		use()
	}
	runtime.GC()
	size2, resident2 := mapped(t)
	page := os.Getpagesize()
	// Each instance reserves 64 MiB and touches 64 KiB of it.
	if grown := (size2 - size) * page; grown > 200<<20 {
		t.Errorf("%d MiB more are mapped after 200 instances", grown>>20)
	}
	if grown := (resident2 - resident) * page; grown > 12<<20 {
		t.Errorf("%d MiB more are in use after 200 instances", grown>>20)
	}
}
