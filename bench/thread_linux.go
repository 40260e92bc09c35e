package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the thread that calls it, and the CPU time that this has used.
func threadCPU() (thread int, cpu time.Duration, err error) {
	var t unix.Timespec
	err = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return unix.Gettid(), time.Duration(t.Nano()), err
}
