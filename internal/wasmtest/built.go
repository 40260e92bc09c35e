package wasmtest

import (
	"embed"
	"strings"
	"testing"
)

// built holds modules as `plugin build` made them of plugins/LANGUAGE/NAME, so that
// tests need no compiler but Go's. `make test-all` compares them with their sources;
// `sh scripts/guests.sh` makes them anew.
//
//go:embed built
var built embed.FS

// Languages are those of Built. The plug-ins in Go are not among them: tests build
// them.
func Languages() []string { return []string{"c", "rust", "assemblyscript"} }

// Plugins are the aggregates that there are in every language, in Go too.
func Plugins() []string { return []string{"stats", "distinct", "top_k"} }

// BuiltIn names the modules that Built has in a language, in order: those of Plugins, and
// plug-ins of other kinds as far as the language has them.
func BuiltIn(tb testing.TB, lang string) []string {
	tb.Helper()
	files, err := built.ReadDir("built/" + lang)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".wasm"))
	}
	return names
}

// Built returns the module of a plug-in that was written in a language.
func Built(tb testing.TB, lang, name string) []byte {
	tb.Helper()
	b, err := built.ReadFile("built/" + lang + "/" + name + ".wasm")
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
