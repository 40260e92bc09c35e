package tidemark

import "unsafe"

// steps are the operations of tm_aggregate_apply on accumulators of a fixed size, each in
// place at its address.
type steps interface {
	calls
	// fold folds the records of a run, one behind the other, each into the accumulator of
	// its group; on an error done is the number of the one that it refuses.
	fold(base unsafe.Pointer, r *run) (done int, err error)
	renew(acc unsafe.Pointer)
	join(acc, from unsafe.Pointer) error
	write(acc unsafe.Pointer, w *Out) error
	// settle ends the call: what lies between fields is not for the host.
	settle(f frame, base unsafe.Pointer) status
}

// run is records that follow each other in an agenda.
type run struct {
	f      frame
	cols   []Input
	list   *listBlock // of the records
	first  int        // record, of the frame
	op     uint32
	groups []uint32
}

const (
	applyRecord = 0
	applyResult = 1
	applyReset  = 2
	applyMerge  = 3
)

// contentOp is an operation as it lies in a frame.
type contentOp struct{ what, acc, arg, reserved uint32 }

// maxRun bounds the records that are folded at once.
const maxRun = 256

// apply carries out the operations of a frame.
func (a *Aggregate) apply(f frame) status {
	k, fixed := a.calls.(steps)
	if !fixed || !f.holds(f.block, unsafe.Sizeof(block{})) {
		return badFrame
	}
	b := (*block)(f.at(f.block))
	ops, good := slice[contentOp](f, b.items, int(f.rows))
	list := &b.lists[0]
	width := uintptr(a.width)
	if !good || !f.holds(f.acc, uintptr(f.groups)*width) || list.rows > maxCount || b.results > maxCount || int(list.ncols) != len(a.spec.Inputs) ||
		int(f.noutcols) != len(a.spec.Outputs) || !bindColumns(f, list.cols, int(list.rows), a.spec.Inputs) || !bindColumns(f, f.outcols, int(b.results), a.spec.Outputs) {
		return badFrame
	}
	limits := [...]uint32{applyRecord: list.rows, applyResult: b.results, applyReset: 1, applyMerge: f.groups}
	for i := range ops {
		if o := &ops[i]; o.what > applyMerge || o.acc >= f.groups || o.arg >= limits[o.what] {
			return badFrame
		}
	}
	base := f.at(f.acc)
	var groups [maxRun]uint32
	var w Out
	for i := 0; i < len(ops); i++ {
		o := &ops[i]
		f.op = uint32(i)
		acc := unsafe.Add(base, uintptr(o.acc)*width)
		var err error
		switch o.what {
		case applyRecord:
			r := run{f: f, cols: a.spec.Inputs, list: list, first: int(o.arg), op: uint32(i), groups: groups[:1]}
			for groups[0] = o.acc; len(r.groups) < maxRun && i+1 < len(ops); i++ {
				next := &ops[i+1]
				if next.what != applyRecord || next.arg != o.arg+uint32(len(r.groups)) {
					break
				}
				r.groups = append(r.groups, next.acc)
			}
			var done int
			if done, err = k.fold(base, &r); err != nil {
				f.op = r.op + uint32(done)
			}
		case applyResult:
			w = Out{i: int(o.arg), f: f, start: f.outUsed}
			switch err = k.write(acc, &w); {
			case err == nil && w.long:
				err = errLongText
			case err == nil && w.full:
				f.outUsed = w.start
				k.settle(f, base)
				return f.full(i)
			}
		case applyReset:
			k.renew(acc)
		case applyMerge:
			err = k.join(acc, unsafe.Add(base, uintptr(o.arg)*width))
		}
		if err != nil {
			return f.refuse(err)
		}
	}
	return k.settle(f, base)
}

func (k place[A, P]) renew(acc unsafe.Pointer) {
	clear(unsafe.Slice((*byte)(acc), k.width))
	if reset, own := any(P(acc)).(Resetter); own {
		reset.Reset()
	}
}

func (k place[A, P]) join(acc, from unsafe.Pointer) error { return P(acc).Merge((*A)(from)) }

func (k place[A, P]) write(acc unsafe.Pointer, w *Out) error { return P(acc).Result(w) }

func (k place[A, P]) settle(f frame, base unsafe.Pointer) status { return k.tidy(f, base) }

func (k fixed[A, P]) fold(base unsafe.Pointer, r *run) (done int, err error) {
	for i, g := range r.groups {
		r.f.op = r.op + uint32(i)
		if err := P(unsafe.Add(base, uintptr(g)*k.width)).Add(Row{r.first + i}); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// fold lets the author's loop see the records of the run and no others: the columns begin
// at the first one. A batch tells the number of a record within it.
func (k batched[A, P]) fold(base unsafe.Pointer, r *run) (done int, err error) {
	var at uint32
	for _, c := range r.cols {
		c.skip(r.first)
	}
	err = k.each(Batch[A]{base, &r.groups[0], len(r.groups), &at})
	bindColumns(r.f, r.list.cols, int(r.list.rows), r.cols)
	if err == nil && int(at) != len(r.groups)-1 {
		panic("tidemark: add must take the records of a batch in order, all of them")
	}
	return int(at), err
}

func (k reducing[T]) fold(base unsafe.Pointer, r *run) (done int, err error) {
	accs := row[T]{base}
	for i, g := range r.groups {
		r.f.op = r.op + uint32(i)
		v, err := k.Read(Row{r.first + i})
		if err == nil {
			err = accs.at(uintptr(g)).with(v, k.Reduce)
		}
		if err != nil {
			return i, err
		}
	}
	return 0, nil
}

func (k reducing[T]) renew(acc unsafe.Pointer) {
	clear(unsafe.Slice((*byte)(acc), widthOf[reduced[T]]()))
}

func (k reducing[T]) join(acc, from unsafe.Pointer) error {
	if o := (*reduced[T])(from); o.there {
		return (*reduced[T])(acc).with(o.v, k.Reduce)
	}
	return nil
}

func (k reducing[T]) write(acc unsafe.Pointer, w *Out) error {
	if a := (*reduced[T])(acc); a.there {
		return k.Write(a.v, w)
	}
	return nil
}

func (k reducing[T]) settle(f frame, base unsafe.Pointer) status {
	if len(k.gaps) > 0 {
		width := widthOf[reduced[T]]()
		for i := range uintptr(f.groups) {
			clearGaps(unsafe.Slice((*byte)(unsafe.Add(base, i*width)), width), k.gaps)
		}
	}
	return ok
}
