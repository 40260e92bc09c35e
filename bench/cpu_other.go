//go:build !unix

package main

import (
	"errors"
	"time"
)

// ownCPU fails: this system does not tell a process what it took.
func ownCPU() (time.Duration, error) {
	return 0, errors.New("this system does not tell what processor time a process took")
}
