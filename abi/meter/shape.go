package meter

import (
	"errors"
	"fmt"
	"slices"
)

// Shape is how a function is built: what its compilation costs follows from these
// numbers, and most of what can be made to cost much is far beyond what compilers make.
type Shape struct {
	Index   uint32 // among all functions of the module, imports first
	Name    string // of the section name; empty if it has none there
	Bytes   int    // of code, with the list of locals
	Locals  int    // with parameters
	Blocks  int    // blocks, loops and ifs
	Nesting int    // how many of them are open at a time, the function itself included
	Labels  int    // of the largest br_table, with the one for all other cases
	Product int    // Blocks x Locals: the compiler looks at each local in each block
}

// Shapes is what Measure finds in a module.
type Shapes struct {
	Functions    []Shape // own ones, in their order
	DataSegments int
	// Newer are the proposals beyond SPEC section 1 that code uses, sorted.
	Newer []string
	// Unread counts the functions with an instruction that is not known, whose shape is
	// that of what stands in front of it.
	Unread int
}

// Largest is the largest number of each sort; Index and Name are those of the function
// with the most bytes.
func (s *Shapes) Largest() (l Shape) {
	for _, f := range s.Functions {
		if f.Bytes > l.Bytes {
			l.Bytes, l.Index, l.Name = f.Bytes, f.Index, f.Name
		}
		l.Locals, l.Blocks = max(l.Locals, f.Locals), max(l.Blocks, f.Blocks)
		l.Nesting, l.Labels = max(l.Nesting, f.Nesting), max(l.Labels, f.Labels)
		l.Product = max(l.Product, f.Product)
	}
	return l
}

// Measure tells how the functions of any module are built, whether a host would take it
// or not. The error, of class fault.ErrUser, says where it cannot be read.
func Measure(file []byte) (*Shapes, error) {
	m := &module{file: file, lenient: true}
	if err := m.split(); err != nil {
		return nil, err
	}
	if err := m.read(); err != nil {
		return nil, err
	}
	data := m.sections[secData]
	s := &Shapes{DataSegments: data.entries()}
	c := m.sections[secCode]
	newer := map[string]bool{}
	for i := range c.entries() {
		body := c.part(c.u32())
		if c.err != nil {
			break
		}
		w := walker{cursor: &body, newer: newer, Shape: Shape{Index: uint32(m.imported + i), Bytes: len(body.file) - body.at}}
		if i < len(m.functions) && int(m.functions[i]) < len(m.params) {
			w.Locals = int(m.params[m.functions[i]])
		}
		if w.walk() != nil {
			s.Unread++
		}
		w.Product = w.Blocks * w.Locals
		s.Functions = append(s.Functions, w.Shape)
	}
	if err := c.done(); err != nil {
		return nil, fmt.Errorf("code: %w", err)
	}
	m.nameShapes(s.Functions)
	for name := range newer {
		s.Newer = append(s.Newer, name)
	}
	slices.Sort(s.Newer)
	return s, nil
}

// nameShapes gives functions the names of the section name, as far as it can be read.
func (m *module) nameShapes(functions []Shape) {
	c := m.sections[secNames]
	for c.left() {
		id := c.byte()
		list := c.part(c.u32())
		if id != 1 {
			continue
		}
		for range list.count() {
			i, name := list.u32(), list.name()
			if k := int(i) - m.imported; list.err == nil && k >= 0 && k < len(functions) {
				functions[k].Name = name
			}
		}
		return
	}
}

// walker goes through the code of a function.
type walker struct {
	*cursor
	Shape
	newer map[string]bool
	open  int
}

var errUnknown = errors.New("an instruction that is not known")

func (w *walker) walk() error {
	for range w.count() {
		w.Locals += int(w.u32())
		w.anyType()
	}
	w.enter()
	for w.open > 0 {
		if w.instruction(w.byte()); w.err != nil {
			return w.err
		}
	}
	return w.done()
}

func (w *walker) enter() {
	w.open++
	w.Nesting = max(w.Nesting, w.open)
}

// block opens one, whose type is read.
func (w *walker) block() {
	w.Blocks++
	w.enter()
	w.number(5) // of a type, or a negative one that is a type itself
}

