package udf

import "tidemark/engine/stream"

// Table is a function of all records of a pane that gives any number of rows, such as
// every pair of a window join (S117). There may be far more rows than records, so they
// are taken in pieces.
//
// Order of calls: Outputs any time; for each firing Fire, then Next until all rows were
// given; Close once, last. All calls come from the goroutine of the task.
type Table interface {
	Outputs() []stream.Field
	// Fire begins with the records of a pane, which stay as they are until the last Next,
	// and returns how many rows come of them. A *Failure condemns the pane's result, and
	// nothing is given; any other error ends the job.
	Fire(r Records) (rows uint64, err error)
	// Next appends the next rows, one at least, to out, which is empty and has the columns
	// of Outputs, and sets its N. An error ends the job.
	Next(out *stream.Columns) error
	Close() error
}
