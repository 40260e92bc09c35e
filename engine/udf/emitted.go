package udf

import "tidemark/engine/stream"

// Emitted is the answer to calls that give any number of rows: columns of the function's
// outputs with their text in Blob, and for each row the pair or firing of the call that
// it came of, ascending. The caller sets N.
type Emitted struct {
	stream.Columns
	Of []uint32
}

// Reset empties the rows for reuse.
func (r *Emitted) Reset(outputs []stream.Field) {
	if r.Cols == nil {
		r.Cols = make([]stream.Column, len(outputs))
	}
	for i, f := range outputs {
		r.Cols[i].Reset(f.Kind)
	}
	r.N, r.Blob, r.Of = 0, r.Blob[:0], r.Of[:0]
}

// Truncate takes the rows back to n rows and blob bytes of text.
func (r *Emitted) Truncate(n, blob int) {
	for i := range r.Cols {
		r.Cols[i].Truncate(n)
	}
	r.N, r.Blob, r.Of = n, r.Blob[:blob], r.Of[:n]
}
