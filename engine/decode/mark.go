package decode

import (
	"bytes"
	"errors"

	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Mark is where a decoder stands between two calls of Decode: with it another one goes on
// with the same split, from the byte at Offset (S105).
type Mark struct {
	Offset, Line int64 // of the next byte: its place in the split from 0, its line from 1
	Within       bool  // the byte belongs to a record that was too long and has been reported
	First        []byte
	// First is the record that says what the columns are, of a format where one does, with
	// its line end; empty: none has come.
}

// Mark returns where the decoder stands.
func (p *place) Mark() Mark { return Mark{Offset: p.offset, Line: p.line, Within: p.skipping} }

func (p *place) resume(m Mark) { p.offset, p.line, p.skipping = m.Offset, m.Line, m.Within }

// Restore implements Decoder.
func (j *jsonLines) Restore(m Mark) error {
	j.resume(m)
	return nil
}

// Mark implements Decoder.
func (c *csvRecords) Mark() Mark {
	m := c.place.Mark()
	m.First = bytes.Clone(c.first)
	return m
}

var errFirst = fault.As(fault.ErrCorrupt, errors.New("snapshot has a first record that is none"))

// Restore implements Decoder.
func (c *csvRecords) Restore(m Mark) error {
	if len(m.First) > 0 {
		var b stream.Batch
		b.Reset(c.row.kinds)
		b.Blob = bytes.Clone(m.First)
		if _, err := c.Decode(&b, 0, true, 1); err != nil {
			return err
		}
		if c.TakeBad(); !c.started {
			return errFirst
		}
	}
	c.resume(m)
	return nil
}
