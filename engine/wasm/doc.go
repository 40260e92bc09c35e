// Package wasm runs plug-ins as the contracts of engine/udf: batches of columns go
// into a guest's arena as frames (abi/SPEC.md), answers come back checked, and what a
// guest does wrong becomes a *udf.Failure that names the record.
//
//	plugins.go    files and digests -> compiled modules, shared between jobs
//	aggregate.go  udf.Aggregate over an instance: calls, splitting, traps
//	frame.go      columns and accumulators -> frames, and back
//
// It keeps no state of a job: accumulators are the engine's, and an instance can be
// thrown away between any two calls. It starts no goroutine. The host hands a Plugins
// to the engine and to the loading of jobs.
package wasm
