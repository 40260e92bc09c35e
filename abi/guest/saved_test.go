package guest

import (
	"bytes"
	"fmt"
	"testing"

	"tidemark/abi"
)

// A saved memory is the same on the heap, where the system gives no other.
func TestASavedMemoryIsLoaded(t *testing.T) {
	const pages = 6
	saved := make([]byte, pages*abi.PageBytes)
	for _, at := range []int{0, abi.PageBytes - 1, 3 * abi.PageBytes, 4*abi.PageBytes + 7} {
		saved[at] = byte(at + 1)
	}
	s := saveMemory(saved)
	if s == nil {
		t.Fatal("the system has no room for it")
	}
	defer s.free()
	if got, want := fmt.Sprint(s.pieces), fmt.Sprint([]piece{{0, abi.PageBytes}, {3 * abi.PageBytes, 2 * abi.PageBytes}}); got != want {
		t.Errorf("pieces %s, want %s", got, want)
	}
	for name, m := range map[string]*memory{"mapped": newMemory(2 * pages * abi.PageBytes), "on the heap": {pages: make([]byte, 2*pages*abi.PageBytes)}} {
		b := m.Reallocate(pages * abi.PageBytes)
		for i := range b {
			b[i] = 0x55
		}
		if err := m.load(s, len(b)); err != nil || !bytes.Equal(b, saved) {
			t.Errorf("%s: %v, equal %v", name, err, bytes.Equal(b, saved))
		}
		m.Free()
	}
}
