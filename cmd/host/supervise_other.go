//go:build !linux

package main

import "syscall"

// endWithParent: there is no such thing here; the closed pipe stops a job that still
// listens.
func endWithParent() *syscall.SysProcAttr { return nil }
