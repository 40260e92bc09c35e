// Package sink writes the rows that leave a job: the contract, and files, streams and
// memory as its implementations. A sink knows bytes and rows, not what they mean.
package sink

// Sink takes the output of one port, in epochs: an epoch is the rows between two
// checkpoints, or all rows of a job that takes none. All calls come from one goroutine:
//
//	Write*             rows of the epoch that is open
//	Flush              any time: nothing else is waiting to be written
//	Prepare(n, last)   ends epoch n: its rows survive a crash, and nobody sees them yet
//	Write*             rows of the next epoch, while it is being decided about n
//	Commit(pending)    epoch n is decided (K7): readers see its rows, all or none
//	Abort              the job ends here; what is decided about it, the next opening is told
//
// Epochs are numbered upwards from 1, not always by one. It may be decided about an epoch
// or not at all, if its checkpoint fails: then its rows go with the next one. So what
// Prepare returns stands for all rows since the last Commit, and committing epoch n
// commits every earlier one.
//
// Commit may be called again, also after a crash, and by the opening of another sink on
// the same target (see Restored): what is done already is left alone.
//
// After an error of Write, Flush or Prepare nobody knows what is on the disk, so that
// every later call of them fails with the same error: the job must be started again from
// its last checkpoint. Commit may be called again after an error. Errors are of class
// fault.ErrExternal and name the target; of class fault.ErrCorrupt where something is
// missing that was made durable.
//
// Abort, and Commit of the last epoch, end the sink.
//
// A new sink passes the suite in sinktest, with the Features that it has.
type Sink interface {
	// Write takes whole lines; the slice is borrowed for the call.
	Write(lines []byte) error
	// Flush passes on what Write has kept back, so that whoever looks at a job in progress
	// sees all of its rows.
	Flush() error
	// Prepare ends an epoch. pending is what Commit needs, in any process; it is stored in
	// the checkpoint. last: no row follows.
	Prepare(epoch uint64, last bool) (pending []byte, err error)
	Commit(pending []byte) error
	Abort() error
	// Target is what people call the place: a path, "stdout" or "memory".
	Target() string
}

// Restored says where a sink goes on. The zero value is a fresh start: nothing of an
// earlier run counts. Otherwise the opening commits the epoch, which is decided, and
// undoes all that came behind it.
type Restored struct {
	Epoch   uint64 // the last one that was decided
	Pending []byte // what Prepare of that epoch returned
}

// InFile is a sink whose rows lie in a file until somebody may see them.
type InFile interface {
	// InProgress is the path of that file.
	InProgress() string
}
