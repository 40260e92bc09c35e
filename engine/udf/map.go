package udf

import "tidemark/engine/stream"

// Map makes none, one or several records of each record, looking at nothing but that one:
// what users call filter, map and flat-map. It keeps nothing between calls. The engine
// makes a Stateless of it, which also carries over the fields that the function does not
// make.
//
// Order of calls: Info any time; Call in any number; Close once, last. All calls come from
// the goroutine of the task that owns the Map. No argument is kept beyond the call that
// passes it.
//
// A call is all or nothing: after an error the caller takes out back to where it was.
// Errors are of class *Failure when user code refused or broke down, with the record in Op;
// anything else ends the job.
type Map interface {
	Info() MapInfo
	// Call appends any number of rows for each of the selected records to out, in their
	// order; Of is the index into Sel. What it gives for a record depends on that record
	// alone, so a call may be cut anywhere. A record with a null in an input that is not
	// Nullable gives none.
	Call(rows *Rows, out *Emitted) error
	Close() error
}

// MapInfo describes a Map. It never changes during the life of an instance.
type MapInfo struct {
	Inputs  []Input
	Outputs []stream.Field
}
