package state

import (
	"bytes"
	"errors"
	"slices"

	"tidemark/internal/fault"
)

// A run is a key group's state on disk in a checkpoint: run 0 is all of it, each later one
// what has changed since the one before. Stored:
//
//	bytes header                               what the operator's pieces begin with, the same in all runs of a group
//	n × (bytes from | bytes to)                ranges that went: names from from up to, but without, to
//	n × (bytes name | u8 0, or u8 1 | bytes value)   0: the name went; 1: it has this value
//
// both in order of their bytes; ranges do not overlap. What a run says of a name holds
// whatever its ranges say. Run 0 has no ranges, and nothing that went.

// runWriter writes a run behind what a Writer has.
type runWriter struct {
	w    *Writer
	at   int // where the number of pairs stands
	n    int
	some bool
}

func beginRun(w *Writer, header []byte, gone []nameRange) *runWriter {
	w.Bytes(header)
	w.Len(len(gone))
	for _, g := range gone {
		w.Bytes(g.from)
		w.Bytes(g.to)
	}
	r := &runWriter{w: w, at: len(w.Buf), some: len(gone) > 0}
	w.Len(0)
	return r
}

// put writes a name whose value add appends; nil: it went.
func (r *runWriter) put(name []byte, add func(w *Writer) error) error {
	r.n++
	r.some = true
	r.w.Bytes(name)
	r.w.Bool(add != nil)
	if add != nil {
		at := len(r.w.Buf)
		r.w.Len(0)
		if err := add(r.w); err != nil {
			return err
		}
		r.w.PatchLen(at, len(r.w.Buf)-at-4)
	}
	r.w.PatchLen(r.at, r.n)
	return nil
}

// nameRange is the names from from up to, but without, to.
type nameRange struct{ from, to []byte }

func (g nameRange) has(name []byte) bool {
	return bytes.Compare(g.from, name) <= 0 && bytes.Compare(name, g.to) < 0
}

// union sorts ranges, and makes one of those that overlap or touch.
func union(ranges []nameRange) []nameRange {
	slices.SortFunc(ranges, func(a, b nameRange) int { return bytes.Compare(a.from, b.from) })
	out := ranges[:0]
	for _, g := range ranges {
		last := len(out) - 1
		switch {
		case bytes.Compare(g.from, g.to) >= 0: // empty
		case last >= 0 && bytes.Compare(g.from, out[last].to) <= 0:
			if bytes.Compare(g.to, out[last].to) > 0 {
				out[last].to = g.to
			}
		default:
			out = append(out, g)
		}
	}
	return out
}

// inRanges tells whether names that are asked for in their order are in ranges, which are in
// order and do not overlap.
type inRanges []nameRange

func (g *inRanges) has(name []byte) bool {
	for len(*g) > 0 && bytes.Compare((*g)[0].to, name) <= 0 {
		*g = (*g)[1:]
	}
	return len(*g) > 0 && (*g)[0].has(name)
}

var errRun = fault.As(fault.ErrCorrupt, errors.New("a run of state that was on disk has names out of order, ranges that overlap, changes of nothing, or another header than the others"))

// runReader reads a run, pair by pair.
type runReader struct {
	r    *Reader
	gone inRanges
	left int // pairs behind the one at hand

	ok    bool   // there is one
	name  []byte // of the run
	value []byte // likewise; nil: it went
	here  bool   // it has a value
}

func openRun(body []byte, first bool) (header []byte, r *runReader) {
	r = &runReader{r: NewReader(body)}
	header = r.r.Lent()
	for range r.r.Len() {
		g := nameRange{r.r.Lent(), r.r.Lent()}
		last := len(r.gone) - 1
		if first || bytes.Compare(g.from, g.to) >= 0 || last >= 0 && bytes.Compare(g.from, r.gone[last].to) <= 0 {
			r.r.Fail(errRun)
		}
		if r.r.Failed() {
			break
		}
		r.gone = append(r.gone, g)
	}
	r.left = r.r.Len()
	return header, r
}

// next goes to the next pair.
func (r *runReader) next(first bool) {
	was, had := r.name, r.ok
	if r.ok = r.left > 0; !r.ok {
		return
	}
	r.left--
	r.name, r.here, r.value = r.r.Lent(), r.r.Bool(), nil
	if r.here {
		r.value = r.r.Lent()
	}
	if first && !r.here || had && bytes.Compare(was, r.name) >= 0 {
		r.r.Fail(errRun)
	}
	r.ok = !r.r.Failed()
}

// MergeRuns calls f for what the runs of a key group come to, run 0 first among them: each
// name that is left with its newest value, in order of the names. Arguments are lent from the
// runs. header is that of the operator that has written them. An error is f's, or of class
// fault.ErrCorrupt.
func MergeRuns(runs [][]byte, f func(name, value []byte) error) (header []byte, err error) {
	all := make([]*runReader, len(runs))
	for i, body := range runs {
		h, r := openRun(body, i == 0)
		if i > 0 && !bytes.Equal(h, header) {
			r.r.Fail(errRun)
		}
		header, all[i] = h, r
		r.next(i == 0)
	}
	for {
		newest := -1 // that has the lowest name
		for i, r := range all {
			if r.ok && (newest < 0 || bytes.Compare(r.name, all[newest].name) <= 0) {
				newest = i
			}
		}
		if newest < 0 {
			break
		}
		at := all[newest]
		name, value, here := at.name, at.value, at.here
		for _, r := range all[newest+1:] {
			here = here && !r.gone.has(name)
		}
		if here {
			if err := f(name, value); err != nil {
				return nil, err
			}
		}
		for i, r := range all {
			if r.ok && bytes.Equal(r.name, name) {
				r.next(i == 0)
			}
		}
	}
	for _, r := range all {
		if err := r.r.Err(); err != nil {
			return nil, err
		}
	}
	return header, nil
}
