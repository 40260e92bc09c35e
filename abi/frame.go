package abi

import "encoding/binary"

// HeaderBytes is the size of a frame's header.
const HeaderBytes = 96

// DescriptorBytes is the size of a column's descriptor.
const DescriptorBytes = 32

// HasValidity is the flag of a descriptor: the column has a validity bitmap.
const HasValidity = 1

// Places of the fields of a header, in bytes from the start of the frame.
const (
	AtRows    = 4
	AtGroups  = 8
	AtOp      = 48
	AtDone    = 52
	AtOutUsed = 56
)

// Sizes of what frames of tm_process and tm_pair have beside columns.
const (
	BlockBytes     = 48 // the block that the header's Block names
	FiringBytes    = 64
	PairBytes      = 16
	PaneOpBytes    = 64 // an operation of tm_trigger
	ContentOpBytes = 16 // an operation of tm_aggregate_apply
	EntryBytes     = 16 // head of an entry of the answer
	WindowBytes    = 16 // body of an entry of tm_assign
)

// NoSlot is the slot of a firing whose function keeps no state of that sort.
const NoSlot = 0xFFFF_FFFF

// What an entry of an answer is, beside a row of output n, 0 or more.
const (
	KeyState    = 0x8000_0000
	WindowState = 0x8000_0001
)

// What an entry of the answer of tm_trigger is, beside KeyState; the body is 8 bytes.
const (
	Verdict               = 0 // bit 0 fire, bit 1 purge
	SetEventTimer         = 1
	SetProcessingTimer    = 2
	DeleteEventTimer      = 3
	DeleteProcessingTimer = 4
)

// Ending is the flag of an operation of tm_trigger: time goes to its end.
const Ending = 1

// Header is the host's part of a frame's header; all offsets are in bytes from the
// start of the frame.
type Header struct {
	Size     uint32
	Rows     uint32
	Groups   uint32
	Cols     uint32
	NumCols  uint32
	Group    uint32
	Acc      uint32
	From     uint32
	OutCols  uint32
	NumOuts  uint32
	Out      uint32
	OutBytes uint32
	Block    uint32
}

// Put writes the header to the start of frame, with the guest's fields as they are
// before a call.
func (h *Header) Put(frame []byte) {
	b := frame[:HeaderBytes]
	for i, v := range [HeaderBytes / 4]uint32{
		h.Size, h.Rows, h.Groups, h.Cols, h.NumCols, h.Group, h.Acc, h.From,
		h.OutCols, h.NumOuts, h.Out, h.OutBytes, NoOp, 0, 0, h.Block,
	} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
}

// Block is the block of a frame of tm_process or tm_pair. Items are its firings or pairs;
// only firings have states.
type Block struct {
	Items               uint32
	Keys, NumKeys       uint32
	Windows, NumWindows uint32
	Results             uint32 // of tm_aggregate_apply: rows of the output columns
	Lists               [2]List
}

// List is the records of a frame, of one list or side.
type List struct{ Rows, Cols, NumCols uint32 }

// Put writes the block to the start of b.
func (p *Block) Put(b []byte) {
	b = b[:BlockBytes]
	l := &p.Lists
	for i, v := range [BlockBytes / 4]uint32{
		p.Items, p.Keys, p.NumKeys, p.Windows, p.NumWindows, p.Results,
		l[0].Rows, l[0].Cols, l[0].NumCols, l[1].Rows, l[1].Cols, l[1].NumCols,
	} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
}

// What an operation of tm_aggregate_apply does.
const (
	ApplyRecord = 0 // folds record Arg into the accumulator
	ApplyResult = 1 // writes row Arg of the output columns
	ApplyReset  = 2 // makes the accumulator a fresh one
	ApplyMerge  = 3 // folds accumulator Arg into it
)

// ContentOp is an operation in a frame of tm_aggregate_apply.
type ContentOp struct{ What, Acc, Arg uint32 }

// Put writes the operation to the start of b.
func (o *ContentOp) Put(b []byte) {
	b = b[:ContentOpBytes]
	for i, v := range [ContentOpBytes / 4]uint32{o.What, o.Acc, o.Arg, 0} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
}

// PairRow is a pair in a frame: a row of either side, and the time of what comes of it.
type PairRow struct {
	Left, Right uint32
	Time        int64
}

// Put writes the pair to the start of b.
func (p *PairRow) Put(b []byte) {
	b = b[:PairBytes]
	binary.LittleEndian.PutUint32(b, p.Left)
	binary.LittleEndian.PutUint32(b[4:], p.Right)
	binary.LittleEndian.PutUint64(b[8:], uint64(p.Time))
}

// Firing is a firing in a frame. From and To are its records in either list.
type Firing struct {
	Start, End, Watermark, Now int64
	Key, Window                uint32 // slots of its states, or NoSlot
	Revision                   uint32
	From, To                   [2]uint32
}

// Put writes the firing to the start of b.
func (f *Firing) Put(b []byte) {
	b = b[:FiringBytes]
	for i, v := range [4]int64{f.Start, f.End, f.Watermark, f.Now} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
	for i, v := range [8]uint32{f.Key, f.Window, f.Revision, 0, f.From[0], f.To[0], f.From[1], f.To[1]} {
		binary.LittleEndian.PutUint32(b[32+4*i:], v)
	}
}

// PaneOp is an operation of tm_trigger in a frame: What 0 is an element, 1 a timer of event
// time, 2 one of processing time, 3 a merge, 4 a clear.
type PaneOp struct {
	Start, End, Watermark, Now int64
	Time                       int64 // of the record or the timer
	What                       uint32
	Slot                       uint32 // of the pane's state
	Row                        uint32 // element: of the list
	From                       uint32 // merge: slot of the state that is taken over
	Flags                      uint32
}

// Put writes the operation to the start of b.
func (p *PaneOp) Put(b []byte) {
	b = b[:PaneOpBytes]
	for i, v := range [5]int64{p.Start, p.End, p.Watermark, p.Now, p.Time} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
	for i, v := range [6]uint32{p.What, p.Slot, p.Row, p.From, p.Flags, 0} {
		binary.LittleEndian.PutUint32(b[40+4*i:], v)
	}
}

// Descriptor describes a column of a frame.
type Descriptor struct {
	Kind      Kind
	Flags     uint32
	Validity  uint32
	Data      uint32
	Blob      uint32
	BlobBytes uint32
}

// Put writes the descriptor to the start of b.
func (d *Descriptor) Put(b []byte) {
	b = b[:DescriptorBytes]
	for i, v := range [DescriptorBytes / 4]uint32{uint32(d.Kind), d.Flags, d.Validity, d.Data, d.Blob, d.BlobBytes} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
}

// Align rounds n up to a multiple of 8.
func Align(n int) int { return (n + 7) &^ 7 }

// ValidityBytes returns the size of a validity bitmap for n rows.
func ValidityBytes(n int) int { return (n + 63) / 64 * 8 }
