package tidemark

// Row names one record of the current call. It means nothing after Add returns.
type Row struct{ i int }

// Timestamp is an event time: milliseconds since 1970-01-01 UTC.
type Timestamp int64

// Input is a column that an aggregate reads: what Int64, Float64, Bool, String and
// Time declare.
type Input interface {
	input() *column
	bind(f frame, d *descriptor, rows int) bool
	// skip lets the column begin at record n, until it is bound again.
	skip(n int)
}

// column is what all input columns share.
type column struct {
	name     string
	kind     kind
	nullable bool
	valid    []uint64 // of the current call; nil: no row is null
}

func (c *column) input() *column { return c }

// Null reports whether the column has no value in this record, which only happens
// when it was declared nullable. Of then gives the zero value.
func (c *column) Null(r Row) bool {
	return c.valid != nil && c.valid[r.i>>6]>>(r.i&63)&1 == 0
}

// bindValid points valid at the column's bitmap.
func (c *column) bindValid(f frame, d *descriptor, rows int) (good bool) {
	c.valid = nil
	if kind(d.kind) != c.kind {
		return false
	}
	if d.flags&hasValidity == 0 {
		return true
	}
	c.valid, good = slice[uint64](f, d.validity, (rows+63)/64)
	return good
}

// skip is Input's, for the bitmap.
func (c *column) skip(n int) {
	if c.valid == nil {
		return
	}
	from := c.valid[n>>6:]
	by := n & 63
	c.valid = make([]uint64, len(from))
	for i, w := range from {
		c.valid[i] = w >> by
		if by > 0 && i+1 < len(from) {
			c.valid[i] |= from[i+1] << (64 - by)
		}
	}
}

// values is a column whose values have one size each.
type values[T any] struct {
	column
	data []T
}

func (c *values[T]) bind(f frame, d *descriptor, rows int) (good bool) {
	if !c.bindValid(f, d, rows) {
		return false
	}
	c.data, good = slice[T](f, d.data, rows)
	return good
}

func (c *values[T]) skip(n int) {
	c.column.skip(n)
	c.data = c.data[n:]
}

// Int64Column reads a column of whole numbers.
type Int64Column struct{ values[int64] }

// Int64 declares an input column of whole numbers.
func Int64(name string) *Int64Column {
	return &Int64Column{values[int64]{column: column{name: name, kind: kindInt64}}}
}

// Nullable asks for records without a value too; without it the host leaves them out.
func (c *Int64Column) Nullable() *Int64Column { c.nullable = true; return c }

// Of returns the record's value. Called per record.
func (c *Int64Column) Of(r Row) int64 { return c.data[r.i] }

// Float64Column reads a column of floating-point numbers. They may be NaN or
// infinite where the source can say so; JSON cannot.
type Float64Column struct{ values[float64] }

// Float64 declares an input column of floating-point numbers.
func Float64(name string) *Float64Column {
	return &Float64Column{values[float64]{column: column{name: name, kind: kindFloat64}}}
}

// Nullable asks for records without a value too; without it the host leaves them out.
func (c *Float64Column) Nullable() *Float64Column { c.nullable = true; return c }

// Of returns the record's value. Called per record.
func (c *Float64Column) Of(r Row) float64 { return c.data[r.i] }

// BoolColumn reads a column of truth values.
type BoolColumn struct{ values[byte] }

// Bool declares an input column of truth values.
func Bool(name string) *BoolColumn {
	return &BoolColumn{values[byte]{column: column{name: name, kind: kindBool}}}
}

// Nullable asks for records without a value too; without it the host leaves them out.
func (c *BoolColumn) Nullable() *BoolColumn { c.nullable = true; return c }

// Of returns the record's value. Called per record.
func (c *BoolColumn) Of(r Row) bool { return c.data[r.i] != 0 }

// TimeColumn reads a column of event times.
type TimeColumn struct{ values[Timestamp] }

// Time declares an input column of event times.
func Time(name string) *TimeColumn {
	return &TimeColumn{values[Timestamp]{column: column{name: name, kind: kindTimestamp}}}
}

// Nullable asks for records without a value too; without it the host leaves them out.
func (c *TimeColumn) Nullable() *TimeColumn { c.nullable = true; return c }

// Of returns the record's value. Called per record.
func (c *TimeColumn) Of(r Row) Timestamp { return c.data[r.i] }

// StringColumn reads a column of text, which is valid UTF-8.
type StringColumn struct {
	column
	off  []uint32
	blob []byte
}

// String declares an input column of text.
func String(name string) *StringColumn {
	return &StringColumn{column: column{name: name, kind: kindString}}
}

// Nullable asks for records without a value too; without it the host leaves them out.
func (c *StringColumn) Nullable() *StringColumn { c.nullable = true; return c }

// Bytes returns the record's text in place: it is overwritten once Add has returned,
// and must not be changed. Looking it up by m[string(b)] allocates nothing, so this
// is the form for the record path.
func (c *StringColumn) Bytes(r Row) []byte {
	from, to := c.off[r.i], c.off[r.i+1]
	return c.blob[from:to:to]
}

// Of returns a copy of the record's text, which may be kept.
func (c *StringColumn) Of(r Row) string { return string(c.Bytes(r)) }

func (c *StringColumn) bind(f frame, d *descriptor, rows int) (good bool) {
	if !c.bindValid(f, d, rows) {
		return false
	}
	if c.off, good = slice[uint32](f, d.data, rows+1); !good {
		return false
	}
	c.blob, good = slice[byte](f, d.blob, int(d.blobSize))
	return good
}

func (c *StringColumn) skip(n int) {
	c.column.skip(n)
	c.off = c.off[n:]
}

// bindInputs points all columns at the frame.
func bindInputs[T interface {
	bind(f frame, d *descriptor, rows int) bool
}](f frame, cols []T) bool {
	if int(f.ncols) != len(cols) {
		return false
	}
	return bindColumns(f, f.cols, int(f.rows), cols)
}

// bindColumns points columns at their descriptors.
func bindColumns[T interface {
	bind(f frame, d *descriptor, rows int) bool
}](f frame, at uint32, rows int, cols []T) bool {
	ds, good := slice[descriptor](f, at, len(cols))
	if !good {
		return false
	}
	for i := range cols {
		if !cols[i].bind(f, &ds[i], rows) {
			return false
		}
	}
	return true
}
