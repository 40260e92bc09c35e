// Package controller is the one way into the engine, for `run` and for the host:
// a job file is loaded, its plug-ins are found, the engine is built and run, and the
// job moves through its states on the way.
//
//	load.go        Load: job file -> Loaded; Run: Loaded -> engine, once
//	lifecycle.go   the states and what may happen in each: pure
//	life.go        one job's state, guarded, and told to its owner
//	restart.go     which failed run is followed by another, and when: pure; the loop
//	recovery.go    from which checkpoint a run goes on, under which job
//	checkpoints.go where checkpoints lie
//	firststart.go  when `run` first started a job
//	controller.go  many jobs of many tenants: submit, stop, delete, wait
//	output.go      what a job has written, as bytes
//
// Goroutines: one for each live job of a Controller, which runs the engine; Close
// waits for all of them. `run` calls Loaded.Run on its own.
package controller
