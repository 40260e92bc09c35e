package wasm

import (
	"fmt"
	"math"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// applier is a guest's aggregate that takes records, results and resets in one call.
type applier struct {
	*aggregate
	accs   selection // of the caller's accumulators, those in the frame
	rows   selection // likewise, of records
	bound  part
	number []uint32 // of the frame's records: their rows in the batch
}

var _ udf.Applier = (*applier)(nil)

// Apply implements udf.Applier: in frames of as many operations as fit, one after the
// other.
func (a *applier) Apply(accs *udf.Accs, ops []udf.ContentOp, rows *udf.Rows, out *stream.Columns) error {
	return allOrNone(out, func() error { return a.apply(accs, ops, rows, out) })
}

func (a *applier) apply(accs *udf.Accs, ops []udf.ContentOp, rows *udf.Rows, out *stream.Columns) error {
	w := a.info.Width
	most := math.MaxInt // operations that a call may carry
	for base, n := 0, len(ops); base < n; {
		arena, err := a.arena()
		if err != nil {
			return err
		}
		k, results, need := a.fill(ops[base:base+min(most, n-base)], accs, rows, len(arena))
		if need > len(arena) {
			return a.tooLarge(base, "the operation")
		}
		f := newFrame(arena, len(a.accs.taken))
		acc := a.frame(&f, ops[base:base+k], accs, results)
		took, used, err := a.complete(guest.Apply, &f, k)
		if err != nil {
			return at(err, k, from(base))
		}
		given := 0
		for _, op := range ops[base : base+took] {
			if op.What == udf.OpEmit {
				given++
			}
		}
		if _, err := takeRows(f.buf, &f.h, a.places, given, len(used), out); err != nil {
			return a.wrong(err, base)
		}
		if uint64(len(out.Blob)) > math.MaxUint32 {
			return fault.As(fault.ErrGuest, fmt.Errorf("plug-in %s: the text of %d results exceeds 4 GiB", a.name, given))
		}
		for i, g := range a.accs.taken {
			copy(accs.At(int(g)), f.buf[int(acc)+i*w:int(acc)+(i+1)*w])
		}
		switch {
		case took > 0:
			base += took
			most = math.MaxInt
		case k > 1:
			most = k / 2
		default:
			return a.tooLarge(base, "the result")
		}
	}
	return nil
}

// fill selects what the first operations need, as many of them as leave room for their
// answers, and at least one. need is the size of the frame.
func (a *applier) fill(ops []udf.ContentOp, accs *udf.Accs, rows *udf.Rows, arena int) (k, results, need int) {
	room := arena
	if a.hasText {
		room = arena / 2
	}
	for k = len(ops); ; k /= 2 {
		a.accs.reset(accs.N())
		a.rows.reset(len(rows.Sel))
		a.number = a.number[:0]
		results = 0
		for _, op := range ops[:k] {
			a.accs.take(op.Acc)
			switch op.What {
			case udf.OpAdd:
				if _, first := a.rows.take(op.Row); first {
					a.number = append(a.number, rows.Sel[op.Row])
				}
			case udf.OpEmit:
				results++
			}
		}
		a.bound = part{batch: &rows.Batch.Columns, cols: rows.Cols, sel: a.number}
		need = abi.HeaderBytes + abi.BlockBytes + k*abi.ContentOpBytes + a.bound.columnBytes(a.inputs) +
			len(a.accs.taken)*a.info.Width + outBytes(a.info.Outputs, results) + abi.MinOutput
		if k == 1 || need <= room {
			return k, results, need
		}
	}
}

// frame writes what fill has selected, and returns the place of the accumulators.
func (a *applier) frame(f *frame, ops []udf.ContentOp, accs *udf.Accs, results int) (acc uint32) {
	w := a.info.Width
	f.h.Rows = uint32(len(ops))
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	b := abi.Block{Results: uint32(results)}
	var list, data []byte
	list, b.Items = f.place(len(ops) * abi.ContentOpBytes)
	row := uint32(0)
	for i, op := range ops {
		to := abi.ContentOp{What: uint32(op.What)}
		to.Acc, _ = a.accs.take(op.Acc)
		switch op.What {
		case udf.OpAdd:
			to.Arg, _ = a.rows.take(op.Row)
		case udf.OpEmit:
			to.Arg = row
			row++
		}
		to.Put(list[i*abi.ContentOpBytes:])
	}
	var descriptors []byte
	descriptors, b.Lists[0].Cols = f.place(len(a.inputs) * abi.DescriptorBytes)
	b.Lists[0].Rows, b.Lists[0].NumCols = uint32(len(a.number)), uint32(len(a.inputs))
	f.columns(descriptors, &a.bound, a.inputs)
	data, acc = f.place(len(a.accs.taken) * w)
	f.h.Acc = acc
	for i, g := range a.accs.taken {
		copy(data[i*w:], accs.At(int(g)))
	}
	b.Put(block)
	a.places = f.outputs(a.info.Outputs, results, a.places)
	return acc
}
