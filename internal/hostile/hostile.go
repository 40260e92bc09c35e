// Package hostile is a corpus of modules that mean harm to the host that takes them, each
// with what its owner must be told, and a neighbour that must not notice. cmd/host runs it
// against a host in a process of its own: `make hostile`, and some of it in `make test`.
//
//	hostile.go    what a case is
//	upload.go     modules that are refused when they are uploaded
//	run.go        modules that are taken, and contained when a job runs them
//	build.go      how they are made
//	neighbour.go  a job whose rows are known
package hostile

import "testing"

// Case is one module.
type Case struct {
	Name string
	// Module is the file. It is a plug-in with the name Plugin and the version given, as
	// far as it is one.
	Module func(tb testing.TB, version string) []byte
	// Refused is what the owner is told at upload, among other things; empty: it is taken.
	Refused string
	// Job is a job file that uses the module, Input its file in.jsonl.
	Job, Input string
	// Message is what the owner of the job is told when it has failed; empty: it finishes,
	// or, if Endless, it goes on until it is stopped.
	Message string
	Endless bool
	// Whatever: it is refused, or taken, and then the job finishes or fails.
	Whatever bool
	// Bomb: it is made to cost as much as it can to compile.
	Bomb bool
	// Quick cases take less than a second of CPU, and no kind is without one.
	Quick bool
}

// Plugin is the name of all plug-ins of the corpus.
const Plugin = "sum"

// Corpus returns all cases.
func Corpus() []Case { return append(upload(), run()...) }
