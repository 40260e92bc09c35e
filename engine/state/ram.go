package state

import (
	"bytes"
	"maps"
	"slices"
)

// RAM is a Backing that keeps everything in memory: for tests and simulations, where it
// shows what a disk would, and never fails.
type RAM struct{ values map[string][]byte }

// NewRAM makes an empty one.
func NewRAM() *RAM { return &RAM{values: map[string][]byte{}} }

// Get implements Backing.
func (m *RAM) Get(name, buf []byte) ([]byte, bool, error) {
	v, ok := m.values[string(name)]
	return append(buf[:0], v...), ok, nil
}

// Scan implements Backing.
func (m *RAM) Scan(from, to []byte, f func(name, value []byte) (bool, error)) error {
	var names []string
	for name := range m.values {
		if name >= string(from) && name < string(to) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	values := make([][]byte, len(names)) // never changed once they are there
	for i, name := range names {
		values[i] = m.values[name]
	}
	for i, name := range names {
		if more, err := f([]byte(name), values[i]); err != nil || !more {
			return err
		}
	}
	return nil
}

// Freeze implements Backing.
func (m *RAM) Freeze() Frozen { return &RAM{values: maps.Clone(m.values)} }

// Close implements Frozen.
func (m *RAM) Close() error { return nil }

// Batch implements Backing.
func (m *RAM) Batch() Batch { return &ramBatch{of: m} }

type ramBatch struct {
	of      *RAM
	changes []func(values map[string][]byte)
	size    int
}

func (b *ramBatch) change(size int, f func(values map[string][]byte)) {
	b.changes = append(b.changes, f)
	b.size += size
}

func (b *ramBatch) Put(name, value []byte) {
	key, v := string(name), bytes.Clone(value)
	b.change(len(key)+len(v), func(values map[string][]byte) { values[key] = v })
}

func (b *ramBatch) Delete(name []byte) {
	key := string(name)
	b.change(len(key), func(values map[string][]byte) { delete(values, key) })
}

func (b *ramBatch) DeleteRange(from, to []byte) {
	lo, hi := string(from), string(to)
	b.change(len(lo)+len(hi), func(values map[string][]byte) {
		maps.DeleteFunc(values, func(name string, _ []byte) bool {
			return name >= lo && name < hi
		})
	})
}

func (b *ramBatch) Size() int { return b.size }

func (b *ramBatch) Commit() error {
	for _, f := range b.changes {
		f(b.of.values)
	}
	return b.Close()
}

func (b *ramBatch) Close() error {
	b.changes, b.size = nil, 0
	return nil
}
