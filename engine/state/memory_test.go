package state

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tidemark/engine/stream"
)

// maxBytesOfACell is what a cell with an accumulator of 24 bytes and a key of eight may
// take of the heap, at the worst moment of growth.
const maxBytesOfACell = 72

// liveHeap is what is reachable now.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// filler puts cells into the tables of a window, as a step with key groups does.
type filler struct {
	memory *Memory
	tables []*Cells
	fresh  []byte
	key    []byte
}

func newFiller(m *Memory, groups int) *filler {
	f := &filler{memory: m, tables: make([]*Cells, groups), fresh: make([]byte, m.size-headSize)}
	for i := range f.tables {
		f.tables[i] = m.Table()
	}
	return f
}

func (f *filler) put(n int) {
	f.key = fmt.Appendf(f.key[:0], "k%07d", n)
	hash := stream.KeyHash(f.key)
	t := f.tables[stream.KeyGroup(hash, len(f.tables))]
	t.Touch(t.Slot(hash, f.key, f.fresh), 1)
}

// TestBytesOfACell fills 128 tables with half a million to a bit more than a million
// cells, over which each table doubles its index: the largest figure is that of the
// worst moment. What Bytes says is what there is, but for what the tables are themselves.
func TestBytesOfACell(t *testing.T) {
	const cells, step = 1_050_000, 50_000
	before := liveHeap()
	f := newFiller(NewMemory(24, 0), 128)
	worst, best := 0.0, 1e9
	for n := range cells {
		f.put(n)
		if n+1 < cells/2 || (n+1)%step != 0 {
			continue
		}
		live := liveHeap() - before
		each := float64(live) / float64(n+1)
		worst, best = max(worst, each), min(best, each)
		if counted := f.memory.Bytes(); counted > live || float64(counted) < 0.97*float64(live) {
			t.Errorf("%d cells: Bytes says %d, the heap has %d", n+1, counted, live)
		}
	}
	t.Logf("%.1f bytes a cell at best, %.1f at worst", best, worst)
	if worst > maxBytesOfACell {
		t.Errorf("%.1f bytes a cell, may be %d", worst, maxBytesOfACell)
	}
	runtime.KeepAlive(f)
}

// TestAClosedWindowLeavesItsMemory fills windows one after the other: from the second
// on they are made of what the one before left, and when they get small, so does that.
func TestAClosedWindowLeavesItsMemory(t *testing.T) {
	const cells = 40_000
	m := NewMemory(24, 0)
	window := func(cells int) (used, spare int64) {
		f := newFiller(m, 8)
		for n := range cells {
			f.put(n)
		}
		used = m.Bytes()
		for _, table := range f.tables {
			for slot := range table.Len() {
				if table.Rows(slot) != 1 || table.Fired(slot) != 0 || !slices.Equal(table.Acc(slot, 0, 24), f.fresh) {
					t.Fatalf("a new cell has %d records, %d firings, accumulator %v", table.Rows(slot), table.Fired(slot), table.Acc(slot, 0, 24))
				}
				table.SetAcc(slot, 0, []byte("what a window leaves here"))
				table.Fire(slot)
			}
		}
		if m.Drop(f.tables); m.Bytes() != 0 {
			t.Errorf("%d bytes are held without a table", m.Bytes())
		}
		return used, m.Spare()
	}
	first, spare := window(cells)
	for i := range 5 {
		if used, left := window(cells); used != first || left != spare {
			t.Errorf("window %d holds %d bytes and leaves %d, the first one %d and %d", i+2, used, left, first, spare)
		}
	}
	if spare == 0 || spare > first {
		t.Errorf("%d bytes are spare of %d", spare, first)
	}
	if _, left := window(10); left != 0 {
		t.Errorf("%d bytes are spare behind a window of ten cells", left)
	}
}

// TestAViewOutlivesItsTable drops a table that a View has seen, and fills another one
// from what that leaves.
func TestAViewOutlivesItsTable(t *testing.T) {
	const cells = 3000
	m := NewMemory(24, 0)
	f := newFiller(m, 1)
	for n := range cells {
		f.put(n)
	}
	v := f.tables[0].Freeze()
	for n := cells; n < 2*cells; n++ {
		f.put(n) // chunks and segments that the View does not know
	}
	m.Drop(f.tables)
	f = newFiller(m, 1)
	for n := range cells {
		f.put(n + 5*cells)
	}
	if v.Len() != cells {
		t.Fatalf("the view has %d cells", v.Len())
	}
	for slot := range cells {
		if key, want := string(v.Key(slot)), fmt.Sprintf("k%07d", slot); key != want || v.Rows(slot) != 1 {
			t.Fatalf("slot %d of the view is of key %s with %d records, want %s with one", slot, key, v.Rows(slot), want)
		}
	}
}

