package join

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// A cut is taken by freezing and copying on first touch. Freeze notes which keys there are,
// and the length of the tables, which are only appended to; a table that is compacted or
// cleared gets other arrays. Before the join changes anything of a key for the first time
// since, it writes the key down as it was (change); whoever reads the cut writes the others.

// cut is the keys of a join as they were at one moment.
type cut struct {
	epoch  uint32
	kinds  [2][]stream.Kind
	stores [2]*store
	onDisk state.Frozen // nil: nothing was

	mu   sync.Mutex  // of left; held by whoever writes keys that are left
	left []*keyState // that have not been looked at
	done atomic.Bool // none is left
	// written has a lock for each key group, so that the join, which writes a key, hardly ever
	// waits for the reader.
	written []writtenKeys
}

// writtenKeys is the keys of a group as they came.
type writtenKeys struct {
	mu           sync.Mutex
	closed       bool // nobody reads the cut any more
	state.Writer      // what the cut says of each: the key and its records
	rows         [2][]uint32
	spans        []span
}

// span is where a key lies in the bytes, and its records in the rows.
type span struct {
	state.KeySpan
	row, end [2]int
}

// chunk is how many keys are written before another Freeze or close, which are rare, may have
// the lock.
const chunk = 4096

// newCut freezes what there is of a join.
func (j *Interval) newCut() *cut {
	c := &cut{epoch: j.epoch, kinds: j.kinds, onDisk: j.cold.freeze(), left: make([]*keyState, 0, len(j.keys)), written: make([]writtenKeys, max(j.cfg.Groups, 1))}
	for _, k := range j.keys {
		c.left = append(c.left, k)
	}
	for s, st := range j.stores {
		c.stores[s] = st.frozen()
	}
	return c
}

// change must be called before anything of a key is changed: its records, whether they are
// paired, that it is there. Without a cut that is read it costs a comparison.
func (j *Interval) change(k *keyState) {
	if k.epoch.Load() != j.epoch {
		j.cut.write(k)
	}
}

// changeAll is change for all keys.
func (j *Interval) changeAll() {
	for _, k := range j.keys {
		j.change(k)
	}
}

// busy reports whether keys are yet to be written: one that goes is not used again.
func (c *cut) busy() bool { return c != nil && !c.done.Load() }

// write writes a key unless that has been done. The join and the reader call it.
func (c *cut) write(k *keyState) {
	if k.epoch.Load() == c.epoch {
		return
	}
	g := &c.written[stream.KeyGroup(stream.KeyHash(k.key), len(c.written))]
	g.mu.Lock()
	defer g.mu.Unlock()
	if k.epoch.Load() == c.epoch {
		return
	}
	if !g.closed {
		g.add(k, &c.stores)
	}
	k.epoch.Store(c.epoch)
}

// add writes a key.
func (g *writtenKeys) add(k *keyState, stores *[2]*store) {
	at := span{KeySpan: g.BeginKey(k.key)}
	k.write(&g.Writer, stores)
	at.To = len(g.Buf)
	for s := range k.sides {
		at.row[s] = len(g.rows[s])
		for _, e := range k.sides[s].list() {
			g.rows[s] = append(g.rows[s], e.row)
		}
		at.end[s] = len(g.rows[s])
	}
	g.spans = append(g.spans, at)
}

// some writes at most n of the keys that are left, and reports whether there are more.
func (c *cut) some(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; n > 0 && len(c.left) > 0; n-- {
		k := c.left[len(c.left)-1]
		c.left = c.left[:len(c.left)-1]
		c.write(k)
	}
	if len(c.left) > 0 {
		return true
	}
	c.done.Store(true)
	return false
}

// finish writes all keys that are left. Behind it nothing of the cut changes with the join.
func (c *cut) finish() {
	for c != nil && c.some(chunk) {
	}
}

// group writes the keys of a group, in order, and returns how many they are. Each group is
// written once.
func (c *cut) group(n int, w *state.Writer) int {
	g := &c.written[n]
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.SortFunc(g.spans, func(a, b span) int { return g.CompareKeys(a.KeySpan, b.KeySpan) })
	m := merged{cut: c, keys: g, w: w, head: len(w.Buf)}
	for side := range m.tables {
		m.tables[side].Reset(c.kinds[side])
	}
	w.Len(0)
	if c.onDisk != nil {
		first := groupName(nil, n)
		err := c.onDisk.Scan(first, state.Behind(first), func(name, value []byte) (bool, error) {
			key := name[len(first):]
			m.upTo(key)
			return true, m.cold(key, value)
		})
		if err != nil {
			w.Fail(err)
		}
	}
	m.upTo(nil)
	binary.LittleEndian.PutUint32(w.Buf[m.head:], uint32(m.n))
	for side := range m.tables {
		w.Columns(&m.tables[side])
	}
	g.free()
	return m.n
}

// merged is a group that is being written: keys from memory among those on disk.
type merged struct {
	*cut
	keys   *writtenKeys
	w      *state.Writer
	head   int // where their number stands
	n      int // how many are written
	hot    int // of those from memory
	tables [2]stream.Columns
}

// upTo writes the keys from memory that come before a key; nil: all that are left.
func (m *merged) upTo(key []byte) {
	g := m.keys
	for ; m.hot < len(g.spans) && (key == nil || bytes.Compare(g.KeyIn(g.spans[m.hot].KeySpan), key) < 0); m.hot++ {
		s := g.spans[m.hot]
		m.w.Buf = append(m.w.Buf, g.Buf[s.From:s.To]...)
		for side := range m.tables {
			for _, row := range g.rows[side][s.row[side]:s.end[side]] {
				m.tables[side].AppendRow(&m.stores[side].Columns, int(row))
			}
		}
		m.n++
	}
}

// cold writes a key that is on disk.
func (m *merged) cold(key, value []byte) error {
	_, body, tables, err := readHead(value)
	if err == nil && !bytes.Equal(state.NewReader(body).Lent(), key) {
		err = errSpilled
	}
	if err != nil {
		return err
	}
	m.w.Buf = append(m.w.Buf, body...)
	r := state.NewReader(tables)
	for side := range m.tables {
		var c stream.Columns
		c.Reset(m.kinds[side])
		r.Columns(&c)
		t := &m.tables[side]
		if len(t.Blob)+len(c.Blob) > state.MaxText {
			return errFull
		}
		for i := range c.N {
			t.AppendRow(&c, i)
		}
	}
	m.n++
	return r.Err()
}

func (g *writtenKeys) free() { g.Buf, g.rows, g.spans = nil, [2][]uint32{}, nil }

// close lets go of everything.
func (c *cut) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = nil
	c.done.Store(true)
	for i := range c.written {
		g := &c.written[i]
		g.mu.Lock()
		g.closed = true
		g.free()
		g.mu.Unlock()
	}
	c.stores = [2]*store{}
	if c.onDisk == nil {
		return nil
	}
	defer func() { c.onDisk = nil }()
	return c.onDisk.Close()
}
