//go:build unix

package env

import (
	"math"
	"syscall"
)

// openFiles returns how many descriptors the process may have. The soft limit has
// been raised to the hard one by then: package os does that when a program starts.
func openFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32)) // no limit is a very large number
}
