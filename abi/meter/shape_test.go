package meter_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"tidemark/abi/meter"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

// uvarint writes a number as modules do.
func uvarint(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// functions is a module of functions without parameters: a list of locals and the code
// of each, without its end.
func functions(bodies ...string) []byte {
	code := uvarint(len(bodies))
	for _, b := range bodies {
		code += uvarint(len(b)+1) + b + "\x0b"
	}
	return module(sec(1, "\x01\x60\x00\x00"), sec(3, uvarint(len(bodies))+strings.Repeat("\x00", len(bodies))), sec(10, code))
}

// Each limit is taken, and one more is refused; the measure of both agrees.
func TestLimitsOfShape(t *testing.T) {
	block := "\x02\x40\x0b"
	locals := func(n int) string { return "\x01" + uvarint(n) + "\x7f" }
	for _, c := range []struct {
		name string
		most int
		body func(n int) string
		of   func(s meter.Shape) int
		want string
	}{
		{"locals", 4_000, locals, func(s meter.Shape) int { return s.Locals },
			"function 0: byte 26: 4001 parameters and locals, a function may have 4000"},
		{"blocks", 20_000, func(n int) string { return "\x00" + strings.Repeat(block, n) }, func(s meter.Shape) int { return s.Blocks },
			"more than 20000 blocks, loops and ifs in a function"},
		{"nesting", 2_200, func(n int) string { return "\x00" + strings.Repeat("\x02\x40", n-1) + strings.Repeat("\x0b", n-1) }, func(s meter.Shape) int { return s.Nesting },
			"blocks, loops and ifs in each other more than 2199 deep"},
		{"labels", 4_600, func(n int) string { return "\x00\x41\x00\x0e" + uvarint(n-1) + strings.Repeat("\x00", n) }, func(s meter.Shape) int { return s.Labels },
			"a br_table with 4601 labels, at most 4600 are allowed"},
		{"blocks among locals", 2_000, func(n int) string { return locals(4_000) + strings.Repeat(block, n) }, func(s meter.Shape) int { return s.Product / 4_000 },
			"a function with 4000 locals has more than 2000 blocks, loops and ifs: together at most 8000000"},
		{"bytes", 1 << 20, func(n int) string { return "\x00" + strings.Repeat("\x01", n-2) }, func(s meter.Shape) int { return s.Bytes },
			"1048577 bytes of code, a function may have 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{c.most, c.most + 1} {
				file := functions(c.body(n))
				s, err := meter.Measure(file)
				if err != nil || s.Unread > 0 || c.of(s.Functions[0]) != n {
					t.Errorf("%d are measured as %+v, %v", n, s, err)
				}
				_, err = meter.Rewrite(file)
				if n == c.most && err != nil {
					t.Errorf("%d: %v", n, err)
				}
				if n > c.most && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, fault.ErrUser)) {
					t.Errorf("%d: got %v, want %q", n, err, c.want)
				}
			}
		})
	}
}

func TestMeasure(t *testing.T) {
	file := assemble(t, "import env.now -> i64\nmemory 1\n"+
		"func small x:i32 y:i64 | z:f64\n block loop $x if end end end\n"+
		"func wide x:i32\n block end block end "+strings.Repeat("0 drop ", 1_400)+"\n")
	s, err := meter.Measure(file)
	if err != nil || len(s.Functions) != 2 || len(s.Newer) > 0 || s.Unread > 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	small := meter.Shape{Index: 1, Name: "small", Locals: 3, Blocks: 3, Nesting: 4, Product: 9}
	small.Bytes = 3 + 3*2 + 2 + 3 + 1 // the locals, three blocks, the condition, their ends and its own
	wide := meter.Shape{Index: 2, Name: "wide", Locals: 1, Blocks: 2, Nesting: 2, Product: 2, Bytes: 1 + 2*3 + 1_400*3 + 1}
	if s.Functions[0] != small || s.Functions[1] != wide {
		t.Errorf("got %+v\nwant %+v and %+v", s.Functions, small, wide)
	}
	if got := s.Above(meter.LargeCode); !slices.Equal(got, []meter.Shape{wide}) {
		t.Errorf("large are %+v", got)
	}
	if got, want := s.Largest(), (meter.Shape{Index: 2, Name: "wide", Bytes: wide.Bytes, Locals: 3, Blocks: 3, Nesting: 4, Product: 9}); got != want {
		t.Errorf("largest is %+v, want %+v", got, want)
	}
	if got := s.Above(10); !slices.Equal(got, []meter.Shape{wide, small}) {
		t.Errorf("above 10 bytes are %+v", got)
	}
}

// Modules that no host takes can be measured, too.
func TestMeasureNewerProposals(t *testing.T) {
	for _, c := range []struct{ name, code, newer string }{
		{"exceptions", "\x06\x40\x07\x00\x19\x0b\x06\x40\x18\x00\x1f\x40\x02\x00\x00\x00\x02\x00\x0b\x08\x00", "exceptions"},
		{"tail calls", "\x12\x00\x13\x00\x00", "tail calls"},
		{"threads", "\xfe\x03\x00\xfe\x10\x02\x00", "threads"},
		{"tables", "\xd0\x70\x41\x00\xfc\x0f\x00\x1a\x25\x00\x1a", "reference types"},
		{"relaxed vectors", "\xfd\x80\x02", "relaxed SIMD"},
		{"two memories", "\x28\x42\x01\x00", "multiple memories"},
		{"garbage collection", "\xfb\x00\x00", "unknown instructions"},
	} {
		s, err := meter.Measure(functions("\x00"+c.code+"\x02\x40\x0b", "\x00\x02\x40\x0b"))
		if err != nil || !slices.Equal(s.Newer, []string{c.newer}) {
			t.Errorf("%s: %+v, %v", c.name, s, err)
			continue
		}
		unread := 0
		if c.newer == "unknown instructions" {
			unread = 1
		}
		last := s.Functions[0].Blocks > 0 // what stands behind is read
		if s.Unread != unread || last != (unread == 0) || s.Functions[1].Blocks != 1 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
	for _, file := range [][]byte{[]byte("hello"), module(sec(10, "\x01\x05\x00"))} {
		if _, err := meter.Measure(file); !errors.Is(err, fault.ErrUser) {
			t.Errorf("%q: %v", file, err)
		}
	}
	if s, err := meter.Measure(wasmtest.Guest(t, "sum")); err != nil || len(s.Functions) != 9 || s.Unread > 0 {
		t.Errorf("sum: %+v, %v", s, err)
	}
}