func TestKeysOfAnyLength(t *testing.T) {
	lengths := []int{0, 1, 8, 127, 128, 300, segmentSize - 3, segmentSize - 2, segmentSize - 1, segmentSize, segmentSize + 1, 2*segmentSize - 2, 2 * segmentSize, 3*segmentSize + 5, 20_000}
	c := NewCells(8, 0)
	var keys []string
	for round := range 40 { // each length behind each other one
		for i := range lengths {
			n := lengths[(i*(round+1)+round)%len(lengths)]
			keys = append(keys, strings.Repeat(string(rune('a'+round%26)), n/2)+fmt.Sprint(round, i)+strings.Repeat("x", n-n/2))
		}
	}
	slots := map[string]int{}
	for _, k := range keys {
		slots[k] = slotOf(c, k)
	}
	for k, slot := range slots {
		if string(c.Key(slot)) != k || slotOf(c, k) != slot {
			t.Errorf("a key of %d bytes is not what was put in", len(k))
		}
	}
	if c.Len() != len(slots) {
		t.Errorf("%d cells of %d keys", c.Len(), len(slots))
	}
}

// TestAccumulatorsOfAnyWidth covers chunks of one cell and of many.
func TestAccumulatorsOfAnyWidth(t *testing.T) {
	for _, width := range []int{0, 8, 24, 100, 5000, smallChunk, 3 * smallChunk} {
		c := NewMemory(width, 0).Table()
		fresh := make([]byte, width)
		for i := range 700 {
			key := binary.LittleEndian.AppendUint32(nil, uint32(i))
			for j := range fresh {
				fresh[j] = byte(i + j)
			}
			c.Slot(stream.KeyHash(key), key, fresh)
		}
		for slot := range c.Len() {
			acc := c.Acc(slot, 0, width)
			for j := range acc {
				if acc[j] != byte(slot+j) {
					t.Fatalf("width %d: byte %d of slot %d is %d", width, j, slot, acc[j])
				}
			}
		}
	}
}

func TestACellOfAllocHasNoKey(t *testing.T) {
	c := NewCells(8, 1)
	a, b := c.Alloc(make([]byte, 8)), c.Alloc(make([]byte, 8))
	c.Touch(a, 5<<32)
	c.SetParts(0, a, [][]byte{[]byte("p")})
	c.Fire(a)
	if len(c.Key(a))+len(c.Key(b)) != 0 || c.Used() != 2 {
		t.Errorf("keys %q and %q, %d cells", c.Key(a), c.Key(b), c.Used())
	}
	c.Free(a)
	if c.Used() != 1 || c.Alloc([]byte("8 bytes_")) != a || c.Rows(a) != 0 || c.Fired(a) != 0 || c.Parts[0][a] != nil || string(c.Acc(a, 0, 8)) != "8 bytes_" {
		t.Errorf("a cell that is used again has %d records, %d firings, parts %q, accumulator %q", c.Rows(a), c.Fired(a), c.Parts[0][a], c.Acc(a, 0, 8))
	}
}

func TestMoreRecordsThan32BitsCount(t *testing.T) {
	c := NewCells(8, 0)
	a, b := slotOf(c, "a"), slotOf(c, "b")
	c.Touch(a, 1<<32-1)
	c.Touch(b, 7)
	c.Touch(a, 1)
	v := c.Freeze()
	c.Touch(a, 5<<32+3)
	if c.Rows(a) != 6<<32+3 || c.Rows(b) != 7 || v.Rows(a) != 1<<32 {
		t.Errorf("%d and %d records, %d in the view", c.Rows(a), c.Rows(b), v.Rows(a))
	}
	if c.Clear(a, make([]byte, 8)); c.Rows(a) != 0 {
		t.Errorf("%d records in an empty cell", c.Rows(a))
	}
}

func TestBytesOfPartials(t *testing.T) {
	m := NewMemory(0, 2)
	c := m.Table()
	empty := m.Bytes()
	s := slotOf(c, "a")
	one := m.Bytes()
	c.SetParts(0, s, [][]byte{make([]byte, 1000), make([]byte, 500)})
	if n := m.Bytes() - one; n < 1500 || n > 1600 {
		t.Errorf("partials of 1500 bytes count as %d", n)
	}
	c.SetParts(0, s, [][]byte{make([]byte, 1500)})
	c.SetParts(1, s, nil)
	if n := m.Bytes() - one; n < 1500 || n > 1550 {
		t.Errorf("a partial of 1500 bytes counts as %d", n)
	}
	if m.Drop([]*Cells{c}); m.Bytes() != 0 || empty == 0 {
		t.Errorf("%d bytes without a table, %d with an empty one", m.Bytes(), empty)
	}
}
