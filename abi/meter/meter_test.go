package meter_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/abi/meter"
	"tidemark/internal/fault"
	"tidemark/internal/wasmtest"
)

func assemble(tb testing.TB, text string) []byte {
	tb.Helper()
	file, err := wasmtest.Assemble(text)
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// What a call costs is computed by hand from abi/SPEC.md, section 8.
func TestCharges(t *testing.T) {
	nops := func(n int) string { return strings.Repeat("0 drop ", n) } // 2 n instructions
	for _, c := range []struct {
		name string
		text string // of a module with function f
		arg  uint64
		want int64
	}{
		{"an empty function", "func f x:i32\n", 0, 1 + 1},
		{"locals", "func f x:i32 | y:i64 z:i32\n", 0, 1 + 3},
		{"instructions", "func f x:i32\n $x 1 i32.add drop\n", 0, 2 + 4},
		{"blocks are free, if is not", "func f x:i32\n block block end end $x if end\n", 0, 2 + 2},
		{"little behind a condition is charged in any case", "func f x:i32\n $x if " + nops(7) + "end\n", 0, 2 + 2 + 14},
		{"much only if it runs, here not", "func f x:i32\n $x if " + nops(8) + "end\n", 0, 2 + 2},
		{"much only if it runs, here it does", "func f x:i32\n $x if " + nops(8) + "end\n", 1, 2 + 2 + 16},
		{"the same of an else", "func f x:i32\n $x if " + nops(8) + "else " + nops(20) + "end\n", 1, 2 + 2 + 16},
		{"and it runs", "func f x:i32\n $x if " + nops(8) + "else " + nops(20) + "end\n", 0, 2 + 2 + 40},
		{"behind a br_if", "func f x:i32\n block $x br_if 0 " + nops(8) + "end " + nops(1) + "\n", 1, 2 + 2 + 2},
		{"and it runs", "func f x:i32\n block $x br_if 0 " + nops(8) + "end " + nops(1) + "\n", 0, 2 + 2 + 16 + 2},
		{"conditions in a row: what is small goes to the one before it", "func f x:i32\n block $x br_if 0 " + nops(4) + "$x br_if 0 " + nops(5) + "end\n", 1, 2 + 2},
		{"and both run", "func f x:i32\n block $x br_if 0 " + nops(4) + "$x br_if 0 " + nops(5) + "end\n", 0, 2 + 2 + 8 + 2 + 10},
		{"a loop costs one more each time", "func f x:i32\n 0 drop loop $x 1 i32.sub =x $x br_if 0 end\n", 10, 2 + 2 + 10*(1+6)},
		{"a function that begins with a loop pays for nothing else", "func f x:i32\n loop $x 1 i32.sub =x $x br_if 0 end 0 drop\n", 10, 10 * (1 + 6 + 2)},
		{"what is behind a loop is paid where it began", "func f x:i32\n 0 drop loop $x 1 i32.sub =x $x br_if 0 end 0 drop\n", 10, 2 + 2 + 10*(1+6) + 2},
		{"a call", "func g\n " + nops(3) + "\nfunc f x:i32\n call g call g\n", 0, 2 + 2 + 2*(1+6)},
		{"a call of the host", "import wasi_snapshot_preview1.sched_yield -> i32\nfunc f x:i32\n call sched_yield drop\n", 0, 2 + 2}, // the host charges for itself
		{"memory is filled by 8 bytes", "memory 1\nfunc f x:i32\n 0 0 $x memory.fill\n", 807, 2 + 4 + 10 + 100},
		{"and copied", "memory 1\nfunc f x:i32\n 0 0 $x memory.copy\n", 807, 2 + 4 + 10 + 100},
		{"nothing is filled", "memory 1\nfunc f x:i32\n 0 0 $x memory.fill\n", 0, 2 + 4 + 10},
		{"in pieces the same", "memory 100\nfunc f x:i32\n 0 0 $x memory.fill\n", 5<<20 + 8, 2 + 4 + 10 + 5<<17 + 1},
		{"memory that is new", "memory 1\nfunc f x:i32\n $x memory.grow drop\n", 3, 2 + 3 + 100 + 3*65_536/8},
		{"memory that is refused", "memory 1\nfunc f x:i32\n $x memory.grow drop\n", 1_000, 2 + 3 + 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t)
			h.quantum = 1_000
			mod := h.start(t, rewrite(t, assemble(t, c.text)))
			for range 2 { // an instance does not remember what it cost
				if _, got, err := h.call(mod, 10_000_000, "f", c.arg); got != c.want || err != nil {
					t.Fatalf("costs %d, want %d; %v", got, c.want, err)
				}
			}
		})
	}
}

