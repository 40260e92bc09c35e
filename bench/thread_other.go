//go:build !linux

package main

import (
	"errors"
	"time"
)

// threadCPU is not known here.
func threadCPU() (thread int, cpu time.Duration, err error) { return 0, 0, errors.ErrUnsupported }
