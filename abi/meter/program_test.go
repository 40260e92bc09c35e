package meter_test

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// program makes valid functions out of bytes, each twice: as it is, and so that it
// counts what it executes. All values are i32.
type program struct {
	choices []byte
	plain   []byte
	counted []byte
	index   int // of the function that is being made
	size    int // instructions of it so far
	depth   int // open blocks
}

// What a program consists of.
const (
	programFuncs  = 3 // of type (i32, i32) -> i32, all exported and in the table
	programLocals = 4 // two of them parameters
	maxProgram    = 400
	counter       = 1 // the global, of type i64; global 0 is the program's
)

func (p *program) next(n int) int {
	if len(p.choices) == 0 {
		return 0
	}
	b := p.choices[0]
	p.choices = p.choices[1:]
	return int(b) % n
}

// raw writes what costs nothing.
func (p *program) raw(code ...byte) {
	p.plain = append(p.plain, code...)
	p.counted = append(p.counted, code...)
}

// op writes an instruction.
func (p *program) op(code ...byte) {
	p.size++
	p.plain = append(p.plain, code...)
	p.counted = append(p.counted, 0x23, counter, 0x42, 1, 0x7c, 0x24, counter) // counter += 1
	p.counted = append(p.counted, code...)
}

func (p *program) number() { p.op(0x41, byte(p.next(64))) }

func (p *program) block(op byte, inside func()) {
	if op == 0x04 {
		p.op(op, 0x40)
	} else {
		p.raw(op, 0x40)
	}
	p.depth++
	inside()
	p.depth--
	p.raw(0x0b)
}

func (p *program) statements() {
	for range p.next(4) {
		p.statement()
	}
}

func (p *program) statement() {
	if p.size > maxProgram || p.depth > 12 {
		return
	}
	switch p.next(16) {
	case 0, 1:
		p.value(0)
		p.op(0x21, byte(p.next(programLocals)))
	case 2:
		p.value(0)
		p.block(0x04, p.statements)
	case 3:
		p.value(0)
		p.block(0x04, func() {
			p.statements()
			p.raw(0x05)
			p.statements()
		})
	case 4, 5:
		if p.next(16) == 0 { // a loop that may not end
			p.block(0x03, func() {
				p.statements()
				p.value(0)
				p.op(0x0d, 0)
			})
			return
		}
		// One that halves a local.
		local := byte(p.next(programLocals))
		p.block(0x03, func() {
			p.statements()
			p.op(0x20, local)
			p.op(0x41, 1)
			p.op(0x76)
			p.op(0x22, local)
			p.op(0x0d, 0)
		})
	case 6:
		p.block(0x02, func() {
			p.statements()
			p.value(0)
			p.op(0x0d, byte(p.next(p.depth)))
			p.statements()
		})
	case 7: // a switch
		p.block(0x02, func() {
			p.block(0x02, func() {
				p.block(0x02, func() {
					p.value(0)
					p.op(0x0e, 3, 0, byte(p.next(p.depth)), 2, 1)
				})
				p.statements()
			})
			p.statements()
		})
	case 8: // memory.fill
		p.place(0)
		p.value(1)
		p.place(0)
		p.op(0xfc, 11, 0)
	case 9: // memory.copy
		p.place(0)
		p.place(0)
		p.place(0)
		p.op(0xfc, 10, 0, 0)
	case 10:
		p.place(0)
		p.value(0)
		p.op(0x36, 0, byte(p.next(64)))
	case 11:
		p.op(0x41, byte(p.next(3)))
		p.op(0x40, 0) // memory.grow
		p.op(0x1a)
	case 12:
		p.value(0)
		p.block(0x04, func() {
			p.op(0x0c, byte(p.next(p.depth)))
			p.statements()
		})
	case 13:
		p.value(0)
		p.op(0x24, 0)
	case 14:
		p.value(0)
		p.block(0x04, func() {
			p.value(0)
			p.op(0x0f)
			p.statements()
		})
	case 15:
		p.raw(0x01)
		p.size++
	}
}

// place is an address or a length, mostly one that is there.
func (p *program) place(depth int) {
	p.value(depth + 1)
	if p.next(50) > 0 {
		p.op(0x41, 0xff, 0xff, 0) // 16,383
		p.op(0x71)
	}
}

func (p *program) value(depth int) {
	if depth > 4 || p.size > maxProgram {
		p.number()
		return
	}
	switch p.next(10) {
	case 0, 1:
		p.number()
	case 2, 3:
		p.op(0x20, byte(p.next(programLocals)))
	case 4, 5: // arithmetic
		ops := []byte{0x6a, 0x6b, 0x6c, 0x6a, 0x71, 0x72, 0x73, 0x46, 0x49, 0x74}
		p.value(depth + 1)
		p.value(depth + 1)
		p.op(ops[p.next(len(ops))])
	case 6:
		p.place(depth)
		p.op(0x28, 0, byte(p.next(64)))
	case 7, 8:
		callee := p.index + 1
		if p.next(50) == 0 { // it may call itself
			callee = p.next(programFuncs + 1)
		}
		if callee >= programFuncs {
			p.number()
			return
		}
		p.value(depth + 1)
		p.value(depth + 1)
		if p.next(2) == 0 {
			p.op(0x10, byte(callee))
			return
		}
		p.op(0x41, byte(callee))
		p.op(0x11, 0, 0) // call_indirect
	case 9:
		p.op(0x23, 0)
	}
}

