package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/engine/stream"
)

func slotOf(c *Cells, key string) int {
	return c.Slot(stream.KeyHash([]byte(key)), []byte(key), make([]byte, 8))
}

func TestCellsFindWhatWasPutIn(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	c := NewCells(8, 0)
	want := map[string]uint64{}
	for range 20000 {
		key := fmt.Sprint(r.IntN(5000))
		if r.IntN(50) == 0 {
			key = "" // the empty key is a key like any other
		}
		s := slotOf(c, key)
		sum := binary.LittleEndian.Uint64(c.Acc(s, 0, 8)) + 1
		c.SetAcc(s, 0, binary.LittleEndian.AppendUint64(nil, sum))
		want[key]++
	}
	if c.Len() != len(want) {
		t.Fatalf("seed %d: %d cells, want %d", seed, c.Len(), len(want))
	}
	for s := range c.Len() {
		key := string(c.Key(s))
		if got := binary.LittleEndian.Uint64(c.Acc(s, 0, 8)); got != want[key] {
			t.Errorf("seed %d: key %q has %d, want %d", seed, key, got, want[key])
		}
	}
}

func TestKeysWithEqualHashesStayApart(t *testing.T) {
	c := NewCells(8, 0)
	a := c.Slot(42<<32, []byte("a"), make([]byte, 8))
	b := c.Slot(42<<32, []byte("b"), make([]byte, 8))
	if a == b || c.Slot(42<<32, []byte("a"), nil) != a || c.Slot(42<<32, []byte("b"), nil) != b {
		t.Fatalf("slots %d and %d", a, b)
	}
}

func TestAViewKeepsWhatItSaw(t *testing.T) {
	c := NewCells(8, 1)
	s := slotOf(c, "a")
	c.SetAcc(s, 0, []byte("before__"))
	c.SetParts(0, s, [][]byte{[]byte("p")})
	c.Touch(s, 1)
	v := c.Freeze()

	c.SetAcc(s, 0, []byte("after___"))
	c.SetParts(0, s, [][]byte{[]byte("p"), []byte("q")})
	c.Touch(s, 1)
	c.Fire(s)
	for i := range 100 {
		slotOf(c, fmt.Sprint(i))
	}
	if v.Len() != 1 || !bytes.Equal(v.Acc(s, 0, 8), []byte("before__")) || v.Rows(s) != 1 || v.Fired(s) != 0 || len(v.Parts(0, s)) != 1 {
		t.Errorf("the view changed: %d cells, acc %q, %d rows, %d firings, %d parts", v.Len(), v.Acc(s, 0, 8), v.Rows(s), v.Fired(s), len(v.Parts(0, s)))
	}
	if c.Len() != 101 || string(c.Acc(s, 0, 8)) != "after___" || c.Rows(s) != 2 || c.Fired(s) != 1 || len(c.Parts[0][s]) != 2 {
		t.Error("the table lost a change")
	}
	if w := c.Freeze(); string(w.Acc(s, 0, 8)) != "after___" {
		t.Error("a second view shows an older state")
	}
}

func BenchmarkSlot(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := NewCells(24, 0)
			fresh := make([]byte, 24)
			keys := make([][]byte, n)
			hash := make([]uint64, n)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "k%07d", i)
				hash[i] = stream.KeyHash(keys[i])
			}
			i := 0
			for b.Loop() {
				c.Slot(hash[i], keys[i], fresh)
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}
