package window

import "testing"

// few is how many of n random jobs a test makes: half of them where tests are to be short
// (make test), all in make long.
func few(n uint64) uint64 {
	if testing.Short() {
		return n / 2
	}
	return n
}
