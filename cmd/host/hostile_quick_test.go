//go:build !hostile

package main_test

const everyCase = false
