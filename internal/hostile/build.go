package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	wasm "tidemark/abi/binary"
	"tidemark/internal/wasmtest"
)

// module makes a file under a version of the plug-in.
type module = func(tb testing.TB, version string) []byte

// sum is the guest of that name with pieces of its text replaced, as wasmtest.Guest has it.
func sum(edits ...string) module {
	return func(tb testing.TB, version string) []byte {
		tb.Helper()
		return assemble(tb, sumText(tb, version, edits...))
	}
}

func sumText(tb testing.TB, version string, edits ...string) string {
	tb.Helper()
	return wasmtest.Text(tb, "sum", append([]string{`"version": "1"`, `"version": "` + version + `"`}, edits...)...)
}

// sumAnd is sum with more text behind it.
func sumAnd(more string) module {
	return func(tb testing.TB, version string) []byte {
		tb.Helper()
		return assemble(tb, sumText(tb, version)+more)
	}
}

func assemble(tb testing.TB, text string) []byte {
	tb.Helper()
	file, err := wasmtest.Assemble(text)
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// begin puts code to the start of one of sum's functions.
func begin(function, code string) module {
	return func(tb testing.TB, version string) []byte {
		tb.Helper()
		text := sumText(tb, version)
		head := "func " + function
		if !strings.Contains(text, head) { // the one that it need not have
			text += "\n" + head + "\n"
		}
		before, rest, _ := strings.Cut(text, head)
		types, rest, _ := strings.Cut(rest, "\n")
		return assemble(tb, before+head+types+"\n  "+code+"\n"+rest)
	}
}

// does is the smallest plug-in of a kind, whose export runs some code.
func does(kind, export, code string) module {
	return func(tb testing.TB, version string) []byte {
		tb.Helper()
		text := fmt.Sprintf("manifest {\"name\": \"%s\", \"version\": \"%s\", %s}\nmemory 3\n", Plugin, version, kind) +
			"func tm_arena -> i64\n  i64.const 0x0001_0000_0001_0000\nfunc tm_configure f:i32 -> i32\n  0\n"
		for _, f := range strings.Fields(export) {
			text += "func " + f + " f:i32 -> i32\n"
			if f == strings.Fields(export)[0] {
				text += "  " + code + "\n"
			}
			text += "  0\n"
		}
		return assemble(tb, text)
	}
}

// wider is sum with more functions, which nobody calls: each has no parameters, no
// results and one of the bodies, which end with 0x0b.
func wider(bodies ...[]byte) module {
	return func(tb testing.TB, version string) []byte {
		tb.Helper()
		return widen(tb, sum()(tb, version), bodies)
	}
}

// same is a body many times.
func same(n int, body []byte) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = body
	}
	return out
}

// Sections of a module.
const (
	typeSection     = 1
	functionSection = 3
	codeSection     = 10
)

// widen adds functions to a module.
func widen(tb testing.TB, file []byte, bodies [][]byte) []byte {
	tb.Helper()
	out := bytes.Clone(file[:8])
	var newType uint64
	for rest := file[8:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		body := rest[1+n : 1+n+int(size)]
		rest = rest[1+n+int(size):]
		more := func(count int, entries []byte) {
			had, n := binary.Uvarint(body)
			if id == typeSection {
				newType = had
			}
			body = append(append(binary.AppendUvarint(nil, had+uint64(count)), body[n:]...), entries...)
		}
		var entries []byte
		switch id {
		case typeSection:
			more(1, []byte{0x60, 0, 0})
		case functionSection:
			for range bodies {
				entries = binary.AppendUvarint(entries, newType)
			}
			more(len(bodies), entries)
		case codeSection:
			for _, b := range bodies {
				entries = append(binary.AppendUvarint(entries, uint64(len(b)+1)), 0) // no locals
				entries = append(entries, b...)
			}
			more(len(bodies), entries)
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(body))), body...)
	}
	return out
}

// repeat is a body of a piece of code many times, within another before and behind it.
func repeat(n int, before, piece, behind []byte) []byte {
	out := append(bytes.Repeat(before, min(n, 1)), bytes.Repeat(piece, n)...)
	return append(append(out, behind...), 0x0b)
}

// damaged is sum with one byte changed, and marked anew so that its version is its own.
func damaged(at int, xor byte) module {
	return func(tb testing.TB, version string) []byte {
		tb.Helper()
		file := wasmtest.Guest(tb, "sum")
		file[8+at%(len(file)-8)] ^= xor
		if _, err := wasm.Read(bytes.NewReader(file)); err != nil {
			return file // refused as it is
		}
		_, manifest, _ := strings.Cut(wasmtest.Text(tb, "sum"), "manifest ")
		manifest, _, _ = strings.Cut(manifest, "\nimport")
		return wasm.WithManifest(file, []byte(strings.Replace(manifest, `"version": "1"`, `"version": "`+version+`"`, 1)))
	}
}

// cut is sum without its end.
func cut(part float64) module {
	return func(tb testing.TB, version string) []byte {
		tb.Helper()
		file := sum()(tb, version)
		return file[:int(float64(len(file))*part)]
	}
}
