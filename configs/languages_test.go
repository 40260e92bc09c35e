package configs_test

import (
	"path/filepath"
	"testing"

	"tidemark/internal/wasmtest"
)

// The same jobs with the same plug-ins, written in another language, give the same rows.
func TestExamplesGiveTheExpectedRowsInEveryLanguage(t *testing.T) {
	modules := openModules(t)
	ran := map[string]bool{}
	for _, lang := range wasmtest.Languages() {
		plugins := t.TempDir()
		for _, name := range wasmtest.Plugins() {
			writeFile(t, filepath.Join(plugins, name+".wasm"), wasmtest.Built(t, lang, name))
		}
		for _, c := range goldenCases(t) {
			if c.Complete || c.Splits > 1 || c.Config != "quakes.yaml" && c.Config != "weblog.yaml" {
				continue // the cases that use no plug-in, or the same in another way
			}
			ran[lang+"/"+c.Config] = true
			t.Run(lang+"/"+c.name(), func(t *testing.T) {
				dir := t.TempDir()
				c.check(t, dir, c.prepare(t, dir, plugins), shape{1024, 2}, modules)
			})
		}
	}
	if want := 2 * len(wasmtest.Languages()); len(ran) != want {
		t.Errorf("%v ran, want %d", ran, want)
	}
}
