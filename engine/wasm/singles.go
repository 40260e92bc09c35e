package wasm

import (
	"math"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// singles are the records of a call that is about each of them alone: those of functions
// of single records and of window assigners (SPEC section 3, frames of tm_map).
type singles struct {
	cut     records
	indexes []uint32 // into Sel, of the records that are shown
	rows    []uint32 // of the batch: theirs
}

func (s *singles) bind(declared []abi.Column, kinds []stream.Kind) (inputs []udf.Input, err error) {
	inputs, s.cut.layout, err = bindColumns(declared, kinds)
	s.cut.times.Cols = make([]stream.Column, 1)
	return inputs, err
}

// choose leaves out records with a null that is not taken.
func (s *singles) choose(inputs []udf.Input, rows *udf.Rows) {
	s.indexes, s.rows = s.indexes[:0], s.rows[:0]
	for i, row := range rows.Sel {
		if !lacks(inputs, &rows.Batch.Columns, rows.Cols, int(row)) {
			s.indexes, s.rows = append(s.indexes, uint32(i)), append(s.rows, row)
		}
	}
	s.cut.cols = rows.Cols
}

// call is one that shows the records that were chosen. Items are counted as Sel does.
func (s *singles) call(fn guest.Func, rows *udf.Rows, item, answers string, take func(base, n int, answer []byte) (int, error)) *itemCall {
	return &itemCall{
		fn: fn, n: len(s.rows), item: item, answers: answers, take: take,
		number: func(item int) int { return int(s.indexes[item]) },
		fill:   func(base, n, arena int) (int, int) { return s.fill(rows, base, n, arena), s.bytes() },
		frame:  s.frame,
	}
}

// lacks reports whether a row has a null in a column that is not nullable.
func lacks(inputs []udf.Input, c *stream.Columns, cols []int, row int) bool {
	for i, in := range inputs {
		if !in.Nullable && c.Cols[cols[i]].Null(row) {
			return true
		}
	}
	return false
}

// fill cuts out records from base on, n or as many as leave half of the arena to the
// answer, and at least one. It returns their number.
func (s *singles) fill(rows *udf.Rows, base, n, arena int) int {
	for {
		s.cut.take(&rows.Batch.Columns, rows.Batch.Time, s.rows[base:base+n:base+n])
		if n == 1 || s.bytes() <= arena/2 {
			return n
		}
		n /= 2
	}
}

func (s *singles) bytes() int { return abi.HeaderBytes + abi.BlockBytes + s.cut.bytes() }

// frame writes the k records of the cut.
func (s *singles) frame(k int, arena []byte) frame {
	f := newFrame(arena, 0)
	f.h.Rows = uint32(k)
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	var b abi.Block
	b.Lists[0] = s.cut.put(&f)
	f.finish(math.MaxInt)
	b.Put(block)
	return f
}
