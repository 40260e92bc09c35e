package configs_test

import (
	"path/filepath"
	"testing"

	"tidemark/abi/toolchain"
)

// buildPlugins compiles the plug-ins that the jobs use, from their sources, into a
// directory, which it returns: the rows are those of the tree as it stands.
func buildPlugins(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"stats", "distinct", "alerts", "sessionise"} {
		built, err := toolchain.Build(t.Context(), filepath.Join("..", "plugins", name))
		if err != nil {
			t.Fatalf("build plug-in %s: %v", name, err)
		}
		writeFile(t, filepath.Join(dir, name+".wasm"), built.Module)
	}
	return dir
}
