package expr

import (
	"strconv"

	"tidemark/engine/stream"
)

// chunkRows is how many records go through an expression at once: few enough for a
// vector to stay in the cache.
const chunkRows = 1024

// maxText bounds the text that one expression makes for one record, in bytes: a += a in a
// row doubles it, and records have 1 MiB by default.
const maxText = 1 << 16

// kind is the type of an expression.
type kind uint8

const (
	intKind kind = iota
	floatKind
	boolKind
	textKind
	timeKind // ints, milliseconds since 1970
	spanKind // ints, milliseconds; no column can hold it
	nullKind // the literal null
)

var kindNames = [...]string{"int64", "float64", "bool", "string", "timestamp", "duration", "null"}

func (k kind) String() string { return kindNames[k] }

// kindOf is the type of a field, kindTo that of the column that an expression makes.
func kindOf(k stream.Kind) (kind, bool) {
	switch k {
	case stream.Int64:
		return intKind, true
	case stream.Float64:
		return floatKind, true
	case stream.Bool:
		return boolKind, true
	case stream.String:
		return textKind, true
	case stream.Timestamp:
		return timeKind, true
	}
	return 0, false
}

func kindTo(k kind) (stream.Kind, bool) {
	switch k {
	case intKind:
		return stream.Int64, true
	case floatKind:
		return stream.Float64, true
	case boolKind:
		return stream.Bool, true
	case textKind:
		return stream.String, true
	case timeKind:
		return stream.Timestamp, true
	}
	return 0, false
}

// reason says why an expression has no answer for a record; 0: it has one.
type reason uint8

const (
	fine reason = iota
	overflow
	zeroDivision
	notFinite
	notNumber
	longText
)

var reasonTexts = [...]string{
	overflow:     "an integer leaves the range of int64",
	zeroDivision: "division by zero",
	notFinite:    "a float64 becomes infinite, or is not a number",
	notNumber:    "text that is not a number cannot be converted",
	longText:     "more than " + strconv.Itoa(maxText) + " bytes of text",
}

// vector is the value of an expression for the records of a chunk. Exactly one of the
// four slices is used, by kind. What stands in it where a record is null or bad is
// undefined.
type vector struct {
	ints   []int64
	floats []float64
	bools  []bool
	texts  [][]byte
	null   []bool   // nil: no record is null
	bad    []reason // nil: none is bad
}

// isNull and isBad look at record i.
func (v *vector) isNull(i int) bool { return v.null != nil && v.null[i] }

func (v *vector) why(i int) reason {
	if v.bad == nil {
		return fine
	}
	return v.bad[i]
}

// truth is the value of record i where a truth value is needed: null is false.
func (v *vector) truth(i int) bool { return v.bools[i] && !v.isNull(i) }

// node is a compiled expression. It owns its vector, which is valid until the next call.
type node interface {
	kind() kind
	eval(c *chunk) *vector
}

// chunk is the records that go through an expression.
type chunk struct {
	batch *stream.Batch
	cols  []int    // for each field, the number of the batch's column
	sel   []uint32 // rows of the batch, at most chunkRows

	text []byte   // made by the expression
	used []uint32 // for each record, how many bytes of it were made for it
}

func (c *chunk) n() int { return len(c.sel) }

// start begins an expression over the chunk.
func (c *chunk) start() {
	c.text = c.text[:0]
	c.used = append(c.used[:0], make([]uint32, len(c.sel))...)
}

// out is what every node embeds: its type, its vector, and memory for it.
type out struct {
	k       kind
	v       vector
	nullMem []bool
	badMem  []reason
}

func (o *out) kind() kind { return o.k }

// reset makes the vector one of n records, none of them null or bad.
func (o *out) reset(n int) *vector {
	o.v.null, o.v.bad = nil, nil
	switch o.k {
	case floatKind:
		o.v.floats = sized(o.v.floats, n)
	case boolKind:
		o.v.bools = sized(o.v.bools, n)
	case textKind:
		o.v.texts = sized(o.v.texts, n)
	default:
		o.v.ints = sized(o.v.ints, n)
	}
	return &o.v
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, chunkRows)
	}
	return s[:n]
}

// setNull and setBad mark record i of n.
func (o *out) setNull(i, n int) {
	if o.v.null == nil {
		o.nullMem = sized(o.nullMem, n)
		clear(o.nullMem)
		o.v.null = o.nullMem
	}
	o.v.null[i] = true
}

func (o *out) setBad(i, n int, why reason) {
	if o.v.bad == nil {
		o.badMem = sized(o.badMem, n)
		clear(o.badMem)
		o.v.bad = o.badMem
	}
	o.v.bad[i] = why
}

// strict marks what is null or bad in an operand: for operators that need all of theirs.
func (o *out) strict(n int, operands ...*vector) {
	for _, x := range operands {
		for i := range x.null {
			if x.null[i] {
				o.setNull(i, n)
			}
		}
	}
	o.blame(n, operands...)
}

// blame marks what is bad in an operand; the first one that is bad says why.
func (o *out) blame(n int, operands ...*vector) {
	for _, x := range operands {
		for i := range x.bad {
			if x.bad[i] != fine && o.v.why(i) == fine {
				o.setBad(i, n, x.bad[i])
			}
		}
	}
}

// skip reports whether record i is null or bad already.
func (o *out) skip(i int) bool { return o.v.isNull(i) || o.v.why(i) != fine }

// fieldNode is a field of the record.
type fieldNode struct {
	out
	field int // index into chunk.cols
}

func (f *fieldNode) eval(c *chunk) *vector {
	n, col := c.n(), &c.batch.Cols[c.cols[f.field]]
	v := f.reset(n)
	switch f.k {
	case floatKind:
		pick(v.floats, col.Floats, c.sel)
	case boolKind:
		pick(v.bools, col.Bools, c.sel)
	case textKind:
		for i, r := range c.sel {
			v.texts[i] = col.Strs[r].Bytes(c.batch.Blob)
		}
	default:
		pick(v.ints, col.Ints, c.sel)
	}
	if col.Valid != nil {
		for i, r := range c.sel {
			if !col.Valid.Get(int(r)) {
				f.setNull(i, n)
			}
		}
	}
	return v
}

func pick[T any](dst, src []T, rows []uint32) {
	for i, r := range rows {
		dst[i] = src[r]
	}
}

// constNode is a literal, or what was computed when the expression was compiled. The
// first record of its vector has the value, and eval spreads it over the chunk.
type constNode struct {
	out
	filled int
}

func intConst(k kind, v int64) *constNode {
	return &constNode{out: out{k: k, v: vector{ints: []int64{v}}}}
}

func (x *constNode) eval(c *chunk) *vector {
	if n := c.n(); x.filled < n {
		spread(&x.v.ints, n)
		spread(&x.v.floats, n)
		spread(&x.v.bools, n)
		spread(&x.v.texts, n)
		x.filled = n
	}
	return &x.v
}

func spread[T any](s *[]T, n int) {
	if len(*s) == 0 {
		return
	}
	for len(*s) < n {
		*s = append(*s, (*s)[0])
	}
}
