package meter

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"tidemark/internal/fault"
)

// Ids of sections.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secNames     = 13 // stands for the custom section name
	numSections  = 14
)

// Kinds of imports and exports.
const (
	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
	kindTag    = 4 // of a newer proposal
)

// module is a file that is being rewritten.
type module struct {
	file     []byte
	free     bool                // nothing is to be paid for
	lenient  bool                // only looked at: newer proposals are passed by
	sections [numSections]cursor // those that are there

	params    []uint32 // of each type: how many
	imported  int      // functions
	functions []uint32 // the type of each own one
	globals   int
	mutable   []uint32 // own globals that can be changed
	untold    bool     // there is state besides memory and globals; see Complete

	standIns [numStandIns]uint64 // their indices
	added    []standIn           // in order of index

	scopes []scope // scratch
	code   []byte  // scratch
}

// Indices of what is added.
func (m *module) yield() uint32 { return uint32(m.imported) }
func (m *module) fuel() uint32  { return uint32(m.globals) }
func (m *module) room() uint32  { return uint32(m.globals) + 1 }

// Types that are added, behind the module's own: of yield, of length and grow, of fill
// and copy.
const (
	addedNone = iota
	addedSame
	addedThree
	addedTypes
)

// Rewrite returns a copy of a module that pays for what it does. The error, of class
// fault.ErrUser, says what cannot be accounted for, and where.
func Rewrite(file []byte) ([]byte, error) { return rewrite(&module{file: file}) }

// Free returns a copy of a module that has all that Rewrite adds, and pays for nothing:
// what it costs to pay is measured between the two. Nothing can stop what it does.
func Free(file []byte) ([]byte, error) { return rewrite(&module{file: file, free: true}) }

func rewrite(m *module) ([]byte, error) {
	if err := m.split(); err != nil {
		return nil, err
	}
	if err := m.read(); err != nil {
		return nil, err
	}
	code, err := m.codes() // first: it tells which stand-ins are needed
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(m.file)+len(m.file)/2), m.file[:8]...)
	for _, s := range []struct {
		id      byte
		rewrite func(c *cursor) []byte
	}{
		{secType, m.types}, {secImport, m.imports}, {secFunction, m.functionTypes}, {secTable, same}, {secMemory, same},
		{secGlobal, m.globalValues}, {secExport, m.exports}, {secStart, m.startFunction}, {secElement, m.elements},
		{secDataCount, same}, {secCode, func(*cursor) []byte { return code }}, {secData, m.data},
	} {
		c := m.sections[s.id]
		body := s.rewrite(&c)
		if c.err != nil {
			return nil, fmt.Errorf("section %d: %w", s.id, c.err)
		}
		if len(body) > 0 {
			out = appendSection(out, s.id, body)
		}
	}
	return append(out, m.names()...), nil
}

func appendSection(dst []byte, id byte, body []byte) []byte {
	dst = binary.AppendUvarint(append(dst, id), uint64(len(body)))
	return append(dst, body...)
}

// split finds the sections. Custom ones are left out, but for the names of functions,
// which traps are told with.
func (m *module) split() error {
	if len(m.file) < 8 || string(m.file[:8]) != "\x00asm\x01\x00\x00\x00" {
		return fault.Userf("not a WebAssembly file of version 1")
	}
	for c := (cursor{file: m.file, at: 8}); c.left(); {
		id := c.byte()
		body := c.part(c.u32())
		if c.err != nil {
			return c.err
		}
		if id > secDataCount && m.lenient {
			continue
		}
		if id > secDataCount {
			return fault.Userf("section %d is not known", id)
		}
		if id == secCustom {
			named := body
			if named.name() != "name" || named.err != nil {
				continue
			}
			id, body = secNames, named
		}
		if m.sections[id].file != nil {
			if id == secNames {
				continue
			}
			return fault.Userf("section %d is there twice", id)
		}
		m.sections[id] = body
	}
	return nil
}

// read learns what indices mean.
func (m *module) read() error {
	types := m.sections[secType]
	for range types.entries() {
		if m.lenient && types.peek() != 0x60 {
			types.at = len(types.file) // parameters are not counted from here on
			break
		}
		if form := types.byte(); form != 0x60 {
			types.fail("type form 0x%02x is not known", form)
		}
		params := types.count()
		for range params {
			types.valType()
		}
		m.params = append(m.params, uint32(params))
		for range types.count() {
			types.valType()
		}
	}
	if err := types.done(); err != nil {
		return fmt.Errorf("types: %w", err)
	}
	imports := m.sections[secImport]
	for range imports.entries() {
		m.readImport(&imports)
	}
	if err := imports.done(); err != nil {
		return fmt.Errorf("imports: %w", err)
	}
	functions := m.sections[secFunction]
	for range functions.entries() {
		t := functions.u32()
		if !m.lenient {
			functions.exists("type", t, len(m.params))
		}
		m.functions = append(m.functions, t)
	}
	if err := functions.done(); err != nil {
		return fmt.Errorf("functions: %w", err)
	}
	globals := m.sections[secGlobal]
	m.globals += globals.entries()
	return globals.err
}

