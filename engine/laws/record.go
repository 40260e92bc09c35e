package laws

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Value is a cell of a record; the field of its column's kind counts.
type Value struct {
	Null  bool
	Int   int64 // int64 and timestamp
	Float float64
	Bool  bool
	Text  string
}

// Record is what a function is shown of a record, or of a firing: a value for each of its
// inputs.
type Record struct {
	Time   stream.Time
	Values []Value
	// Key is, of a firing, which key it is of. Lists are its records; those of a pair are
	// two lists with one record.
	Key   int
	Lists [][]Record

	step *paneStep // of a trigger: in place of all that, what it is shown
}

// table lays records out in columns.
func table(inputs []udf.Input, records []Record) *stream.Batch {
	b := &stream.Batch{}
	kinds := make([]stream.Kind, len(inputs))
	for i, in := range inputs {
		kinds[i] = in.Kind
	}
	b.Reset(kinds)
	for i := range records {
		for c := range inputs {
			appendValue(&b.Columns, c, &records[i].Values[c])
		}
		b.Time = append(b.Time, records[i].Time)
	}
	b.N = len(records)
	return b
}

func appendValue(t *stream.Columns, col int, v *Value) {
	c := &t.Cols[col]
	switch {
	case v.Null:
		c.AppendNull()
	case c.Kind == stream.Float64:
		c.AppendFloat(v.Float)
	case c.Kind == stream.Bool:
		c.AppendBool(v.Bool)
	case c.Kind == stream.String:
		c.AppendStr(stream.Str{Off: uint32(len(t.Blob)), Len: uint32(len(v.Text))})
		t.Blob = append(t.Blob, v.Text...)
	default:
		c.AppendInt(v.Int)
	}
}

// cell takes a value out of a table.
func cell(t *stream.Columns, col, row int) Value {
	c := &t.Cols[col]
	switch {
	case c.Null(row):
		return Value{Null: true}
	case c.Kind == stream.Float64:
		return Value{Float: c.Floats[row]}
	case c.Kind == stream.Bool:
		return Value{Bool: c.Bools[row]}
	case c.Kind == stream.String || c.Kind == stream.JSON:
		return Value{Text: string(c.Strs[row].Bytes(t.Blob))}
	}
	return Value{Int: c.Ints[row]}
}

// maxShown bounds a text in a report.
const maxShown = 40

// Show writes the value of a column for people: as JSON, a long text shortened.
func (v Value) Show(k stream.Kind) string {
	switch {
	case v.Null:
		return "null"
	case k == stream.Float64:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case k == stream.Bool:
		return strconv.FormatBool(v.Bool)
	case k == stream.String:
		text := v.Text
		if runes := []rune(text); len(runes) > maxShown {
			return quote(string(runes[:maxShown])) + "… (" + strconv.Itoa(len(text)) + " bytes)"
		}
		return quote(text)
	case k == stream.JSON:
		return v.Text
	}
	return strconv.FormatInt(v.Int, 10)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: text is always JSON: " + err.Error())
	}
	return string(b)
}

// showRow writes a row as {name: value, …}.
func showRow(fields []stream.Field, values []Value) string {
	cells := make([]string, len(fields))
	for i, f := range fields {
		cells[i] = f.Name + ": " + values[i].Show(f.Kind)
	}
	return "{" + strings.Join(cells, ", ") + "}"
}

// fieldsOf are the inputs as fields.
func fieldsOf(inputs []udf.Input) []stream.Field {
	out := make([]stream.Field, len(inputs))
	for i, in := range inputs {
		out[i] = stream.Field{Name: in.Name, Kind: in.Kind}
	}
	return out
}

// sameBits compares values to the bit.
func sameBits(a, b Value) bool {
	fa, fb := math.Float64bits(a.Float), math.Float64bits(b.Float)
	a.Float, b.Float = 0, 0
	return a == b && fa == fb
}
