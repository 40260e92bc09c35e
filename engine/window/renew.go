package window

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// A plug-in of another version may lay out in another way what it keeps. Then the pieces of
// a cut are rewritten before an operator reads them: a walk over a piece finds the states of
// that plug-in, which it converts many at a time, and all else stays byte for byte. Nothing
// of this is in the operators, which know one layout of their own, and none of the states.

// renewal rewrites the pieces of one step.
type renewal struct {
	now   *contents
	form  form
	ring  int64     // of count windows: slices of a window
	width int       // of a cell's fixed accumulators, as they were
	fixed []*former // functions with accumulators of fixed size, in the order of a cell
	vary  []*former // the others
	// keys and windows are what the process function keeps of them, own is a trigger's.
	keys, windows, own *former
}

// former is a function as it was when the cut was taken.
type former struct {
	width int // of its accumulator as it was
	// up converts from schema; nil: nothing has changed.
	up     udf.Upgrader
	what   udf.Kept
	schema uint32
	name   string // for messages

	old, renewed [][]byte // of the piece at hand
}

// renew is a restore whose pieces an operator reads: where functions kept their states in older
// layouts they are rewritten, and what stands apart comes as a piece of its own, key group by
// key group as they are read.
func renew(p part, r state.Restore) (state.Restore, error) {
	var n *renewal
	if r.Schemas.Old() {
		var err error
		if n, err = renewalOf(p, &r.Schemas); err != nil {
			return r, err
		}
		tasks := make([][]byte, len(r.Tasks))
		for i, task := range r.Tasks {
			if tasks[i], err = n.piece(task, func(*walk, byte) {}); err != nil {
				return r, fmt.Errorf("state of subtask %d: %w", i, err)
			}
		}
		r.Tasks = tasks
	}
	was := r
	r.Groups, r.Schemas = nil, state.Schemas{}
	r.Stored = func(yield func(state.GroupCut, error) bool) {
		for g, err := range was.Each() {
			var pieces []state.GroupCut
			if err == nil {
				pieces, err = joined(g)
			}
			for _, g := range pieces {
				if n != nil {
					if g.State, err = n.piece(g.State, n.group); err != nil {
						err = fmt.Errorf("state of key group %d: %w", g.Group, err)
						break
					}
				}
				if !yield(g, nil) {
					return
				}
			}
			if err != nil {
				yield(g, err)
				return
			}
		}
	}
	return r, nil
}

// renewalOf is that of an operator.
func renewalOf(p part, s *state.Schemas) (*renewal, error) {
	n, err := newRenewal(p.content(), p.form(), s)
	switch p := p.(type) {
	case *Counts:
		n.ring = p.grid.count
	case *General:
		if s.Trigger > 0 && err == nil {
			err = n.own.by(trigger.User(p.cfg.Trigger), udf.KeptOfWindow, s.Trigger)
		}
	case *staggered:
		return renewalOf(p.part, s)
	}
	return n, err
}

