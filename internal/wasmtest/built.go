package wasmtest

import (
	"embed"
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

// Plugins are the plug-ins that there are in every language, in Go too.
func Plugins() []string { return []string{"stats", "distinct", "top_k"} }

// Built returns the module of a plug-in that was written in a language.
func Built(tb testing.TB, lang, name string) []byte {
	tb.Helper()
	b, err := built.ReadFile("built/" + lang + "/" + name + ".wasm")
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
