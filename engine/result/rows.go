// Package result gives rows their shape on the way out: result rows with their
// stable ids, late, failed and bad records, each as one line of JSON. It is pure;
// tasks call it and hand the bytes to a sink.
package result

import (
	"slices"

	"tidemark/engine/stream"
)

// Kind says why a pane fired.
type Kind uint8

const (
	NoKind     Kind = iota // global windows carry none
	Early                  // before the watermark reached the window's end
	OnTime                 // the first firing at or after it
	Update                 // a later one
	Incomplete             // by a drain
)

var kindNames = [...]string{"", "early", "on_time", "update", "incomplete"}

func (k Kind) String() string { return kindNames[k] }

// Rows is a batch of result rows as columns. The receiver may use it until the call
// that passed it returns.
type Rows struct {
	N   int
	Key stream.Columns // one column for each field of the key; none: over all keys
	// EncodedKey has the key of each row as the engine knows it.
	EncodedKey [][]byte
	Window     []stream.Window
	Kind       []Kind
	Revision   []uint32
	Values     []stream.Columns // one for each aggregate, with the columns of its outputs
	// SinceLast: the value holds only what came since a purge, not all of the window.
	SinceLast []bool
	// Replaces lists windows whose results this one takes the place of (M4).
	Replaces [][]stream.Window
	// Ordinal counts the rows of one firing or pair from 0, and Of is their number. Nil:
	// each row is the only one.
	Ordinal, Of []uint64
	// Pairs is set where rows are pairs of an interval join, which have no window.
	Pairs *Pairs
	// Side is the output that the rows are for: 0 the results, others the side outputs of a
	// process function, counted from 1.
	Side int
	// Before is the step's watermark before each row: a row is never late for the step that
	// reads it because of the watermark that made it fire (S69). Of a pair, the watermark
	// that it was made at.
	Before []stream.Time
}

// Pairs is what rows of an interval join have in place of a window, one for each row.
type Pairs struct {
	Time []stream.Time // the later one of the two (S111)
	// Left and Right are where the two records were read: they name the pair, the same in
	// every run.
	Left, Right []Place
}

// Place is where a record was read.
type Place struct {
	Split stream.SplitID
	Pos   int64
}

// Reset empties the rows for reuse, with columns of these kinds.
func (r *Rows) Reset(key []stream.Field, values [][]stream.Field) {
	r.N = 0
	resetColumns(&r.Key, key)
	if r.Values == nil {
		r.Values = make([]stream.Columns, len(values))
	}
	for i, v := range values {
		resetColumns(&r.Values[i], v)
	}
	r.Window, r.Kind, r.Revision = r.Window[:0], r.Kind[:0], r.Revision[:0]
	r.EncodedKey, r.Before = r.EncodedKey[:0], r.Before[:0]
	r.SinceLast, r.Replaces = r.SinceLast[:0], r.Replaces[:0]
	r.Ordinal, r.Of, r.Pairs, r.Side = r.Ordinal[:0], r.Of[:0], nil, 0
}

// Extend gives the rows their number, n, and room for what is said of each beside key and
// values: nothing so far.
func (r *Rows) Extend(n int) {
	r.N = n
	r.EncodedKey, r.Window, r.Before = sized(r.EncodedKey, n), sized(r.Window, n), sized(r.Before, n)
	r.Kind, r.Revision = sized(r.Kind, n), sized(r.Revision, n)
	r.SinceLast, r.Replaces = sized(r.SinceLast, n), sized(r.Replaces, n)
}

// sized returns n zero values, in the memory of s if that is enough.
func sized[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

func resetColumns(c *stream.Columns, fields []stream.Field) {
	if c.Cols == nil {
		c.Cols = make([]stream.Column, len(fields))
	}
	for i, f := range fields {
		c.Cols[i].Reset(f.Kind)
	}
	c.N, c.Blob = 0, c.Blob[:0]
}
