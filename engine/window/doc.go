// Package window decides what a windowed step does with a record: which window it
// belongs to, whether it is late, what is added up, when a pane fires and when its
// state goes.
//
// A batch is cut into segments where something fires; inside a segment only
// accumulators change, so each function is called once for all of its records.
//
//	operator.go  the batch loop: time, lateness, segments (E2, T3)
//	fold.go      one segment: gather, add, write back; who is to blame (E8)
//	fire.go      panes to result rows
//	process.go   what a process function makes of them, and the states that it keeps
//	buckets.go   the open windows, their tables, what is due next
//	parts.go     accumulators of varying size (K4)
//	slices.go    sliding windows, from slices that they share (L1–L6)
//	counts.go    sliding count windows, likewise (L9)
//	sessions.go  sessions whose ends alone decide (M1, M2, M4)
//	general.go   everything, record by record
//	shared.go    panes of the general operator that share slices (L5, L7)
//	spill.go     state that has no room in memory: spill_cells.go, spill_keys.go
//
// The package starts no goroutine, reads no clock and does no I/O; the keyed task
// calls it, and hears of everything through Output.
package window
