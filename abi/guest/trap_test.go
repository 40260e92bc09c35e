package guest

import (
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/sys"

	"tidemark/abi"
)

func TestTrapMessages(t *testing.T) {
	unreachable := errors.New("wasm error: unreachable\nwasm stack trace:\n\t.add(i32,i32) i32\n\t.$7(i32) (i32,i32)")
	bounds := errors.New("wasm error: out of bounds memory access\nwasm stack trace:\n\t.main.add(i32)")
	for _, c := range []struct {
		name    string
		err     error
		printed string
		want    string
	}{
		{"only a reason", unreachable, "", "unreachable in add, called by $7"},
		{"a reason without names", errors.New("wasm error: integer divide by zero"), "", "integer divide by zero"},
		{"a Go panic without its stack", sys.NewExitError(2), "panic: no value\n\ngoroutine 1 [running]:\nmain.add(…)\n", "panic: no value"},
		{"a Go runtime that gives up", sys.NewExitError(2), "fatal error: out of memory\n\nruntime stack:\nruntime.throw({0x1, 0x2})\n\t/go/src/runtime/panic.go:1\n\ngoroutine 1 [running]:\n", "fatal error: out of memory"},
		{"a Rust panic", unreachable, "thread 'main' panicked at src/lib.rs:5:9:\nno value\n", "thread 'main' panicked at src/lib.rs:5:9:\nno value"},
		{"printed words before a fault of the machine", bounds, "debug: 1\n", "debug: 1 (out of bounds memory access)"},
		{"a silent exit", sys.NewExitError(3), " \n", "exit with status 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := newTrap(c.err, c.printed); got.Message != c.want || got.Op != abi.NoOp {
				t.Errorf("got %q, want %q", got.Message, c.want)
			}
		})
	}
	if got := newTrap(unreachable, strings.Repeat("é", 4_000)); len(got.Message) != abi.MaxMessage {
		t.Errorf("a message of %d bytes", len(got.Message))
	}
}

func TestCaptureKeepsBothEnds(t *testing.T) {
	var all strings.Builder
	for i := range 6_000 {
		all.WriteByte(byte('a' + i%26))
	}
	for _, c := range []struct {
		name  string
		bytes int // printed
		piece int // at a time
	}{
		{"nothing", 0, 1},
		{"less than one end", 2_000, 7},
		{"both ends in full", 4_096, 1_000},
		{"one byte too many", 4_097, 1},
		{"far too many, in small pieces", 6_000, 13},
		{"far too many, at once", 6_000, 6_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := all.String()[:c.bytes]
			want := text
			if len(text) > 4_096 {
				want = text[:2_048] + "\n[…]\n" + text[len(text)-2_048:]
			}
			var got capture
			for round := range 2 { // a reset forgets the first round
				got.reset()
				for rest := []byte(text); len(rest) > 0; {
					n := min(c.piece, len(rest))
					got.write(rest[:n])
					rest = rest[n:]
				}
				if got.text() != want {
					t.Errorf("round %d: got %d bytes, want %d", round, len(got.text()), len(want))
				}
			}
		})
	}
}
