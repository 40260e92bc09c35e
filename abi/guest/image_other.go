//go:build !linux

package guest

import "bytes"

// savedMemory is a copy.
type savedMemory struct {
	pieces  []piece
	content [][]byte
}

// saveMemory copies a memory.
func saveMemory(memory []byte) *savedMemory {
	s := &savedMemory{pieces: pieces(memory)}
	for _, p := range s.pieces {
		s.content = append(s.content, bytes.Clone(memory[p.at:p.at+p.size]))
	}
	return s
}

// load makes the first size bytes what was saved.
func (m *memory) load(s *savedMemory, size int) error {
	clear(m.pages[:size])
	for i, p := range s.pieces {
		copy(m.pages[p.at:], s.content[i])
	}
	return nil
}

func (s *savedMemory) free() {}
