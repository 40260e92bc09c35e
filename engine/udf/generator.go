package udf

import "tidemark/engine/stream"

// Generator says how far event time is in a split: a watermark behind each record, and
// more by the clock. It keeps nothing between calls: what it has to know of a split, its
// state, is bytes that the host owns, so that one Generator serves all splits of a task.
//
// Order of calls: Info any time; then Records and Tick in any order and number; Close
// once, last. All calls come from the goroutine of the task that owns the Generator. No
// argument is kept beyond the call that passes it.
//
// A call is all or nothing: after an error the caller goes on with the state that it
// passed. Errors are of class *Failure when user code refused or broke down, with the
// record in Op; anything else ends the job. Time has no other source, so either ends it.
//
// The host believes only so much: a watermark that is lower than an earlier one says
// nothing (S6), and one above all times seen in the split counts as the highest of these.
type Generator interface {
	Info() GeneratorInfo
	// Records takes records of one split in order, all of them rows of the batch from the
	// first on. wm has a place for each: the watermark behind it, or MIN for none to say.
	// It returns the new state.
	Records(rows *Timed, state []byte, wm []stream.Time) ([]byte, error)
	// Tick takes processing time, in ms, and returns a watermark or MIN, and the new state.
	Tick(now stream.Time, state []byte) (stream.Time, []byte, error)
	Close() error
}

// GeneratorInfo describes a generator. It never changes during the life of an instance.
type GeneratorInfo struct {
	// Inputs are the columns that it reads beside the records' times. Time goes on with
	// every record, so all of them may be null.
	Inputs []Input
}

// Timed is records with their event times.
type Timed struct {
	Columns *stream.Columns
	Cols    []int // for each Info().Inputs, the number of the column
	Time    []stream.Time
}
