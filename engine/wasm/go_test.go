package wasm

import (
	"strings"
	"sync"
	"testing"

	"tidemark/abi/toolchain"
	"tidemark/engine/udf"
)

// builds holds the modules that the tests of this package have built: building one
// takes seconds.
var builds sync.Map

// build compiles a plug-in with the Go SDK.
func build(tb testing.TB, dir string) []byte {
	tb.Helper()
	once, _ := builds.LoadOrStore(dir, sync.OnceValues(func() (*toolchain.Built, error) { return toolchain.Build(tb.Context(), dir) }))
	b, err := once.(func() (*toolchain.Built, error))()
	if err != nil {
		tb.Fatal(err)
	}
	return b.Module
}

func startGo(tb testing.TB, dir string) udf.Aggregate {
	tb.Helper()
	a, err := open(tb, build(tb, dir))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func TestGoFailures(t *testing.T) {
	a := startGo(t, "testdata/odd")
	for _, c := range []struct {
		text string
		trap bool
		want string // beginning of the message
	}{
		{"panic", true, "panic: no luck with panic"},
		{"index", true, "panic: runtime error: index out of range [9] with length 5"},
		{"error", false, "a text that is refused"},
		{"exit", true, "exit with status 3"},
		{"hoard", true, "runtime: out of memory: cannot allocate 1048576-byte block"},
	} {
		t.Run(c.text, func(t *testing.T) {
			err := a.Add(create(t, a, 1), all(texts("a", "b", c.text, "d"), 1))
			f := failure(t, err)
			if f.Op != 2 || f.Trap != c.trap || !strings.HasPrefix(f.Message, c.want) {
				t.Errorf("got %+v, want %q at 2", *f, c.want)
			}
			t.Log(f.Message)
			// The others are fine, on a fresh instance if it trapped.
			accs := create(t, a, 1)
			if err := a.Add(accs, all(texts("a", "b", "d"), 1)); err != nil {
				t.Fatal(err)
			}
			if got := result(t, a, accs); got[0] != "3" {
				t.Errorf("then: got %s, want 3", got[0])
			}
		})
	}
	t.Run("sleep", func(t *testing.T) { // an hour passes at once
		accs := create(t, a, 1)
		if err := a.Add(accs, all(texts("sleep", "sleep"), 1)); err != nil {
			t.Fatal(err)
		}
		if got := result(t, a, accs); got[0] != "2" {
			t.Errorf("got %s, want 2", got[0])
		}
	})
}
