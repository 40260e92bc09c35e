package tidemark

import (
	"errors"
	"unsafe"
)

// Out is a row that is being written: the one of Result, or one that a process function
// has begun. An output column that is not set is null there. It means nothing after Result
// returns, or the next row is begun.
type Out struct {
	i     int
	f     frame
	start uint32 // of this row's texts in the output area
	base  uint32 // what the offsets of its texts count from, there
	full  bool   // a text did not fit into the output area
	long  bool   // the row's texts are longer than any call can carry
}

// textBytes bounds the texts of one result row, as every result is bounded.
const textBytes = 1 << 20

// writeRows calls result for each group and answers what became of it.
func writeRows(f frame, result func(i int, w *Out) error) status {
	var w Out
	for i := range int(f.groups) {
		f.op = uint32(i)
		w = Out{i: i, f: f, start: f.outUsed}
		switch err := result(i, &w); {
		case err != nil:
			return f.refuse(err)
		case w.long:
			return f.refuse(errLongText)
		case w.full:
			f.outUsed = w.start
			return f.full(i)
		}
	}
	return ok
}

var errLongText = errors.New("the texts of a result row are longer than 1 MiB")

// Output is a column that a plug-in answers: what OutInt64, OutFloat64, OutBool,
// OutString and OutTime declare.
type Output interface {
	output() *outColumn
	bind(f frame, d *descriptor, rows int) bool
	// place points the column at one row: where its value lies, and the word that says
	// which columns of the row have one, where this one has the number bit.
	place(valid *uint64, data unsafe.Pointer, bit int)
	// scrap gives the column memory of its own, for a row that is answered again.
	scrap()
}

// outColumn is what all output columns share.
type outColumn struct {
	name  string
	kind  kind
	valid []uint64
	bit   int // of the first row in valid: the number of the column in a row of a process function
}

func (c *outColumn) output() *outColumn { return c }

func (c *outColumn) set(i int) {
	i += c.bit
	c.valid[i>>6] |= 1 << (i & 63)
}

func (c *outColumn) bindValid(f frame, d *descriptor, rows int) (good bool) {
	if kind(d.kind) != c.kind {
		return false
	}
	c.valid, good = slice[uint64](f, d.validity, (rows+63)/64)
	return good
}

// outValues is a column whose values have one size each.
type outValues[T any] struct {
	outColumn
	data []T
}

func (c *outValues[T]) bind(f frame, d *descriptor, rows int) (good bool) {
	if !c.bindValid(f, d, rows) {
		return false
	}
	c.data, good = slice[T](f, d.data, rows)
	return good
}

func (c *outValues[T]) place(valid *uint64, data unsafe.Pointer, bit int) {
	c.valid, c.data, c.bit = unsafe.Slice(valid, 1), unsafe.Slice((*T)(data), 1), bit
}

func (c *outValues[T]) scrap() { c.valid, c.data, c.bit = make([]uint64, 1), make([]T, 1), 0 }

// Int64Output answers a column of whole numbers.
type Int64Output struct{ outValues[int64] }

// OutInt64 declares an output column of whole numbers.
func OutInt64(name string) *Int64Output {
	return &Int64Output{outValues[int64]{outColumn: outColumn{name: name, kind: kindInt64}}}
}

// Set writes the column's value in the result row.
func (c *Int64Output) Set(w *Out, v int64) { c.data[w.i] = v; c.set(w.i) }

// Float64Output answers a column of floating-point numbers.
type Float64Output struct{ outValues[float64] }

// OutFloat64 declares an output column of floating-point numbers.
func OutFloat64(name string) *Float64Output {
	return &Float64Output{outValues[float64]{outColumn: outColumn{name: name, kind: kindFloat64}}}
}

// Set writes the column's value in the result row.
func (c *Float64Output) Set(w *Out, v float64) { c.data[w.i] = v; c.set(w.i) }

// BoolOutput answers a column of truth values.
type BoolOutput struct{ outValues[bool] }

// OutBool declares an output column of truth values.
func OutBool(name string) *BoolOutput {
	return &BoolOutput{outValues[bool]{outColumn: outColumn{name: name, kind: kindBool}}}
}

// Set writes the column's value in the result row.
func (c *BoolOutput) Set(w *Out, v bool) { c.data[w.i] = v; c.set(w.i) }

// TimeOutput answers a column of event times.
type TimeOutput struct{ outValues[Timestamp] }

// OutTime declares an output column of event times.
func OutTime(name string) *TimeOutput {
	return &TimeOutput{outValues[Timestamp]{outColumn: outColumn{name: name, kind: kindTimestamp}}}
}

// Set writes the column's value in the result row.
func (c *TimeOutput) Set(w *Out, v Timestamp) { c.data[w.i] = v; c.set(w.i) }

// StringOutput answers a column of text.
type StringOutput struct {
	outColumn
	data []text
}

// text is the place of a text in the output area.
type text struct{ off, n uint32 }

// OutString declares an output column of text.
func OutString(name string) *StringOutput {
	return &StringOutput{outColumn: outColumn{name: name, kind: kindString}}
}

// Set writes the column's value in the result row; v is copied and must be UTF-8.
// The texts of one row may take 1 MiB together.
func (c *StringOutput) Set(w *Out, v string) { setText(c, w, v) }

// SetBytes is Set for a text that is not a string yet.
func (c *StringOutput) SetBytes(w *Out, v []byte) { setText(c, w, v) }

func setText[T string | []byte](c *StringOutput, w *Out, v T) {
	used := w.f.outUsed
	if len(v) > textBytes-int(used-w.start) {
		w.long = true
		return
	}
	if len(v) > len(w.f.out)-int(used) {
		w.full = true // the row is answered again, in a call with more room
		return
	}
	copy(w.f.out[used:], v)
	c.data[w.i] = text{used - w.base, uint32(len(v))}
	w.f.outUsed = used + uint32(len(v))
	c.set(w.i)
}

func (c *StringOutput) bind(f frame, d *descriptor, rows int) (good bool) {
	if !c.bindValid(f, d, rows) {
		return false
	}
	c.data, good = slice[text](f, d.data, rows)
	return good
}

func (c *StringOutput) place(valid *uint64, data unsafe.Pointer, bit int) {
	c.valid, c.data, c.bit = unsafe.Slice(valid, 1), unsafe.Slice((*text)(data), 1), bit
}

func (c *StringOutput) scrap() { c.valid, c.data, c.bit = make([]uint64, 1), make([]text, 1), 0 }

// bindOutputs points all output columns at the frame.
func bindOutputs(f frame, cols []Output) bool {
	if int(f.noutcols) != len(cols) {
		return false
	}
	ds, good := slice[descriptor](f, f.outcols, len(cols))
	if !good {
		return false
	}
	for i, c := range cols {
		if !c.bind(f, &ds[i], int(f.groups)) {
			return false
		}
	}
	return true
}
