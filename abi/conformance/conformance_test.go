package conformance

import (
	"context"
	"os"
	"path/filepath"
	"testing"

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
	k, err := Open(t.Context(), compiled)
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

func TestGo(t *testing.T) {
	for _, name := range Plugins() {
		t.Run(name, func(t *testing.T) {
			built, err := toolchain.Build(t.Context(), filepath.Join("../../plugins", name))
			if err != nil {
				t.Fatal(err)
			}
			conforms(t, name, built.Module)
		})
	}
}

func TestOtherLanguages(t *testing.T) {
	for _, lang := range wasmtest.Languages() {
		for _, name := range wasmtest.Plugins() {
			t.Run(lang+"/"+name, func(t *testing.T) { conforms(t, name, wasmtest.Built(t, lang, name)) })
		}
	}
}
