//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf returns the largest resident memory of an ended process, in bytes.
func peakOf(p *os.ProcessState) int64 {
	peak := int64(p.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // there it is in bytes, elsewhere in KiB
		peak <<= 10
	}
	return peak
}
