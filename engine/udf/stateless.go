package udf

import (
	"fmt"
	"math"

	"tidemark/engine/stream"
)

// Stateless turns each record into none, one or several, looking at nothing but that
// record: filters, projections, derived columns (engine/expr), and guests that filter,
// map or flat-map. It runs before the exchange or behind another step, and keeps nothing
// between calls.
//
// Order of calls: Info any time; Apply in any number; Close once, last. All calls come
// from the goroutine of the task that owns the Stateless. No argument is kept beyond the
// call that passes it.
//
// What it gives for a record depends on that record alone, so a call may be cut anywhere.
// Event time is not its business: what comes of a record has the record's time, and a
// record that is dropped has moved the watermark all the same.
type Stateless interface {
	Info() StatelessInfo
	// Apply takes the selected records (rows.Group is not used) and fills out, which
	// comes in empty. Records that are refused one by one are listed in out.Refused. An
	// error means that the whole call has no answer, and out is dropped: of class
	// *Failure if user code broke down, with the record in Op where it is known, and the
	// caller tries with fewer records (E8); anything else ends the job.
	Apply(rows *Rows, out *Mapped) error
	Close() error
}

// StatelessInfo describes a stateless function. It never changes during the life of an
// instance.
type StatelessInfo struct {
	// Inputs are the columns that it reads or carries over. A record with a null in one
	// that is not Nullable is left out, as if it gave none.
	Inputs []Input
	// Outputs are all columns of the records that come out, in order.
	Outputs []StatelessOutput
}

// StatelessOutput is a column of the records that come out.
type StatelessOutput struct {
	stream.Field
	// Carry is the index in Inputs of the column that it is, unchanged; -1: it is the next
	// of the columns that Apply makes.
	Carry int
}

// Fields returns the outputs' names and kinds.
func (i *StatelessInfo) Fields() []stream.Field {
	fields := make([]stream.Field, len(i.Outputs))
	for n, o := range i.Outputs {
		fields[n] = o.Field
	}
	return fields
}

// Mapped is the answer of a call.
type Mapped struct {
	// Columns are those of the outputs that are not carried over, in order, with a row for
	// each record that comes out and their text in Blob.
	stream.Columns
	// Of tells for each row which record it comes of, as an index into Rows.Sel. It never
	// goes down; an index that stands twice makes two records of one, one that is missing
	// was filtered or is in Refused.
	Of []uint32
	// Refused are the records that user code does not take, each with its index into
	// Rows.Sel as Op, ascending. None of them is in Of.
	Refused []*Failure
}

// Reset empties the answer for reuse.
func (m *Mapped) Reset(info *StatelessInfo) {
	n := 0
	for _, o := range info.Outputs {
		if o.Carry >= 0 {
			continue
		}
		if n == len(m.Cols) {
			m.Cols = append(m.Cols, stream.Column{})
		}
		m.Cols[n].Reset(o.Kind)
		n++
	}
	m.Cols = m.Cols[:n]
	m.N, m.Blob, m.Of, m.Refused = 0, m.Blob[:0], m.Of[:0], m.Refused[:0]
}

// Into makes dst the batch that comes out of src for the call with these rows. Times,
// places and the watermark before each row are those of the rows they come of; the
// trailing watermark is kept, so what dropped records did to it is not lost. Text is
// not copied: dst takes over the blob of src, which must not be read any more.
func (m *Mapped) Into(dst, src *stream.Batch, rows *Rows, info *StatelessInfo) error {
	if len(src.Blob)+len(m.Blob) > math.MaxUint32 {
		return fmt.Errorf("text of %d bytes in one batch, at most %d can be held: make batches smaller", len(src.Blob)+len(m.Blob), uint32(math.MaxUint32))
	}
	kinds := make([]stream.Kind, len(info.Outputs))
	for i, o := range info.Outputs {
		kinds[i] = o.Kind
	}
	dst.Reset(kinds)
	shift := uint32(len(src.Blob))
	dst.Blob, src.Blob = append(src.Blob, m.Blob...), dst.Blob
	from := make([]uint32, len(m.Of)) // rows of src
	for n, i := range m.Of {
		from[n] = rows.Sel[i]
	}
	made := 0
	for i, o := range info.Outputs {
		if o.Carry >= 0 {
			dst.Cols[i].Gather(&src.Cols[rows.Cols[o.Carry]], from)
			continue
		}
		// The made column changes hands; the one with the old memory stays for reuse.
		dst.Cols[i], m.Cols[made] = m.Cols[made], dst.Cols[i]
		for n := range dst.Cols[i].Strs {
			dst.Cols[i].Strs[n].Off += shift
		}
		made++
	}
	dst.N = len(from)
	dst.Follow(src)
	dst.Split = stream.Gather(dst.Split, src.Split, from)
	dst.Pos = stream.Gather(dst.Pos, src.Pos, from)
	dst.Raw = stream.Gather(dst.Raw, src.Raw, from)
	dst.Time = stream.Gather(dst.Time, src.Time, from)
	dst.WM = stream.Gather(dst.WM, src.WM, from)
	dst.High = stream.Gather(dst.High, src.High, from)
	dst.Tie = stream.Gather(dst.Tie, src.Tie, from)
	return nil
}
