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
)

// scratch is a directory of this run of the tests: in plugins what buildPlugins has built,
// in code its machine code, so that both are made once.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "tidemark-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// buildPlugins compiles the plug-ins that the jobs use, from their sources, into a
// directory, which it returns: the rows are those of the tree as it stands.
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
	modules, err := controller.OpenModules(t.Context(), env.Real(), filepath.Join(scratch, "code"))
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
