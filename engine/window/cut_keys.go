package window

import (
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
	spans []state.KeySpan
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
		g.spans, g.Buf = make([]state.KeySpan, 0, k.keys), make([]byte, 0, k.keys*k.room)
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
	g.spans = append(g.spans, g.BeginKey(key))
	return &g.Writer
}

// reset drops all keys.
func (g *writtenKeys) reset() { g.spans, g.Buf = g.spans[:0], g.Buf[:0] }

// add adds keys that came to another one.
func (g *writtenKeys) add(other *writtenKeys) {
	for _, s := range other.spans {
		s.From += len(g.Buf)
		g.spans = append(g.spans, s)
	}
	g.Buf = append(g.Buf, other.Buf...)
}

// sort puts the keys in order, when all are there.
func (g *writtenKeys) sort() {
	for i := range g.spans {
		if g.spans[i].To = len(g.Buf); i+1 < len(g.spans) {
			g.spans[i].To = g.spans[i+1].From
		}
	}
	slices.SortFunc(g.spans, g.CompareKeys)
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
func (g *writtenKeys) of(i int) []byte { return g.Buf[g.spans[i].From:g.spans[i].To] }
