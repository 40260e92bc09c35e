package conformance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"tidemark/abi/guest"
	"tidemark/abi/toolchain"
	"tidemark/internal/wasmtest"
)

// compiled is a directory of machine code, which stays.
var compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = wasmtest.MachineCode(filepath.Join("..", "..")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// check runs the kit on a module.
func check(t *testing.T, name string, module []byte) *Report {
	t.Helper()
	dir := compiled
	if len(module) < 1<<20 { // but for Go's, which take a second to compile
		dir = ""
	}
	k, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.Check(t.Context(), name, module)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r
}

// conforms fails the test where the kit finds something.
func conforms(t *testing.T, name string, module []byte) {
	t.Helper()
	r := check(t, name, module)
	for _, f := range r.Failures {
		t.Errorf("%s: %s\nwant %s\ngot  %s", f.Where, f.What, f.Want, f.Got)
	}
	if r.Vectors == 0 || r.Frames < 100 {
		t.Errorf("only %d vectors in %d frames", r.Vectors, r.Frames)
	}
}

// builtInGo holds the modules of plug-ins in Go: to build one takes seconds.
var builtInGo sync.Map

func buildGo(t *testing.T, name string) []byte {
	t.Helper()
	once, _ := builtInGo.LoadOrStore(name, sync.OnceValues(func() (*toolchain.Built, error) {
		return toolchain.Build(context.Background(), filepath.Join("../../plugins", name))
	}))
	b, err := once.(func() (*toolchain.Built, error))()
	if err != nil {
		t.Fatal(err)
	}
	return b.Module
}

// modules are those of a plug-in, by language.
func modules(t *testing.T, name string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{"go": buildGo(t, name)}
	for _, lang := range wasmtest.Languages() {
		if slices.Contains(wasmtest.BuiltIn(t, lang), name) {
			all[lang] = wasmtest.Built(t, lang, name)
		}
	}
	return all
}

// The kit passes for every plug-in in C. Other languages take longer: scripts/toolchains.sh
// runs it over all of them, as a command, and over Go's (TestAllConformInGo).
func TestAllConform(t *testing.T) {
	for _, name := range Plugins() {
		t.Run(name, func(t *testing.T) { conforms(t, name, wasmtest.Built(t, "c", name)) })
	}
}

// A module whose manifest offers tm_aggregate_apply is shown the vectors of it, and no other.
func TestOnlyWhatIsOfferedIsAsked(t *testing.T) {
	_, vectors, err := load(Vectors, "stats")
	if err != nil {
		t.Fatal(err)
	}
	without := 0
	for _, v := range vectors {
		if !slices.ContainsFunc(v.calls, func(s *step) bool { return s.fn == guest.Apply }) {
			without++
		}
	}
	if got := check(t, "stats", buildGo(t, "stats")).Vectors; got != len(vectors) || got < without+5 {
		t.Errorf("in Go %d vectors are run, of %d and %d without operations", got, len(vectors), without)
	}
	if got := check(t, "stats", wasmtest.Guest(t, "stats")).Vectors; got != without {
		t.Errorf("by hand %d vectors are run, want %d", got, without)
	}
}
