package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// worker is a guest at work, whatever its kind. After a trap it has no instance until the
// next call needs one.
type worker struct {
	name    string // as the job calls the plug-in
	module  *guest.Module
	release func()          // gives the module back
	ctx     context.Context // the job's; its end ends a call
	inst    *guest.Instance
	used    bool // inst has worked since it was configured
	params  params
	images  *images    // of the module
	args    string     // the key of params among them
	observe func(Call) // nil: nobody looks
}

// aggregate is a guest's aggregate.
type aggregate struct {
	worker
	suspect bool // a batch has trapped, and no record of it yet
	info    udf.Info
	inputs  []column
	hasText bool // some output is a string
	applies bool // it takes several operations in one call

	fresh    udf.Accs // one fresh accumulator, once it was asked for
	scratch  udf.Accs
	places   []outColumn
	whole    part
	hasFresh bool
}

var _ udf.Aggregate = (*aggregate)(nil)

// Info implements udf.Aggregate.
func (a *aggregate) Info() udf.Info { return a.info }

// Close gives instance and module back.
func (a *worker) Close() error {
	a.drop()
	a.release()
	return nil
}

func (a *worker) drop() {
	if a.inst != nil {
		a.inst.Close()
		a.inst = nil
	}
}

// start makes an instance that is configured: from an image if there is one.
func (a *worker) start() error {
	if img := a.images.find(a.args); img != nil {
		if inst, err := img.Instantiate(a.ctx); err == nil {
			a.inst, a.used = inst, false
			return nil
		}
		// It was closed, or the machine has no room: whatever it is shows when starting anew.
	}
	return a.startAnew()
}

// startAnew makes an instance and configures it.
func (a *worker) startAnew() error {
	inst, err := a.module.Instantiate(a.ctx)
	if err != nil {
		return fmt.Errorf("start plug-in %s: %w", a.name, err)
	}
	a.inst = inst
	arena := inst.Arena()
	p := a.params.part()
	if need := abi.HeaderBytes + p.bytes(a.params.layout) + abi.MinOutput; need > len(arena) {
		a.drop()
		return fault.Userf("plug-in %s: its arguments need a frame of %d bytes, its arena has %d", a.name, need, len(arena))
	}
	f := newFrame(arena, 0)
	f.rows(&p, a.params.layout)
	f.finish(abi.MinOutput)
	full, err := a.call(guest.Configure, &f)
	if err == nil && full {
		err = a.lie("%s answers OUTPUT_FULL", guest.Configure)
	}
	if err == nil {
		a.used = false
		a.images.started(a.args, a.inst)
		return nil
	}
	a.drop()
	fail, ok := errors.AsType[*udf.Failure](err)
	switch {
	case !ok: // the job ends
		return err
	case !fail.Trap:
		return fault.Userf("plug-in %s refuses its arguments: %s", a.name, fail.Message)
	}
	// Not a *udf.Failure: no record is to blame, and the next instance ends alike.
	return fault.As(fault.ErrGuest, fmt.Errorf("configure: %s", err))
}

// arena returns the arena of a running instance. An instance that cannot be replaced
// after a trap ends the job, unlike the trap.
func (a *worker) arena() ([]byte, error) {
	if a.inst == nil {
		if err := a.start(); err != nil {
			return nil, err
		}
	}
	return a.inst.Arena(), nil
}

// call calls fn on a finished frame. full: the guest answered OUTPUT_FULL. The error
// is a *udf.Failure whose Op is the guest's, to be mapped by the caller.
func (a *worker) call(fn guest.Func, f *frame) (full bool, err error) {
	a.used = true
	var before []byte
	if a.observe != nil {
		before = a.accumulators(fn, f)
	}
	status, err := a.inst.Call(fn)
	if a.observe != nil {
		a.observed(fn, f, before)
	}
	if err != nil {
		return false, a.trapped(err)
	}
	f.buf = a.inst.Arena() // the guest's memory may have moved
	if status != abi.Refused {
		return status == abi.OutputFull, nil
	}
	used := a.inst.OutUsed()
	if used > f.h.OutBytes || used > abi.MaxMessage {
		return false, a.lie("a message of %d bytes, the output has %d and a message at most %d", used, f.h.OutBytes, abi.MaxMessage)
	}
	text := string(f.buf[f.h.Out : f.h.Out+used])
	return false, &udf.Failure{Op: opOf(a.inst.Op()), Module: a.name, Message: strings.ToValidUTF8(text, "\uFFFD")}
}

