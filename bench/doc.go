// Command bench measures how much CPU a window job costs, as a multiple of a plain
// loop that does the same by hand.
//
// On shared machines wall time says little and absolute figures drift, so the
// measure is the CPU time (user and system) of a whole process, divided by that of
// the query's reference loop in the same round; rounds alternate between all processes of
// a workload, and the median over the rounds counts. Where the system allows it each is
// pinned to one core. Rows are compared with the reference's first, bit for bit, also at
// another parallelism and batch size: a fast wrong answer is no result.
//
//	make bench                  everything; the table goes into README.md
//	make bench WORKLOAD=W3      all there is of one workload, printed
//	go run ./bench W3 loop      likewise, of several (make build guests comes before)
//	make soak                   half an hour of an endless stream: does the memory stay?
//
// The exit code is 1 if something that must be is not; a goal that is missed is only shown.
//
// Files: workload.go is the table of the workloads, generate.go makes their lines,
// job.go their jobs. The plain loops are reference.go, scan.go, which reads lines for them,
// and a file for each: reference_tumbling.go, which is R, reference_everything.go, reference_sliding.go
// with reference_distinct.go, reference_session.go. measure.go measures a workload, process.go
// runs and weighs a child, decode.go reads lines and nothing else, verify.go
// and rows.go compare results.
//
// extra.go lists the measures beside the workloads: heap.go, what state takes; loop.go, plug-ins
// alone; scaling.go, one subtask against two; latency.go, the one in wall time; checkpoint.go, what it
// costs to survive a kill, with durable.go, a job in this process, and meter.go, what its batches take.
// soak.go watches memory. row.go and table.go print.
// The program starts itself anew for each part, so that a part's cost is the cost of a process.
//
// The same queries in small are a test, in which batches and parallelisms take turns (engine_test.go), and
// another one, in which they are cut off and go on (recovery_test.go).
// What a change of one part does, the benchmarks of its package tell: go test -bench in
// engine/decode, engine/exchange, engine/window, engine/result, engine/agg, engine/wasm, abi/guest.
package main
