package configs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tidemark/abi/toolchain"
	"tidemark/host/controller"
	"tidemark/internal/env"
	"tidemark/internal/wasmtest"
)

// scratch is a directory of this run of the tests, and compiled one of machine code, which
// stays.
var scratch, compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = wasmtest.MachineCode(".."); err != nil {
		panic(err)
	}
	if scratch, err = os.MkdirTemp("", "tidemark-test"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// buildPlugins compiles the plug-ins that the jobs use, from their sources, into a
// directory, once, and returns it: the rows are those of the tree as it stands.
func buildPlugins(t *testing.T) string {
	t.Helper()
	if err := buildOnce(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(scratch, "plugins")
}

var buildOnce = sync.OnceValue(func() error {
	dir := filepath.Join(scratch, "plugins")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"stats", "distinct", "alerts", "sessionise"} {
		built, err := toolchain.Build(context.Background(), filepath.Join("..", "plugins", name))
		if err != nil {
			return fmt.Errorf("build plug-in %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), built.Module, 0o644); err != nil {
			return err
		}
	}
	return nil
})

// openModules opens the cache of compiled plug-ins, as `tidemark run` does.
func openModules(t *testing.T) controller.Modules {
	t.Helper()
	modules, err := controller.OpenModules(t.Context(), env.Real(), compiled)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := modules.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return modules
}