// uses notes a proposal.
func (w *walker) uses(proposal string) { w.newer[proposal] = true }

// anyType passes a type by, also one of a newer proposal.
func (w *walker) anyType() {
	switch t := w.byte(); {
	case t == 0x63 || t == 0x64: // a reference, nullable or not, to a type that follows
		w.uses("typed references")
		w.number(5)
	case t == typeFuncRef || t == typeExternRef:
		w.uses("reference types")
	}
}

func (w *walker) memory() {
	if w.u32()&0x40 != 0 { // alignment, with a bit for a memory that is named
		w.uses("multiple memories")
		w.u32()
	}
	w.number(10) // offset
}

func (w *walker) instruction(op byte) {
	switch {
	case op == opBlock, op == opLoop, op == opIf:
		w.block()
	case op == opEnd:
		w.open--
	case op == opElse, op == opRefIsNull, plain(op):
	case op == opBr, op == opBrIf, op == opCall, opLocalGet <= op && op <= opGlobalSet:
		w.u32()
	case op == opBrTable:
		n := w.count() + 1
		w.Labels = max(w.Labels, n)
		for range n {
			w.u32()
		}
	case op == opCallIndirect:
		w.u32()
		w.u32()
	case op == opSelectTyped:
		for range w.count() {
			w.anyType()
		}
	case opLoads <= op && op <= opStores:
		w.memory()
	case op == opMemorySize, op == opMemoryGrow:
		w.u32()
	case opI32Const <= op && op <= opF64Const:
		w.constant(op)
	case op == opBulk:
		w.bulk(w.u32())
	case op == opVector:
		n := w.u32()
		if n > 0xff {
			w.uses("relaxed SIMD")
			return
		}
		w.vectorOperands(n)
	default:
		w.proposed(op)
	}
}

func (w *walker) bulk(n uint32) {
	switch n {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case bulkMemoryInit, bulkMemoryCopy, bulkTableInit, bulkTableCopy:
		w.u32()
		w.u32()
	case bulkDataDrop, bulkMemoryFill, bulkElemDrop:
		w.u32()
	case bulkTableGrow, bulkTableSize, bulkTableFill:
		w.uses("reference types")
		w.u32()
	default:
		w.fail("%w", errUnknown)
	}
}

// proposed passes instructions of newer proposals by.
func (w *walker) proposed(op byte) {
	switch op {
	case opTableGet, opTableSet, opRefFunc:
		w.uses("reference types")
		w.u32()
	case opRefNull:
		w.uses("reference types")
		w.number(5)
	case 0x12: // return_call
		w.uses("tail calls")
		w.u32()
	case 0x13: // return_call_indirect
		w.uses("tail calls")
		w.u32()
		w.u32()
	case 0x06: // try
		w.uses("exceptions")
		w.block()
	case 0x07, 0x08, 0x09: // catch, throw, rethrow
		w.uses("exceptions")
		w.u32()
	case 0x0a, 0x19: // throw_ref, catch_all
		w.uses("exceptions")
	case 0x18: // delegate, which ends its try
		w.uses("exceptions")
		w.u32()
		w.open--
	case 0x1f: // try_table
		w.uses("exceptions")
		w.block()
		for range w.count() {
			if kind := w.byte(); kind < 2 {
				w.u32() // what is caught
			}
			w.u32() // where it goes
		}
	case 0xfe:
		w.uses("threads")
		if w.u32() == 3 { // atomic.fence
			w.byte()
			return
		}
		w.memory()
	default:
		w.uses("unknown instructions")
		w.fail("%w", errUnknown)
	}
}

// LargeCode is the size in bytes above which other runtimes of the same ABI may not
// compile a function: a JVM interprets methods of more than 8,000 bytes, which some half
// as much WebAssembly becomes.
const LargeCode = 4 << 10

// Above returns the functions with more bytes of code, the largest first.
func (s *Shapes) Above(bytes int) (large []Shape) {
	for _, f := range s.Functions {
		if f.Bytes > bytes {
			large = append(large, f)
		}
	}
	slices.SortStableFunc(large, func(a, b Shape) int { return b.Bytes - a.Bytes })
	return large
}
