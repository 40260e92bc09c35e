//go:build linux || darwin

package guest

import "syscall"

func mapMemory(max uint64) *memory {
	pages, err := syscall.Mmap(-1, 0, int(max), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	return &memory{pages: pages, free: func(b []byte) {
		if err := syscall.Munmap(b); err != nil {
			panic("BUG: guest memory: " + err.Error())
		}
	}}
}
