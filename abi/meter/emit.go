package meter

import "encoding/binary"

// emit appends the body's code with its changes, and its size in front.
func (m *module) emit(dst []byte, b *body) []byte {
	file := m.file
	code := m.emitLocals(m.code[:0], b)
	at := b.code
	for i := range b.edits {
		e := &b.edits[i]
		if m.free && e.what != doIndex {
			continue
		}
		code = append(code, file[at:e.at]...)
		at = e.at + e.drop
		switch e.what {
		case doEntry:
			code = m.emitEntry(code, b, e.n)
		case doEnter:
			if b.calls {
				code = m.emitEntry(code, b, 0)
			}
		case doCheck:
			code = m.emitCheck(m.emitCharge(code, e.n))
		case doCharge, doBranch:
			code = m.emitCharge(code, e.n)
		case doIndex:
			code = binary.AppendUvarint(code, e.n)
		case doCall:
			code = binary.AppendUvarint(append(code, opCall), e.n)
		case doRoom:
			code = appendIndex(code, opLocalGet, b.locals)
			code = appendIndex(code, opGlobalSet, m.room())
		}
	}
	code = append(code, file[at:b.end]...)
	m.code = code
	return append(binary.AppendUvarint(dst, uint64(len(code))), code...)
}

// emitLocals writes the list of locals. A function that calls has one more, behind its
// own: the room that is left below its frame.
func (m *module) emitLocals(code []byte, b *body) []byte {
	groups, more := b.groups, b.calls && !m.free
	if more {
		groups++
	}
	c := cursor{file: m.file[:b.code], at: b.first}
	c.u32() // the old count
	code = binary.AppendUvarint(code, uint64(groups))
	code = append(code, c.rest()...)
	if more {
		code = append(code, 1, typeI64)
	}
	return code
}

// emitEntry makes room for the frame of a function that calls, pays n, and calls the
// host if either has run out. A function that does not call needs no room of its own.
func (m *module) emitEntry(code []byte, b *body, n uint64) []byte {
	if !b.calls {
		return m.emitCheck(m.emitCharge(code, n))
	}
	code = appendIndex(code, opGlobalGet, m.room())
	code = appendConst(code, opI64Const, b.frameBytes())
	code = append(code, opI64Sub)
	code = appendIndex(code, opLocalTee, b.locals)
	if n > 0 {
		code = appendIndex(code, opGlobalGet, m.fuel())
		code = appendConst(code, opI64Const, int64(n))
		code = append(code, opI64Sub)
		code = appendIndex(code, opGlobalSet, m.fuel())
		code = appendIndex(code, opGlobalGet, m.fuel())
		code = append(code, opI64Or)
	}
	code = append(code, opI64Const, 0, opI64LtS, opIf, emptyBlock)
	code = appendIndex(code, opLocalGet, b.locals)
	code = appendIndex(code, opGlobalSet, m.room())
	code = appendIndex(code, opCall, m.yield())
	return append(code, opEnd)
}

func (m *module) emitCharge(code []byte, n uint64) []byte {
	if n == 0 {
		return code
	}
	code = appendIndex(code, opGlobalGet, m.fuel())
	code = appendConst(code, opI64Const, int64(n))
	code = append(code, opI64Sub)
	return appendIndex(code, opGlobalSet, m.fuel())
}

func (m *module) emitCheck(code []byte) []byte {
	code = appendIndex(code, opGlobalGet, m.fuel())
	code = append(code, opI64Const, 0, opI64LtS, opIf, emptyBlock)
	code = appendIndex(code, opCall, m.yield())
	return append(code, opEnd)
}

func appendIndex(code []byte, op byte, index uint32) []byte {
	return binary.AppendUvarint(append(code, op), uint64(index))
}

func appendConst(code []byte, op byte, v int64) []byte {
	code = append(code, op)
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(code, low)
		}
		code = append(code, low|0x80)
	}
}
