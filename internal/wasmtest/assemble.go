// Package wasmtest assembles small plug-ins for tests, so that the host's side can be
// tested without a guest toolchain, also against guests that no toolchain would
// make. Only tests import it.
//
// A guest is a text of lines. A line that begins with a word is one of
//
//	memory MIN [MAX] [shared]    in pages; exported
//	table N                      of N functions, empty
//	global NAME TYPE VALUE       mutable
//	import MODULE.NAME TYPES     a function; TYPES as for func
//	data ADDRESS "TEXT"          quoted as in Go
//	func NAME TYPES              exported; TYPES is p:i32 … -> i32 … | local:i64 …
//	start NAME
//	manifest JSON                of the section tidemark, of the ABI version
//	version N
//
// and the indented lines that follow it belong to it: instructions of the function,
// or more JSON. Instructions stand as in the WebAssembly text format without
// brackets, with three short forms: $x is local.get x, =x is local.set x, and a
// number alone is i32.const. Memory instructions take their offset. A semicolon
// begins a comment.
package wasmtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemark/abi"
	wasm "tidemark/abi/binary"
)

type function struct {
	name   string
	typ    abi.FuncType
	locals map[string]int
	extra  []abi.ValType // locals behind the parameters
	text   []string
	line   int
}

type assembler struct {
	imports  []function // name is MODULE.NAME
	funcs    []function
	globals  []string
	initial  [][]byte // type, mutability, value of each global
	memory   []byte
	table    []byte
	data     [][]byte
	start    string
	manifest string
	marked   bool
	version  uint32
}

// Assemble turns a text into a module.
func Assemble(text string) ([]byte, error) {
	a := &assembler{version: abi.Version}
	var last string
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" || line[0] == ';' {
			continue
		}
		var err error
		if line[0] == ' ' || line[0] == '\t' {
			err = a.more(last, line)
		} else {
			var rest string
			last, rest, _ = strings.Cut(line, " ")
			err = a.directive(last, strings.TrimSpace(rest), i+1)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return a.module()
}

func (a *assembler) more(directive, line string) error {
	switch directive {
	case "func":
		code, _, _ := strings.Cut(line, ";")
		f := &a.funcs[len(a.funcs)-1]
		f.text = append(f.text, strings.Fields(code)...)
	case "manifest":
		a.manifest += strings.TrimSpace(line)
	default:
		return fmt.Errorf("nothing may follow %q", directive)
	}
	return nil
}

func (a *assembler) directive(word, rest string, line int) error {
	fields := strings.Fields(rest)
	switch word {
	case "memory", "table":
		shared := len(fields) == 3 && fields[2] == "shared"
		if shared {
			fields = fields[:2]
		}
		limits := []byte{byte(len(fields) - 1)}
		if shared {
			limits[0] = 3
		}
		for _, f := range fields {
			n, err := strconv.ParseUint(f, 0, 32)
			if err != nil {
				return err
			}
			limits = binary.AppendUvarint(limits, n)
		}
		if word == "memory" {
			a.memory = limits
		} else {
			a.table = append([]byte{byte(abi.FuncRef)}, limits...)
		}
	case "global":
		t, err := valType(fields[1])
		if err != nil {
			return err
		}
		code, err := immediate('i', fields[2])
		if err != nil {
			return err
		}
		op := byte(0x41)
		if t == abi.I64 {
			op = 0x42
		}
		a.globals = append(a.globals, fields[0])
		a.initial = append(a.initial, append(append([]byte{byte(t), 1, op}, code...), 0x0b))
	case "import", "func":
		f := function{name: fields[0], locals: map[string]int{}, line: line}
		if err := f.types(fields[1:]); err != nil {
			return err
		}
		if word == "import" {
			a.imports = append(a.imports, f)
		} else {
			a.funcs = append(a.funcs, f)
		}
	case "data":
		addr, err := immediate('i', fields[0])
		if err != nil {
			return err
		}
		s, err := strconv.Unquote(strings.TrimSpace(strings.TrimPrefix(rest, fields[0])))
		if err != nil {
			return err
		}
		d := append(append([]byte{0, 0x41}, addr...), 0x0b)
		a.data = append(a.data, append(binary.AppendUvarint(d, uint64(len(s))), s...))
	case "start":
		a.start = rest
	case "manifest":
		a.manifest, a.marked = rest, true
	case "version":
		n, err := strconv.ParseUint(rest, 10, 32)
		a.version = uint32(n)
		return err
	default:
		return fmt.Errorf("unknown word %q", word)
	}
	return nil
}

