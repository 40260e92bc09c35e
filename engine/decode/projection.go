package decode

import (
	"tidemark/engine/job"
	"tidemark/internal/fault"
)

// node is one level of the projection: the names that matter inside an object. A
// nil node is an object that is only checked.
type node struct {
	entries []entry
	// lengths has bit n set if a name of n bytes is there (bit 63: 63 and longer):
	// most names of a record are passed by on their length alone.
	lengths uint64
	// heads is how the last objects of this kind began their members, by number:
	// `"name":`. Records of one stream mostly name the same things in the same order,
	// and bytes that have been checked need no second check.
	heads []head
}

// head is the beginning of a member.
type head struct {
	text  []byte
	entry *entry
}

// maxHeads and maxHead bound what a node remembers: streams whose records do not
// repeat would only pay for it.
const (
	maxHeads = 64
	maxHead  = 64
)

// entry is a name that matters.
type entry struct {
	name   string
	fields []int // columns that take the value itself
	inner  *node // names inside the value; nil if none matters
	below  []int // all columns of inner
}

// newProjection builds the tree of names that the fields' paths span.
func newProjection(fields []job.Field) (*node, error) {
	root := &node{}
	for i, f := range fields {
		n := root
		for depth, name := range f.Path {
			if name == "" {
				return nil, fault.Userf("field %s has an empty name in its path", f.Name)
			}
			e := n.add(name)
			if depth == len(f.Path)-1 {
				e.fields = append(e.fields, i)
				break
			}
			if e.inner == nil {
				e.inner = &node{}
			}
			e.below = append(e.below, i)
			n = e.inner
		}
	}
	return root, nil
}

func (n *node) add(name string) *entry {
	for i := range n.entries {
		if n.entries[i].name == name {
			return &n.entries[i]
		}
	}
	n.lengths |= 1 << min(len(name), 63)
	n.entries = append(n.entries, entry{name: name})
	return &n.entries[len(n.entries)-1]
}

// expected returns the place behind the head of member k at d[i], if it is the one
// that was there before, and its entry; else -1.
func (n *node) expected(d []byte, i, k int) (*entry, int) {
	if n == nil || k >= len(n.heads) {
		return nil, -1
	}
	h := &n.heads[k]
	if past := i + len(h.text); past <= len(d) && string(d[i:past]) == string(h.text) {
		return h.entry, past
	}
	return nil, -1
}

// expect remembers the head of member k.
func (n *node) expect(text []byte, k int, e *entry) {
	switch {
	case n == nil || len(text) > maxHead || k >= maxHeads:
	case k < len(n.heads):
		h := &n.heads[k]
		h.text, h.entry = append(h.text[:0], text...), e
	case k == len(n.heads):
		n.heads = append(n.heads, head{append(make([]byte, 0, maxHead), text...), e})
	}
}

// find returns the entry for a name, or nil. Called for each name of each record.
func (n *node) find(name []byte) *entry {
	if n == nil || n.lengths>>min(len(name), 63)&1 == 0 {
		return nil
	}
	for i := range n.entries {
		e := &n.entries[i]
		if len(e.name) == len(name) && e.name[0] == name[0] && e.name == string(name) {
			return e
		}
	}
	return nil
}
