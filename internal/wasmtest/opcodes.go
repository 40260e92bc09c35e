package wasmtest

// opcode is an instruction: its bytes, and the operands that stand behind it in the
// text, a letter each (f function, g global, u and i numbers, d float64).
type opcode struct {
	code     []byte
	operands string
}

// opcodes lists the instructions that the guests of tests need. Blocks have no
// result, and memory instructions assume no alignment.
func opcodes() map[string]opcode {
	m := map[string]opcode{
		"unreachable": {[]byte{0x00}, ""},
		"block":       {[]byte{0x02, 0x40}, ""},
		"loop":        {[]byte{0x03, 0x40}, ""},
		"if":          {[]byte{0x04, 0x40}, ""},
		"else":        {[]byte{0x05}, ""},
		"end":         {[]byte{0x0b}, ""},
		"br":          {[]byte{0x0c}, "u"},
		"br_if":       {[]byte{0x0d}, "u"},
		"return":      {[]byte{0x0f}, ""},
		"call":        {[]byte{0x10}, "f"},
		"drop":        {[]byte{0x1a}, ""},
		"select":      {[]byte{0x1b}, ""},
		"global.get":  {[]byte{0x23}, "g"},
		"global.set":  {[]byte{0x24}, "g"},
		"i32.const":   {[]byte{0x41}, "i"},
		"i64.const":   {[]byte{0x42}, "i"},
		"f64.const":   {[]byte{0x44}, "d"},
		"memory.size": {[]byte{0x3f, 0}, ""},
		"memory.grow": {[]byte{0x40, 0}, ""},
		"memory.copy": {[]byte{0xfc, 10, 0, 0}, ""},
		"memory.fill": {[]byte{0xfc, 11, 0}, ""},
		"ref.null":    {[]byte{0xd0, 0x70}, ""}, // of a function
		"table.grow":  {[]byte{0xfc, 15, 0}, ""},
	}
	for name, b := range map[string]byte{
		"i32.load": 0x28, "i64.load": 0x29, "f64.load": 0x2b, "i32.load8_u": 0x2d,
		"i32.store": 0x36, "i64.store": 0x37, "f64.store": 0x39, "i32.store8": 0x3a,
	} {
		m[name] = opcode{[]byte{b, 0}, "u"}
	}
	for name, b := range map[string]byte{
		"i32.eqz": 0x45, "i32.eq": 0x46, "i32.ne": 0x47, "i32.lt_s": 0x48, "i32.lt_u": 0x49, "i32.gt_u": 0x4b, "i32.le_u": 0x4d, "i32.ge_u": 0x4f,
		"i64.eqz": 0x50, "i64.eq": 0x51, "i64.ne": 0x52, "i64.lt_s": 0x53, "i64.gt_s": 0x55, "f64.ne": 0x62, "f64.lt": 0x63, "f64.gt": 0x64, "f64.le": 0x65,
		"i32.add": 0x6a, "i32.sub": 0x6b, "i32.mul": 0x6c, "i32.div_u": 0x6e, "i32.and": 0x71, "i32.or": 0x72, "i32.shl": 0x74, "i32.shr_u": 0x76,
		"i64.add": 0x7c, "i64.sub": 0x7d, "i64.mul": 0x7e, "i64.or": 0x84,
		"f64.abs": 0x99, "f64.add": 0xa0, "f64.sub": 0xa1, "f64.div": 0xa3, "f64.min": 0xa4, "f64.max": 0xa5,
		"i32.wrap_i64": 0xa7, "i64.extend_i32_u": 0xad, "f64.convert_i64_s": 0xb9,
	} {
		m[name] = opcode{[]byte{b}, ""}
	}
	return m
}
