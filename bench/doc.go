// Command bench measures how much CPU a window job costs, as a multiple of a plain
// loop that does the same by hand.
//
// On shared machines wall time says little and absolute figures drift, so the
// measure is the CPU time (user and system) of a whole process, divided by that of
// the reference loop R in the same round; rounds alternate between all processes,
// and the median over the rounds counts. Where the system allows it all of them are
// pinned to one core. Rows are compared with the reference's first, bit for bit:
// a fast wrong answer is no result.
//
// Beside the workload stands what plug-ins cost alone, against a loop in Go and against
// themselves without metering, in CPU time of one process.
//
//	go run ./bench            needs bin/tidemark and bin/plugins/stats.wasm (make bench builds them)
//	go run ./bench -runs 1 -only builtin
//	go run ./bench -only loop
//
// Files: generate.go makes the input, reference.go is R, decode.go measures input
// alone, process.go runs and weighs a child, rows.go compares results, loop.go measures
// plug-ins alone, report.go prints the table, main.go holds them together. The program
// starts itself anew for each part of the workload, so that a part's cost is the cost of
// a process.
package main