// newRenewal finds who converts what. That all of it can be was checked before
// (job.Takeover), so that an error says that the module is another one.
func newRenewal(o *contents, is form, s *state.Schemas) (*renewal, error) {
	n := &renewal{now: o, form: is}
	for i := range o.fns {
		fn := &o.fns[i]
		f := &former{width: fn.info.Width, name: "aggregate " + fn.Name}
		if schema := s.Aggregates[fn.Name]; schema > 0 {
			if err := f.by(fn.Agg.(named).Aggregate, udf.KeptAccumulator, schema); err != nil {
				return n, err
			}
		}
		if fn.info.Width > 0 {
			n.fixed, n.width = append(n.fixed, f), n.width+f.width
		} else {
			n.vary = append(n.vary, f)
		}
	}
	n.keys, n.windows, n.own = &former{name: "process function"}, &former{name: "process function"}, &former{name: "trigger"}
	if s.Process > 0 && o.process != nil {
		if err := errors.Join(n.keys.by(o.process.Fn, udf.KeptOfKey, s.Process), n.windows.by(o.process.Fn, udf.KeptOfWindow, s.Process)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// by has a function convert from a schema.
func (f *former) by(fn any, what udf.Kept, schema uint32) error {
	up, ok := fn.(udf.Upgrader)
	if ok {
		f.up, f.what, f.schema = up, what, schema
		f.width, ok = up.Former(schema)
	}
	if !ok {
		return fault.Userf("%s: its state has schema %d, and the module does not convert from that: go on with the old module, or say --drop-state for the step", f.name, schema)
	}
	return nil
}

// walk goes over a piece and notes what is to be replaced.
type walk struct {
	*state.Reader
	n      *renewal
	src    []byte
	splice []splice
}

// splice is bytes of a piece that others take the place of.
type splice struct {
	lo, hi int
	bytes  []byte  // these, if there is no former
	by     *former // its renewed state n,
	n      int
	sized  bool // and its length before it
}

func (w *walk) at() int { return len(w.src) - w.Left() }

// piece rewrites a piece, whose body each walks over. What the walk leaves stays as it is.
func (n *renewal) piece(src []byte, each func(w *walk, flags byte)) ([]byte, error) {
	w := n.walk(src)
	for range headerSize {
		w.U8()
	}
	if w.Failed() {
		return nil, w.Err()
	}
	was := binary.LittleEndian.Uint32(src[4:])
	now := n.now.header(n.form)
	if was != uint32(n.width) {
		return nil, fault.Userf("accumulators have %d bytes in it, and by what the plug-ins say of their older schemas it must be %d: go on with the old modules, or say --drop-state for the step", was, n.width)
	}
	w.splice = append(w.splice, splice{lo: 4, hi: 8, bytes: now[4:8]})
	each(w, src[2])
	return w.finish()
}

func (n *renewal) walk(src []byte) *walk { return &walk{Reader: state.NewReader(src), n: n, src: src} }

// finish converts what the walk has found, and returns the piece with all replacements.
func (w *walk) finish() ([]byte, error) {
	n := w.n
	if w.Failed() {
		return nil, w.Err()
	}
	all := append(append([]*former{n.keys, n.windows, n.own}, n.fixed...), n.vary...)
	for _, f := range all {
		if err := f.convert(); err != nil {
			return nil, err
		}
	}
	out := w.result()
	for _, f := range all {
		f.old, f.renewed = nil, nil
	}
	return out, nil
}

// convert converts the states of a piece.
func (f *former) convert() (err error) {
	if len(f.old) == 0 {
		return nil
	}
	if f.renewed, err = f.up.Upgrade(f.what, f.schema, f.old); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if len(f.renewed) != len(f.old) {
		panic(fmt.Sprintf("BUG: %d states upgraded to %d", len(f.old), len(f.renewed)))
	}
	return nil
}

// result is the piece with all replacements.
func (w *walk) result() []byte {
	var out state.Writer
	from := 0
	for i := range w.splice {
		s := &w.splice[i]
		out.Buf = append(out.Buf, w.src[from:s.lo]...)
		from = s.hi
		bytes := s.bytes
		if s.by != nil {
			bytes = s.by.renewed[s.n]
		}
		if s.sized {
			out.U32(uint32(len(bytes)))
		}
		out.Buf = append(out.Buf, bytes...)
	}
	return append(out.Buf, w.src[from:]...)
}

// replace notes that a state from lo to hi is to be converted.
func (w *walk) replace(f *former, lo, hi int, state []byte, sized bool) {
	w.splice = append(w.splice, splice{lo: lo, hi: hi, by: f, n: len(f.old), sized: sized})
	f.old = append(f.old, state)
}

// state steps over a state with its length. One of no bytes is none.
func (w *walk) state(f *former) {
	lo := w.at()
	if b := w.Lent(); f.up != nil && (len(b) > 0 || f.what == udf.KeptAccumulator) && !w.Failed() {
		w.replace(f, lo, w.at(), b, true)
	}
}

func (w *walk) skip(words int) {
	for range words {
		w.U64()
	}
}

// times does something as often as a number that comes first says.
func (w *walk) times(each func()) {
	for range w.Len() {
		if w.Failed() {
			return
		}
		each()
	}
}

// cell steps over what state.Writer.Cell wrote.
func (w *walk) cell() {
	lo := w.at()
	acc := w.Lent()
	if len(acc) != w.n.width {
		w.Fail(fault.As(fault.ErrCorrupt, errors.New("snapshot has accumulators of another size")))
	}
	if w.Failed() {
		return
	}
	o := w.n.now
	switch {
	case len(w.n.fixed) == 0:
	case o.lists: // what it holds was never used
		w.splice = append(w.splice, splice{lo: lo, hi: lo + 4 + len(acc), bytes: o.fresh, sized: true})
	default:
		w.splice = append(w.splice, splice{lo: lo, hi: lo + 4, bytes: binary.LittleEndian.AppendUint32(nil, uint32(o.width))})
		off := 0
		for _, f := range w.n.fixed {
			if f.up != nil {
				w.replace(f, lo+4+off, lo+4+off+f.width, acc[off:off+f.width], false)
			}
			off += f.width
		}
	}
	w.U64()
	w.U32()
	for _, f := range w.n.vary {
		w.times(func() { w.state(f) })
	}
}
