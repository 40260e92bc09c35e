package udf

import "tidemark/engine/stream"

// Pair is a function of two records that a join has brought together. It serves the
// interval join (S111), the window join (S117) and whatever else makes pairs, and keeps
// nothing between calls.
//
// Order of calls: Info any time; Call in any number; Close once, last. All calls come
// from the goroutine of the task that owns the Pair. No argument is kept beyond the
// call that passes it.
//
// A call is all or nothing: after an error the caller takes out back to where it was.
// Errors are of class *Failure when user code refused or broke down, with the index of
// the pair in Op; anything else ends the job.
type Pair interface {
	Info() PairInfo
	// Call appends any number of rows for each pair to out, in the order of the pairs.
	// What it gives for a pair depends on that pair alone, so that a call may be cut.
	Call(in *Pairs, out *Emitted) error
	Close() error
}

// PairInfo describes a pair function. It never changes during the life of an instance.
type PairInfo struct {
	// Left and Right are the columns that the function reads of either record. A pair
	// with a null in a column that is not Nullable is left out, as if it were none.
	Left, Right []Input
	Outputs     []stream.Field
	// OneEach: each pair gives exactly one row, so that rows can be counted without a call.
	OneEach bool
}

// Pairs are what a call carries. The records of a side lie in a table once, however
// many pairs they are in: pair i is row L[i] of Left with row R[i] of Right. The
// product of two lists is thus two lists and their numbers, and a frame for a guest
// need hold each record only once.
type Pairs struct {
	Left, Right PairSide
	L, R        []uint32
	// Time is the timestamp of what comes of each pair: the later one of the two in an
	// interval join (S111), the window's in a window join (S117).
	Time []stream.Time
}

// N returns the number of pairs.
func (p *Pairs) N() int { return len(p.L) }

// Slice returns the pairs from lo to hi. It shares everything with p.
func (p *Pairs) Slice(lo, hi int) Pairs {
	return Pairs{Left: p.Left, Right: p.Right, L: p.L[lo:hi], R: p.R[lo:hi], Time: p.Time[lo:hi]}
}

// PairSide is the records of one side: one column for each of the function's inputs on
// that side, in order, and the records' own timestamps. Rows that no pair names may be
// among them.
type PairSide struct {
	*stream.Columns
	Time []stream.Time
}
