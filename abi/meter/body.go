package meter

// edit is a change to the code of a function: what comes in front of a place in the
// source, or instead of the next bytes.
type edit struct {
	at   int // in the file
	drop int // how many bytes of the source go
	what action
	n    uint64 // fuel of a charge, index of a function

	// Of a charge:
	before int    // the charge that is in force where this one begins
	looks  int    // the nearest that looks, on the way there; itself if it does
	ahead  uint64 // the cost of all code in front of it
}

type action uint8

const (
	doEntry  action = iota // take n, make room for the frame, look at both
	doEnter                // the same without n: a loop that takes it stands first
	doCheck                // take n and look
	doCharge               // take n
	doBranch               // take n, unless it is so little that the charge before takes it
	doIndex                // write n
	doCall                 // call n
	doRoom                 // tell the callee how much room there is
)

// scope is a block that is open.
type scope struct {
	charge int // in force behind its end, unless one begins there
	op     byte
	dealt  bool // some br_table goes to its end
}

// body is what was found in a function.
type body struct {
	edits  []edit
	locals uint32 // with parameters
	groups int    // entries of its list of locals
	first  int    // where that list begins in the file
	code   int    // where instructions begin
	end    int
	size   int  // instructions
	blocks int  // blocks, loops and ifs
	calls  bool // functions that may call it again
}

// scan decides what to change in function number i of the module's own, which c goes
// through.
//
// Every instruction is paid for by a charge that it cannot be reached without: at the
// function's entry, at the innermost loop around it, at the end of a block that
// br_table goes to, behind a call, or where a condition decides whether the code runs.
// Whatever runs twice runs such a charge in between. Only entries, loops and returns
// look whether fuel is left: there is no running on without passing one, but for
// straight code, which maxRun cuts.
func (m *module) scan(b *body, i int, c *cursor) error {
	*b = body{edits: b.edits[:0], first: c.at}
	s := scanner{module: m, body: b, cursor: c}
	s.readLocals(m.params[m.functions[i]])
	b.code = c.at
	m.scopes = append(m.scopes[:0], scope{op: opBlock})
	if c.peek() == opLoop {
		// As Go's compiler begins every function: the loop's charge is enough, and it
		// pays for what is behind the loop, too.
		s.add(edit{at: c.at, what: doEnter})
		s.instruction()
		m.scopes[len(m.scopes)-1].charge = s.pay
	} else {
		s.add(edit{at: c.at, what: doEntry})
		s.cost(1 + uint64(b.locals))
	}
	for len(m.scopes) > 0 && c.err == nil {
		s.instruction()
	}
	b.end, c.start = c.at, 0
	return c.done()
}

// scanner is the way through one function.
type scanner struct {
	*module
	*body
	*cursor
	pay   int    // the edit that pays for the next instruction
	total uint64 // the cost of all code up to here
}

// readLocals reads the list of locals.
func (s *scanner) readLocals(params uint32) {
	total := uint64(params)
	s.groups = s.count()
	for range s.groups {
		total += uint64(s.u32())
		s.valType()
	}
	if total > maxLocals {
		s.fail("%d parameters and locals, a function may have %d", total, maxLocals)
	}
	s.locals = uint32(total)
}

func (s *scanner) add(e edit) int {
	s.edits = append(s.edits, e)
	return len(s.edits) - 1
}

// cost has n fuel paid.
func (s *scanner) cost(n uint64) {
	s.edits[s.pay].n += n
	s.total += n
}

// charge begins one here, which pays for what follows.
func (s *scanner) charge(what action) {
	e := edit{at: s.at, what: what, before: s.pay, looks: s.edits[s.pay].looks, ahead: s.total}
	if what == doCheck {
		e.looks = len(s.edits)
	}
	s.pay = s.add(e)
}

// settle goes back to a charge, at the end of what depended on a condition.
func (s *scanner) settle(charge int) {
	for s.pay != charge {
		e := &s.edits[s.pay]
		if e.what == doBranch && e.n < minBranch {
			s.edits[e.before].n += e.n
			e.n = 0
		}
		s.pay = e.before
	}
}

func (s *scanner) instruction() {
	if look := s.edits[s.pay].looks; s.total-s.edits[look].ahead > maxRun {
		s.charge(doCheck)
	}
	s.start = s.at
	op := s.byte()
	if s.err != nil {
		return
	}
	s.size++
	switch op {
	case opBlock, opLoop, opIf, opElse, opEnd:
		s.structure(op)
		return
	}
	s.cost(1)
	switch {
	case plain(op):
	case op == opBr:
		s.label(false)
	case op == opBrIf:
		s.label(false)
		s.charge(doBranch)
	case op == opBrTable:
		n := s.count() + 1
		if n > maxLabels {
			s.fail("a br_table with %d labels, at most %d are allowed", n, maxLabels)
		}
		for range n {
			s.label(true)
		}
	case op == opCall:
		s.call()
	case op == opCallIndirect:
		s.exists("type", s.u32(), len(s.params))
		s.u32() // the table
		s.called(edit{at: s.start, what: doRoom})
	case op == opSelectTyped:
		for range s.count() {
			s.valType()
		}
	case opLocalGet <= op && op <= opLocalTee:
		s.exists("local", s.u32(), int(s.locals))
	case op == opGlobalGet, op == opGlobalSet:
		s.exists("global", s.u32(), s.globals)
	case op == opTableGet, op == opTableSet:
		s.untold = s.untold || op == opTableSet
		s.u32()
	case opLoads <= op && op <= opStores:
		s.u32() // alignment
		s.u32() // offset
	case op == opMemorySize:
		s.byte()
	case op == opMemoryGrow:
		s.byte()
		s.cost(growCall)
		s.replace(forGrow)
	case opI32Const <= op && op <= opF64Const:
		s.constant(op)
	case op == opRefNull:
		s.valType()
	case op == opRefFunc:
		if changed, own := s.index(); own {
			s.add(changed)
		}
	case op == opBulk:
		s.bulk()
	case op == opVector:
		s.vectorOperands(s.u32())
	default:
		s.fail("instruction 0x%02x is not known", op)
	}
}