// A module that pays for nothing does what it did, and has all that a host reaches for.
func TestFree(t *testing.T) {
	text := "memory 1\nfunc g x:i32 -> i32\n $x 1 i32.add\n" +
		"func f x:i32 -> i32 | n:i32\n 0 7 100 memory.fill loop $n call g =n $n $x i32.lt_u br_if 0 end $n 99 i32.load8_u 0 i32.add\n"
	free, err := meter.Free(assemble(t, text))
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t)
	h.quantum = 1_000_000
	for name, want := range map[string]struct {
		file []byte
		fuel bool
	}{"free": {free, false}, "metered": {rewrite(t, assemble(t, text)), true}} {
		got, fuel, err := h.call(h.start(t, want.file), 1_000_000, "f", 1_000)
		if err != nil || got[0] != 1_007 || (fuel > 0) != want.fuel {
			t.Errorf("%s: gives %v for %d fuel; %v", name, got, fuel, err)
		}
	}
	if _, err := meter.Free([]byte("no module")); !errors.Is(err, fault.ErrUser) {
		t.Errorf("of no module: %v", err)
	}
}

// dealer is a switch of three cases with 1, 20 and 30 instructions.
func dealer() []byte {
	nops := func(n int) string { return strings.Repeat("\x01", n) }
	body := "\x00\x02\x40\x02\x40\x02\x40\x20\x00\x0e\x02\x00\x01\x02\x0b" + nops(1) + "\x0b" + nops(20) + "\x0b" + nops(30) + "\x0b"
	return module(sec(1, "\x01\x60\x01\x7f\x00"), sec(3, "\x01\x00"), sec(7, "\x01\x01f\x00\x00"), sec(10, "\x01"+string(rune(len(body)))+body))
}

func TestCasesOfASwitchAreChargedOneByOne(t *testing.T) {
	h := newHost(t)
	mod := h.start(t, rewrite(t, dealer()))
	h.quantum = 1_000
	for i, want := range []int64{2 + 2 + 1 + 20 + 30, 2 + 2 + 20 + 30, 2 + 2 + 30, 2 + 2 + 30} {
		if _, got, err := h.call(mod, 1_000, "f", uint64(i)); got != want || err != nil {
			t.Errorf("case %d costs %d, want %d; %v", i, got, want, err)
		}
	}
}

func TestWhatDoesNotEndIsStopped(t *testing.T) {
	long := strings.Repeat("0 drop ", 60_000)
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"a loop", "func f\n loop br 0 end\n", errFuel},
		{"a loop in a loop", "func f\n loop loop 1 br_if 1 end br 0 end\n", errFuel},
		{"recursion", "func f\n call f\n", errStack},
		{"recursion of two, with large frames", "func f\n call g\nfunc g " + strings.Repeat("| i64 ", 1_000) + "\n call f\n", errStack},
		{"a tree of calls: deep enough to never end, not deep enough to overflow", "func g n:i32\n $n if $n 1 i32.sub call g $n 1 i32.sub call g end\nfunc f\n 60 call g\n", errFuel},
		{"a loop that calls the host", "import wasi_snapshot_preview1.sched_yield -> i32\nfunc f\n loop call sched_yield drop br 0 end\n", errFuel},
		{"a loop that fills", "memory 150\nfunc f\n loop 0 0 9830400 memory.fill br 0 end\n", errFuel},
		{"a loop that copies", "memory 150\nfunc f\n loop 0 1 9830399 memory.copy 1 0 9830399 memory.copy br 0 end\n", errFuel},
		{"a loop that grows", "memory 1\nfunc f\n loop 1 memory.grow drop br 0 end\n", errFuel},
		{"straight code", "func f\n " + long + "\n", nil},
		{"straight code with conditions", "func f\n block " + strings.Repeat("0 br_if 0 "+strings.Repeat("0 drop ", 60), 1_500) + "end\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t)
			const limit = 1_000_000
			h.quantum = 20_000
			_, fuel, err := h.call(h.start(t, rewrite(t, assemble(t, c.text))), limit, "f")
			switch {
			case c.want == nil && err != nil, c.want != nil && !errors.Is(err, c.want):
				t.Errorf("got %v, want %v", err, c.want)
			case errors.Is(c.want, errFuel) && (fuel <= limit || fuel > limit+meter.MaxAhead):
				t.Errorf("stopped after %d fuel of %d", fuel, limit)
			case h.lowest < -meter.MaxAhead:
				t.Errorf("ran on until fuel was %d", h.lowest)
			case c.want == nil && h.yields < 2:
				t.Errorf("called the host %d times", h.yields)
			}
		})
	}
}

