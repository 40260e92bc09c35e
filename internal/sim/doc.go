// Package sim holds the virtual machine of tests and of the scenario harness.
//
//   - Clock moves only when somebody sleeps, and then at once.
//   - FS is a file system in memory that fails, fills up and is slow as told, and of which
//     a loss of power leaves what was synced and no more.
//   - Scheduler moves goroutines against each other by a seed, under a clock that passes
//     when all of them wait.
//   - Rand is randomness from a seed.
//
// It decides nothing about jobs: what must hold under all this is said by the tests that
// use it.
package sim
