package udf

import "tidemark/engine/stream"

// Applier is an Aggregate with accumulators of fixed size that takes what happens to them in
// a batch in one call: records, results on the way, resets (E6).
type Applier interface {
	Aggregate
	// Apply carries out operations in order. It changes accs in place, and appends a row to
	// out for each OpEmit, as Result does. The rows' Group and Groups mean nothing.
	Apply(accs *Accs, ops []ContentOp, rows *Rows, out *stream.Columns) error
}

// ContentOp is an operation on one accumulator.
type ContentOp struct {
	What OpWhat
	Acc  uint32 // index of the accumulator
	Row  uint32 // OpAdd: index into the rows' Sel
}

// OpWhat says what an operation does.
type OpWhat uint8

const (
	OpAdd   OpWhat = iota // folds a record into the accumulator
	OpEmit                // writes the accumulator's row of results
	OpReset               // makes it a fresh one
)