// What is behind a call is paid for when it has returned: else a tower of callers would
// have paid for all of it on its way up, and run down without a look.
func TestCallersPayWhenTheyGoOn(t *testing.T) {
	tail := strings.Repeat("0 drop ", 500)
	h := newHost(t)
	h.quantum = 1_000
	// An entry costs 2; up to the call, with unreachable, there are 8 instructions.
	text := "func f n:i32\n  $n i32.eqz if unreachable end $n 1 i32.sub call f " + tail + "\n"
	if _, fuel, err := h.call(h.start(t, rewrite(t, assemble(t, text))), 1_000_000, "f", 99); fuel != 100*10 || reason(err) != "unreachable" {
		t.Errorf("used %d fuel on the way up, want 1000; %v", fuel, err)
	}
	text = strings.Replace(text, "unreachable", "return", 1)
	if _, fuel, err := h.call(h.start(t, rewrite(t, assemble(t, text))), 1_000_000, "f", 99); fuel != 100*10+99*1_000 || err != nil || h.yields < 50 {
		t.Errorf("used %d fuel, want 100,000, and asked %d times; %v", fuel, h.yields, err)
	}
}

// The frames' room is given back: calls in a row need no more than one.
func TestRoomIsForDepth(t *testing.T) {
	h := newHost(t)
	h.quantum = 1_000
	text := "func leaf\n\nfunc g\n call leaf\nfunc f | i:i32\n 100000 =i loop call g $i 1 i32.sub =i $i br_if 0 end call g\n"
	if _, _, err := h.call(h.start(t, rewrite(t, assemble(t, text))), 100_000_000, "f"); err != nil {
		t.Error(err)
	}
}

func TestPiecesAreFilledAndCopied(t *testing.T) {
	const pages = 100
	file := rewrite(t, assemble(t, fmt.Sprintf(`memory %d
func fill to:i32 value:i32 size:i32
  $to $value $size memory.fill
func copy to:i32 from:i32 size:i32
  $to $from $size memory.copy
`, pages)))
	h := newHost(t)
	h.quantum = 10_000
	mod := h.start(t, file)
	mem := mod.ExportedMemory("memory")
	want := make([]byte, pages<<16)
	for i := range want {
		want[i] = byte(i * i >> 8)
	}
	mem.Write(0, want)
	const mib = 1 << 20
	for _, c := range []struct {
		name           string
		to, from, size uint32
		traps          bool
	}{
		{"fill", 5, 0xabc, 3*mib + 17, false},
		{"fill", 0, 7, mib, false},
		{"fill", 0, 9, mib + 1, false},
		{"fill", pages<<16 - 2*mib, 3, 2 * mib, false},
		{"fill", pages<<16 - 2*mib, 4, 2*mib + 1, true},
		{"fill", 0xffff_ffff, 4, 0xffff_ffff, true},
		{"fill", pages << 16, 4, 0, false},
		{"copy", 1, 0, 3*mib + 17, false},
		{"copy", 0, 1, 3*mib + 17, false},
		{"copy", 700_000, 3, 4 * mib, false},
		{"copy", 3, 700_000, 4 * mib, false},
		{"copy", 4 * mib, 0, 2*mib + 5, false},
		{"copy", 9, 9, 2 * mib, false},
		{"copy", 0, pages<<16 - 2*mib, 2*mib + 1, true},
		{"copy", pages<<16 - 2*mib, 0, 2*mib + 1, true},
		{"copy", 0, 0xffff_fff0, 0xffff_ffff, true},
	} {
		what := fmt.Sprintf("%s to %d from %d of %d", c.name, c.to, c.from, c.size)
		_, _, err := h.call(mod, 100_000_000, c.name, uint64(c.to), uint64(c.from), uint64(c.size))
		if c.traps != (reason(err) == "out of bounds memory access") {
			t.Errorf("%s: %v", what, err)
		}
		switch {
		case c.traps: // nothing was written
		case c.name == "fill":
			copy(want[c.to:c.to+c.size], bytes.Repeat([]byte{byte(c.from)}, int(c.size)))
		default:
			copy(want[c.to:c.to+c.size], want[c.from:c.from+c.size])
		}
		got, _ := mem.Read(0, pages<<16)
		if !bytes.Equal(got, want) {
			t.Fatalf("%s: another memory", what)
		}
		if !c.traps && c.size > mib && h.yields < int(c.size/mib) {
			t.Errorf("%s: %d yields", what, h.yields)
		}
	}
}

