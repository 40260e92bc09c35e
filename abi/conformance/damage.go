package conformance

import (
	"encoding/binary"
	"fmt"

	"tidemark/abi"
	"tidemark/abi/guest"
)

// damage makes a frame that was written one that cannot be read.
type damage struct {
	name string
	to   func(arena []byte, f *frame)
}

// Fields of a header that damages change, in bytes from its start (SPEC section 3).
const (
	atSize     = 0
	atCols     = 12
	atNumCols  = 16
	atGroup    = 20
	atAcc      = 24
	atFrom     = 28
	atOutCols  = 32
	atNumOuts  = 36
	atOut      = 40
	atOutBytes = 44
	atBlock    = 60
)

// damages are the frames of a call for which SPEC section 5 asks for BAD_FRAME.
func damages(c *call, s *shape) []damage {
	var out []damage
	set := func(name string, at int, v func(arena []byte, f *frame, was uint32) uint32) {
		out = append(out, damage{name, func(arena []byte, f *frame) {
			was := binary.LittleEndian.Uint32(arena[at:])
			binary.LittleEndian.PutUint32(arena[at:], v(arena, f, was))
		}})
	}
	to := func(v uint32) func([]byte, *frame, uint32) uint32 {
		return func([]byte, *frame, uint32) uint32 { return v }
	}
	beyond := func(_ []byte, f *frame, _ uint32) uint32 { return f.header.Size + 8 }
	more := func(_ []byte, _ *frame, was uint32) uint32 { return was + 1 }
	set("a size below that of the header", atSize, to(abi.HeaderBytes-8))
	set("a size beyond the arena", atSize, func(arena []byte, _ *frame, _ uint32) uint32 { return uint32(len(arena)) + 8 })
	set("an output area beyond the frame", atOut, beyond)
	set("an output area that ends beyond the frame", atOutBytes, more)
	if c.inputs != nil {
		set("one column too many", atNumCols, more)
		if len(c.inputs.cols) > 0 {
			set("columns beyond the frame", atCols, beyond)
			set("no columns", atNumCols, to(0))
			out = append(out, columnDamages("column 0", func(arena []byte, f *frame) int { return int(f.header.Cols) })...)
		}
	}
	if c.fn == guest.Add {
		set("groups of records beyond the frame", atGroup, beyond)
		set("more records than the frame holds", abi.AtRows, to(1<<30))
		out = append(out, damage{"a record of a group that there is not", func(arena []byte, f *frame) {
			binary.LittleEndian.PutUint32(arena[f.header.Group:], f.header.Groups)
		}})
	}
	if c.fn == guest.Configure {
		set("two rows of arguments", abi.AtRows, to(2))
	}
	if c.inPlace(s) || c.fn == guest.Merge || c.fn == guest.Result {
		set("accumulators beyond the frame", atAcc, beyond)
		set("more accumulators than the frame holds", abi.AtGroups, to(1<<30))
	}
	if c.fn == guest.Merge {
		set("accumulators to merge beyond the frame", atFrom, beyond)
	}
	if c.fn == guest.Upgrade {
		set("states beyond the frame", atAcc, beyond)
		set("more states than the frame holds", abi.AtGroups, to(1<<30))
		set("a block beyond the frame", atBlock, beyond)
		return out
	}
	if c.fn == guest.Result || c.fn == guest.Apply {
		set("output columns beyond the frame", atOutCols, beyond)
		set("no output columns", atNumOuts, to(0))
		out = append(out, columnDamages("output column 0", func(arena []byte, f *frame) int { return int(f.header.OutCols) })...)
	}
	if len(c.lists) > 0 || c.fn == guest.Process {
		set("a block beyond the frame", atBlock, beyond)
		set("more items than the frame holds", abi.AtRows, to(1<<30))
	}
	for i := range c.lists {
		block := func(field int) func(arena []byte, f *frame) int {
			return func(_ []byte, f *frame) int { return int(f.header.Block) + 24 + 12*i + 4*field }
		}
		name := fmt.Sprintf("list %d", i)
		out = append(out,
			damage{name + ": more rows than the frame holds", func(arena []byte, f *frame) {
				binary.LittleEndian.PutUint32(arena[block(0)(arena, f):], 1<<30)
			}},
			damage{name + ": columns beyond the frame", func(arena []byte, f *frame) {
				binary.LittleEndian.PutUint32(arena[block(1)(arena, f):], f.header.Size+8)
			}},
			damage{name + ": no columns", func(arena []byte, f *frame) {
				binary.LittleEndian.PutUint32(arena[block(2)(arena, f):], 0)
			}})
		first := name + ", times"
		if c.fn == guest.Apply {
			first = name + ", column 0"
		}
		out = append(out, columnDamages(first, func(arena []byte, f *frame) int {
			return int(binary.LittleEndian.Uint32(arena[block(1)(arena, f):]))
		})...)
	}
	block := func(name string, at int, v func(f *frame) uint32) {
		out = append(out, damage{name, func(arena []byte, f *frame) {
			binary.LittleEndian.PutUint32(arena[int(f.header.Block)+at:], v(f))
		}})
	}
	outside := func(f *frame) uint32 { return f.header.Size + 8 }
	many := func(*frame) uint32 { return 1 << 30 }
	if c.fn == guest.Process || c.fn == guest.Pair || c.fn == guest.Trigger || c.fn == guest.Apply {
		block("items beyond the frame", 0, outside)
	}
	if c.fn == guest.Apply {
		block("more result rows than the frame holds", 20, many)
		out = append(out, agendaDamages(c)...)
	}
	if s.keys {
		block("states beyond the frame", 4, outside)
		block("more states than the frame holds", 8, many)
	}
	if s.windows {
		block("states of windows beyond the frame", 12, outside)
		block("more states of windows than the frame holds", 16, many)
	}
	return out
}

// columnDamages are those of the first of the descriptors at a place.
func columnDamages(name string, at func(arena []byte, f *frame) int) []damage {
	field := func(what string, off int, v func(f *frame, was uint32) uint32) damage {
		return damage{name + " " + what, func(arena []byte, f *frame) {
			b := arena[at(arena, f)+off:]
			binary.LittleEndian.PutUint32(b, v(f, binary.LittleEndian.Uint32(b)))
		}}
	}
	return []damage{
		field("of another kind", 0, func(_ *frame, was uint32) uint32 { return was%5 + 1 }),
		field("with data beyond the frame", 12, func(f *frame, _ uint32) uint32 { return f.header.Size + 8 }),
		field("with data that end beyond the frame", 12, func(f *frame, _ uint32) uint32 { return f.header.Size }),
	}
}
