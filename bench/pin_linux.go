package main

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

const pinned = "pinned to one core"

// onOneCore calls start, and the processes that it starts may use one core only: the last
// one of ours, since the first ones serve most interrupts.
func onOneCore(start func() error) error {
	runtime.LockOSThread() // children inherit the cores of the thread that starts them
	defer runtime.UnlockOSThread()
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("read the allowed cores: %w", err)
	}
	for core := 1023; core >= 0 && one.Count() == 0; core-- { // as many as a CPUSet holds
		if allowed.IsSet(core) {
			one.Set(core)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("pin to a core: %w", err)
	}
	return errors.Join(start(), unix.SchedSetaffinity(0, &allowed))
}
