//go:build linux || darwin

package main

import "syscall"

// limitProcess bounds what this process may take from here on: processor time in
// seconds, behind which the kernel ends it, and bytes of memory that it has written to or
// may, without which the Go runtime ends it.
func limitProcess(cpu, memory uint64) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: cpu, Max: cpu}); err != nil {
		return err
	}
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory})
}