// trapped drops the instance and makes a failure of its end.
func (a *worker) trapped(err error) error {
	a.drop()
	trap, ok := errors.AsType[*guest.Trap](err)
	if !ok { // the job ends
		return err
	}
	return &udf.Failure{Op: opOf(trap.Op), Trap: true, Module: a.name, Message: trap.Message}
}

// lie treats an answer that contradicts SPEC.md like a trap.
func (a *worker) lie(format string, args ...any) error {
	return a.trapped(a.inst.Lie(format, args...))
}

func opOf(op uint32) int {
	if op == abi.NoOp {
		return -1
	}
	return int(op)
}

// at maps the Op of a failure with m, from the number of n operations in the call to
// the caller's.
func at(err error, n int, m func(op uint32) int) error {
	if fail, ok := errors.AsType[*udf.Failure](err); ok {
		if fail.Op >= 0 && fail.Op < n {
			fail.Op = m(uint32(fail.Op))
		} else {
			fail.Op = -1
		}
	}
	return err
}

// from maps operation i of a call to i+base.
func from(base int) func(uint32) int { return func(op uint32) int { return base + int(op) } }

// done returns how many of n operations an OUTPUT_FULL call completed.
func (a *worker) done(n int) (int, error) {
	d := a.inst.Done()
	if int64(d) >= int64(n) {
		return 0, a.lie("OUTPUT_FULL after %d of %d operations", d, n)
	}
	return int(d), nil
}

// complete makes a call that may stop at an operation whose answer does not fit, and returns
// how many of n operations it has completed and the used part of the output.
func (a *worker) complete(fn guest.Func, f *frame, n int) (took int, answer []byte, err error) {
	full, err := a.call(fn, f)
	took = n
	if err == nil && full {
		took, err = a.done(n)
	}
	if err == nil {
		answer, err = a.output(f)
	}
	return took, answer, err
}

// output returns the used part of the output area.
func (a *worker) output(f *frame) ([]byte, error) {
	used := a.inst.OutUsed()
	if used > f.h.OutBytes {
		return nil, a.lie("out_used is %d, the output area has %d bytes", used, f.h.OutBytes)
	}
	return f.buf[f.h.Out : f.h.Out+used], nil
}

// answers appends the n accumulators that a call answered to dst.
func (a *aggregate) answers(f *frame, n int, dst *udf.Accs) error {
	out, err := a.output(f)
	if err != nil {
		return err
	}
	if err := takeAccs(out, n, dst); err != nil {
		return a.lie("%v", err)
	}
	return nil
}

// tooLarge says that something does not fit into the arena even alone.
func (a *worker) tooLarge(op int, what string) error {
	return &udf.Failure{Op: op, Module: a.name, Message: fmt.Sprintf("%s does not fit into the plug-in's arena of %d bytes", what, len(a.inst.Arena()))}
}

// Create implements udf.Aggregate. Fresh accumulators depend on the configuration
// alone (SPEC section 4), so one is asked for and copied.
func (a *aggregate) Create(dst *udf.Accs, n int) error {
	dst.Reset(a.info.Width)
	return a.appendFresh(dst, n)
}

func (a *aggregate) appendFresh(dst *udf.Accs, n int) error {
	if n == 0 {
		return nil
	}
	if !a.hasFresh {
		if err := a.create(); err != nil {
			return err
		}
		a.hasFresh = true
	}
	for range n {
		dst.Append(a.fresh.Data)
	}
	return nil
}