func valType(s string) (abi.ValType, error) {
	for _, t := range []abi.ValType{abi.I32, abi.I64, abi.F32, abi.F64} {
		if t.String() == s {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown type %q", s)
}

// types reads "p:i32 q:i64 -> i32 | l:i32".
func (f *function) types(words []string) error {
	part := 0
	for _, w := range words {
		switch w {
		case "->":
			part = 1
			continue
		case "|":
			part = 2
			continue
		}
		name, typ, named := strings.Cut(w, ":")
		if !named {
			typ = w
		}
		t, err := valType(typ)
		if err != nil {
			return err
		}
		switch part {
		case 0:
			f.typ.Params = append(f.typ.Params, t)
		case 1:
			f.typ.Results = append(f.typ.Results, t)
		case 2:
			f.extra = append(f.extra, t)
		}
		if part != 1 {
			f.locals[name] = len(f.locals)
		}
	}
	return nil
}

func (a *assembler) index(name string) (int, error) {
	for i, f := range a.imports {
		if f.name == name || strings.HasSuffix(f.name, "."+name) {
			return i, nil
		}
	}
	for i, f := range a.funcs {
		if f.name == name {
			return len(a.imports) + i, nil
		}
	}
	return 0, fmt.Errorf("no function %q", name)
}

// module puts the sections together.
func (a *assembler) module() ([]byte, error) {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, entries ...[]byte) {
		if len(entries) == 0 {
			return
		}
		body := binary.AppendUvarint(nil, uint64(len(entries)))
		for _, e := range entries {
			body = append(body, e...)
		}
		out = append(out, id)
		out = append(binary.AppendUvarint(out, uint64(len(body))), body...)
	}
	str := func(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

	var types, imports, funcs, exports, bodies [][]byte
	for i, f := range append(append([]function{}, a.imports...), a.funcs...) {
		t := []byte{0x60}
		for _, vs := range [][]abi.ValType{f.typ.Params, f.typ.Results} {
			t = binary.AppendUvarint(t, uint64(len(vs)))
			for _, v := range vs {
				t = append(t, byte(v))
			}
		}
		types = append(types, t) // one for each function: equal ones may repeat
		index := binary.AppendUvarint(nil, uint64(i))
		if i < len(a.imports) {
			mod, name, _ := strings.Cut(f.name, ".")
			imports = append(imports, append(append(append(str(mod), str(name)...), 0), index...))
			continue
		}
		funcs = append(funcs, index)
		exports = append(exports, append(append(str(f.name), 0), index...))
		code, err := a.body(&f)
		if err != nil {
			return nil, fmt.Errorf("func %s (line %d): %w", f.name, f.line, err)
		}
		bodies = append(bodies, append(binary.AppendUvarint(nil, uint64(len(code))), code...))
	}
	section(1, types...)
	section(2, imports...)
	section(3, funcs...)
	if a.table != nil {
		section(4, a.table)
	}
	if a.memory != nil {
		section(5, a.memory)
		exports = append(exports, append(str("memory"), 2, 0))
	}
	section(6, a.initial...)
	section(7, exports...)
	if a.start != "" {
		i, err := a.index(a.start)
		if err != nil {
			return nil, err
		}
		n := binary.AppendUvarint(nil, uint64(i))
		out = append(append(out, 8, byte(len(n))), n...)
	}
	section(10, bodies...)
	section(11, a.data...)
	out = append(out, a.names()...)
	if !a.marked {
		return out, nil
	}
	out = wasm.WithManifest(out, []byte(a.manifest))
	at := len(out) - len(a.manifest) - 4
	binary.LittleEndian.PutUint32(out[at:], a.version)
	return out, nil
}

// names is the custom section with the functions' names, for stack traces.
func (a *assembler) names() []byte {
	all := append(append([]function{}, a.imports...), a.funcs...)
	list := binary.AppendUvarint(nil, uint64(len(all)))
	for i, f := range all {
		list = binary.AppendUvarint(list, uint64(i))
		list = append(binary.AppendUvarint(list, uint64(len(f.name))), f.name...)
	}
	body := append([]byte{4}, "name"...)
	body = append(body, 1)
	body = append(binary.AppendUvarint(body, uint64(len(list))), list...)
	return append(append([]byte{0}, binary.AppendUvarint(nil, uint64(len(body)))...), body...)
}

func (a *assembler) body(f *function) ([]byte, error) {
	code := binary.AppendUvarint(nil, uint64(len(f.extra)))
	for _, t := range f.extra {
		code = append(code, 1, byte(t))
	}
	words, known := f.text, opcodes()
	next := func() (string, error) {
		if len(words) == 0 {
			return "", fmt.Errorf("an operand is missing")
		}
		w := words[0]
		words = words[1:]
		return w, nil
	}
	for len(words) > 0 {
		w, _ := next()
		if w[0] == '$' || w[0] == '=' {
			i, ok := f.locals[w[1:]]
			if !ok {
				return nil, fmt.Errorf("no local %q", w[1:])
			}
			op := byte(0x20)
			if w[0] == '=' {
				op = 0x21
			}
			code = binary.AppendUvarint(append(code, op), uint64(i))
			continue
		}
		if w[0] >= '0' && w[0] <= '9' || w[0] == '-' {
			imm, err := immediate('i', w)
			if err != nil {
				return nil, err
			}
			code = append(append(code, 0x41), imm...)
			continue
		}
		op, ok := known[w]
		if !ok {
			return nil, fmt.Errorf("unknown instruction %q", w)
		}
		code = append(code, op.code...)
		for _, kind := range op.operands {
			arg, err := next()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w, err)
			}
			imm, err := a.operand(kind, arg)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w, err)
			}
			code = append(code, imm...)
		}
	}
	return append(code, 0x0b), nil
}

func (a *assembler) operand(kind rune, arg string) ([]byte, error) {
	switch kind {
	case 'f':
		i, err := a.index(arg)
		return binary.AppendUvarint(nil, uint64(i)), err
	case 'g':
		for i, g := range a.globals {
			if g == arg {
				return binary.AppendUvarint(nil, uint64(i)), nil
			}
		}
		return nil, fmt.Errorf("no global %q", arg)
	}
	return immediate(kind, arg)
}

// immediate encodes a number: i signed, u unsigned, d float64.
func immediate(kind rune, arg string) ([]byte, error) {
	switch kind {
	case 'u':
		n, err := strconv.ParseUint(arg, 0, 32)
		return binary.AppendUvarint(nil, n), err
	case 'd':
		v, err := strconv.ParseFloat(arg, 64)
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)), err
	}
	n, err := strconv.ParseInt(arg, 0, 64)
	if err != nil { // addresses are written without sign
		var u uint64
		u, err = strconv.ParseUint(arg, 0, 64)
		n = int64(u)
	}
	var b []byte
	for {
		low := byte(n & 0x7f)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return append(b, low), err
		}
		b = append(b, low|0x80)
	}
}