func (m *module) readImport(c *cursor) {
	if from := c.name(); from == Module {
		c.fail("imports from %q, which is the host's own", from)
	}
	c.name()
	switch kind := c.byte(); kind {
	case kindFunc:
		if t := c.u32(); !m.lenient {
			c.exists("type", t, len(m.params))
		}
		m.imported++
	case kindTable:
		c.valType()
		c.limits()
	case kindMemory:
		c.limits()
	case kindGlobal:
		c.valType()
		c.byte()
		m.globals++
	case kindTag:
		if !m.lenient {
			c.fail("an import of kind %d is not known", kind)
		}
		c.byte()
		c.u32()
	default:
		c.fail("an import of kind %d is not known", kind)
	}
}

func (c *cursor) limits() {
	flags := c.byte()
	if flags > 3 {
		c.fail("limits 0x%02x are not known", flags)
	}
	c.u32()
	if flags&1 != 0 {
		c.u32()
	}
}

// entries is count for a section that may be absent.
func (c *cursor) entries() int {
	if c.file == nil {
		return 0
	}
	return c.count()
}

// rest passes all that is left by and returns it.
func (c *cursor) rest() []byte {
	if c.err != nil {
		return nil
	}
	b := c.file[c.at:]
	c.at = len(c.file)
	return b
}

// same leaves a section as it is.
func same(c *cursor) []byte { return c.rest() }

// extend leaves the entries of a section as they are and puts n more behind them.
func extend(c *cursor, n int, more []byte) []byte {
	count := c.entries() + n
	if count == 0 {
		return nil
	}
	dst := binary.AppendUvarint(nil, uint64(count))
	return append(append(dst, c.rest()...), more...)
}

func (m *module) types(c *cursor) []byte {
	return extend(c, addedTypes, []byte{
		0x60, 0, 0,
		0x60, 1, typeI32, 1, typeI32,
		0x60, 3, typeI32, typeI32, typeI32, 0,
	})
}

func (m *module) addedType(t uint32) uint64 { return uint64(len(m.params)) + uint64(t) }

func (m *module) imports(c *cursor) []byte {
	more := append(appendName(appendName(nil, Module), Yield), kindFunc)
	return extend(c, 1, binary.AppendUvarint(more, m.addedType(addedNone)))
}

func (m *module) functionTypes(c *cursor) []byte {
	var more []byte
	for _, h := range m.added {
		more = binary.AppendUvarint(more, m.addedType(h.typeOf()))
	}
	return extend(c, len(m.added), more)
}

func (m *module) globalValues(c *cursor) []byte {
	n := c.entries()
	dst := binary.AppendUvarint(nil, uint64(n)+2)
	imported := m.globals - n
	for i := range n {
		start := c.at
		kind := c.peek()
		c.valType()
		if c.byte() == 1 { // it can be changed
			m.mutable = append(m.mutable, uint32(imported+i))
			m.untold = m.untold || kind <= typeV128 // wider than a word, or a reference
		}
		dst = m.expression(append(dst, c.file[start:c.at]...), c)
	}
	_ = c.done()
	own := []byte{typeI64, 1, opI64Const, 0, opEnd}
	return append(append(dst, own...), own...)
}

// expression copies an initial value, with the indices of functions changed.
func (m *module) expression(dst []byte, c *cursor) []byte {
	for c.err == nil {
		c.start = c.at
		switch op := c.byte(); {
		case op == opRefFunc:
			dst = binary.AppendUvarint(append(dst, op), m.function(c))
			continue
		case op == opEnd:
			c.start = 0
			return append(dst, op)
		case op == opGlobalGet:
			c.exists("global", c.u32(), m.globals)
		case op == opRefNull:
			c.valType()
		case op == opVector:
			if n := c.u32(); n != vectorConst {
				c.fail("vector instruction %d in an initial value", n)
			}
			c.skip(16)
		case op == opI32Const, op == opI64Const, op == opF32Const, op == opF64Const:
			c.constant(op)
		default:
			c.fail("instruction 0x%02x in an initial value", op)
		}
		dst = append(dst, c.file[c.start:c.at]...)
	}
	return dst
}

// function reads the index of a function and returns what it becomes.
func (m *module) function(c *cursor) uint64 {
	i := c.u32()
	if c.exists("function", i, m.imported+len(m.functions)) && int(i) >= m.imported {
		return uint64(i) + 1
	}
	return uint64(i)
}

