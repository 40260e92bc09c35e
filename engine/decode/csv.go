package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// csvRecords decodes RFC 4180. It reads what encoding/csv reads, in the same way
// (a fuzz test holds it to that), but for a line end inside quotes: that stays as
// it stands. It is a scanner of our own because encoding/csv copies every field,
// wants a reader instead of pieces of a buffer, and does not give back the bytes of
// a record, which late and bad outputs need.
//
// A field with a quote that is never closed may not swallow the rest of the split:
// where a record does not end within MaxRecord bytes, its first line is the bad
// record, and reading goes on with the next line.
type csvRecords struct {
	place
	row       row
	header    bool
	delimiter byte
	columns   []string // header only: the name that each field reads
	started   bool     // the columns are known: from the header, or the first record
	first     []byte   // that one, with a line end
	width     int      // fields of each record
	takes     []take   // by column
	spans     []span   // scratch: the fields of a record
	quotes    bool     // of the record in spans: there are quotes
	high      bool     // there may be bytes that are not ASCII
	out       []byte   // the blob, to append unescaped text to
}

var newline = []byte{'\n'}

// take says that a column feeds a field.
type take struct{ column, field int }

// span is one field of a record: a piece of the blob, without its quotes.
type span struct {
	start, end int
	doubled    bool // has quotes that stand for one
}

func newCSV(f job.Format, fields []job.Field) (*csvRecords, error) {
	c := &csvRecords{
		place:     place{line: 1, maxRecord: f.MaxRecord},
		row:       newRow(fields),
		header:    f.Header,
		delimiter: f.Delimiter,
	}
	if c.delimiter == 0 {
		c.delimiter = ','
	}
	if d := c.delimiter; d == '"' || d == '\n' || d == '\r' || d >= utf8.RuneSelf {
		return nil, fault.Userf("%q cannot be a delimiter", rune(d))
	}
	for i, fd := range fields {
		if len(fd.Path) != 1 {
			return nil, fault.Userf("field %s: a CSV column has no parts", fd.Name)
		}
		name := fd.Path[0]
		if c.header {
			c.columns = append(c.columns, name)
			continue
		}
		n, err := position(name)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", fd.Name, err)
		}
		c.takes = append(c.takes, take{n, i})
	}
	return c, nil
}

// Decode implements Decoder.
func (c *csvRecords) Decode(b *stream.Batch, from int, final bool, maxRows int) (int, error) {
	checkBatch(b, from, c.row.kinds)
	end := len(b.Blob)
	i := from + c.skipRest(b.Blob[from:])
	if i == from {
		i += c.bom(b.Blob[from:])
	}
	if final && i < end && b.Blob[end-1] != '\n' {
		b.Blob = append(b.Blob, '\n')
	}
	d := b.Blob
	c.out = b.Blob
	limit := b.N + maxRows
	for i < len(d) && b.N < limit && len(c.bad) < maxBad {
		next, err := c.record(b, d, i, c.offset+int64(i-from), final)
		if err != nil {
			return 0, err
		}
		if next < 0 { // no whole record
			break
		}
		i = next
	}
	b.Blob = c.out
	i = min(i, end) // the newline that was added is none of the caller's
	c.offset += int64(i - from)
	return i - from, nil
}

// record decodes the record at d[i], which is at the given offset of the split. It
// returns the place behind its line end, or -1 if it takes more bytes to tell where
// that is. Called per record.
func (c *csvRecords) record(b *stream.Batch, d []byte, i int, offset int64, final bool) (int, error) {
	// However much there is: what the caller must be able to supply decides.
	window := d[:min(len(d), i+c.maxRecord+2)]
	full := final || len(window) == i+c.maxRecord+2
	e, broken := c.split(window, i)
	if e < 0 {
		if !full {
			return -1, nil
		}
		return c.overflow(d, i, offset, len(window) == i+c.maxRecord+2)
	}
	rec := trimCR(d[i:e])
	lines := int64(1)
	if c.quotes {
		lines += int64(bytes.Count(rec, newline))
	}
	mark := len(c.out)
	switch {
	case len(rec) > c.maxRecord:
		return c.overflow(d, i, offset, true)
	case len(rec) == 0:
		c.line++
		return e + 1, nil
	case c.high && !utf8.Valid(rec):
		if err := c.refuse(offset, InvalidUTF8, "text that is not UTF-8", rec); err != nil {
			return 0, err
		}
	case broken != "":
		if err := c.refuse(offset, CSVFields, broken, rec); err != nil {
			return 0, err
		}
	case !c.started:
		used, err := c.start(d)
		if err != nil {
			return 0, err
		}
		c.started, c.first = true, append(bytes.Clone(rec), '\n')
		if !used { // an ordinary record: once more, with columns
			return c.record(b, d, i, offset, final)
		}
	case len(c.spans) != c.width:
		c.report(offset, CSVFields, fmt.Sprintf("%d fields, expected %d", len(c.spans), c.width), rec)
	default:
		for _, t := range c.takes {
			c.value(d, t.field, c.spans[t.column])
		}
		if c.row.faulty {
			if reason, message, bad := c.row.firstMisfit(c.out); bad {
				c.report(offset, reason, message, rec)
				c.row.clear()
				c.out = c.out[:mark]
				break
			}
		}
		c.row.commit(b, c.line, piece(i, i+len(rec)))
	}
	c.line += lines
	return e + 1, nil
}

