package meter

import (
	"fmt"

	"tidemark/internal/fault"
)

// cursor goes through a part of a file. Its error is sticky: whoever reads may look at
// it later, and reads zeros until then.
type cursor struct {
	file  []byte // up to where the cursor may go
	at    int    // in the file
	start int    // of the instruction that is being read, for errors; 0: there is none
	err   error
}

// part returns a cursor over the next n bytes, which c passes by.
func (c *cursor) part(n uint32) cursor {
	if uint64(n) > uint64(len(c.file)-c.at) {
		c.fail("%d bytes are announced, %d are left", n, len(c.file)-c.at)
		return cursor{err: c.err}
	}
	p := cursor{file: c.file[:c.at+int(n)], at: c.at}
	c.at += int(n)
	return p
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		at := c.at
		if c.start > 0 {
			at = c.start
		}
		c.err = fault.Userf("byte %d: %w", at, fmt.Errorf(format, args...))
	}
}

// left reports whether there is more to read.
func (c *cursor) left() bool { return c.err == nil && c.at < len(c.file) }

// done fails unless everything was read.
func (c *cursor) done() error {
	if c.left() {
		c.fail("%d bytes follow the last entry", len(c.file)-c.at)
	}
	return c.err
}

func (c *cursor) byte() byte {
	if !c.left() {
		c.fail("ends too early")
		return 0
	}
	c.at++
	return c.file[c.at-1]
}

func (c *cursor) skip(n int) {
	if n > len(c.file)-c.at {
		c.fail("ends too early")
		return
	}
	c.at += n
}

// u32 reads an unsigned LEB128 number.
func (c *cursor) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := c.byte()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	c.fail("a number does not fit into 32 bits")
	return 0
}

// constant passes the operand of a const instruction by; its value is the compiler's to
// judge.
func (c *cursor) constant(op byte) {
	switch op {
	case opI32Const:
		c.number(5)
	case opI64Const:
		c.number(10)
	case opF32Const:
		c.skip(4)
	case opF64Const:
		c.skip(8)
	}
}

// number passes a LEB128 number of at most most bytes by.
func (c *cursor) number(most int) {
	for range most {
		if c.byte() < 0x80 {
			return
		}
	}
	c.fail("a number is longer than %d bytes", most)
}

func (c *cursor) name() string {
	n := c.u32()
	p := c.part(n)
	return string(p.file[min(p.at, len(p.file)):])
}

// count reads how many entries follow, each of at least one byte.
func (c *cursor) count() int {
	n := c.u32()
	if c.err == nil && uint64(n) > uint64(len(c.file)-c.at) {
		c.fail("%d entries in %d bytes", n, len(c.file)-c.at)
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// peek returns the next byte and stays; 0 at the end.
func (c *cursor) peek() byte {
	if !c.left() {
		return 0
	}
	return c.file[c.at]
}

func (c *cursor) valType() {
	if t := c.peek(); t != typeFuncRef && t != typeExternRef && (t < typeV128 || typeI32 < t) {
		c.fail("type 0x%02x is not known", t)
		return
	}
	c.at++
}

// exists refuses an index beyond the module's own things, where ours are.
func (c *cursor) exists(what string, i uint32, n int) bool {
	if c.err == nil && int64(i) >= int64(n) {
		c.fail("%s %d, and there are %d", what, i, n)
	}
	return c.err == nil
}