// create asks for one fresh accumulator.
func (a *aggregate) create() error {
	arena, err := a.arena()
	if err != nil {
		return err
	}
	w := a.info.Width
	f := newFrame(arena, 1)
	var acc uint32
	if w > 0 {
		_, acc = f.place(w)
		f.h.Acc = acc
	}
	f.finish(math.MaxInt)
	full, err := a.call(guest.Create, &f)
	switch {
	case err != nil:
		return at(err, 1, from(0))
	case full && w > 0:
		return a.lie("%s answers OUTPUT_FULL", guest.Create)
	case full:
		return a.tooLarge(0, "a fresh accumulator")
	}
	a.fresh.Reset(w)
	if w == 0 {
		return at(a.answers(&f, 1, &a.fresh), 1, from(0))
	}
	a.fresh.Append(f.buf[acc : int(acc)+w])
	return nil
}

// Add implements udf.Aggregate. A record that traps alone is judged on a fresh
// instance: what another one had done before may be to blame. After a batch has
// trapped, its records come in pieces, and the one to blame comes alone; it is tried
// on a fresh instance at once, and the one that works is kept for the others: a start
// costs more than thousands of records.
func (a *aggregate) Add(accs *udf.Accs, rows *udf.Rows) error {
	if len(rows.Sel) != 1 {
		err := a.add(accs, rows)
		if trapOf(err) != nil {
			a.suspect = true
		}
		return err
	}
	worn := a.inst != nil && a.used
	var works *guest.Instance
	if worn && a.suspect {
		works, a.inst, worn, a.suspect = a.inst, nil, false, false
	}
	err := a.add(accs, rows)
	if worn && trapOf(err) != nil {
		err = a.add(accs, rows)
	}
	if trap := trapOf(err); trap != nil {
		trap.Fresh = true
		if a.suspect = false; works != nil {
			a.inst, a.used = works, true
		}
	} else if works != nil {
		works.Close()
	}
	return err
}

// trapOf returns the failure of an instance that broke down, else nil.
func trapOf(err error) *udf.Failure {
	if fail, ok := errors.AsType[*udf.Failure](err); ok && fail.Trap {
		return fail
	}
	return nil
}

func (a *aggregate) add(accs *udf.Accs, rows *udf.Rows) error {
	if _, err := a.arena(); err != nil {
		return err
	}
	a.whole = part{batch: &rows.Batch.Columns, cols: rows.Cols, sel: rows.Sel, group: rows.Group, groups: rows.Groups}
	if a.info.Width > 0 {
		return a.addFixed(accs, 0, &a.whole)
	}
	accs.Reset(0)
	return a.addVarying(accs, &a.whole)
}

// addFixed folds the records of p into accumulators base, base+1, … of accs.
func (a *aggregate) addFixed(accs *udf.Accs, base int, p *part) error {
	if len(p.sel) == 0 {
		return nil
	}
	arena := a.inst.Arena()
	w := a.info.Width
	need := abi.HeaderBytes + p.bytes(a.inputs) + p.groups*w + abi.MinOutput
	switch {
	case need <= len(arena):
		f := newFrame(arena, p.groups)
		f.rows(p, a.inputs)
		acc := int(f.accs(accs, base, base+p.groups))
		f.h.Acc = uint32(acc)
		f.finish(abi.MinOutput)
		full, err := a.call(guest.Add, &f)
		if err == nil && full {
			err = a.lie("%s answers OUTPUT_FULL for accumulators of fixed size", guest.Add)
		}
		if err != nil {
			return at(err, len(p.sel), p.record)
		}
		copy(accs.Data[base*w:(base+p.groups)*w], f.buf[acc:])
		return nil
	case p.groups > 1 && (len(p.sel) == 1 || p.groups*w > len(arena)/2):
		half := p.groups / 2
		low, high := p.only(0, half), p.only(half, p.groups)
		if err := a.addFixed(accs, base, &low); err != nil {
			return err
		}
		return a.addFixed(accs, base+half, &high)
	case len(p.sel) > 1:
		half := len(p.sel) / 2
		first, second := p.rows(0, half), p.rows(half, len(p.sel))
		if err := a.addFixed(accs, base, &first); err != nil {
			return err
		}
		return a.addFixed(accs, base, &second)
	}
	return a.tooLarge(p.record(0), "the record")
}

