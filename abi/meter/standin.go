package meter

// standIn is a function that is added to a module which needs it, for an instruction
// that must be paid for by its operands.
type standIn int

const (
	forLength standIn = iota // (n) -> n: pays for a piece of n bytes or elements
	forGrow                  // memory.grow, paid for
	forFill                  // memory.fill, in pieces that are paid for one by one
	forCopy                  // memory.copy, likewise
	numStandIns
)

// standIn returns the index of function h.
func (m *module) standIn(h standIn) uint64 {
	if m.standIns[h] == 0 {
		m.standIns[h] = uint64(m.imported + 1 + len(m.functions) + len(m.added))
		m.added = append(m.added, h)
	}
	return m.standIns[h]
}

// typeOf returns which of the added types h has.
func (h standIn) typeOf() uint32 {
	if h == forFill || h == forCopy {
		return addedThree
	}
	return addedSame
}

// Parameters of fill and copy.
const (
	to   = 0
	from = 1 // of fill the value
	size = 2
)

// standInBody returns the code of h with its list of locals.
func (m *module) standInBody(h standIn) []byte {
	a := &assembly{m: m, code: []byte{0}}
	switch h {
	case forLength:
		a.payFor(0, opI64ShrU, bulkShift)
		a.get(0)
	case forGrow:
		// What is refused is not paid for. A page costs what filling it does.
		a.code = []byte{1, 1, typeI32}
		a.get(0).op(opMemoryGrow, 0).set(1)
		a.get(1).number(-1).op(opI32Ne, opIf, emptyBlock)
		a.payFor(0, opI64Shl, pageShift-bulkShift)
		a.op(opEnd).get(1)
	case forFill:
		a.get(size).number(chunkBytes).op(opI32GtU, opIf, emptyBlock)
		a.beyond(to).op(opIf, emptyBlock).fill().op(opEnd) // traps before it writes
		a.op(opLoop, emptyBlock)
		a.payChunk().get(to).get(from).number(chunkBytes).op(opBulk, bulkMemoryFill, 0)
		a.move(to, opI32Add).move(size, opI32Sub).again()
		a.op(opEnd, opEnd)
		a.payFor(size, opI64ShrU, bulkShift).fill()
	case forCopy:
		a.get(size).number(chunkBytes).op(opI32GtU, opIf, emptyBlock)
		a.beyond(to).beyond(from).op(opI32Or, opIf, emptyBlock).copy().op(opEnd) // likewise
		// A piece must not overwrite what is still to be read.
		a.get(to).get(from).op(opI32GtU, opIf, emptyBlock)
		a.op(opLoop, emptyBlock)
		a.move(size, opI32Sub).payChunk()
		a.get(to).get(size).op(opI32Add).get(from).get(size).op(opI32Add).number(chunkBytes).op(opBulk, bulkMemoryCopy, 0, 0)
		a.again()
		a.op(opEnd, opElse, opLoop, emptyBlock)
		a.payChunk().get(to).get(from).number(chunkBytes).op(opBulk, bulkMemoryCopy, 0, 0)
		a.move(to, opI32Add).move(from, opI32Add).move(size, opI32Sub).again()
		a.op(opEnd, opEnd, opEnd)
		a.payFor(size, opI64ShrU, bulkShift).copy()
	}
	return a.op(opEnd).code
}

// assembly is code that grows.
type assembly struct {
	m    *module
	code []byte
}

func (a *assembly) op(bytes ...byte) *assembly {
	a.code = append(a.code, bytes...)
	return a
}

func (a *assembly) get(local byte) *assembly { return a.op(opLocalGet, local) }
func (a *assembly) set(local byte) *assembly { return a.op(opLocalSet, local) }
func (a *assembly) fill() *assembly {
	return a.get(to).get(from).get(size).op(opBulk, bulkMemoryFill, 0)
}
func (a *assembly) copy() *assembly {
	return a.get(to).get(from).get(size).op(opBulk, bulkMemoryCopy, 0, 0)
}

func (a *assembly) number(n int64) *assembly {
	a.code = appendConst(a.code, opI32Const, n)
	return a
}

// payFor takes the value of a local, shifted, and looks whether fuel is left.
func (a *assembly) payFor(local, shift byte, by int64) *assembly {
	a.code = appendIndex(a.code, opGlobalGet, a.m.fuel())
	a.get(local).op(opI64ExtendU)
	a.code = appendConst(a.code, opI64Const, by)
	a.op(shift, opI64Sub)
	a.code = a.m.emitCheck(appendIndex(a.code, opGlobalSet, a.m.fuel()))
	return a
}

func (a *assembly) payChunk() *assembly {
	a.code = a.m.emitCheck(a.m.emitCharge(a.code, chunkBytes/BulkBytes))
	return a
}

// beyond says whether the piece at a local ends outside the memory.
func (a *assembly) beyond(at byte) *assembly {
	a.get(at).op(opI64ExtendU).get(size).op(opI64ExtendU, opI64Add)
	return a.op(opMemorySize, 0, opI64ExtendU, opI64Const, pageShift, opI64Shl, opI64GtU)
}

// move moves a local on by a chunk.
func (a *assembly) move(local, direction byte) *assembly {
	return a.get(local).number(chunkBytes).op(direction).set(local)
}

// again goes on with the loop while more than a chunk is left.
func (a *assembly) again() *assembly {
	return a.get(size).number(chunkBytes).op(opI32GtU, opBrIf, 0)
}
