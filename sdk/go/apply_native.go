//go:build !wasip1

package tidemark

import (
	"bytes"
	"fmt"
	"maps"
	"unsafe"
)

// agenda is what an apply call carries in tests: operations on accumulators.
type agenda struct {
	rows []Values
	ops  []contentOp
	accs []Acc
	room int // bytes of the output area; 0: all that is left
}

// apply makes an apply call, and answers the rows of the operations that are done.
func (t *Twin) apply(in agenda) (accs []Acc, rows []Values, done int, err error) {
	mu.Lock()
	defer mu.Unlock()
	t.a.ready = false
	if err := configureTwin(t.a, t.a.spec.Params, t.args); err != nil {
		return nil, nil, 0, err
	}
	w := newWriter()
	inputs := make([]*column, len(t.a.spec.Inputs))
	for i, c := range t.a.spec.Inputs {
		inputs[i] = c.input()
	}
	w.h.rows, w.h.groups = uint32(len(in.ops)), uint32(len(in.accs))
	w.h.block = w.area(int(unsafe.Sizeof(block{})))
	items := w.area(len(in.ops) * int(unsafe.Sizeof(contentOp{})))
	copy(unsafe.Slice((*contentOp)(arenaAt(uintptr(items))), len(in.ops)), in.ops)
	cols, err := w.described(inputs, in.rows)
	if err != nil {
		return nil, nil, 0, err
	}
	w.h.acc = w.accs(in.accs, t.a.width)
	results := 0
	for _, o := range in.ops {
		if o.what == applyResult {
			results++
		}
	}
	w.outputs(t.a.spec.Outputs, results)
	*(*block)(arenaAt(uintptr(w.h.block))) = block{items: items, results: uint32(results),
		lists: [2]listBlock{{rows: uint32(len(in.rows)), cols: cols, ncols: uint32(len(inputs))}}}
	st, err := w.serve(t.a, opApply, in.room)
	if err != nil {
		return nil, nil, 0, err
	}
	if done = len(in.ops); st == outputFull {
		done = int(w.h.done)
	}
	given := 0
	for _, o := range in.ops[:done] {
		if o.what == applyResult {
			given++
		}
	}
	for i := range in.accs {
		from := int(w.h.acc) + i*t.a.width
		accs = append(accs, append(Acc(nil), bytesOfArena()[from:from+t.a.width]...))
	}
	return accs, w.resultRows(t.a.spec.Outputs, given), done, nil
}

// inOneCall checks that an apply call does what single calls do: two accumulators get the
// records by turns, give a result after each, one is emptied half-way, and the other takes
// it in at the end.
func (t *Twin) inOneCall(records []Values) error {
	if _, fixed := t.a.calls.(steps); !fixed {
		return nil
	}
	fresh, err := t.Add(nil)
	if err != nil {
		return err
	}
	accs, now := []Acc{fresh, fresh}, []Acc{fresh, fresh}
	var ops []contentOp
	var want []Values
	result := func(of int) error {
		row, err := t.Result(now[of])
		want = append(want, row)
		ops = append(ops, contentOp{what: applyResult, acc: uint32(of), arg: uint32(len(want) - 1)})
		return err
	}
	kept := records[:0:0]
	for i, r := range records {
		if lacks(t.a.spec.Inputs, r) {
			continue
		}
		of := i % 2
		ops = append(ops, contentOp{what: applyRecord, acc: uint32(of), arg: uint32(len(kept))})
		kept = append(kept, r)
		if now[of], err = t.Add(now[of], r); err != nil {
			return err
		}
		if i%3 == 0 { // runs of several records too
			if err := result(of); err != nil {
				return err
			}
		}
		if i == len(records)/2 {
			ops = append(ops, contentOp{what: applyReset, acc: 0})
			now[0] = fresh
		}
	}
	if now[1], err = t.Merge(now[1], now[0]); err != nil {
		return err
	}
	ops = append(ops, contentOp{what: applyMerge, acc: 1})
	if err := result(1); err != nil {
		return err
	}
	got, rows, _, err := t.apply(agenda{rows: kept, ops: ops, accs: accs})
	switch {
	case err != nil:
		return fmt.Errorf("in one call: %w", err)
	case !bytes.Equal(got[1], now[1]):
		return fmt.Errorf("in one call: accumulator is %x, not %x as by single calls", got[1], now[1])
	}
	for i, row := range rows {
		if !maps.EqualFunc(want[i], row, sameBits) {
			return fmt.Errorf("in one call: result %d is %v, not %v as by single calls", i, row, want[i])
		}
	}
	return nil
}
