// Package meter rewrites modules so that they pay for what they do: the host gives a
// guest fuel, the guest's own code takes it, and calls the host when none is left.
//
// What is charged is said in abi/SPEC.md, section 8; it depends on the module and on
// what it is given alone, so that the same calls cost the same on every machine. The
// rewriter judges nothing else: it refuses what it cannot account for, and whether
// code is valid is the compiler's to say. It runs nothing and does no I/O. abi/guest
// has every module rewritten before it is compiled.
//
//	meter.go    what is added, and what things cost
//	sections.go the module: what has indices of functions in it
//	body.go     a function -> changes to it
//	emit.go     changes -> code
//	standin.go  functions that do what one instruction did, in pieces
//	opcode.go   instructions and their operands
//	cursor.go   numbers and bytes of a file
package meter

// What a rewritten module has besides its own things: an import, which it calls when
// fuel or room is below zero, and two globals of type i64, which the host sets before
// each call.
const (
	Module = "tidemark"      // of the import
	Yield  = "yield"         // its type is () -> ()
	Fuel   = "tidemark:fuel" // the export of what is left
	Room   = "tidemark:room" // the export of how many bytes are left for the stack

	// What an instance is, at rest, is its memory and the globals of its own that can be
	// changed. They are exported, as Global and a number from 0, so that the host can make
	// another instance that is the same. Complete is an export that says that this is all: it
	// is not there where code changes a table or drops a segment, or where a global is wider
	// than the host can read.
	Global   = "tidemark:global:"
	Complete = "tidemark:complete"
)

// Version counts the changes to what Rewrite and Shell make of a module. Machine code that
// is kept under the digest of the module as it came is of one version.
const Version = 1

// What things cost, in fuel: one for an instruction, of which a processor runs five to
// eight in a nanosecond. The numbers are the ABI's; see SPEC section 8.
const (
	growCall  = 100 // memory.grow, in addition: it leaves the guest as a call of the host does
	bulkCall  = 10  // an instruction on a piece of memory or of a table, in addition
	bulkShift = 3   // and one for each 8 bytes, or 8 elements, of it
	BulkBytes = 1 << bulkShift

	// PageFuel is what memory.grow costs for each page.
	PageFuel = 1 << (pageShift - bulkShift)

	// HostCall is what the host charges for each of its functions, but for Yield.
	HostCall = 100

	// minBranch is the least that code behind a condition is charged for on its own;
	// less is charged whether it runs or not.
	minBranch = 16
)

const (
	// maxRun bounds what a path may cost on which nothing looks whether fuel is left.
	// The largest function of real guests has a third of it.
	maxRun = 50_000
	// chunkBytes is how much memory is filled or copied at once; it costs more than
	// twice as much as maxRun.
	chunkBytes = 1 << 20
	// What a function may have at most: about four times what the largest of real
	// modules has that are not too large for a plug-in (docs/limits.md, where it also
	// stands what each costs).
	maxCode    = 1 << 20   // bytes of code; what the rewriter keeps at a time is some forty times as much
	maxLocals  = 4_000     // with parameters
	maxBlocks  = 20_000    // blocks, loops and ifs
	maxNesting = 2_200     // of them open at a time, with the function itself
	maxLabels  = 4_600     // of a br_table
	maxProduct = 8_000_000 // blocks x locals: the compiler looks at each local in each block

	// MaxAhead bounds how far fuel goes below zero before the host is called.
	MaxAhead = chunkBytes>>bulkShift + maxRun
)

// frameBytes is what a call of b takes of the stack. The frames of Go and C guests are
// between a third and all of it; the compiler's own bound stands behind it for code
// that is made to be worse.
func (b *body) frameBytes() int64 { return 64 + 8*int64(b.locals) + int64(b.size/2) }
