package meter_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"tidemark/abi/meter"
)

// A module says what an instance of it is, if that is all: its memory and the globals that
// can be changed.
func TestStateThatIsTold(t *testing.T) {
	const i32, f64, fixed, vector = "\x7f\x01\x41\x07\x0b", "\x7c\x01\x44\x00\x00\x00\x00\x00\x00\xf8\x3f\x0b", "\x7f\x00\x41\x09\x0b",
		"\x7b\x01\xfd\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b"
	globals := func(of ...string) string {
		return sec(6, string(rune(len(of)))+strings.Join(of, ""))
	}
	const table, elements, data = "\x01\x70\x00\x02", "\x01\x01\x00\x01\x00", "\x01\x01\x02hi"
	for _, c := range []struct {
		name    string
		globals string
		code    string
		told    string // the globals; -: not all is told
	}{
		{"nothing but memory", "", "", ""},
		{"globals", globals(i32, fixed, f64), "", "7 4609434218613702656"}, // 1.5
		{"a vector that can be changed", globals(i32, vector), "", "-"},
		{"data that is used", globals(i32), "\x41\x00\x41\x00\x41\x01\xfc\x08\x00\x00", "7"},
		{"data that is dropped", globals(i32), "\xfc\x09\x00", "-"},
		{"elements that are dropped", globals(i32), "\xfc\x0d\x00", "-"},
		{"a table that is filled", globals(i32), "\x41\x00\x41\x00\x41\x01\xfc\x0c\x00\x00", "-"},
		{"a table that is copied", globals(i32), "\x41\x00\x41\x00\x41\x01\xfc\x0e\x00\x00", "-"},
		{"an element that is set", globals(i32), "\x41\x00\xd2\x00\x26\x00", "-"},
		{"an element that is looked at", globals(i32), "\x41\x00\x25\x00\x1a", "7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := "\x00" + c.code + "\x0b"
			sections := []string{sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(4, table), sec(5, "\x01\x00\x01")}
			if c.globals != "" {
				sections = append(sections, c.globals)
			}
			sections = append(sections, sec(7, "\x01\x01f\x00\x00"), sec(9, elements), sec(12, "\x01"), sec(10, "\x01"+string(rune(len(body)))+body), sec(11, data))
			mod := newHost(t).start(t, rewrite(t, module(sections...)))
			var told []string
			for g := mod.ExportedGlobal(meter.Global + "0"); g != nil; g = mod.ExportedGlobal(meter.Global + fmt.Sprint(len(told))) {
				told = append(told, fmt.Sprint(g.Get()))
			}
			got := strings.Join(told, " ")
			if mod.ExportedGlobal(meter.Complete) == nil {
				got += "-"
			}
			if got != c.told {
				t.Errorf("got %q, want %q", got, c.told)
			}
		})
	}
}

// A shell has all of a module but its code, and the code's digest.
func TestShell(t *testing.T) {
	shell := func(file []byte) []byte {
		s, err := meter.Shell(rewrite(t, file))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	of := shell(everything())
	h := newHost(t)
	h.quantum, h.limit = 1_000, 1_000
	whole, err := h.runtime.CompileModule(t.Context(), rewrite(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	hollow, err := h.runtime.CompileModule(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(hollow.ExportedFunctions()), len(whole.ExportedFunctions()); got != want {
		t.Errorf("%d functions are exported, want %d", got, want)
	}
	for name, want := range whole.ExportedFunctions() {
		got := hollow.ExportedFunctions()[name]
		if got == nil || got.Index() != want.Index() || got.DebugName() != want.DebugName() || !bytes.Equal(got.ParamTypes(), want.ParamTypes()) || !bytes.Equal(got.ResultTypes(), want.ResultTypes()) {
			t.Errorf("function %s: %v, want %v", name, got, want)
		}
	}
	other := bytes.Replace(everything(), []byte("\x41\x21\x0b"), []byte("\x41\x20\x0b"), 1) // 3: 32
	if bytes.Equal(shell(other), of) || len(shell(other)) != len(of) {
		t.Error("code that differs gives the same shell, or another one but for the digest")
	}
	if _, err := meter.Shell(of[:len(of)-1]); err == nil {
		t.Error("a shell of a module that is cut off")
	}
}

// Hosts keep machine code by Version: whoever changes what comes of a module must raise it.
func TestVersion(t *testing.T) {
	rewritten := rewrite(t, everything())
	shell, err := meter.Shell(rewritten)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%d %x", meter.Version, sha256.Sum256(append(rewritten, shell...)))
	const want = "1 89ceab2f0402662c38e9bd1ffafdcc7315e5cf0e044c17bf4f46cfe1d6b1f7a9"
	if got != want {
		t.Errorf("the same module gives something else than before: raise meter.Version, and say here %q", got)
	}
}
