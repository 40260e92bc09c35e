//go:build !linux

package main

// pin does nothing where the system offers no way.
func pin() (string, error) { return "not pinned to a core", nil }
