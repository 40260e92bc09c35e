package main

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// pin binds the calling goroutine, and what it starts from now on, to the last core
// that the process may use: the first ones serve most interrupts.
func pin() (string, error) {
	runtime.LockOSThread() // for good: children inherit the core from this thread
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return "", fmt.Errorf("read the allowed cores: %w", err)
	}
	for core := 1023; core >= 0; core-- { // as many as a CPUSet holds
		if allowed.IsSet(core) {
			var one unix.CPUSet
			one.Set(core)
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				return "", fmt.Errorf("pin to core %d: %w", core, err)
			}
			return fmt.Sprintf("pinned to core %d", core), nil
		}
	}
	return "", fmt.Errorf("no core is allowed")
}
