// Package join decides which records of two inputs belong together, and keeps them
// until none can come any more that they would belong to.
//
//	interval.go  the interval join: records that are close in time (S110–S114)
//	buffer.go    what one key keeps of one side, by time; when it goes
//	store.go     the records of a side, as columns
//	product.go   the window join: every pair of a firing (S117)
//	list.go      the coGroup: the records of one side (S116)
//	call.go      pairs to rows: one call for many pairs, and who is to blame
//	identity.go  the built-in pair function
//	snapshot.go  the state as bytes
//	cut.go       the state as it was at one moment, read while the join goes on
//	spill.go     state that has no room in memory
//
// Joins over windows (S115–S119) are a windowed step over both inputs; they use the same
// pair functions.
//
// The package starts no goroutine, reads no clock and does no I/O; the keyed task calls
// it, and hears of everything through Output.
package join