// everything is a module with each thing that knows the index of a function: an import,
// a table filled in all ways, a global, exports, a start function, names.
func everything() []byte {
	body := func(code string) string { return string(rune(len(code)+1)) + "\x00" + code }
	return module(
		sec(1, "\x03\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f\x60\x00\x00"),
		sec(2, "\x01\x16wasi_snapshot_preview1\x0bsched_yield\x00\x00"),
		sec(3, "\x06\x00\x00\x00\x01\x02\x00"),
		sec(4, "\x01\x70\x00\x08"),
		sec(5, "\x01\x00\x01"),
		sec(6, "\x02\x7f\x01\x41\x00\x0b\x70\x00\xd2\x02\x0b"), // a number; function 2
		sec(7, "\x05\x01f\x00\x04\x01g\x00\x06\x01n\x03\x00\x01y\x00\x00\x01m\x02\x00"),
		sec(8, "\x05"),
		sec(9, "\x05"+
			"\x00\x41\x00\x0b\x02\x01\x02"+ // at 0: functions 1 and 2
			"\x01\x00\x01\x03"+ // to be copied: 3
			"\x02\x00\x41\x02\x0b\x00\x01\x03"+ // at 2 of table 0: 3
			"\x04\x41\x03\x0b\x02\xd2\x01\x0b\xd0\x70\x0b"+ // at 3: expressions, 1 and nothing
			"\x05\x70\x01\xd2\x02\x0b"), // to be copied: an expression, 2
		sec(12, "\x01"),
		sec(10, "\x06"+
			body("\x41\x0b\x0b")+ // 1: 11
			body("\x41\x16\x0b")+ // 2: 22
			body("\x41\x21\x0b")+ // 3: 33
			body("\x20\x00\x11\x00\x00\x0b")+ // 4: calls what the table has at its parameter
			body("\x41\xe3\x00\x24\x00"+ // 5: global 0 = 99
				"\x41\x05\x41\x00\x41\x01\xfc\x0c\x01\x00"+ // table[5] = the first to be copied
				"\x41\x06\x41\x00\x41\x01\xfc\x0c\x04\x00"+ // table[6] = the second
				"\x41\x07\xd2\x02\x26\x00"+ // table[7] = function 2
				"\x41\x08\x41\x00\x41\x02\xfc\x08\x00\x00\x0b")+ // memory from 8 on = data
			body("\x10\x02\x00\x0b")), // 6: ends in a trap, by way of 2
		sec(11, "\x01\x01\x02hi"),
		sec(0, "\x04name\x01\x0c\x02\x02\x03two\x06\x04last"),
		sec(0, "\x05other\x01"),
	)
}

func TestIndicesOfFunctions(t *testing.T) {
	h := newHost(t)
	h.quantum = 1_000
	file := rewrite(t, everything())
	h.limit = 1_000
	mod := h.start(t, file) // function 5 has run
	if mod.ExportedGlobal("n").Get() != 99 {
		t.Error("the start function did not run")
	}
	if text, _ := mod.Memory().Read(8, 2); string(text) != "hi" {
		t.Errorf("memory has %q", text)
	}
	for i, want := range []string{"[11]", "[22]", "[33]", "[11]", "invalid table access", "[33]", "[22]", "[22]"} {
		got, _, err := h.call(mod, 1_000, "f", uint64(i))
		if text := fmt.Sprint(got); err == nil && text != want || err != nil && reason(err) != want {
			t.Errorf("table[%d]: %s %v, want %s", i, text, err, want)
		}
	}
	if _, _, err := h.call(mod, 1_000, "g"); err == nil || !strings.Contains(err.Error(), ".last() i32") {
		t.Errorf("the trap does not name its function: %v", err)
	}
	if got, _, err := h.call(mod, 1_000, "y"); err != nil || got[0] != 0 {
		t.Errorf("an import that is exported: %v, %v", got, err)
	}
}

