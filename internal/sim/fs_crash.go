package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is what a disk writes as a whole, in bytes.
const sector = 512

// Kill ends the process and returns the file system as the next one finds it: all that
// was written is there, synced or not, and the same may still be lost by a Crash. Locks are
// given back.
func (f *FS) Kill() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = true
	next := f.successor()
	known := map[*node]*node{}
	next.root = next.copied(f.root, known)
	for _, c := range f.journal {
		d := &change{}
		for _, s := range c.sets {
			d.sets = append(d.sets, entry{next.copied(s.dir, known), s.name, next.copied(s.to, known)})
		}
		for _, dir := range c.waits {
			d.waits = append(d.waits, next.copied(dir, known))
		}
		next.journal = append(next.journal, d)
	}
	next.recount()
	return next
}

// Crash ends the process with a loss of power and returns the file system as it is found
// after that. What was not durable is lost, kept or, of a write, torn, by the seed; with
// seed 0 all of it is lost. Each write is on its own, so that a later one may be there
// without an earlier one, with zeros in its place. A change of names is there or not,
// whole, and of two changes of the same name the later one only with the earlier one.
//
// f stays as it was but for having ended: another Crash of it is another way in which the
// same moment may end.
func (f *FS) Crash(seed uint64) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = true
	loss := newLoss(seed)
	next := f.successor()

	// The names first, on copies of the directories' durable ones.
	names := map[*node]map[string]*node{}
	of := func(dir *node) map[string]*node {
		if names[dir] == nil {
			names[dir] = maps.Clone(dir.kept)
		}
		return names[dir]
	}
	var lost []*change
	for _, c := range f.journal {
		if loss.keeps() && !slices.ContainsFunc(lost, c.touches) {
			c.apply(of)
		} else {
			lost = append(lost, c)
		}
	}

	known := map[*node]*node{}
	var found func(n *node) *node
	found = func(n *node) *node {
		if known[n] == nil {
			m := &node{id: n.id, mode: n.mode, changed: n.changed}
			known[n] = m
			if n.isDir() {
				m.names = map[string]*node{}
				for _, name := range slices.Sorted(maps.Keys(of(n))) { // in order, for the seed
					m.names[name] = found(of(n)[name])
				}
				m.kept = maps.Clone(m.names)
			} else {
				m.data = loss.content(n)
				m.base = slices.Clone(m.data)
			}
		}
		return known[n]
	}
	next.root = found(f.root)
	next.recount()
	return next
}

// successor is an empty file system with the clock and identities of f.
func (f *FS) successor() *FS {
	return &FS{clock: f.clock, ids: f.ids, limit: f.limit, counts: map[Op]int{}, nth: map[target]int{}, yield: f.yield}
}

// copied copies what is below a node, once for each in known.
func (f *FS) copied(n *node, known map[*node]*node) *node {
	if n == nil || known[n] != nil {
		return known[n]
	}
	m := &node{id: n.id, mode: n.mode, changed: n.changed, data: slices.Clone(n.data), base: slices.Clone(n.base), edits: slices.Clone(n.edits)}
	known[n] = m
	if n.isDir() {
		m.names, m.kept = map[string]*node{}, map[string]*node{}
		for name, below := range n.names {
			m.names[name] = f.copied(below, known)
		}
		for name, below := range n.kept {
			m.kept[name] = f.copied(below, known)
		}
	}
	return m
}

// recount counts names and space anew.
func (f *FS) recount() {
	f.used = 0
	seen := map[*node]bool{}
	var walk func(dir *node)
	walk = func(dir *node) {
		for _, n := range dir.names {
			n.links++
			switch {
			case n.isDir():
				walk(n)
			case !seen[n]:
				seen[n] = true
				f.used += int64(len(n.data))
			}
		}
	}
	walk(f.root)
}

// loss decides what of the changes that are not durable is left.
type loss struct {
	r    *rand.Rand
	odds float64 // of a change to be kept
}

func newLoss(seed uint64) *loss {
	l := &loss{r: rand.New(rand.NewPCG(seed, sector))}
	if seed != 0 {
		// Nearly all and nearly nothing are as likely as half: most faults show when one
		// change of many is missing, or is the only one.
		odds := []float64{0.1, 0.5, 0.9, 1}
		l.odds = odds[l.r.IntN(len(odds))]
	}
	return l
}

func (l *loss) keeps() bool { return l.r.Float64() < l.odds }

// content is what is left of a file.
func (l *loss) content(n *node) []byte {
	content := slices.Clone(n.base)
	for _, e := range n.edits {
		switch {
		case e.durable || l.keeps():
		case e.data != nil && l.odds > 0 && l.r.IntN(2) == 0:
			e.data = e.data[:l.tear(e.off, len(e.data))]
			if len(e.data) == 0 {
				continue
			}
		default:
			continue
		}
		content = e.apply(content)
	}
	return content
}

// tear is how many bytes of a write at off are left: up to the end of a sector, or any.
func (l *loss) tear(off int64, size int) int {
	cut := l.r.IntN(size)
	if l.r.IntN(2) == 0 {
		cut = max(0, cut-int((off+int64(cut))%sector))
	}
	return cut
}
