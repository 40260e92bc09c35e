package tidemark

import "unsafe"

// BatchAccumulator is an Accumulator whose records are folded by a function that
// sees the whole batch.
type BatchAccumulator[A any] interface {
	*A
	// Merge is as in Accumulator.
	Merge(o *A) error
	// Result is as in Accumulator.
	Result(*Out) error
}

// Batch is the records of one call to add. It means nothing after add returns.
type Batch[A any] struct {
	// Four words, which the compiler keeps in registers over the whole loop.
	base   unsafe.Pointer // of the accumulators
	groups *uint32
	n      int
	op     *uint32
}

// BatchAggregate is FixedAggregate for plug-ins that count nanoseconds: in place of a
// method that is called for each record, add loops over all records of a call,
//
//	for i := range b.Len() {
//		s, r := b.At(i)
//		s.total += price.Of(r)
//	}
//
// which the compiler turns into one loop without calls, at about half the cost. An
// error refuses the record that the loop has reached. What is common belongs in the first
// branch of an if: the way to an else, and past the end of an if, goes through a table of
// all blocks of the function, which costs as much as ten to twenty instructions.
func BatchAggregate[A any, P BatchAccumulator[A]](s Spec, add func(Batch[A]) error) *Aggregate {
	width := fixedWidth[A](s)
	return newAggregate(s, width, batched[A, P]{newPlace[A, P](width), add})
}

// Len returns the number of records.
func (b Batch[A]) Len() int {
	_ = *b.op // looks whether it is nil in front of the loop, so that At need not for each record
	return b.n
}

// At returns record i and the accumulator that it belongs to. Records are taken in
// order, all of them: At also tells the host which one is being worked on.
func (b Batch[A]) At(i int) (*A, Row) {
	if uint(i) >= uint(b.n) {
		panic("tidemark: no such record in the batch")
	}
	*b.op = uint32(i)
	g := *(*uint32)(unsafe.Add(unsafe.Pointer(b.groups), 4*i))
	return (*A)(unsafe.Add(b.base, uintptr(g)*widthOf[A]())), Row{i}
}

// widthOf is the size of an accumulator, a constant for the compiler.
func widthOf[A any]() uintptr {
	var v A
	return (unsafe.Sizeof(v) + 7) &^ 7
}

// batched serves accumulators in place, a batch at a time.
type batched[A any, P BatchAccumulator[A]] struct {
	place[A, P]
	each func(Batch[A]) error
}

func (k batched[A, P]) add(f frame) status {
	base, good := k.accs(f, f.acc)
	groups, good2 := f.groupOf()
	if !good || !good2 {
		return badFrame
	}
	if len(groups) == 0 {
		return ok
	}
	if err := k.each(Batch[A]{base, &groups[0], len(groups), &f.op}); err != nil {
		return f.refuse(err)
	}
	if f.op != f.rows-1 {
		panic("tidemark: add must take the records of a batch in order, all of them")
	}
	return k.tidy(f, base)
}
