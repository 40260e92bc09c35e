package decode

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// jsonLines decodes one JSON object a line. Lines of blanks are no records.
//
// A good record is passed over once: its end is where its scan ends, since a
// newline is valid nowhere inside. Only a bad one is searched for its line end.
type jsonLines struct {
	place
	scan scan
	root *node
}

func newJSON(f job.Format, fields []job.Field) (*jsonLines, error) {
	if f.MaxDepth < 1 || f.MaxDepth > maxDepthLimit {
		return nil, fault.Userf("nesting must be bounded by 1 to %d levels, is %d", maxDepthLimit, f.MaxDepth)
	}
	root, err := newProjection(fields)
	if err != nil {
		return nil, err
	}
	return &jsonLines{
		place: place{line: 1, maxRecord: f.MaxRecord},
		scan:  scan{row: newRow(fields), maxDepth: f.MaxDepth},
		root:  root,
	}, nil
}

// Decode implements Decoder.
func (j *jsonLines) Decode(b *stream.Batch, from int, final bool, maxRows int) (int, error) {
	checkBatch(b, from, j.scan.row.kinds)
	end := len(b.Blob)
	i := from + j.skipRest(b.Blob[from:])
	if i == from {
		i += j.bom(b.Blob[from:])
	}
	if final && i < end && b.Blob[end-1] != '\n' {
		b.Blob = append(b.Blob, '\n') // every scan stops at one
	}
	d := b.Blob
	j.scan.out = b.Blob
	limit := b.N + maxRows
	// Up to the last line end there are whole records only.
	stop := i + bytes.LastIndexByte(d[i:], '\n') + 1
	for i < stop && b.N < limit && len(j.bad) < maxBad {
		i = j.record(b, d, i, j.offset+int64(i-from))
	}
	b.Blob = j.scan.out
	// What is left may be too long already, whatever follows. A carriage return may
	// turn out to be part of the line end.
	if i == stop && i < end && len(j.bad) < maxBad && len(trimCR(d[i:end])) > j.maxRecord {
		j.tooLong(d[i:end], j.offset+int64(i-from))
		j.skipping = true
		i = end
	}
	i = min(i, end) // the newline that was added is none of the caller's
	j.offset += int64(i - from)
	return i - from, nil
}

// record decodes the line at d[i], which is at the given offset of the split, and
// returns the place behind its line end. Called per record.
func (j *jsonLines) record(b *stream.Batch, d []byte, i int, offset int64) (next int) {
	s := &j.scan
	mark := len(s.out)
	var e int
	start := space(d, i)
	switch d[start] {
	case '{':
		e = s.object(d, start+1, j.root, 1)
	case '\n':
		e = start
	default:
		e = s.notAnObject(d, start)
	}
	if e >= 0 {
		if e = space(d, e); d[e] != '\n' {
			e = s.unexpected(d, e, "the end of the line")
		}
	}
	failed := e < 0
	if failed {
		e = i + bytes.IndexByte(d[i:], '\n')
	}
	rec := trimCR(d[i:e])
	switch {
	case len(rec) > j.maxRecord:
		j.tooLong(rec, offset)
	case failed:
		if s.failReason != InvalidUTF8 && !utf8.Valid(rec) {
			s.failReason, s.failMessage = InvalidUTF8, "text that is not UTF-8"
		}
		j.report(offset, s.failReason, fmt.Sprintf("byte %d: %s", s.failAt-i+1, s.failMessage), rec)
	case start == e: // blank
		j.line++
		return e + 1
	default:
		if s.row.faulty {
			if reason, message, bad := s.row.firstMisfit(s.out); bad {
				j.report(offset, reason, message, rec)
				break
			}
		}
		s.row.commit(b, j.line, piece(i, i+len(rec)))
		j.line++
		return e + 1
	}
	s.row.clear()
	s.out = s.out[:mark]
	j.line++
	return e + 1
}

// notAnObject checks a text that is no object: whatever it is, it is no record.
func (s *scan) notAnObject(d []byte, i int) int {
	what := "a number"
	switch d[i] {
	case '[':
		what = "an array"
	case '"':
		what = "a string"
	case 'n':
		what = "null"
	case 't', 'f':
		what = "a bool"
	}
	e := s.skip(d, i, 0)
	if e < 0 {
		return e
	}
	if e = space(d, e); d[e] != '\n' {
		return s.unexpected(d, e, "the end of the line")
	}
	return s.fault(i, WrongType, "expected an object, found "+what)
}