// addVarying appends the partials of p's groups to dst.
func (a *aggregate) addVarying(dst *udf.Accs, p *part) error {
	if len(p.sel) == 0 {
		return at(a.appendFresh(dst, p.groups), 0, nil) // no record is to blame
	}
	arena := a.inst.Arena()
	need := abi.HeaderBytes + p.bytes(a.inputs) + abi.MinOutput
	if need <= len(arena) {
		f := newFrame(arena, p.groups)
		f.rows(p, a.inputs)
		f.finish(math.MaxInt)
		full, err := a.call(guest.Add, &f)
		n := p.groups
		if err == nil && full {
			n, err = a.done(p.groups)
		}
		if err == nil {
			err = a.answers(&f, n, dst)
		}
		if err != nil {
			return at(err, len(p.sel), p.record)
		}
		if !full {
			return nil
		}
		if n > 0 {
			rest := p.only(n, p.groups)
			return a.addVarying(dst, &rest)
		}
		// Not even the first answer fits beside the records.
	}
	switch {
	case p.groups > 1:
		half := p.groups / 2
		low, high := p.only(0, half), p.only(half, p.groups)
		if err := a.addVarying(dst, &low); err != nil {
			return err
		}
		return a.addVarying(dst, &high)
	case len(p.sel) > 1:
		half := len(p.sel) / 2
		var x, y udf.Accs
		x.Reset(0)
		y.Reset(0)
		first, second := p.rows(0, half), p.rows(half, len(p.sel))
		if err := a.addVarying(&x, &first); err != nil {
			return err
		}
		if err := a.addVarying(&y, &second); err != nil {
			return err
		}
		if err := a.Merge(&x, &y); err != nil {
			return at(err, 0, nil) // no single record is to blame
		}
		dst.Append(x.At(0))
		return nil
	}
	if need > len(arena) {
		return a.tooLarge(p.record(0), "the record")
	}
	return a.tooLarge(p.record(0), "the record with its accumulator")
}

// Merge implements udf.Aggregate.
func (a *aggregate) Merge(into, other *udf.Accs) error {
	if into.N() != other.N() {
		panic(fmt.Sprintf("BUG: merge of %d accumulators with %d", into.N(), other.N()))
	}
	if _, err := a.arena(); err != nil {
		return err
	}
	if a.info.Width > 0 {
		return a.mergeFixed(into, other)
	}
	return a.mergeVarying(into, other)
}

func (a *aggregate) mergeFixed(into, other *udf.Accs) error {
	w := a.info.Width
	for base, n := 0, into.N(); base < n; {
		arena := a.inst.Arena()
		k := min(n-base, (len(arena)-abi.HeaderBytes-abi.MinOutput)/(2*w))
		f := newFrame(arena, k)
		f.h.Acc = f.accs(into, base, base+k)
		f.h.From = f.accs(other, base, base+k)
		f.finish(abi.MinOutput)
		full, err := a.call(guest.Merge, &f)
		if err == nil && full {
			err = a.lie("%s answers OUTPUT_FULL for accumulators of fixed size", guest.Merge)
		}
		if err != nil {
			return at(err, k, from(base))
		}
		copy(into.Data[base*w:(base+k)*w], f.buf[f.h.Acc:])
		base += k
	}
	return nil
}

