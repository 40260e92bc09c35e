package tidemark

import (
	"reflect"
	"unsafe"
)

// Reduction is an aggregate that makes one value of two, over and over: the value of a
// window is that of its only record, or what Reduce makes of two parts. T is a plain
// struct (or number or array) without pointers, of at most 4,088 bytes, such as some
// columns of a record.
type Reduction[T any] struct {
	// Read takes the value of a record. Called per record.
	Read func(Row) (T, error)
	// Reduce makes one value of two; the records behind b came later. It is associative:
	// how a window's records are put together does not matter. Called per record but the
	// first.
	Reduce func(a, b T) (T, error)
	// Write writes the result row. A window of which no record was taken has none: all of
	// its output columns are null.
	Write func(v T, w *Out) error
}

// Reduce registers a reduction, which is an aggregate like any other to hosts and to Twin.
// With OrderInsensitive in the Spec, Reduce(a, b) must be Reduce(b, a).
func Reduce[T any](s Spec, r Reduction[T]) *Aggregate {
	width := fixedWidth[reduced[T]](s)
	return newAggregate(s, width, reducing[T]{r, gapsIn(reflect.TypeFor[reduced[T]](), uintptr(width))})
}

// reduced is the accumulator. The value means nothing while there is none.
type reduced[T any] struct {
	there bool
	v     T
}

// with takes in a value that came later.
func (a *reduced[T]) with(v T, reduce func(a, b T) (T, error)) (err error) {
	if a.there {
		if v, err = reduce(a.v, v); err != nil {
			return err
		}
	}
	a.there, a.v = true, v
	return nil
}

// reducing serves reductions. The accumulators lie in the frame, as those of place do.
type reducing[T any] struct {
	Reduction[T]
	gaps []gap // as those of place
}

// row is a row of accumulators in a frame.
type row[T any] struct{ base unsafe.Pointer }

func (r row[T]) at(i uintptr) *reduced[T] {
	return (*reduced[T])(unsafe.Add(r.base, i*widthOf[reduced[T]]()))
}

func (k reducing[T]) accs(f frame, off uint32) (row[T], bool) {
	if !f.holds(off, uintptr(f.groups)*widthOf[reduced[T]]()) {
		return row[T]{}, false
	}
	return row[T]{f.at(off)}, true
}

func (k reducing[T]) create(f frame) status {
	accs, good := k.accs(f, f.acc)
	if !good {
		return badFrame
	}
	clear(unsafe.Slice((*byte)(accs.base), uintptr(f.groups)*widthOf[reduced[T]]()))
	return ok
}

func (k reducing[T]) add(f frame) status {
	accs, good := k.accs(f, f.acc)
	groups, good2 := f.groupOf()
	if !good || !good2 {
		return badFrame
	}
	for i, g := range groups { // the record path
		f.op = uint32(i)
		v, err := k.Read(Row{i})
		if err == nil {
			err = accs.at(uintptr(g)).with(v, k.Reduce)
		}
		if err != nil {
			return f.refuse(err)
		}
	}
	return k.settle(f, accs.base)
}

func (k reducing[T]) merge(f frame) status {
	accs, good := k.accs(f, f.acc)
	from, good2 := k.accs(f, f.from)
	if !good || !good2 {
		return badFrame
	}
	for i := range uintptr(f.groups) {
		f.op = uint32(i)
		if o := from.at(i); o.there {
			if err := accs.at(i).with(o.v, k.Reduce); err != nil {
				return f.refuse(err)
			}
		}
	}
	return k.settle(f, accs.base)
}

func (k reducing[T]) result(f frame) status {
	accs, good := k.accs(f, f.acc)
	if !good {
		return badFrame
	}
	return writeRows(f, func(i int, w *Out) error {
		if a := accs.at(uintptr(i)); a.there {
			return k.Write(a.v, w)
		}
		return nil
	})
}
