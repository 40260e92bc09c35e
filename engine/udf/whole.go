package udf

import "tidemark/engine/stream"

// Whole is a function of all records of a pane at once, for what accumulators cannot
// give: the order of arrival across a merge of sessions (S48), what an evictor left,
// all of both sides of a join. Contents are then lists of records (P3).
//
// Result is called at a firing, any number of times, from the goroutine of the task;
// it may be called again for the same records. A *Failure condemns the pane's result,
// any other error ends the job.
type Whole interface {
	Outputs() []stream.Field
	// Result appends one row to out, which has the columns of Outputs; text goes to
	// out.Blob.
	Result(r Records, out *stream.Columns) error
}

// Records is what a Whole sees: a pane at a firing. It is borrowed for the call.
type Records struct {
	Key       []byte // encoded, see stream.DecodeKey
	Window    stream.Window
	Watermark stream.Time
	Now       stream.Time // processing time
	List      List
	Cols      []int // the function's inputs: numbers of the records' columns
}

// List is the records of a pane in order of arrival.
type List interface {
	Len() int
	// At returns where record i is: the input of a join that it came from (0 elsewhere),
	// and its row in that input's columns.
	At(i int) (side int, cols *stream.Columns, row int)
	// Time is the timestamp of record i.
	Time(i int) stream.Time
}

// Len is the number of records.
func (r *Records) Len() int { return r.List.Len() }

// At returns where record i is; see List.
func (r *Records) At(i int) (side int, cols *stream.Columns, row int) { return r.List.At(i) }

// Time is the timestamp of record i.
func (r *Records) Time(i int) stream.Time { return r.List.Time(i) }
