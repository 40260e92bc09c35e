package wasmtest

import (
	"embed"
	"strings"
	"testing"
)

//go:embed guests/*.txt
var texts embed.FS

// Guest assembles one of the guests in the directory guests, after replacing pieces
// of its text: edits are pairs of old and new, and every old must occur.
//
//	sum      fixed: exact sum and count of int64 values; does odd things at some
//	join     varying: joins strings in the order of their records
//	minmax   fixed: count, sum, min and max of float64 values, for benchmarks
//	stats    fixed: the standard plug-in of this name, written by hand from SPEC.md
//	unpaid   a pair function: the same
func Guest(tb testing.TB, name string, edits ...string) []byte {
	tb.Helper()
	module, err := Assemble(Text(tb, name, edits...))
	if err != nil {
		tb.Fatalf("guest %s: %v", name, err)
	}
	return module
}

// Text returns a guest's text after the edits.
func Text(tb testing.TB, name string, edits ...string) string {
	tb.Helper()
	b, err := texts.ReadFile("guests/" + name + ".txt")
	if err != nil {
		tb.Fatal(err)
	}
	text := string(b)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			tb.Fatalf("guest %s has no %q to replace", name, edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	return text
}