// programs makes a module out of choices, as it is and counting.
func programs(choices []byte) (plain, counted []byte) {
	var bodies, countedBodies [][]byte
	p := &program{choices: choices}
	for p.index = range programFuncs {
		p.plain, p.counted, p.size = []byte{1, programLocals - 2, 0x7f}, []byte{1, programLocals - 2, 0x7f}, 0
		p.block(0x02, func() {
			for range 10 {
				p.statement()
			}
		})
		p.value(0)
		p.raw(0x0b)
		bodies, countedBodies = append(bodies, p.plain), append(countedBodies, p.counted)
	}
	return programModule(bodies), programModule(countedBodies)
}

func programModule(bodies [][]byte) []byte {
	exports := []string{"\x01a\x00\x00", "\x01b\x00\x01", "\x01c\x00\x02", "\x01m\x02\x00", "\x01g\x03\x00", "\x01n\x03\x01"}
	code := ""
	for _, b := range bodies {
		code += string(binary.AppendUvarint(nil, uint64(len(b)))) + string(b)
	}
	return module(
		sec(1, "\x01\x60\x02\x7f\x7f\x01\x7f"),
		sec(3, "\x03\x00\x00\x00"),
		sec(4, "\x01\x70\x00\x04"),
		sec(5, "\x01\x00\x01"),
		sec(6, "\x02\x7f\x01\x41\x05\x0b\x7e\x01\x42\x00\x0b"),
		sec(7, string(rune(len(exports)))+strings.Join(exports, "")),
		sec(9, "\x01\x00\x41\x00\x0b\x03\x00\x01\x02"),
		sec(10, "\x03"+code),
		sec(11, "\x01\x00\x41\x00\x0b\x08abcdefgh"),
	)
}

func sec(id byte, body string) string {
	return string(id) + string(binary.AppendUvarint(nil, uint64(len(body)))) + body
}

func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

// checkProgram runs a program with and without metering. It returns how many of its
// functions ended within their fuel, and how many instructions those had executed.
func checkProgram(t *testing.T, h *host, choices []byte) (ended int, executed int64) {
	t.Helper()
	const limit = 300_000
	plain, counted := programs(choices)
	metered := rewrite(t, plain)
	for _, name := range []string{"a", "b", "c"} {
		first, second, third := h.start(t, metered), h.start(t, plain), h.start(t, counted)
		got, fuel, err := h.call(first, limit, name, 3, 40)
		if why := reason(err); strings.HasPrefix(why, errFuel.Error()) || strings.HasPrefix(why, errStack.Error()) {
			continue // the others may never end
		}
		if _, again, _ := h.call(h.start(t, metered), limit, name, 3, 40); again != fuel {
			t.Errorf("%s: %d fuel, then %d", name, fuel, again)
		}
		want, werr := second.ExportedFunction(name).Call(t.Context(), 3, 40)
		if reason(err) != reason(werr) || err == nil && got[0] != want[0] {
			t.Errorf("%s: metered %v, %v; plain %v, %v", name, got, err, want, werr)
		}
		if err == nil && (memory(first) != memory(second) || first.ExportedGlobal("g").Get() != second.ExportedGlobal("g").Get()) {
			t.Errorf("%s leaves another memory", name)
		}
		_, _ = third.ExportedFunction(name).Call(t.Context(), 3, 40)
		n := int64(third.ExportedGlobal("n").Get())
		if fuel < n {
			t.Errorf("%s: %d fuel for %d instructions", name, fuel, n)
		}
		ended, executed = ended+1, executed+n
	}
	return ended, executed
}

func memory(mod api.Module) string {
	m := mod.ExportedMemory("m")
	b, _ := m.Read(0, m.Size())
	return string(b)
}

// What a random program does, it does metered, too, and pays for at least every
// instruction.
func TestProgramsMeanTheSame(t *testing.T) {
	h := newHost(t)
	h.quantum = 1_000
	var ended int
	var executed int64
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 7))
		choices := make([]byte, 500+r.IntN(3_000))
		for i := range choices {
			choices[i] = byte(r.Uint32())
		}
		e, x := checkProgram(t, h, choices)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		ended, executed = ended+e, executed+x
	}
	if ended < 250 || executed < 20_000 {
		t.Errorf("%d calls ended after %d instructions: too few to mean anything", ended, executed)
	}
}