// overflow gives up on the record at d[i], whose end is not in sight: its first
// line is bad.
func (c *csvRecords) overflow(d []byte, i int, offset int64, tooLong bool) (next int, err error) {
	e := bytes.IndexByte(d[i:], '\n')
	first := d[i:]
	if e >= 0 {
		first = trimCR(d[i : i+e])
	}
	switch {
	case len(first) > c.maxRecord:
		err = c.refuse(offset, TooLong, c.tooLongMessage(), first)
	case tooLong:
		err = c.refuse(offset, TooLong, fmt.Sprintf("no end of the record within %d bytes: is a quote not closed?", c.maxRecord), first)
	default:
		err = c.refuse(offset, CSVFields, "a quote is not closed", first)
	}
	if err != nil {
		return 0, err
	}
	if e < 0 {
		c.skipping = true
		return len(d), nil
	}
	c.line++
	return i + e + 1, nil
}

// refuse reports a bad record. If it should have been the header, the split cannot
// be read at all.
func (c *csvRecords) refuse(offset int64, reason Reason, message string, rec []byte) error {
	if c.header && !c.started {
		return fault.Userf("the header cannot be read: %s", message)
	}
	c.report(offset, reason, message, rec)
	return nil
}

// split finds the fields of the record at d[i] and returns the place of its line
// end, or -1 if d does not hold it. broken says what is wrong with its quotes; the
// record then ends with the line. Eight bytes are looked at at a time, once.
func (c *csvRecords) split(d []byte, i int) (end int, broken string) {
	c.spans, c.quotes, c.high = c.spans[:0], false, false
	delimiters := lows * uint64(c.delimiter)
	start := i
	var high uint64
	for p := i; p < len(d); p += 8 {
		var hits uint64
		if p+8 <= len(d) {
			w := binary.LittleEndian.Uint64(d[p:])
			high |= w
			hits = zeros(w^delimiters) | zeros(w^lows*'\n') | zeros(w^lows*'"')
		} else {
			var last [8]byte
			n := copy(last[:], d[p:])
			w := binary.LittleEndian.Uint64(last[:])
			high |= w
			hits = zeros(w^delimiters) | zeros(w^lows*'\n') | zeros(w^lows*'"')
			hits &= 1<<(8*n) - 1 // a delimiter may be the byte 0
		}
		for ; hits != 0; hits &= hits - 1 {
			at := p + bits.TrailingZeros64(hits)>>3
			switch d[at] {
			case '"':
				c.spans, c.quotes, c.high = c.spans[:0], true, true
				return c.splitQuoted(d, i)
			case '\n':
				c.high = high&highs != 0
				c.spans = append(c.spans, span{start: start, end: start + len(trimCR(d[start:at]))})
				return at, ""
			default:
				c.spans = append(c.spans, span{start: start, end: at})
				start = at + 1
			}
		}
	}
	return -1, ""
}

// zeros marks the bytes of x that are 0, each one exactly.
func zeros(x uint64) uint64 {
	return ^((x&^highs + ^uint64(highs)) | x | ^uint64(highs))
}

// splitQuoted is split where there are quotes.
func (c *csvRecords) splitQuoted(d []byte, i int) (end int, broken string) {
	for {
		if i < len(d) && d[i] == '"' {
			sp, next := quoted(d, i)
			if next < 0 {
				return -1, ""
			}
			i = next
			c.spans = append(c.spans, sp)
			n := bytes.IndexByte(d[i:], '\n')
			switch {
			case i < len(d) && d[i] == c.delimiter:
				i++
				continue
			case n < 0:
				return -1, ""
			case len(trimCR(d[i:i+n])) > 0:
				return i + n, "text behind a closing quote"
			}
			return i + n, ""
		}
		n := bytes.IndexByte(d[i:], '\n')
		if n < 0 {
			return -1, ""
		}
		line := trimCR(d[i : i+n])
		k := bytes.IndexByte(line, c.delimiter)
		field := line
		if k >= 0 {
			field = line[:k]
		}
		if bytes.IndexByte(field, '"') >= 0 {
			return i + n, "a quote inside a field that is not quoted"
		}
		c.spans = append(c.spans, span{start: i, end: i + len(field)})
		if k < 0 {
			return i + n, ""
		}
		i += k + 1
	}
}

// quoted reads the quoted field at d[i] and returns the place behind its closing
// quote, or -1 if d does not show it. A quote at the very end could be the first of
// two.
func quoted(d []byte, i int) (sp span, next int) {
	sp.start = i + 1
	for i++; ; i += 2 {
		k := bytes.IndexByte(d[i:], '"')
		if k < 0 || i+k+1 == len(d) {
			return sp, -1
		}
		if i += k; d[i+1] != '"' {
			sp.end = i
			return sp, i + 1
		}
		sp.doubled = true
	}
}
