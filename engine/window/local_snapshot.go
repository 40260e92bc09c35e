package window

import (
	"errors"
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// A cut of a Local has a piece for the sender and one for each split that has slices, so
// that splits can be dealt to other senders: sums are of one split each.
//
//	sender  header, its watermark, its floor, whether it was idle, how often it has come
//	        back
//	split   header, how many slices; for each, in order: the time of its first record,
//	        how many sums; for each, in order of their first records: key, cell

// LocalCut is what a Local is made of at one moment.
type LocalCut struct {
	Sender []byte
	Splits []SplitCut // those that have anything, in order of their numbers
}

// SplitCut is what was added up of one split.
type SplitCut struct {
	Split stream.SplitID
	State []byte
}

func (l *Local) header() [headerSize]byte { return l.contents.header(form{layout: localLayout}) }

// Freeze returns the state between two batches. It writes it at once: there is little.
func (l *Local) Freeze() LocalCut {
	var w state.Writer
	header := l.header()
	w.Buf = append(w.Buf, header[:]...)
	w.I64(int64(l.told))
	w.I64(int64(l.floor))
	w.Bool(l.idle)
	w.U64(l.joins)
	cut := LocalCut{Sender: w.Buf}
	for split, slices := range l.splits {
		if len(slices) == 0 {
			continue
		}
		w := state.Writer{Buf: append([]byte(nil), header[:]...)}
		w.Len(len(slices))
		for _, x := range slices {
			w.I64(int64(x.time))
			w.Len(len(x.sums))
			for _, sum := range x.sums {
				w.Bytes([]byte(sum.key))
				w.Cell(l.cells, sum.slot)
			}
		}
		cut.Splits = append(cut.Splits, SplitCut{stream.SplitID(split), w.Buf})
	}
	return cut
}

// Restore has a new Local of the same configuration go on with some splits. senders has
// the piece of every sender that the source had, at least one. exact: there is one, and it
// had these splits; all is as it was. Otherwise the new sender stands at the lowest
// watermark of all, and has never been idle. By arrival the receiver may have come further:
// as far as the highest, where senders that stood behind were idle. What is not ahead of
// that goes as it is, since it may be late. In an ordered replay a record is where its own
// split has it.
func (l *Local) Restore(senders [][]byte, exact bool, splits []SplitCut) error {
	for i, sender := range senders {
		r := state.NewReader(sender)
		l.readHeader(r, form{layout: localLayout})
		told, floor, idle, joins := stream.Time(r.I64()), stream.Time(r.I64()), r.Bool(), r.U64()
		if err := r.Err(); err != nil {
			return fmt.Errorf("state of sender %d: %w", i, err)
		}
		if i == 0 || told < l.told {
			l.told = told
		}
		switch {
		case exact:
			l.floor, l.idle, l.joins = floor, idle, joins
		case !l.ordered:
			l.floor = max(l.floor, told, floor)
		}
	}
	for _, s := range splits {
		if err := l.readSplit(s); err != nil {
			return fmt.Errorf("state of split %d: %w", s.Split, err)
		}
	}
	return nil
}

var errLocal = fault.As(fault.ErrCorrupt, errors.New("snapshot has slices out of order, or more sums than a slice may have"))

func (l *Local) readSplit(s SplitCut) error {
	r := state.NewReader(s.State)
	l.readHeader(r, form{layout: localLayout})
	l.find(s.Split, 0) // makes room
	for n := range r.Len() {
		first := stream.Time(r.I64())
		if r.Failed() || first == stream.MinTime {
			r.Fail(errLocal)
			break
		}
		cut, ok := l.cuts.cut(first)
		if known := l.splits[s.Split]; !ok || n != len(known) || n > 0 && cut.number <= known[n-1].number {
			r.Fail(errLocal)
			break
		}
		x := l.newSlice(cut, first)
		for range r.Len() {
			key := r.Bytes()
			if _, ok := x.find(key); ok || len(x.sums) == l.hot {
				r.Fail(errLocal)
			}
			if r.Failed() {
				break
			}
			sum := localSum{string(key), l.cells.Alloc(l.fresh)}
			x.add(sum)
			r.Cell(l.cells, sum.slot)
			l.ledger.Open += int64(l.cells.Rows(sum.slot))
		}
		l.insert(s.Split, n, x)
	}
	return r.Err()
}
