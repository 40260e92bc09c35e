//go:build race

package engine_test

// underRace: the race detector makes everything some ten times as slow, and sees what it sees
// in the first few jobs.
const underRace = true
