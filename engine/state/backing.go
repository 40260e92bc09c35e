package state

// Backing is where an operator's state goes that memory has no room for: names and bytes,
// in order of the names, which are the operator's own. It lasts as long as the job runs,
// and no longer: what must outlive that is in checkpoints. One goroutine, that of the
// operator, uses it; errors are of class fault.ErrExternal and end the job, since what was
// put there is nowhere else.
type Backing interface {
	// Get returns what was put under a name, in buf if it fits there.
	Get(name, buf []byte) (value []byte, ok bool, err error)
	// Scan calls f in order of the names for what lay from from up to, but without, to when
	// it was called, until f answers false or fails. Arguments are borrowed. f may write.
	Scan(from, to []byte, f func(name, value []byte) (more bool, err error)) error
	// Batch begins changes, which Commit carries out together.
	Batch() Batch
	// Freeze keeps the contents as they are now, to be read while the operator goes on.
	Freeze() Frozen
}

// Batch is changes to a Backing, in their order. What is passed to it is copied.
type Batch interface {
	Put(name, value []byte)
	Delete(name []byte)
	// DeleteRange deletes from from up to, but without, to.
	DeleteRange(from, to []byte)
	// Size is about how many bytes Commit will write.
	Size() int
	// Commit carries the changes out and empties the batch, which can be used again.
	Commit() error
	// Close gives up what was not committed.
	Close() error
}

// Frozen is a Backing as it was. Any goroutine may read it, one at a time. It must be
// closed, before the store of the backing is.
type Frozen interface {
	Get(name, buf []byte) (value []byte, ok bool, err error)
	Scan(from, to []byte, f func(name, value []byte) (more bool, err error)) error
	Close() error
}
