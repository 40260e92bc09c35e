//go:build !wasip1

package tidemark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unsafe"
)

// This file is the twin of raw_wasip1.go: in place of the exports that a host calls
// there is a host in miniature, which writes the same frames into the same arena and
// serves the calls by the same code. Plug-ins are tested through it by plain `go
// test`, and so is the SDK.

// register does nothing: a test binary may hold many aggregates.
func register(module) {}

// Values is a record or a result row, by the name of the column. A column that is
// left out, or nil, is null. Records take int64 or int, float64 or int, bool, string,
// Timestamp or time.Time; result rows give int64, float64, bool, string, Timestamp.
type Values map[string]any

// Acc is an accumulator as a host keeps it; nil stands for a fresh one.
type Acc []byte

// Twin drives an aggregate in tests as a host does. Each call is one on a fresh
// instance, so state that survives a call outside the accumulator shows.
type Twin struct {
	a    *Aggregate
	args Values
}

// Refusal is the error of a Twin whose aggregate refused: what a host shows to the
// job's owner.
type Refusal struct {
	Op      int // the record, or for Merge and Result the accumulator; -1: none
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// errBadFrame: the SDK could not read what the twin wrote.
var errBadFrame = errors.New("BUG: the frame could not be read")

// NewTwin configures the aggregate with a job's arguments, by the parameters' names.
// The error is a *Refusal, or says which argument does not fit.
func NewTwin(a *Aggregate, args Values) (*Twin, error) {
	full, err := argsOf(a.spec.Params, args)
	if err != nil {
		return nil, err
	}
	t := &Twin{a, full}
	if _, err := t.call(opConfigure, input{}); err != nil {
		return nil, err
	}
	return t, nil
}

// Add folds records into an accumulator and returns the new one. A record in which a
// column is null that is not declared nullable is left out.
func (t *Twin) Add(acc Acc, records ...Values) (Acc, error) {
	var rows []Values
	for _, r := range records {
		if !lacks(t.a.spec.Inputs, r) {
			rows = append(rows, r)
		}
	}
	in := input{rows: rows, group: make([]uint32, len(rows)), accs: []Acc{acc}}
	if t.a.width == 0 {
		out, err := t.call(opAdd, in)
		if err != nil || acc == nil {
			return first(out.accs), err
		}
		return t.Merge(acc, out.accs[0])
	}
	if acc == nil {
		fresh, err := t.call(opCreate, input{accs: []Acc{nil}})
		if err != nil {
			return nil, err
		}
		in.accs = fresh.accs
	}
	out, err := t.call(opAdd, in)
	return first(out.accs), err
}

// Merge returns the accumulator of the records behind acc and then those behind from.
func (t *Twin) Merge(acc, from Acc) (Acc, error) {
	for _, a := range []*Acc{&acc, &from} {
		if *a == nil {
			fresh, err := t.call(opCreate, input{accs: []Acc{nil}})
			if err != nil {
				return nil, err
			}
			*a = fresh.accs[0]
		}
	}
	out, err := t.call(opMerge, input{accs: []Acc{acc}, from: []Acc{from}})
	return first(out.accs), err
}

// Result returns the result row of an accumulator; null columns are left out.
func (t *Twin) Result(acc Acc) (Values, error) {
	if acc == nil {
		var err error
		if acc, err = t.Add(nil); err != nil {
			return nil, err
		}
	}
	out, err := t.call(opResult, input{accs: []Acc{acc}})
	if err != nil {
		return nil, err
	}
	return out.rows[0], nil
}

func first(accs []Acc) Acc {
	if len(accs) == 0 {
		return nil
	}
	return accs[0]
}

// lacks reports whether a host would leave a record or a firing out.
func lacks(cols []Input, v Values) bool {
	for _, in := range cols {
		if c := in.input(); !c.nullable && v[c.name] == nil {
			return true
		}
	}
	return false
}

// input is what a frame carries to the guest; its groups are as many as accs.
type input struct {
	rows  []Values
	group []uint32
	accs  []Acc
	from  []Acc
	room  int // bytes of the output area; 0: all that is left of the arena
}

// output is what a frame carries back.
type output struct {
	status status
	done   int
	accs   []Acc
	rows   []Values
}

// mu guards the arena and the columns, which all twins of a test binary share.
var mu sync.Mutex

// call writes a frame, calls and reads the answer. Each call configures before.
func (t *Twin) call(o op, in input) (output, error) {
	mu.Lock()
	defer mu.Unlock()
	t.a.ready = false
	if err := configureTwin(t.a, t.a.spec.Params, t.args); err != nil || o == opConfigure {
		return output{}, err
	}

	w := newWriter()
	inputs := make([]*column, len(t.a.spec.Inputs))
	for i, c := range t.a.spec.Inputs {
		inputs[i] = c.input()
	}
	if o == opAdd {
		if err := w.columns(inputs, in.rows); err != nil {
			return output{}, err
		}
		w.h.group = w.area(4 * len(in.group))
		copy(unsafe.Slice((*uint32)(arenaAt(uintptr(w.h.group))), len(in.group)), in.group)
	}
	w.h.groups = uint32(len(in.accs))
	if t.a.width > 0 || o != opAdd && o != opCreate {
		w.h.acc = w.accs(in.accs, t.a.width)
	}
	if o == opMerge {
		w.h.from = w.accs(in.from, t.a.width)
	}
	if o == opResult {
		w.outputs(t.a.spec.Outputs, len(in.accs))
	}
	st, err := w.serve(t.a, o, in.room)
	if err != nil {
		return output{}, err
	}
	out := output{status: st, done: len(in.accs)}
	if st == outputFull {
		out.done = int(w.h.done)
	}
	if o == opResult {
		out.rows = w.resultRows(t.a.spec.Outputs, out.done)
	}
	switch {
	case t.a.width == 0 && o != opResult:
		out.accs = w.answered(out.done)
	case t.a.width > 0:
		for i := range in.accs {
			from := int(w.h.acc) + i*t.a.width
			out.accs = append(out.accs, append(Acc(nil), bytesOfArena()[from:from+t.a.width]...))
		}
	}
	return out, nil
}

// configureTwin gives a module the arguments of a job.
func configureTwin(m module, declared []Param, given Values) error {
	params := make([]*column, len(declared))
	args := Values{}
	for i, p := range declared {
		q := p.declared()
		params[i] = &column{name: q.name, kind: q.kind, nullable: true}
		args[q.name] = q.fallback
	}
	for name, v := range given {
		args[name] = v
	}
	w := newWriter()
	if err := w.columns(params, []Values{args}); err != nil {
		return fmt.Errorf("argument %w", err)
	}
	_, err := w.serve(m, opConfigure, 0)
	return err
}

// argsOf drops arguments that are nil and checks that those which are required are there.
func argsOf(declared []Param, args Values) (Values, error) {
	full := Values{}
	for name, v := range args {
		if v != nil {
			full[name] = v
		}
	}
	for _, p := range declared {
		if q := p.declared(); q.required && full[q.name] == nil {
			return nil, fmt.Errorf("param %s is required", q.name)
		}
	}
	return full, nil
}

func bytesOfArena() []byte { return unsafe.Slice((*byte)(arenaAt(0)), arenaBytes) }

// writer lays out one frame at the start of the arena.
type writer struct {
	h  *header
	at int // where the next area starts
}

func newWriter() *writer {
	clear(arena[:headerBytes/8])
	h := (*header)(arenaAt(0))
	h.op = math.MaxUint32 // none yet
	return &writer{h, headerBytes}
}

// area takes n bytes, zeroed.
func (w *writer) area(n int) uint32 {
	off := w.at
	w.at = (off + n + 7) &^ 7
	if w.at > arenaBytes {
		panic("tidemark: the records of a test do not fit into the arena")
	}
	clear(bytesOfArena()[off:w.at])
	return uint32(off)
}

func (w *writer) u32(off uint32, i int) *uint32 {
	return (*uint32)(arenaAt(uintptr(off) + 4*uintptr(i)))
}

func (w *writer) u64(off uint32, i int) *uint64 {
	return (*uint64)(arenaAt(uintptr(off) + 8*uintptr(i)))
}

func (w *writer) descriptor(off uint32, i int) *descriptor {
	return (*descriptor)(arenaAt(uintptr(off) + columnBytes*uintptr(i)))
}

// columns lays out input columns.
func (w *writer) columns(cols []*column, rows []Values) error {
	known := map[string]bool{}
	for _, c := range cols {
		known[c.name] = true
	}
	for i, r := range rows {
		for name := range r {
			if !known[name] {
				return fmt.Errorf("record %d: %s is not declared", i, name)
			}
		}
	}
	var err error
	w.h.rows, w.h.ncols = uint32(len(rows)), uint32(len(cols))
	w.h.cols, err = w.described(cols, rows)
	return err
}

// described lays out columns behind their descriptors.
func (w *writer) described(cols []*column, rows []Values) (at uint32, err error) {
	at = w.area(columnBytes * len(cols))
	for i, c := range cols {
		if err := w.column(w.descriptor(at, i), c, rows); err != nil {
			return at, err
		}
	}
	return at, nil
}

func (w *writer) column(d *descriptor, c *column, rows []Values) error {
	d.kind = uint32(c.kind)
	if c.nullable {
		d.flags = hasValidity
		d.validity = w.area((len(rows) + 63) / 64 * 8)
	}
	switch c.kind {
	case kindString:
		d.data = w.area(4 * (len(rows) + 1))
	case kindBool:
		d.data = w.area(len(rows))
	default:
		d.data = w.area(8 * len(rows))
	}
	var blob []byte
	for i, r := range rows {
		v := r[c.name]
		if v != nil {
			bits, text, fits := encode(c.kind, v)
			switch {
			case !fits:
				return fmt.Errorf("record %d: %s is %T, not %v", i, c.name, v, c.kind)
			case c.kind == kindBool:
				bytesOfArena()[int(d.data)+i] = byte(bits)
			case c.kind == kindString:
				blob = append(blob, text...)
			default:
				*w.u64(d.data, i) = bits
			}
			if c.nullable {
				*w.u64(d.validity, i/64) |= 1 << (i % 64)
			}
		}
		if c.kind == kindString {
			*w.u32(d.data, i+1) = uint32(len(blob))
		}
	}
	d.blobSize = uint32(len(blob))
	d.blob = w.area(len(blob))
	copy(bytesOfArena()[d.blob:], blob)
	return nil
}

// encode gives a value as a column of the kind holds it.
func encode(k kind, v any) (bits uint64, text string, fits bool) {
	switch v := v.(type) {
	case int:
		if k == kindFloat64 {
			return math.Float64bits(float64(v)), "", true
		}
		return uint64(v), "", k == kindInt64
	case int64:
		return uint64(v), "", k == kindInt64
	case float64:
		return math.Float64bits(v), "", k == kindFloat64
	case bool:
		if v {
			bits = 1
		}
		return bits, "", k == kindBool
	case string:
		return 0, v, k == kindString
	case Timestamp:
		return uint64(v), "", k == kindTimestamp
	case time.Time:
		return uint64(v.UnixMilli()), "", k == kindTimestamp
	}
	return 0, "", false
}

// accs lays out a row of accumulators; nil ones of a fixed size are zero.
func (w *writer) accs(accs []Acc, width int) uint32 {
	if width > 0 {
		off := w.area(width * len(accs))
		for i, a := range accs {
			copy(bytesOfArena()[int(off)+i*width:][:width], a)
		}
		return off
	}
	var all []byte
	table := w.area(4 * (len(accs) + 1))
	for i, a := range accs {
		all = append(all, a...)
		*w.u32(table, i+1) = uint32(len(all))
	}
	copy(bytesOfArena()[w.area(len(all)):], all)
	return table
}

// outputs lays out output columns for n rows.
func (w *writer) outputs(cols []Output, n int) {
	w.h.noutcols = uint32(len(cols))
	w.h.outcols = w.area(columnBytes * len(cols))
	for i, c := range cols {
		d := w.descriptor(w.h.outcols, i)
		*d = descriptor{kind: uint32(c.output().kind), flags: hasValidity}
		d.validity = w.area((n + 63) / 64 * 8)
		d.data = w.area(8 * n)
	}
}

// serve gives the rest of the arena, or room bytes of it, to the answer and calls.
func (w *writer) serve(m module, o op, room int) (status, error) {
	if room == 0 {
		room = arenaBytes - w.at
	}
	w.h.out, w.h.outCap = uint32(w.at), uint32(room)
	w.h.size = uint32(w.at + room)
	for i := range int(w.h.noutcols) {
		d := w.descriptor(w.h.outcols, i)
		d.blob, d.blobSize = w.h.out, w.h.outCap
	}
	switch st := m.call(o, 0, arenaBytes); st {
	case badFrame:
		return st, errBadFrame
	case refused:
		return st, &Refusal{int(int32(w.h.op)), string(w.out()[:w.h.outUsed])}
	default:
		return st, nil
	}
}

func (w *writer) out() []byte { return bytesOfArena()[w.h.out:][:w.h.outCap] }

// answered reads n accumulators of varying size.
func (w *writer) answered(n int) []Acc {
	var accs []Acc
	b := w.out()[:w.h.outUsed]
	for range n {
		size := int(binary.LittleEndian.Uint32(b))
		accs = append(accs, append(Acc{}, b[4:4+size]...))
		b = b[4+(size+3)&^3:]
	}
	if len(b) > 0 {
		panic("tidemark: BUG: bytes are left over behind the accumulators")
	}
	return accs
}

// resultRows reads the first n result rows.
func (w *writer) resultRows(cols []Output, n int) []Values {
	rows := make([]Values, n)
	for r := range rows {
		rows[r] = Values{}
		for i, c := range cols {
			d := w.descriptor(w.h.outcols, i)
			if *w.u64(d.validity, r/64)>>(r%64)&1 == 0 {
				continue
			}
			o := c.output()
			switch bits := *w.u64(d.data, r); o.kind {
			case kindInt64:
				rows[r][o.name] = int64(bits)
			case kindFloat64:
				rows[r][o.name] = math.Float64frombits(bits)
			case kindTimestamp:
				rows[r][o.name] = Timestamp(bits)
			case kindBool:
				rows[r][o.name] = bytesOfArena()[int(d.data)+r] != 0
			case kindString:
				off, size := *w.u32(d.data, 2*r), *w.u32(d.data, 2*r+1)
				rows[r][o.name] = string(w.out()[:w.h.outUsed][off : off+size])
			}
		}
	}
	return rows
}
