// Package job turns a job file into a Graph: the job as the engine runs it,
// checked, with every default filled in and every reference resolved.
//
// The job file is YAML, read strictly: what is not understood, has the wrong type,
// contradicts something else or would have no effect is a Problem with its place
// and the likely fix, and all problems are reported at once. The shape is in
// spec.go and one file for each section (source.go, step.go, sink.go) or part of one
// (watermark.go, input.go, join.go, window.go, trigger.go, evictor.go, aggregate.go),
// relations between sections in lint.go, defaults in defaults.go and nowhere else.
//
// Steps are declared first, with what they read, and then checked in the order in which
// records pass them: what comes out of each is a shape (shape.go), over which the next
// one is checked like the first is over a schema.
//
// The package opens no file and reads no environment by itself: LoadOptions brings
// what it may see. It starts no goroutine. The host's controller and the commands
// call it; the engine only reads Graph.
package job
