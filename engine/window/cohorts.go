package window

import (
	"cmp"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// cohort is the records of a key that the same windows hold: all those from one start to
// another. Lateness takes away windows only from the front, so two starts name the set.
type cohort struct {
	first, last stream.Time
	records     int64
	fired       bool // one of the windows that are gone had fired
}

// cohorts are those of a key, in order of their last windows.
type cohorts []cohort

func (l cohorts) search(first, last stream.Time) (at int, ok bool) {
	return slices.BinarySearchFunc(l, cohort{first: first, last: last}, func(a, b cohort) int {
		return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.first, b.first))
	})
}

// add counts a record that the windows from first to last hold.
func (l *cohorts) add(first, last stream.Time) {
	at, ok := l.search(first, last)
	if !ok {
		*l = slices.Insert(*l, at, cohort{first: first, last: last})
	}
	(*l)[at].records++
}

// settle notes that the window that starts at a time goes, and whether it had fired. It
// calls class with the records of each cohort of which it was the last. Windows go in
// order of their starts.
func (l *cohorts) settle(start stream.Time, fired bool, class func(records int64, fired bool)) {
	lo, _ := l.search(stream.MinTime, start)
	hi := lo
	for i := lo; i < len(*l); i++ {
		c := &(*l)[i]
		c.fired = c.fired || fired && c.first <= start
		if c.last == start {
			class(c.records, c.fired)
			hi = i + 1
		} else if !fired {
			break
		}
	}
	*l = slices.Delete(*l, lo, hi)
}

func (l cohorts) write(w *state.Writer) {
	w.Len(len(l))
	for _, c := range l {
		w.I64(int64(c.first))
		w.I64(int64(c.last))
		w.I64(c.records)
		w.Bool(c.fired)
	}
}

func readCohorts(r *state.Reader) (l cohorts) {
	for range r.Len() {
		if r.Failed() {
			return nil
		}
		l = append(l, cohort{stream.Time(r.I64()), stream.Time(r.I64()), r.I64(), r.Bool()})
	}
	return l
}
