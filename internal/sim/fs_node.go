package sim

import (
	"io/fs"
	"slices"
	"time"
)

// node is a file or a directory, whatever names it has.
type node struct {
	id      uint64
	mode    fs.FileMode
	changed time.Time
	links   int // names
	opens   int // descriptors
	locked  bool

	// Of a file.
	data  []byte // what was written
	base  []byte // what is durable, without edits
	edits []edit // in order; base and all of them are data

	// Of a directory.
	names map[string]*node
	kept  map[string]*node // what is durable
}

// edit is a write of data at off, or, if data is nil, the cutting to size.
type edit struct {
	off     int64
	data    []byte
	size    int64
	durable bool
	doubt   bool // a Sync has failed: no later one saves it
}

func (n *node) isDir() bool { return n.mode.IsDir() }

// write puts p at off; a gap before it becomes zeros. p is copied.
func (n *node) write(off int64, p []byte) {
	if len(p) == 0 {
		return
	}
	e := edit{off: off, data: slices.Clone(p)}
	n.data = e.apply(n.data)
	n.edits = append(n.edits, e)
}

func (n *node) truncate(size int64) {
	if size == int64(len(n.data)) {
		return
	}
	e := edit{size: size}
	n.data = e.apply(n.data)
	n.edits = append(n.edits, e)
}

// apply returns content after the edit, which may be in the same memory.
func (e *edit) apply(content []byte) []byte {
	if e.data == nil {
		return resize(content, e.size)
	}
	if end := e.off + int64(len(e.data)); end > int64(len(content)) {
		content = resize(content, end)
	}
	copy(content[e.off:], e.data)
	return content
}

// resize cuts content, or lengthens it with zeros.
func resize(content []byte, size int64) []byte {
	if size <= int64(len(content)) {
		return content[:size]
	}
	had := len(content)
	content = slices.Grow(content, int(size)-had)[:size]
	clear(content[had:])
	return content
}

// sync makes the content durable, but for what an earlier Sync has failed to save.
func (n *node) sync() {
	for i := range n.edits {
		n.edits[i].durable = !n.edits[i].doubt
	}
	for len(n.edits) > 0 && n.edits[0].durable {
		n.base = n.edits[0].apply(n.base)
		n.edits = n.edits[1:]
	}
}

// syncFailed leaves what was not durable in doubt for ever: systems drop what they could
// not write, and the next Sync finds nothing left to do.
func (n *node) syncFailed() {
	for i := range n.edits {
		n.edits[i].doubt = !n.edits[i].durable
	}
}

// entry gives a name in a directory to a file, or, with nil, takes it away.
type entry struct {
	dir  *node
	name string
	to   *node
}

// change is what one call does to names; it survives as a whole or not at all.
type change struct {
	sets  []entry
	waits []*node // the directories that were not synced since
}

// apply makes the change in the names of directories.
func (c *change) apply(names func(dir *node) map[string]*node) {
	for _, s := range c.sets {
		if s.to == nil {
			delete(names(s.dir), s.name)
		} else {
			names(s.dir)[s.name] = s.to
		}
	}
}

// touches reports whether both are about one name in one directory.
func (c *change) touches(o *change) bool {
	for _, s := range c.sets {
		for _, t := range o.sets {
			if s.dir == t.dir && s.name == t.name {
				return true
			}
		}
	}
	return false
}

// syncDir makes the names in a directory durable and returns the changes that still are
// not. Changes of one name are durable in their order: with one, those before it.
func syncDir(journal []*change, dir *node) (left []*change) {
	durable := make([]bool, len(journal))
	for i, c := range slices.Backward(journal) {
		c.waits = slices.DeleteFunc(c.waits, func(d *node) bool { return d == dir })
		durable[i] = len(c.waits) == 0
		for j := i + 1; j < len(journal) && !durable[i]; j++ {
			durable[i] = durable[j] && journal[j].touches(c)
		}
	}
	for i, c := range journal {
		if durable[i] {
			c.apply(func(dir *node) map[string]*node { return dir.kept })
		} else {
			left = append(left, c)
		}
	}
	return left
}
