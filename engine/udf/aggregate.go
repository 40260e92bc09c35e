package udf

import (
	"encoding/binary"
	"slices"

	"tidemark/engine/stream"
)

// Aggregate folds records into accumulators. An accumulator is opaque bytes that
// the host owns; an Aggregate keeps nothing between calls, so that checkpoints,
// rescaling, trap recovery and upgrades are all the host's work.
//
// Order of calls: Info any time; then Create, Add, Merge and Result in any order
// and number; Close once, last. All calls come from the goroutine of the task that
// owns the Aggregate. No argument is kept beyond the call that passes it.
//
// Every call is all or nothing in the sense that after an error the caller drops
// the Accs it passed and goes on with its own copies. Errors are of class *Failure
// when user code refused or broke down (the caller applies the step's on_error
// policy), anything else ends the job.
//
// The laws, checked by tests: merging with a created accumulator changes nothing;
// merging the accumulators of two runs of records equals (see Exact) adding all of
// them to one; Result changes nothing.
type Aggregate interface {
	Info() Info
	// Create makes dst hold n fresh accumulators.
	Create(dst *Accs, n int) error
	// Add folds each selected record into the accumulator of its group. Fixed size:
	// accs holds rows.Groups accumulators, changed in place. Varying size: accs comes
	// in empty and leaves with rows.Groups partials, each begun from a fresh
	// accumulator; the caller merges them with what it has when that is cheap (K4).
	Add(accs *Accs, rows *Rows) error
	// Merge folds accumulator i of from into accumulator i of into, for all i. The
	// records behind into came before those behind from.
	Merge(into, from *Accs) error
	// Result appends one row for each accumulator to out.Cols, which have the kinds
	// of Info().Outputs; text goes to out.Blob.
	Result(accs *Accs, out *stream.Columns) error
	Close() error
}

// Info describes an aggregate. It never changes during the life of an instance.
type Info struct {
	Inputs  []Input
	Outputs []stream.Field // one output is a plain value in a result row, several are an object

	// Width is the size of an accumulator in bytes, a multiple of 8; 0 means that
	// accumulators vary in size.
	Width int

	// OrderInsensitive: the result does not depend on the order in which records
	// are added and accumulators merged. Needed for slices and pre-aggregation.
	OrderInsensitive bool
	// Exact: merging in any shape gives the same bits as one pass.
	Exact bool
	// Schema is the version of the accumulator's layout, kept in checkpoints.
	Schema uint32
}

// Input is a column that an aggregate reads. The engine leaves out records in
// which a column is null unless the aggregate says that it handles nulls.
type Input struct {
	Name     string
	Kind     stream.Kind
	Nullable bool
}

// Accs is a row of accumulators in one piece of memory.
type Accs struct {
	Width int      // > 0: accumulator i is Data[i*Width:(i+1)*Width]
	Off   []uint32 // Width 0: accumulator i is Data[Off[i]:Off[i+1]]; len N+1
	Data  []byte
}

// N returns the number of accumulators.
func (a *Accs) N() int {
	if a.Width > 0 {
		return len(a.Data) / a.Width
	}
	return max(len(a.Off)-1, 0)
}

// At returns accumulator i; the slice aliases a.
func (a *Accs) At(i int) []byte {
	if a.Width > 0 {
		return a.Data[i*a.Width : (i+1)*a.Width : (i+1)*a.Width]
	}
	return a.Data[a.Off[i]:a.Off[i+1]:a.Off[i+1]]
}

// Reset empties a and keeps its memory.
func (a *Accs) Reset(width int) {
	a.Width, a.Data, a.Off = width, a.Data[:0], a.Off[:0]
	if width == 0 {
		a.Off = append(a.Off, 0)
	}
}

// Resize makes a hold n accumulators of width bytes, above 0, of any content.
func (a *Accs) Resize(width, n int) {
	a.Reset(width)
	a.Data = slices.Grow(a.Data, n*width)[:n*width]
}

// Set copies acc, of width bytes, to accumulator i: by words, of which there are few.
func (a *Accs) Set(i int, acc []byte) {
	for dst := a.Data[i*a.Width:]; len(acc) >= 8; dst, acc = dst[8:], acc[8:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(acc))
	}
}

// Append copies acc to the end of a.
func (a *Accs) Append(acc []byte) {
	a.Data = append(a.Data, acc...)
	if a.Width == 0 {
		a.Off = append(a.Off, uint32(len(a.Data)))
	}
}

// Rows selects records of a batch and says where each one goes.
type Rows struct {
	Batch *stream.Batch
	Cols  []int    // for each Info().Inputs, the number of the batch's column
	Sel   []uint32 // rows of the batch, ascending
	Group []uint32 // for each of Sel, the accumulator that it is folded into
	// Groups is the number of accumulators; some may have no record in Sel.
	Groups int
}
