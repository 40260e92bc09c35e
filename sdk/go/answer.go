package tidemark

import (
	"encoding/binary"
	"unsafe"
)

// What an entry of the answer is, beside a row of an output.
const (
	keyState    = 0x8000_0000
	windowState = 0x8000_0001
)

// entryHead is the head of an entry as it lies in memory, at a multiple of 8.
type entryHead struct{ item, what, size, reserved uint32 }

const entryBytes = 16

// answer is what a function gives for one firing or pair of a frame: entries in the output
// area (abi/SPEC.md, section 3).
type answer struct {
	f    frame
	i    int  // the firing or pair
	row  *Out // the one that is open
	full bool // something did not fit: it is shown again, in a frame with more room
	long bool // a row's texts are longer than any frame can carry

	// To allocate costs as much as all else that is done for a row, so rows come from
	// blocks. Each row is its own, so that one that is complete can be told from the next.
	spare []Out
}

// rowsPerBlock rows are allocated at a time.
const rowsPerBlock = 64

// next is what the answer of item i of frame f begins as.
func (f *answer) next(of frame, i int) answer { return answer{f: of, i: i, spare: f.spare} }

// settle ends the answer of item i, which began where the output area was used up to
// start, and says how the call goes on: with the next item if the status is ok.
func (f *answer) settle(start uint32, err error) status {
	f.finish()
	switch {
	case err != nil:
		return f.f.refuse(err)
	case f.long:
		return f.f.refuse(errLongText)
	case f.full:
		f.f.outUsed = start
		return f.f.full(f.i)
	}
	return ok
}

// SideOutput is a further output: the job's sinks read it as STEP.NAME.
type SideOutput struct {
	name    string
	outputs []Output
	number  uint32
}

// Side declares a side output with its columns.
func Side(name string, outputs ...Output) *SideOutput {
	return &SideOutput{name: name, outputs: outputs}
}

// begin opens an entry for a row and points the columns at it.
func (f *answer) begin(output uint32, cols []Output) *Out {
	f.finish()
	if len(f.spare) == 0 {
		f.spare = make([]Out, rowsPerBlock)
	}
	w := &f.spare[0]
	f.spare = f.spare[1:]
	w.f = f.f
	f.row = w
	size := 8 + 8*len(cols)
	at, room := f.entry(output, size)
	w.start = f.f.outUsed
	if !room {
		for _, c := range cols {
			c.scrap()
		}
		return w
	}
	w.base = at
	clear(f.f.out[at:w.start])
	body := unsafe.Pointer(&f.f.out[at]) // entry has found room for all of it
	for i, c := range cols {
		c.place((*uint64)(body), unsafe.Add(body, 8+8*i), i)
	}
	return w
}

// entry opens an entry with a body of size bytes, and returns where that starts in the
// output area.
func (f *answer) entry(what uint32, size int) (at uint32, room bool) {
	used := int(f.f.outUsed)
	if f.full || entryBytes+(size+7)&^7 > len(f.f.out)-used {
		f.full = true
		return 0, false
	}
	*(*entryHead)(unsafe.Pointer(&f.f.out[used])) = entryHead{uint32(f.i), what, uint32(size), 0}
	f.f.outUsed = uint32(used + entryBytes + size)
	return uint32(used + entryBytes), true
}

// noRow is the number of a row that is complete: no column has it, so that setting one
// panics.
const noRow = 1 << 30

// finish closes the row that is open, whose texts made it longer.
func (f *answer) finish() {
	w := f.row
	if w == nil {
		return
	}
	f.row = nil
	w.i = noRow
	f.full, f.long = f.full || w.full, f.long || w.long
	if w.base > 0 {
		binary.LittleEndian.PutUint32(f.f.out[w.base-8:], f.f.outUsed-w.base)
		f.pad()
	}
}

// pad ends an entry at a multiple of 8.
func (f *answer) pad() {
	used := int(f.f.outUsed)
	to := (used + 7) &^ 7
	if to > len(f.f.out) {
		f.full = true
		return
	}
	clear(f.f.out[used:to])
	f.f.outUsed = uint32(to)
}
