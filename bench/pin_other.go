//go:build !linux

package main

const pinned = "not pinned to a core"

// onOneCore only calls start: the system offers no way.
func onOneCore(start func() error) error { return start() }
