package decode

import (
	"bytes"
	"fmt"

	"tidemark/engine/stream"
)

// place is where in its split a decoder stands, and the bad records that it met.
// Both formats embed it.
type place struct {
	line   int64 // number of the next line, from 1
	offset int64 // of the byte that the next call begins with
	// skipping: the record that the next byte belongs to was too long; it has been
	// reported, and everything up to its line end is dropped.
	skipping  bool
	maxRecord int
	bad       []Bad
}

// TakeBad implements Decoder.
func (p *place) TakeBad() []Bad {
	b := p.bad
	p.bad = nil
	return b
}

// report adds a bad record that starts at, and is, raw.
func (p *place) report(at int64, reason Reason, message string, raw []byte) {
	raw = raw[:min(len(raw), p.maxRecord)]
	p.bad = append(p.bad, Bad{Line: p.line, Offset: at, Reason: reason, Message: message, Raw: bytes.Clone(raw)})
}

// tooLong reports a record of which rec is at least the beginning.
func (p *place) tooLong(rec []byte, at int64) {
	p.report(at, TooLong, p.tooLongMessage(), rec)
}

func (p *place) tooLongMessage() string { return fmt.Sprintf("longer than %d bytes", p.maxRecord) }

// skipRest drops the rest of an over-long record. It returns how many bytes of d
// belong to it.
func (p *place) skipRest(d []byte) int {
	if !p.skipping {
		return 0
	}
	n := bytes.IndexByte(d, '\n')
	if n < 0 {
		return len(d)
	}
	p.skipping = false
	p.line++
	return n + 1
}

// bom returns how many bytes a byte order mark takes at the start of the split.
func (p *place) bom(d []byte) int {
	if p.offset == 0 && bytes.HasPrefix(d, []byte(byteOrderMark)) {
		return len(byteOrderMark)
	}
	return 0
}

const byteOrderMark = "\xef\xbb\xbf"

// trimCR drops a carriage return that belongs to the line end.
func trimCR(rec []byte) []byte {
	if n := len(rec); n > 0 && rec[n-1] == '\r' {
		return rec[:n-1]
	}
	return rec
}

// checkBatch stops misuse: a batch that was reset for other columns, or a blob that
// 32-bit offsets cannot address once text is unescaped.
func checkBatch(b *stream.Batch, from int, kinds []stream.Kind) {
	if len(b.Cols) != len(kinds) {
		panic("BUG: decode: batch was not reset for the columns of the projection")
	}
	for i := range kinds {
		if b.Cols[i].Kind != kinds[i] {
			panic("BUG: decode: batch was not reset for the columns of the projection")
		}
	}
	if from < 0 || from > len(b.Blob) || len(b.Blob) > maxBlob {
		panic("BUG: decode: blob out of bounds")
	}
}
