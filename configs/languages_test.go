package configs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"tidemark/internal/wasmtest"
)

// The same jobs with the same plug-ins, written in another language, give the same rows.
func TestExamplesGiveTheExpectedRowsInEveryLanguage(t *testing.T) {
	modules := openModules(t)
	ran := map[string]int{}
	for _, lang := range wasmtest.Languages() {
		plugins := t.TempDir()
		for _, name := range wasmtest.Plugins() {
			writeFile(t, filepath.Join(plugins, name+".wasm"), wasmtest.Built(t, lang, name))
		}
		for _, c := range goldenCases(t) {
			if c.Complete || c.Splits > 1 || !c.writtenEverywhere(t) {
				continue // the cases that use no plug-in, or one that is in Go alone, or the same in another way
			}
			ran[lang]++
			t.Run(lang+"/"+c.name(), func(t *testing.T) {
				dir := t.TempDir()
				c.check(t, dir, c.prepare(t, dir, plugins), shape{1024, 2}, modules)
			})
		}
	}
	for _, lang := range wasmtest.Languages() {
		if ran[lang] < 2 {
			t.Errorf("%d jobs ran with plug-ins in %s", ran[lang], lang)
		}
	}
}

var usedPlugin = regexp.MustCompile(`bin/plugins/([a-z_]+)\.wasm`)

// writtenEverywhere reports whether the job uses plug-ins, and only such as there are in
// every language.
func (c goldenCase) writtenEverywhere(t *testing.T) bool {
	t.Helper()
	yaml, err := os.ReadFile(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	used := usedPlugin.FindAllSubmatch(yaml, -1)
	return len(used) > 0 && !slices.ContainsFunc(used, func(m [][]byte) bool { return !slices.Contains(wasmtest.Plugins(), string(m[1])) })
}
