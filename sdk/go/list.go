package tidemark

import "iter"

// List is the records of a firing, in order of arrival, with columns that are read at
// their rows.
type List struct {
	cols  []Input
	times TimeColumn
	n     int // which list of the frame
}

// Records declares a list of records with these columns, none if only their number and
// times matter.
func Records(cols ...Input) *List {
	l := &List{cols: cols}
	l.times.kind = kindTimestamp
	return l
}

func (l *List) open(f frame, b *listBlock, n int) bool {
	l.n = n
	if b.rows > maxCount || int(b.ncols) != 1+len(l.cols) {
		return false
	}
	return bindColumns(f, b.cols, int(b.rows), []*TimeColumn{&l.times}) && bindColumns(f, b.cols+columnBytes, int(b.rows), l.cols)
}

// Len is the number of records of a firing.
func (l *List) Len(f *Firing) int { return int(f.records[l.n].to - f.records[l.n].from) }

// At names record i of a firing, counted from 0.
func (l *List) At(f *Firing, i int) Row { return Row{int(f.records[l.n].from) + i} }

// Of gives the records of a firing one by one.
func (l *List) Of(f *Firing) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for i := f.records[l.n].from; i < f.records[l.n].to; i++ {
			if !yield(Row{int(i)}) {
				return
			}
		}
	}
}

// Time is the event time of a record; timed is false if it has none.
func (l *List) Time(r Row) (at Timestamp, timed bool) { return l.times.Of(r), !l.times.Null(r) }
