package meter

// Instructions that the rewriter looks at; the others it only passes by.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableGet     = 0x25
	opTableSet     = 0x26
	opLoads        = 0x28 // i32.load is the first
	opStores       = 0x3e // i64.store32 the last
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
	opRefFunc      = 0xd2
	opBulk         = 0xfc // a number of the instruction follows
	opVector       = 0xfd

	bulkMemoryInit = 8
	bulkDataDrop   = 9
	bulkMemoryCopy = 10
	bulkMemoryFill = 11
	bulkTableInit  = 12
	bulkElemDrop   = 13
	bulkTableCopy  = 14
	bulkTableGrow  = 15
	bulkTableSize  = 16
	bulkTableFill  = 17

	vectorConst   = 12
	vectorShuffle = 13

	emptyBlock = 0x40
)

// plain reports whether op is an instruction of one byte that only computes.
func plain(op byte) bool {
	switch {
	case op == opUnreachable, op == 0x01, op == opReturn, op == 0x1a, op == 0x1b: // nop, drop, select
		return true
	case 0x45 <= op && op <= 0xc4: // comparisons to sign extensions
		return true
	}
	return op == opRefIsNull
}

// vectorOperands passes by what stands behind the number of a vector instruction.
func (c *cursor) vectorOperands(n uint32) {
	memory := func() { c.u32(); c.u32() } // alignment, offset
	switch {
	case n <= 11, n == 92, n == 93: // loads, splats, stores, loads with zeros
		memory()
	case n == vectorConst, n == vectorShuffle:
		c.skip(16)
	case 21 <= n && n <= 34: // lanes
		c.skip(1)
	case 84 <= n && n <= 91: // a lane from memory and to it
		memory()
		c.skip(1)
	case n > 0xff:
		c.fail("vector instruction %d is not known", n)
	}
}

// Instructions and types of what is added.
const (
	opI32Ne      = 0x47
	opI32GtU     = 0x4b
	opI64LtS     = 0x53
	opI64GtU     = 0x56
	opI32Add     = 0x6a
	opI32Sub     = 0x6b
	opI32Or      = 0x72
	opI64Add     = 0x7c
	opI64Sub     = 0x7d
	opI64Or      = 0x84
	opI64Shl     = 0x86
	opI64ShrU    = 0x88
	opI64ExtendU = 0xad // i64.extend_i32_u

	typeI32       = 0x7f
	typeI64       = 0x7e
	typeV128      = 0x7b // the last of the numbers
	typeFuncRef   = 0x70
	typeExternRef = 0x6f
	pageShift     = 16
)
