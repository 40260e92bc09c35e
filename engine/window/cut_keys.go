package window

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// keyWriter takes what keys have as they come, which is how it lies in memory, and gives it
// by key group, each in order of the keys: of a million keys that are looked up group by
// group nearly each is a wait for memory. A key begins with its bytes.
type keyWriter struct {
	groups []writtenKeys
	keys   int // of a group, about
	room   int // bytes of a key, about
}

// writtenKeys is the keys of a group, as they came.
type writtenKeys struct {
	state.Writer
	spans []span
}

// span is where a key lies in the bytes.
type span struct {
	prefix   uint64 // the beginning of the key: of most pairs it decides
	from, to int
}

func newKeyWriter(groups, keys, room int) *keyWriter {
	return &keyWriter{groups: make([]writtenKeys, groups), keys: perGroup(keys, groups), room: room}
}

// perGroup is about how many of some keys a group has.
func perGroup(keys, groups int) int { return keys/groups + keys/groups/16 + 1 }

// begin begins a key, which is written to what it returns.
func (k *keyWriter) begin(hash uint64, key []byte) *state.Writer {
	g := &k.groups[stream.KeyGroup(hash, len(k.groups))]
	if g.spans == nil {
		g.spans, g.Buf = make([]span, 0, k.keys), make([]byte, 0, k.keys*k.room)
	}
	return g.begin(key)
}

// write is a groupWriter; each group is written once.
func (k *keyWriter) write(group int, w *state.Writer) bool {
	g := &k.groups[group]
	g.sort()
	some := g.write(w)
	*g = writtenKeys{} // frees it
	return some
}

// begin begins a key, which is written to what it returns.
func (g *writtenKeys) begin(key []byte) *state.Writer {
	g.spans = append(g.spans, span{prefix: prefix(key), from: len(g.Buf)})
	return &g.Writer
}

// reset drops all keys.
func (g *writtenKeys) reset() { g.spans, g.Buf = g.spans[:0], g.Buf[:0] }

// add adds keys that came to another one.
func (g *writtenKeys) add(other *writtenKeys) {
	for _, s := range other.spans {
		g.spans = append(g.spans, span{prefix: s.prefix, from: len(g.Buf) + s.from})
	}
	g.Buf = append(g.Buf, other.Buf...)
}

// sort puts the keys in order, when all are there.
func (g *writtenKeys) sort() {
	for i := range g.spans {
		if g.spans[i].to = len(g.Buf); i+1 < len(g.spans) {
			g.spans[i].to = g.spans[i+1].from
		}
	}
	slices.SortFunc(g.spans, g.compare)
}

// write writes the keys, in order, and reports whether there are any.
func (g *writtenKeys) write(w *state.Writer) bool {
	w.Buf = slices.Grow(w.Buf, 4+len(g.Buf))
	w.Len(len(g.spans))
	for i := range g.spans {
		w.Buf = append(w.Buf, g.of(i)...)
	}
	return len(g.spans) > 0
}

// of is key i with what it has.
func (g *writtenKeys) of(i int) []byte { return g.Buf[g.spans[i].from:g.spans[i].to] }

func (g *writtenKeys) compare(a, b span) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return bytes.Compare(g.key(a), g.key(b))
}

func (g *writtenKeys) key(s span) []byte {
	return g.Buf[s.from+4:][:binary.LittleEndian.Uint32(g.Buf[s.from:])]
}

// prefix is the first bytes of a key as a number in the same order.
func prefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}
