package join

import (
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// Bytes of what is kept beside the records, with the share of the maps that lead to it.
const (
	keyBytes   = 350 // a key with the buffers of both sides
	entryBytes = 24  // a record in a buffer
)

// Bytes is about what the state takes of memory; Spilled says what is on disk. It is asked for
// after each batch.
func (j *Interval) Bytes() int64 {
	n := keyBytes * int64(len(j.keys))
	for _, s := range j.stores {
		n += s.bytes() + entryBytes*int64(s.N-s.dead)
	}
	return n
}

// Weigh calls f for every key, in no order, with about what its records take, in memory or on
// disk; key is borrowed. All records of a side count alike.
func (j *Interval) Weigh(f func(key []byte, w stream.Window, bytes int64)) {
	var each [2]int64
	for side, s := range j.stores {
		if s.N > 0 {
			each[side] = entryBytes + s.bytes()/int64(s.N)
		}
	}
	for _, k := range j.keys {
		n := int64(keyBytes)
		for side := range k.sides {
			n += each[side] * int64(len(k.sides[side].list()))
		}
		f(k.key, stream.Global, n)
	}
	j.cold.each(func(body []byte, size int64) { f(state.NewReader(body).Lent(), stream.Global, size) })
}

// bytes is what a store takes, those of its records included that are in no buffer any more.
func (s *store) bytes() int64 {
	return s.Columns.Bytes() + int64(8*cap(s.time)+4*cap(s.split)+8*cap(s.pos)+4*cap(s.text))
}
