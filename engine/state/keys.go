package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// KeySpan is where something lies in a Writer that begins with a key.
type KeySpan struct {
	prefix   uint64 // the beginning of the key: of most pairs it decides
	From, To int
}

// BeginKey is the span of what is written next, which begins with a key (Bytes). Whoever
// needs To sets it.
func (w *Writer) BeginKey(key []byte) KeySpan {
	var p [8]byte
	copy(p[:], key)
	return KeySpan{prefix: binary.BigEndian.Uint64(p[:]), From: len(w.Buf)}
}

// KeyIn is the key that a span begins with.
func (w *Writer) KeyIn(s KeySpan) []byte {
	return w.Buf[s.From+4:][:binary.LittleEndian.Uint32(w.Buf[s.From:])]
}

// CompareKeys is the order of the keys of two spans.
func (w *Writer) CompareKeys(a, b KeySpan) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return bytes.Compare(w.KeyIn(a), w.KeyIn(b))
}
