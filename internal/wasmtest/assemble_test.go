package wasmtest

import (
	"bytes"
	"strings"
	"testing"

	wasm "tidemark/abi/binary"
)

func TestGuestsAreValidPlugins(t *testing.T) {
	for _, name := range []string{"sum", "join", "minmax"} {
		t.Run(name, func(t *testing.T) {
			m, err := wasm.Read(bytes.NewReader(Guest(t, name)))
			if err == nil {
				err = wasm.Check(m)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The bytes are taken from the binary format's definition.
func TestAssemble(t *testing.T) {
	got, err := Assemble("func f x:i32 -> i32 | y:i32\n  $x -1 i32.add =y ; comment\n  $y\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "\x00asm\x01\x00\x00\x00" +
		"\x01\x06\x01\x60\x01\x7f\x01\x7f" + // type (i32) -> i32
		"\x03\x02\x01\x00" +
		"\x07\x05\x01\x01f\x00\x00" +
		"\x0a\x0f\x01\x0d\x01\x01\x7f\x20\x00\x41\x7f\x6a\x21\x01\x20\x01\x0b"
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("got  %x\nwant %x…", got, want)
	}
}

func TestAssembleRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"fun f\n", `line 1: unknown word "fun"`},
		{"func f\n  nope\n", `unknown instruction "nope"`},
		{"func f\n  $x\n", `no local "x"`},
		{"func f\n  call g\n", `no function "g"`},
		{"func f x:i3\n", `unknown type "i3"`},
		{"memory 1\n  0\n", `nothing may follow "memory"`},
	} {
		if _, err := Assemble(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}
