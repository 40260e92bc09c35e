package decode

import "bytes"

// Lines is a Decoder of a format in which every line end ends a record. Several of them
// can decode one split side by side, a run of lines each: wherever a run begins, it is
// known what its bytes mean.
type Lines interface {
	Decoder
	// Resume has the next call of Decode begin at another place of the split: with the
	// byte at offset, in the given line, which is counted from 1. within says that the
	// byte belongs to a record that was too long and has been reported.
	Resume(offset, line int64, within bool)
}

var _ Lines = (*jsonLines)(nil)

// Resume implements Lines.
func (j *jsonLines) Resume(offset, line int64, within bool) {
	j.offset, j.line, j.skipping = offset, line, within
}

// Cut returns how many bytes of d a Lines will be done with if it is given just those, in
// any number of calls: whole lines, or the beginning of a line that is longer than
// maxRecord allows, or, with final, all there is. 0 means that it takes more bytes to tell.
// open says that the line at the end goes on behind them: the next run begins within it.
// within says the same of the run before d.
func Cut(d []byte, within, final bool, maxRecord int) (n int, open bool) {
	if final {
		return len(d), false
	}
	if n := bytes.LastIndexByte(d, '\n') + 1; n > 0 {
		return n, false
	}
	// The longest that need not be too long has a byte order mark, and a carriage return
	// that may turn out to be part of the line end.
	if within || len(d) > len(byteOrderMark)+maxRecord+1 {
		return len(d), len(d) > 0
	}
	return 0, false
}
