package stream

import "fmt"

// Kind is the type of a column. The numbers are part of the ABI (abi/SPEC.md,
// "Columns") and of checkpoints: stored, never change.
type Kind uint8

const (
	Int64     Kind = 1
	Float64   Kind = 2
	Bool      Kind = 3
	String    Kind = 4 // valid UTF-8
	Timestamp Kind = 5 // int64 milliseconds since 1970
	// JSON is one JSON value as text, such as a list. Only functions of our own make
	// it, and result rows show it as it stands: no schema can name it and the ABI does
	// not have it.
	JSON Kind = 6
	// Token is the raw text of a scalar in its source format, quotes included. It
	// exists between decoder and timestamp assigner only, never in a job file or
	// in the ABI. An empty token means that the field was missing.
	Token Kind = 250
)

var kindNames = map[Kind]string{Int64: "int64", Float64: "float64", Bool: "bool", String: "string", Timestamp: "timestamp", JSON: "json", Token: "token"}

// String returns the name that job files and manifests use.
func (k Kind) String() string {
	if n, ok := kindNames[k]; ok {
		return n
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ParseKind is the inverse of String for the kinds that a job file may name.
func ParseKind(name string) (Kind, bool) {
	for _, k := range []Kind{Int64, Float64, Bool, String, Timestamp} {
		if kindNames[k] == name {
			return k, true
		}
	}
	return 0, false
}

// Str is a piece of text inside the blob of the Columns that it belongs to.
type Str struct{ Off, Len uint32 }

// Bytes returns the text. The result aliases blob.
func (s Str) Bytes(blob []byte) []byte { return blob[s.Off : s.Off+s.Len : s.Off+s.Len] }

// Column holds the values of one field for all rows of its Columns. Only the
// slice that belongs to Kind is used and has one entry a row; a null row holds the
// zero value there.
type Column struct {
	Kind   Kind
	Valid  Bits    // nil: no row is null; else bit i set: row i has a value
	Ints   []int64 // Int64, Timestamp
	Floats []float64
	Bools  []bool
	Strs   []Str // String, JSON, Token: into Columns.Blob
}

// Null reports whether row i has no value.
func (c *Column) Null(i int) bool { return c.Valid != nil && !c.Valid.Get(i) }

// Len returns the number of rows.
func (c *Column) Len() int {
	switch c.Kind {
	case Int64, Timestamp:
		return len(c.Ints)
	case Float64:
		return len(c.Floats)
	case Bool:
		return len(c.Bools)
	default:
		return len(c.Strs)
	}
}

// Reset empties the column, keeps its memory and sets its kind.
func (c *Column) Reset(k Kind) {
	*c = Column{Kind: k, Ints: c.Ints[:0], Floats: c.Floats[:0], Bools: c.Bools[:0], Strs: c.Strs[:0]}
}

// AppendInt adds a row to an Int64 or Timestamp column.
func (c *Column) AppendInt(v int64) { c.Ints = append(c.Ints, v); c.valid(len(c.Ints) - 1) }

// AppendFloat adds a row to a Float64 column.
func (c *Column) AppendFloat(v float64) { c.Floats = append(c.Floats, v); c.valid(len(c.Floats) - 1) }

// AppendBool adds a row to a Bool column.
func (c *Column) AppendBool(v bool) { c.Bools = append(c.Bools, v); c.valid(len(c.Bools) - 1) }

// AppendStr adds a row to a String, JSON or Token column; s lies in the blob already.
func (c *Column) AppendStr(s Str) { c.Strs = append(c.Strs, s); c.valid(len(c.Strs) - 1) }

// AppendNull adds a row without a value.
func (c *Column) AppendNull() {
	n := c.Len()
	switch c.Kind {
	case Int64, Timestamp:
		c.Ints = append(c.Ints, 0)
	case Float64:
		c.Floats = append(c.Floats, 0)
	case Bool:
		c.Bools = append(c.Bools, false)
	default:
		c.Strs = append(c.Strs, Str{})
	}
	if c.Valid == nil { // the first null: all rows so far have a value
		c.Valid = AllSet(n)
	}
	c.Valid = c.Valid.Append(n, false)
}

func (c *Column) valid(i int) {
	if c.Valid != nil {
		c.Valid = c.Valid.Append(i, true)
	}
}

// Truncate drops all rows from n on: a decoder takes back a row that turned out
// to be bad half-way.
func (c *Column) Truncate(n int) {
	switch c.Kind {
	case Int64, Timestamp:
		c.Ints = c.Ints[:n]
	case Float64:
		c.Floats = c.Floats[:n]
	case Bool:
		c.Bools = c.Bools[:n]
	default:
		c.Strs = c.Strs[:n]
	}
	if c.Valid != nil {
		c.Valid = c.Valid[:(n+63)/64]
	}
}

// Bits is a bitmap; bit i is bit i%64 of word i/64, so that its little-endian
// bytes are the validity bitmap of the ABI as it stands.
type Bits []uint64

// Get returns bit i.
func (b Bits) Get(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }

// Append sets bit i, where i is the number of bits so far.
func (b Bits) Append(i int, v bool) Bits {
	if i>>6 == len(b) {
		b = append(b, 0)
	}
	if v {
		b[i>>6] |= 1 << (i & 63)
	} else {
		b[i>>6] &^= 1 << (i & 63)
	}
	return b
}

// AllSet returns n bits that are set.
func AllSet(n int) Bits {
	b := make(Bits, (n+63)/64)
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}

// Columns is a table: N rows, and the blob that the text of its columns lies in.
type Columns struct {
	N    int
	Cols []Column
	Blob []byte // at most 4 GiB: Str has 32-bit offsets
}

// Bytes is what the table holds of memory.
func (c *Columns) Bytes() int64 {
	n := int64(cap(c.Blob))
	for i := range c.Cols {
		col := &c.Cols[i]
		n += int64(8*cap(col.Valid) + 8*cap(col.Ints) + 8*cap(col.Floats) + cap(col.Bools) + 8*cap(col.Strs))
	}
	return n
}

// Field names a column and its type.
type Field struct {
	Name string
	Kind Kind
}

// AppendRow copies row i of src, text included, to the end of c. Both have columns of
// the same kinds. Called per record where batches are split by key or merged by time.
func (c *Columns) AppendRow(src *Columns, i int) {
	for n := range c.Cols {
		c.AppendCell(n, src, n, i)
	}
	c.N++
}

// AppendCell copies row i of column from of src, text included, to the end of column n of
// c, which has the same kind. The caller sets N.
func (c *Columns) AppendCell(n int, src *Columns, from, i int) {
	d, s := &c.Cols[n], &src.Cols[from]
	if s.Null(i) {
		d.AppendNull()
		return
	}
	switch s.Kind {
	case Int64, Timestamp:
		d.AppendInt(s.Ints[i])
	case Float64:
		d.AppendFloat(s.Floats[i])
	case Bool:
		d.AppendBool(s.Bools[i])
	default:
		d.AppendStr(c.copyStr(src, s.Strs[i]))
	}
}

func (c *Columns) copyStr(src *Columns, s Str) Str {
	off := uint32(len(c.Blob))
	c.Blob = append(c.Blob, s.Bytes(src.Blob)...)
	return Str{off, s.Len}
}

// maxBlob is how much text rows may bring together before a batch must go: far below the
// 4 GiB that Str can address, with room for the largest record.
const maxBlob = 64 << 20

// Heavy reports whether the table must not grow any more.
func (c *Columns) Heavy() bool { return len(c.Blob) >= maxBlob }

// Reset empties the table for reuse and gives it columns of these kinds.
func (c *Columns) Reset(kinds []Kind) {
	if cap(c.Cols) < len(kinds) {
		c.Cols = append(c.Cols[:cap(c.Cols)], make([]Column, len(kinds)-cap(c.Cols))...)
	}
	c.Cols = c.Cols[:len(kinds)]
	for i, k := range kinds {
		c.Cols[i].Reset(k)
	}
	c.N, c.Blob = 0, c.Blob[:0]
}