func TestRefuses(t *testing.T) {
	one := func(code string, more ...string) []byte {
		body := "\x00" + code + "\x0b"
		sections := []string{sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00")}
		sections = append(sections, more...)
		return module(append(sections, sec(10, "\x01"+string(rune(len(body)))+body))...)
	}
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"no module", []byte("hello"), "not a WebAssembly file of version 1"},
		{"the global that would be the fuel", one("\x23\x00\x1a"), "function 0: byte 23: global 0, and there are 0"},
		{"the function that would fill", one("\x10\x01"), "function 1, and there are 1"},
		{"the local that would be the room", one("\x20\x00\x1a"), "local 0, and there are 0"},
		{"a type that would be ours", one("\x02\x01\x0b"), "type 1, and there are 1"},
		{"a label that does not exist", one("\x0c\x01"), "label 1, and there are 1"},
		{"table.grow", one("\xd0\x70\x41\x00\xfc\x0f\x00\x1a"), "function 0: byte 27: table.grow, which knows no limit"},
		{"an atomic instruction", one("\xfe\x03\x00"), "byte 23: instruction 0xfe is not known"},
		{"a tail call", one("\x12\x00"), "instruction 0x12 is not known"},
		{"an exception", one("\x08\x00"), "instruction 0x08 is not known"},
		{"a relaxed vector instruction", one("\xfd\x80\x02"), "vector instruction 256 is not known"},
		{"an unknown bulk instruction", one("\xfc\x12"), "instruction 0xfc 18 is not known"},
		{"an else without if", one("\x05"), "an else without its if"},
		{"code behind the end", one("\x0b"), "1 bytes follow the last entry"},
		{"code without end", one("\x02\x40"), "ends too early"},
		{"too many locals", module(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(10, "\x01\x06\x01\xff\xff\x03\x7f\x0b")), "65535 parameters and locals, a function may have 4000"},
		{"an import of ours", module(sec(1, "\x01\x60\x00\x00"), sec(2, "\x01\x08tidemark\x05yield\x00\x00")), `imports from "tidemark", which is the host's own`},
		{"an export of ours", module(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(7, "\x01\x0dtidemark:fuel\x00\x00"), sec(10, "\x01\x02\x00\x0b")), `exports "tidemark:fuel", a name that is the host's own`},
		{"a global that is exported and would be ours", one("", sec(7, "\x01\x01g\x03\x00")), "global 0, and there are 0"},
		{"code that is missing", module(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00")), "1 functions are declared, and 0 have code"},
		{"a section twice", module(sec(1, "\x00"), sec(1, "\x00")), "section 1 is there twice"},
		{"a function that is too long", module(sec(1, "\x01\x60\x00\x00"), sec(3, "\x01\x00"), sec(10, "\x01\x82\x80\x40\x00"+strings.Repeat("\x01", 1<<20)+"\x0b")), "function 0: byte 26: 1048578 bytes of code, a function may have 1048576"},
		{"a section of ours", module(sec(14, "\x00")), "section 14 is not known"},
		{"a tag section", module(sec(13, "\x00")), "section 13 is not known"},
		{"elements of another sort", module(sec(9, "\x01\x08")), "elements with flags 8 are not known"},
		{"an initial value that computes", module(sec(6, "\x01\x7f\x00\x41\x00\x41\x00\x6a\x0b")), "instruction 0x6a in an initial value"},
		{"a number that is too long", module(sec(1, "\x80\x80\x80\x80\x80\x00")), "a number does not fit into 32 bits"},
		{"more entries than bytes", module(sec(1, "\xff\xff\x03")), "65535 entries in 0 bytes"},
		{"a global of an unknown type", module(sec(6, "\x02\x7f\x00\x41\x00\x0b\x01\x00\x02")), "section 6: byte 16: type 0x01 is not known"},
		{"more data than bytes", module(sec(11, "\xff\xff\x03\x01\x00")), "65535 entries in 2 bytes"},
		{"data of another sort", module(sec(11, "\x01\x03\x00")), "data with flags 3 is not known"},
		{"data that is cut off", module(sec(11, "\x01\x01\x05hi")), "5 bytes are announced, 2 are left"},
		{"a switch of more cases than bytes", one("\x41\x00\x0e\xff\xff\xff\xff\x0f"), "4294967295 entries in 1 bytes"},
		{"half a section", append(module(), 1, 9), "9 bytes are announced, 0 are left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := meter.Rewrite(c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, fault.ErrUser) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
