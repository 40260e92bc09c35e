// Package decode turns the bytes of one split into rows of a batch. It reads only
// the fields that the job names, but checks all of every record: what it lets
// through is well-formed, what it does not becomes a Bad with place and reason.
//
// It starts no goroutine, reads no clock and does no I/O: the source task reads
// bytes into a batch's blob and calls a Decoder on them.
//
// Files: decode.go, the contract; place.go, where in the split the decoder is and
// what a bad record becomes; row.go, from values to columns; json.go with
// projection.go, scan.go, text.go and number.go, JSON lines; lines.go, how several can
// share a split of them; csv.go with csv_header.go and csv_value.go, CSV.
package decode

import (
	"fmt"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// Decoder decodes one split, from its first byte to its last, in order. It is used
// by one goroutine.
//
// The caller reads bytes to the end of a batch's blob, calls Decode, and carries
// the bytes that were not consumed to the front of the next batch's blob, where
// the next call begins with them.
type Decoder interface {
	// Decode reads whole records from b.Blob[from:end], where end is len(b.Blob) on
	// entry, and appends at most maxRows rows to b: Cols, Raw, Pos (the line number
	// from 1, counted over the split) and N. It leaves Time, WM, High, Split, Key and
	// Hash to others. Text columns and Raw are views of b.Blob; text with escapes is
	// written, unescaped, behind the end of b.Blob, which may move.
	//
	// It returns how many bytes it is done with: those of good, bad and blank
	// records. It stops at maxRows rows, after maxBad bad records, or where no whole
	// record is left; 0 means that the caller must supply more bytes behind the ones
	// there are. That never takes more than MaxRecord+2 bytes from the start of a
	// record (the two are its line end): of a longer one the first MaxRecord bytes
	// become a Bad, and the rest is consumed as it comes, unbuffered.
	//
	// final says that no bytes follow: the last record may lack its line end, and
	// everything is consumed unless maxRows or maxBad stops it before; then the
	// caller calls again with what is left.
	//
	// An error (class fault.ErrUser) means that the split as a whole does not fit the
	// job, such as a CSV header without a column of the schema; nothing is consumed.
	// Bad records are no errors.
	Decode(b *stream.Batch, from int, final bool, maxRows int) (consumed int, err error)

	// TakeBad returns the bad records met since the last call, in order, and forgets
	// them. They belong to the caller.
	TakeBad() []Bad

	// Mark returns where the next call of Decode begins. Restore has a new decoder of the
	// same format and fields begin there; an error is of class fault.ErrUser if the split
	// does not fit the job, and of fault.ErrCorrupt if the mark is damaged.
	Mark() Mark
	Restore(Mark) error
}

// Bad is a record that could not be decoded.
type Bad struct {
	Line    int64  // number of its first line, from 1
	Offset  int64  // of its first byte in the split, from 0
	Reason  Reason // for programs
	Message string // for people
	// Raw holds the record without its line end: an own copy, at most MaxRecord bytes.
	Raw []byte
}

// Reason says in one word why a record is bad. Written to bad outputs and used as
// a metric's label: never change one.
type Reason string

const (
	InvalidJSON Reason = "invalid_json"
	// InvalidUTF8 takes precedence over other faults of a record. An escape for half
	// of a surrogate pair counts too: it stands for no character.
	InvalidUTF8 Reason = "invalid_utf8"
	WrongType   Reason = "wrong_type"
	OutOfRange  Reason = "out_of_range" // a number that its type cannot hold
	TooLong     Reason = "too_long"     // takes precedence over everything else
	TooDeep     Reason = "too_deep"
	CSVFields   Reason = "csv_fields" // wrong number of fields, or broken quotes
)

const (
	// maxBad bounds the bad records of one call: a buffer full of two-byte lines
	// would otherwise make tens of thousands before anyone looks at the budget.
	maxBad = 1024
	// maxRecordLimit bounds MaxRecord: a blob holds a batch of records and their
	// unescaped text under 32-bit offsets.
	maxRecordLimit = 256 << 20
	// maxBlob is the most that Decode takes at once, for the same reason: text is
	// never longer unescaped, so that twice this many bytes fit into a blob.
	maxBlob = 1<<31 - 1
	// maxDepthLimit bounds MaxDepth: nesting is recursion. encoding/json has the
	// same limit.
	maxDepthLimit = 10_000
	// maxFields bounds a projection; a schema is written by hand.
	maxFields = 4096
)

// New returns a decoder for a split. fields are the columns of the batch, in their
// order. A field of kind stream.Token gives the raw token: for JSON a scalar as it
// stands, quotes included, null as the text null, a missing one as empty; for CSV
// the field's text. Any other field that is missing or null (CSV: empty, but for
// strings) gives a null row. A timestamp is a whole number of milliseconds since
// 1970, or RFC 3339 text.
func New(f job.Format, fields []job.Field) (Decoder, error) {
	if f.MaxRecord < 1 || f.MaxRecord > maxRecordLimit {
		return nil, fault.Userf("longest record must be from 1 to %d bytes, is %d", maxRecordLimit, f.MaxRecord)
	}
	if len(fields) > maxFields {
		return nil, fault.Userf("%d fields, at most %d are possible", len(fields), maxFields)
	}
	for _, fd := range fields {
		switch fd.Kind {
		case stream.Int64, stream.Float64, stream.Bool, stream.String, stream.Timestamp, stream.Token:
		default:
			return nil, fault.As(fault.ErrUser, fmt.Errorf("field %s has the unknown type %v", fd.Name, fd.Kind))
		}
		if len(fd.Path) == 0 {
			return nil, fault.Userf("field %s has no path", fd.Name)
		}
	}
	switch f.Kind {
	case "json":
		return newJSON(f, fields)
	case "csv":
		return newCSV(f, fields)
	}
	return nil, fault.Userf("unknown format %q, json and csv exist", f.Kind)
}
