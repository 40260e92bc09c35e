package decode

import (
	"fmt"
	"math"

	"tidemark/engine/job"
	"tidemark/engine/stream"
)

// row collects the values of one record. They reach the batch only when the whole
// record has turned out to be good, so that nothing has to be taken back, and so
// that the last of several values with one name simply wins.
type row struct {
	fields []job.Field
	kinds  []stream.Kind
	cells  []cell
	faulty bool // some cell was set to a fault, maybe overwritten since
}

// cell is the value of one field.
type cell struct {
	state cellState
	fit   misfit // with state faulted: why
	num   uint64 // int64, bits of a float64, 0 or 1
	text  stream.Str
}

type cellState uint8

const (
	absent cellState = iota
	null
	present
	faulted
)

// misfit is why a value does not fit its field; text of the cell is the value as it
// stands in the record.
type misfit uint8

const (
	misString misfit = iota + 1 // found a string, …
	misNumber
	misFraction // a number with a fraction or an exponent, for an int64
	misBool
	misObject
	misArray
	misText      // CSV: text that does not read as the type
	misDate      // text that is not RFC 3339
	misRange     // a number beyond its type
	misNotObject // a scalar where an object holds further fields
)

var found = [...]string{
	misString:    "a string",
	misNumber:    "a number",
	misFraction:  "a number with a fraction or an exponent",
	misBool:      "a boolean",
	misObject:    "an object",
	misArray:     "an array",
	misText:      "text",
	misDate:      "text that is not RFC 3339",
	misNotObject: "no object around it",
}

func newRow(fields []job.Field) row {
	r := row{fields: fields, kinds: make([]stream.Kind, len(fields)), cells: make([]cell, len(fields))}
	for i, f := range fields {
		r.kinds[i] = f.Kind
	}
	return r
}

// clear forgets the record.
func (r *row) clear() {
	for i := range r.cells {
		r.cells[i].state = absent
	}
	r.faulty = false
}

// fail marks field i as not fitting. Later values may still replace it.
func (r *row) fail(i int, m misfit, text stream.Str) {
	r.cells[i] = cell{state: faulted, fit: m, text: text}
	r.faulty = true
}

// firstMisfit describes the first field that does not fit, if any.
func (r *row) firstMisfit(blob []byte) (reason Reason, message string, ok bool) {
	for i := range r.cells {
		c := &r.cells[i]
		if c.state != faulted {
			continue
		}
		kind := r.kinds[i].String()
		if c.fit == misRange {
			return OutOfRange, fmt.Sprintf("field %s: %s is out of range for %s", r.fields[i].Name, shown(c.text.Bytes(blob)), kind), true
		}
		msg := fmt.Sprintf("field %s: expected %s, found %s", r.fields[i].Name, kind, found[c.fit])
		if text := shown(c.text.Bytes(blob)); c.fit == misText {
			msg += fmt.Sprintf(": %q", text)
		} else {
			msg += ": " + text
		}
		return WrongType, msg, true
	}
	return "", "", false
}

// shown is a value as a message shows it.
func shown(b []byte) string {
	const most = 48 // enough to recognise a value, short enough for one line
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

// commit appends the record to b and forgets it. Called per record.
func (r *row) commit(b *stream.Batch, pos int64, raw stream.Str) {
	for i := range r.cells {
		c, col := &r.cells[i], &b.Cols[i]
		if c.state != present {
			if col.Kind == stream.Token { // empty says it all; saves the bitmap
				col.AppendStr(stream.Str{})
			} else {
				col.AppendNull()
			}
			c.state = absent
			continue
		}
		c.state = absent
		switch col.Kind {
		case stream.Int64, stream.Timestamp:
			col.AppendInt(int64(c.num))
		case stream.Float64:
			col.AppendFloat(math.Float64frombits(c.num))
		case stream.Bool:
			col.AppendBool(c.num != 0)
		default:
			col.AppendStr(c.text)
		}
	}
	r.faulty = false
	b.Pos = append(b.Pos, pos)
	b.Raw = append(b.Raw, raw)
	b.N++
}

func (c *cell) setFloat(v float64) { c.state, c.num = present, math.Float64bits(v) }
