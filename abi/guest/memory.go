package guest

import "github.com/tetratelabs/wazero/experimental"

// memory is the linear memory of one instance. It is not on the heap of Go: a guest that
// grows does not move, the collector neither scans nor counts it, and it goes back to the
// system when the instance is closed. Pages come zeroed, and cost nothing until they are
// touched.
type memory struct {
	pages []byte       // as much as the guest may ever have; nil once it is free
	free  func([]byte) // nil: they are on the heap
}

var _ experimental.LinearMemory = (*memory)(nil)

// newMemory reserves max bytes; where the system cannot, they are on the heap.
func newMemory(max uint64) *memory {
	if m := mapMemory(max); m != nil {
		return m
	}
	return &memory{pages: make([]byte, max)}
}

// Reallocate returns the first size bytes, nil where there are not so many.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.pages)) {
		return nil
	}
	return m.pages[:size:size]
}

// later is a memory that takes the place of scratch when it first grows.
type later struct {
	*memory
	scratch []byte
}

// Reallocate returns scratch for the size with which the module begins.
func (l *later) Reallocate(size uint64) []byte {
	if size == uint64(len(l.scratch)) {
		return l.scratch
	}
	return l.memory.Reallocate(size)
}

// Free gives the memory back. Whoever has a piece of it must not touch it any more.
func (m *memory) Free() {
	if m.free != nil && m.pages != nil {
		m.free(m.pages)
	}
	m.pages = nil
}
