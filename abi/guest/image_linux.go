package guest

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// savedMemory is a file in memory, without a name, which instances map: they share its
// pages until they write to them.
type savedMemory struct {
	fd     int
	pieces []piece // of the memory; they stand one behind the other in the file
}

// saveMemory copies a memory; nil if the system has no room for it.
func saveMemory(memory []byte) *savedMemory {
	fd, err := unix.MemfdCreate("tidemark", unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	s := &savedMemory{fd: fd, pieces: pieces(memory)}
	for _, p := range s.pieces {
		for rest := memory[p.at : p.at+p.size]; len(rest) > 0; {
			n, err := unix.Write(fd, rest)
			if err != nil {
				s.free()
				return nil
			}
			rest = rest[n:]
		}
	}
	return s
}

// load makes the first size bytes what was saved. The memory has been mapped, and what is
// written to it is not needed any more.
func (m *memory) load(s *savedMemory, size int) error {
	if m.free == nil { // on the heap
		return m.read(s, size)
	}
	if err := m.mapAt(0, size, -1, 0, unix.MAP_ANON); err != nil {
		return err
	}
	offset := 0
	for _, p := range s.pieces {
		if err := m.mapAt(p.at, p.size, s.fd, offset, 0); err != nil {
			return err
		}
		offset += p.size
	}
	return nil
}

// mapAt maps a piece of a file, or empty pages, into the memory. What is written stays in
// the memory.
func (m *memory) mapAt(at, size, fd, offset, flags int) error {
	_, err := unix.MmapPtr(fd, int64(offset), unsafe.Pointer(&m.pages[at]), uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_FIXED|unix.MAP_PRIVATE|unix.MAP_NORESERVE|flags)
	return err
}

// read is load for a memory that cannot be mapped into.
func (m *memory) read(s *savedMemory, size int) error {
	clear(m.pages[:size])
	offset := int64(0)
	for _, p := range s.pieces {
		if _, err := unix.Pread(s.fd, m.pages[p.at:p.at+p.size], offset); err != nil {
			return err
		}
		offset += int64(p.size)
	}
	return nil
}

// free closes the file. The pages live on where they are mapped.
func (s *savedMemory) free() { _ = unix.Close(s.fd) } // it has no disk that could fail
