//go:build !linux

package main

import "errors"

func residentOf(int) (int64, error) {
	return 0, errors.New("the memory of a running process is only read on Linux")
}
