package checkpoint

import (
	"context"
	"errors"
	"io"

	"tidemark/internal/fault"
)

var (
	// ErrExists: the object is there already. Whoever put it was first.
	ErrExists = errors.New("it exists already")
	// ErrMissing: there is no such object.
	ErrMissing = errors.New("there is no such file")
	// ErrFenced: the job was started again elsewhere and this start may write no more.
	// The caller stops without committing anything: who came later does.
	ErrFenced = fault.As(fault.ErrConflict, errors.New("this start of the job has been replaced by a later one"))
)

// Store keeps named objects. Names are flat: letters, digits, hyphens. Safe for
// concurrent use. Errors that are none of those above carry a class: ErrExternal where
// trying again may help.
//
// What a store must hold: once PutIfAbsent has returned nil, its object and all that were
// created and closed before are there after any crash; an object that has been put or
// closed never changes; and List shows at once what was put.
type Store interface {
	// Create begins an object under a name that nobody uses.
	Create(ctx context.Context, name string) (Object, error)
	// PutIfAbsent makes an object of data, whole or not at all, unless one by that name
	// exists: ErrExists. After another error it may exist all the same.
	PutIfAbsent(ctx context.Context, name string, data []byte) error
	// Open reads an object: ErrMissing if there is none.
	Open(ctx context.Context, name string) (Blob, error)
	// List returns the names that begin with prefix, in order.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes objects, durably; one that is not there is no error.
	Delete(ctx context.Context, names ...string) error
	// Lock keeps other processes from writing here while this one lives, as far as the
	// store can tell who lives; fault.ErrConflict if one does. Closing it lets go.
	Lock(ctx context.Context) (io.Closer, error)
	// Path is what people call an object; of "", the store.
	Path(name string) string
}

// Object is an object being written, by one goroutine.
type Object interface {
	// Write borrows p until it returns.
	io.Writer
	// Close ends the object. If it fails, there may be none or a part of one.
	Close() error
	// Abort gives up instead of Close; a part of it may stay, for Delete.
	Abort()
}

// Blob is an object being read, by one goroutine.
type Blob interface {
	io.ReadSeekCloser
	// Size in bytes.
	Size() int64
}

// get reads a whole object of at most limit bytes.
func get(ctx context.Context, s Store, name string, limit int64) ([]byte, error) {
	b, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer b.Close() // nothing was written
	if b.Size() > limit {
		return nil, fault.Corruptf("checkpoint file %s has %d bytes, at most %d are expected: it is none of this job's, or damaged", s.Path(name), b.Size(), limit)
	}
	data := make([]byte, b.Size())
	if _, err := io.ReadFull(b, data); err != nil {
		return nil, readError(s, name, err)
	}
	return data, nil
}

// readError classifies what reading an object gave: an end that comes too early is
// damage, everything else may pass.
func readError(s Store, name string, err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Corruptf("checkpoint file %s ends too early", s.Path(name))
	case errors.Is(err, ErrMissing):
		return missing(s, name)
	}
	return fault.Externalf("read checkpoint file %s: %w", s.Path(name), err)
}

// missing is the error for an object that should be there.
func missing(s Store, name string) error {
	return fault.Corruptf("checkpoint file %s is missing", s.Path(name))
}
