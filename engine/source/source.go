// Package source reads bytes from the outside: what splits there are, and the bytes
// of each from a position on. It knows nothing of records or of time.
//
// A Source and its Readers are used by source tasks; files are the reference
// implementation. They never wait: where nothing is there now, a Reader says so, and
// its task goes on with other splits. The only goroutine is the pump of an input that
// cannot be asked without waiting (standard input, pipes); its Reader owns it.
//
// To add a source:
//
//  1. Give it a struct in engine/job (graph.go) beside FileSource, read and check it
//     there, and say in Source.Bounded whether it ends.
//  2. Implement Source and Reader here, in a file named by the noun. Take files, time
//     and randomness from internal/env; name every limit and its reason.
//  3. Where Read would wait, return ErrWait; if the source can tell when there is
//     more, implement Waker.
//  4. Give errors a class: fault.ErrUser for what the job names wrongly,
//     fault.ErrExternal for what may work the next time.
//     If a split may lie elsewhere when a job goes on from a checkpoint, implement Finder.
//  5. Pass the suite in sourcetest, with the Features that it has.
//  6. Add one line to engine/builtin.go, an example in configs/, and its settings to
//     the table of defaults in engine/job.
package source

import (
	"context"
	"errors"

	"tidemark/engine/stream"
)

// Source finds the splits of an input. It is safe for concurrent use: several tasks
// may share one.
type Source interface {
	// Splits lists the splits that there are, sorted by ID, in the same order each
	// time. Of a followed source it is called again at each probe: what has come since
	// stands among them, and a split never changes its ID. One whose Reader has said
	// io.EOF is listed no more; if its ID is listed again later, that is another split,
	// to be opened anew. An error of class fault.ErrUser says that the job names
	// something that is not there.
	Splits(ctx context.Context) ([]Split, error)
	// Open starts reading a split at offset, counted in bytes as Read gives them
	// (of a compressed file: decompressed).
	Open(ctx context.Context, s Split, offset int64) (Reader, error)
}

// Split is a part of a source that one Reader reads.
type Split struct {
	ID      string      // the name that people see, unique and the same in every run
	Path    string      // how the source finds it; Stdin for standard input
	Moved   string      // where it is now, if that is elsewhere: see Finder
	ModTime stream.Time // of a file: last change; MinTime where there is none
	Size    int64       // of a file, in bytes on disk; -1 if unknown
}

// Reader reads one split. It is used by one goroutine. Behind io.EOF it holds nothing
// but memory: no descriptor, no connection.
type Reader interface {
	// Read fills p, which must not be empty, with the next bytes. Either n > 0 and err
	// is nil, or n is 0 and err says why:
	//
	//	io.EOF      the split has ended; each further call says so again. A bounded
	//	            split ends so, and a followed one whose origin is gone for good:
	//	            it holds time back no more, but the source has not ended (S20)
	//	ErrWait     nothing is there now; call again later
	//	ErrRestart  see there
	//	other       the split cannot be read any further
	//
	// It does not wait, but for a disk.
	Read(p []byte) (n int, err error)
	// Close ends the reading, and waits for goroutines of the Reader.
	Close() error
}

// Waker is a Reader that can tell when there is more after ErrWait.
type Waker interface {
	Reader
	// Ready receives a value when a call of Read may bring something: bytes, the end,
	// or an error. It may also bring ErrWait again.
	Ready() <-chan struct{}
}

// Verifier is a Reader whose bytes may be damaged in a way that shows at their end
// only, as those of a compressed file: until then the damage reads like bad records.
type Verifier interface {
	Reader
	// Verify reads on, for nothing but its end, and returns what is wrong with the
	// bytes; nil: nothing that it knows of. The Reader is of no more use then.
	Verify(ctx context.Context) error
}

var (
	// ErrWait: nothing is there now, and the split has not ended.
	ErrWait = errors.New("no data now")
	// ErrRestart: the split begins anew. What was read so far is all of a file that
	// has been rotated away or truncated; the next bytes are the first of its
	// successor. The caller ends the decoding of the old bytes (a last record may lack
	// its line end) and takes a new decoder for the new ones: lines and offsets count
	// from the start again, and a CSV file has a header of its own. Only followed
	// splits do this.
	ErrRestart = errors.New("split begins anew")
)