func (a *aggregate) mergeVarying(into, other *udf.Accs) error {
	merged := &a.scratch
	merged.Reset(0)
	most := math.MaxInt // pairs that a call may carry
	for base, n := 0, into.N(); base < n; {
		arena := a.inst.Arena()
		k := mostPairs(into, other, base, min(n, base+min(most, n-base)), len(arena))
		need := abi.HeaderBytes + accsBytes(into, base, base+k) + accsBytes(other, base, base+k) + abi.MinOutput
		if need > len(arena) {
			return a.tooLarge(base, "a pair of accumulators")
		}
		f := newFrame(arena, k)
		f.h.Acc = f.accs(into, base, base+k)
		f.h.From = f.accs(other, base, base+k)
		f.finish(math.MaxInt)
		full, err := a.call(guest.Merge, &f)
		took := k
		if err == nil && full {
			took, err = a.done(k)
		}
		if err == nil {
			err = a.answers(&f, took, merged)
		}
		switch {
		case err != nil:
			return at(err, k, from(base))
		case took > 0:
			base += took
			most = math.MaxInt
		case k > 1:
			most = k / 2
		default:
			return a.tooLarge(base, "the merged accumulator")
		}
	}
	into.Reset(0)
	into.Data = append(into.Data, merged.Data...)
	into.Off = append(into.Off[:0], merged.Off...)
	return nil
}

// mostPairs returns how many pairs from base on, below end, fit into a frame together
// with answers as large as both: at least one.
func mostPairs(into, other *udf.Accs, base, end, arena int) int {
	k := 1
	for base+k < end {
		in := accsBytes(into, base, base+k+1) + accsBytes(other, base, base+k+1)
		if abi.HeaderBytes+2*in > arena {
			break
		}
		k++
	}
	return k
}

// Result implements udf.Aggregate.
func (a *aggregate) Result(accs *udf.Accs, out *stream.Columns) error {
	if _, err := a.arena(); err != nil {
		return err
	}
	return allOrNone(out, func() error { return a.result(accs, out) })
}

// allOrNone takes back the rows that f has appended if it fails.
func allOrNone(out *stream.Columns, f func() error) error {
	before, blob := out.Cols[0].Len(), len(out.Blob)
	err := f()
	if err != nil {
		for i := range out.Cols {
			out.Cols[i].Truncate(before)
		}
		out.Blob = out.Blob[:blob]
	}
	return err
}

func (a *aggregate) result(accs *udf.Accs, out *stream.Columns) error {
	most := math.MaxInt // rows that a call may ask for
	for base, n := 0, accs.N(); base < n; {
		arena := a.inst.Arena()
		k := a.mostRows(accs, base, min(n, base+min(most, n-base)), len(arena))
		need := abi.HeaderBytes + accsBytes(accs, base, base+k) + outBytes(a.info.Outputs, k) + abi.MinOutput
		if need > len(arena) {
			return a.tooLarge(base, "the result")
		}
		f := newFrame(arena, k)
		f.h.Acc = f.accs(accs, base, base+k)
		a.places = f.outputs(a.info.Outputs, k, a.places)
		took, used, err := a.complete(guest.Result, &f, k)
		if err != nil {
			return at(err, k, from(base))
		}
		if row, err := takeRows(f.buf, &f.h, a.places, took, len(used), out); err != nil {
			err = a.lie("%v", err)
			if fail, ok := errors.AsType[*udf.Failure](err); ok {
				fail.Op = base + row
			}
			return err
		}
		if uint64(len(out.Blob)) > math.MaxUint32 {
			return fault.As(fault.ErrGuest, fmt.Errorf("plug-in %s: the text of %d results exceeds 4 GiB", a.name, n))
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

// mostRows returns how many accumulators from base on, below end, fit into a frame
// with their results: at least one. Where there is text, half of the arena is left
// for it.
func (a *aggregate) mostRows(accs *udf.Accs, base, end, arena int) int {
	room := arena - abi.HeaderBytes - abi.MinOutput
	if a.hasText {
		room = min(room, arena/2)
	}
	k := 1
	if w := a.info.Width; w > 0 {
		row := w + 1 // with a generous share of the bitmaps
		for _, o := range a.info.Outputs {
			row += outRowBytes(o.Kind) + 1
		}
		k = max(1, min(end-base, (room-len(a.info.Outputs)*(abi.DescriptorBytes+16))/row))
		return k
	}
	for base+k < end && accsBytes(accs, base, base+k+1)+outBytes(a.info.Outputs, k+1) <= room {
		k++
	}
	return k
}