// structure opens and closes blocks, which costs nothing: most make no machine code.
func (s *scanner) structure(op byte) {
	switch op {
	case opBlock:
		s.blockType()
		s.scopes = append(s.scopes, scope{charge: s.pay, op: op})
	case opIf:
		s.blockType()
		s.cost(1)
		s.scopes = append(s.scopes, scope{charge: s.pay, op: op})
		s.charge(doBranch)
	case opLoop:
		s.blockType()
		s.scopes = append(s.scopes, scope{charge: s.pay, op: op})
		s.charge(doCheck)
		s.cost(1)
	case opElse:
		top := &s.scopes[len(s.scopes)-1]
		if top.op != opIf {
			s.fail("an else without its if")
			return
		}
		top.op = opElse
		s.settle(top.charge)
		s.charge(doBranch)
	case opEnd:
		top := s.scopes[len(s.scopes)-1]
		s.scopes = s.scopes[:len(s.scopes)-1]
		s.settle(top.charge)
		if top.dealt && top.op != opLoop {
			s.charge(doCharge)
		}
	}
}

func (s *scanner) blockType() {
	s.blocks++
	switch {
	case s.blocks > maxBlocks:
		s.fail("more than %d blocks, loops and ifs in a function", maxBlocks)
	case s.blocks*int(s.locals) > maxProduct:
		s.fail("a function with %d locals has more than %d blocks, loops and ifs: together at most %d", s.locals, s.blocks-1, maxProduct)
	case len(s.scopes) >= maxNesting:
		s.fail("blocks, loops and ifs in each other more than %d deep", maxNesting-1)
	}
	switch b := s.peek(); {
	case b == emptyBlock:
		s.byte()
	case b&0xc0 == 0x40: // a negative number of one byte
		s.valType()
	default:
		s.exists("type", s.u32(), len(s.params))
	}
}

func (s *scanner) label(dealt bool) {
	depth := s.u32()
	if s.exists("label", depth, len(s.scopes)) && dealt {
		s.scopes[len(s.scopes)-1-int(depth)].dealt = true
	}
}

// index reads the index of a function; changed is what it becomes.
func (s *scanner) index() (changed edit, own bool) {
	at := s.at
	i := s.function(s.cursor)
	return edit{at: at, drop: s.at - at, what: doIndex, n: i}, i > uint64(s.imported)
}

func (s *scanner) call() {
	changed, own := s.index()
	if !own { // the host charges what it does
		return
	}
	s.called(edit{at: s.start, what: doRoom}, changed)
}

// called makes the changes of a call. It may have taken long, and a tower of callers
// that return would run on unseen, so there is a look behind it.
func (s *scanner) called(changes ...edit) {
	s.calls = true
	s.edits = append(s.edits, changes...)
	s.charge(doCheck)
}

func (s *scanner) bulk() {
	switch n := s.u32(); n {
	case 0, 1, 2, 3, 4, 5, 6, 7: // conversions
	case bulkMemoryInit:
		s.u32()
		s.byte()
		s.measure()
	case bulkMemoryCopy:
		s.byte()
		s.byte()
		s.cost(bulkCall)
		s.replace(forCopy)
	case bulkMemoryFill:
		s.byte()
		s.cost(bulkCall)
		s.replace(forFill)
	case bulkTableInit, bulkTableCopy:
		s.untold = true
		s.u32()
		s.u32()
		s.measure()
	case bulkTableFill:
		s.untold = true
		s.u32()
		s.measure()
	case bulkDataDrop, bulkElemDrop:
		s.untold = true
		s.u32()
	case bulkTableSize:
		s.u32()
	case bulkTableGrow:
		s.fail("table.grow, which knows no limit")
	default:
		s.fail("instruction 0xfc %d is not known", n)
	}
}

// replace has a function called instead of an instruction.
func (s *scanner) replace(h standIn) {
	s.add(edit{at: s.start, drop: s.at - s.start, what: doCall, n: s.standIn(h)})
}

// measure has a function called in front of an instruction whose last operand is its
// length.
func (s *scanner) measure() {
	s.cost(bulkCall)
	s.add(edit{at: s.start, what: doCall, n: s.standIn(forLength)})
}
