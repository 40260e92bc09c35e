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
	AtOp      = 48
	AtDone    = 52
	AtOutUsed = 56
)

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
}

// Put writes the header to the start of frame, with the guest's fields as they are
// before a call.
func (h *Header) Put(frame []byte) {
	b := frame[:HeaderBytes]
	for i, v := range [HeaderBytes / 4]uint32{
		h.Size, h.Rows, h.Groups, h.Cols, h.NumCols, h.Group, h.Acc, h.From,
		h.OutCols, h.NumOuts, h.Out, h.OutBytes, NoOp,
	} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
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
