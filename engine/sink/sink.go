// Package sink writes the rows that leave a job: the contract, and files, streams and
// memory as its implementations. A sink knows bytes and rows, not what they mean.
package sink

// Sink takes the output of one port. All calls come from one goroutine, in this order:
//
//	Write*                      rows of one epoch
//	Flush                       any time: nothing else is waiting to be written
//	Prepare, then Commit        the epoch is complete and shall be seen
//	or Abort                    the job ends without it
//
// After Prepare has returned the rows survive a crash; after Commit readers see them,
// all of them or none. Commit and Abort end the sink. Errors are of class
// fault.ErrExternal and name the target.
type Sink interface {
	// Write takes whole lines; the slice is borrowed for the call.
	Write(lines []byte) error
	// Flush passes on what Write has kept back, so that whoever looks at a job in progress
	// sees all of its rows.
	Flush() error
	Prepare() error
	Commit() error
	Abort() error
	// Target is what people call the place: a path, "stdout" or "memory".
	Target() string
}