func (m *module) exports(c *cursor) []byte {
	n := c.entries()
	captured := m.captured()
	dst := binary.AppendUvarint(nil, uint64(n+2)+captured)
	for range n {
		name := c.name()
		if strings.HasPrefix(name, Module+":") {
			c.fail("exports %q, a name that is the host's own", name)
		}
		kind := c.byte()
		dst = append(appendName(dst, name), kind)
		i := uint64(0)
		switch kind {
		case kindFunc:
			i = m.function(c)
		case kindGlobal:
			i = uint64(c.u32())
			c.exists("global", uint32(i), m.globals)
		default:
			i = uint64(c.u32())
		}
		dst = binary.AppendUvarint(dst, i)
	}
	_ = c.done()
	dst = binary.AppendUvarint(append(appendName(dst, Fuel), kindGlobal), uint64(m.fuel()))
	dst = binary.AppendUvarint(append(appendName(dst, Room), kindGlobal), uint64(m.room()))
	if captured == 0 {
		return dst
	}
	for i, g := range m.mutable {
		dst = binary.AppendUvarint(append(appendName(dst, Global+strconv.Itoa(i)), kindGlobal), uint64(g))
	}
	return binary.AppendUvarint(append(appendName(dst, Complete), kindGlobal), uint64(m.fuel()))
}

// captured is how many exports tell of an instance's state; 0 where they cannot tell all.
func (m *module) captured() uint64 {
	if m.untold {
		return 0
	}
	return uint64(len(m.mutable)) + 1
}

func (m *module) startFunction(c *cursor) []byte {
	if c.file == nil {
		return nil
	}
	dst := binary.AppendUvarint(nil, m.function(c))
	_ = c.done()
	return dst
}

// elements rewrites the contents of tables. Bits of an entry's flags: 0 it is not put
// into a table at the start, 1 it names its table or is only declared, 2 it consists of
// expressions.
func (m *module) elements(c *cursor) []byte {
	n := c.entries()
	if n == 0 {
		return c.rest()
	}
	dst := binary.AppendUvarint(nil, uint64(n))
	for range n {
		flags := c.u32()
		if flags > 7 {
			c.fail("elements with flags %d are not known", flags)
			break
		}
		dst = binary.AppendUvarint(dst, uint64(flags))
		if flags&1 == 0 {
			if flags&2 != 0 {
				dst = binary.AppendUvarint(dst, uint64(c.u32())) // the table
			}
			dst = m.expression(dst, c) // where in it
		}
		if flags&3 != 0 {
			dst = append(dst, c.byte()) // kind or type
		}
		items := c.count()
		dst = binary.AppendUvarint(dst, uint64(items))
		for range items {
			if flags&4 != 0 {
				dst = m.expression(dst, c)
			} else {
				dst = binary.AppendUvarint(dst, m.function(c))
			}
		}
	}
	_ = c.done()
	return dst
}

// data leaves a section as it is, which begins with a number that the compiler believes.
func (m *module) data(c *cursor) []byte {
	whole := *c
	for range c.entries() {
		flags := c.u32()
		if flags > 2 {
			c.fail("data with flags %d is not known", flags)
			break
		}
		if flags == 2 {
			c.u32() // the memory
		}
		if flags != 1 {
			m.expression(nil, c) // where in it
		}
		c.part(c.u32())
	}
	_ = c.done()
	return whole.rest()
}

func (m *module) codes() ([]byte, error) {
	c := m.sections[secCode]
	n := c.entries()
	if n != len(m.functions) {
		return nil, fault.Userf("%d functions are declared, and %d have code", len(m.functions), n)
	}
	var code []byte
	var b body
	for i := range n {
		size := c.u32()
		if size > maxCode {
			c.fail("%d bytes of code, a function may have %d", size, maxCode)
		}
		source := c.part(size)
		if c.err == nil {
			c.err = m.scan(&b, i, &source)
		}
		if c.err != nil {
			return nil, fmt.Errorf("function %d: %w", m.imported+i, c.err)
		}
		code = m.emit(code, &b)
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	for _, h := range m.added {
		more := m.standInBody(h)
		code = append(binary.AppendUvarint(code, uint64(len(more))), more...)
	}
	if n+len(m.added) == 0 {
		return nil, nil
	}
	return append(binary.AppendUvarint(nil, uint64(n+len(m.added))), code...), nil
}

// names is the custom section with the names of functions; nothing if there are none,
// they cannot be read, or there are more of them than functions.
func (m *module) names() []byte {
	c := m.sections[secNames]
	for c.left() {
		id := c.byte()
		list := c.part(c.u32())
		if id != 1 {
			continue
		}
		n := list.count()
		if n > m.imported+len(m.functions) {
			return nil
		}
		body := binary.AppendUvarint(nil, uint64(n))
		for range n {
			body = binary.AppendUvarint(body, m.function(&list))
			body = appendName(body, list.name())
		}
		if list.done() != nil {
			return nil
		}
		return appendSection(nil, secCustom, appendSection(appendName(nil, "name"), id, body))
	}
	return nil
}

func appendName(dst []byte, name string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(name))), name...)
}
