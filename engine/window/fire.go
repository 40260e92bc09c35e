package window

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// fireRows bounds the panes whose results are computed at once: enough to spread the
// cost of a call, few enough that results leave in small pieces.
const fireRows = 1024

// emitter is the working memory of firings.
type emitter struct {
	key    []stream.Field
	values [][]stream.Field
	rows   result.Rows
	cells  []cell
	// moments are those of the cells in work.
	moments []moment
}

func (e *emitter) init(key []stream.Field, fns []function) {
	e.key = key
	for _, f := range fns {
		e.values = append(e.values, f.info.Outputs)
	}
}

// fireAll fires every pane of a window, key group by key group.
func (o *Aligned) fireAll(buck *bucket) error {
	cells := o.emitter.cells[:0]
	for group, t := range buck.tables {
		for slot := range lenOf(t) {
			if cells = append(cells, cell{table: t, slot: slot, window: buck.window}); len(cells) == fireRows {
				if err := o.fire(cells); err != nil {
					return err
				}
				cells = cells[:0]
			}
		}
		if o.cold != nil {
			if err := o.cold.fire(buck, group); err != nil {
				return err
			}
		}
	}
	o.emitter.cells = cells
	return o.fire(cells)
}

// lenOf is the number of cells of a table, none for nil.
func lenOf(t *state.Cells) int {
	if t == nil {
		return 0
	}
	return t.Len()
}

// fire emits the contents of panes whose window the watermark has reached. A pane
// without contents emits nothing (S70). As with adding, a failure is pinned down to
// one pane by calls for fewer of them.
func (o *contents) fire(cells []cell) error {
	n := 0
	for i := range cells {
		if c := &cells[i]; c.table.Rows(c.slot) > 0 || c.firing != nil && c.firing.list != nil {
			if n < i {
				cells[n] = *c
			}
			n++
		}
	}
	cells, err := o.admitPanes(cells[:n])
	if n = len(cells); n == 0 || err != nil {
		return err
	}
	if n > 1 && o.bulky(cells) {
		if err := o.fire(cells[:n/2]); err != nil {
			return err
		}
		return o.fire(cells[n/2:])
	}
	f, at, err := o.emit(cells)
	if err != nil || f == nil {
		return err
	}
	if n == 1 {
		if f.Trap {
			if f, _, err = o.emit(cells); err != nil || f == nil {
				return err
			}
		}
		return o.refusePane(cells[0], f)
	}
	cuts := []int{0, n / 2, n}
	if at >= 0 && at < n {
		cuts = []int{0, at, at + 1, n}
	}
	for i := range cuts[1:] {
		if err := o.fire(cells[cuts[i]:cuts[i+1]]); err != nil {
			return err
		}
	}
	return nil
}

// refusePane tells that a pane's result could not be computed.
func (o *contents) refusePane(c cell, f *udf.Failure) error {
	o.refusing = c.firing
	err := o.out.RefusedPane(c.key(), c.window, f)
	o.refusing = nil
	return err
}

// bulky reports whether the accumulators of varying size are too much for one call.
func (o *contents) bulky(cells []cell) bool {
	n := 0
	for v := range o.varying {
		for _, c := range cells {
			for _, p := range c.table.Parts[v][c.slot] {
				n += len(p)
			}
		}
	}
	return n > callBytes
}

// emit computes the results of all cells and hands them on. A failure changes
// nothing; at is the cell that failed, or -1.
func (o *contents) emit(cells []cell) (f *udf.Failure, at int, err error) {
	r := &o.emitter.rows
	r.Reset(o.emitter.key, o.emitter.values)
	if f, at, err := o.compute(cells, r); f != nil || err != nil {
		return f, at, err
	}
	r.Extend(len(cells))
	for i := range cells {
		o.describe(r, i, &cells[i])
	}
	if o.process != nil {
		if f, at, err := o.process.run(r, o.moments(cells), cells); f != nil || err != nil {
			return f, at, err
		}
	}
	for i := range cells {
		c := &cells[i]
		if c.table.Fire(c.slot); c.firing != nil {
			c.firing.done()
		}
	}
	if o.process != nil {
		return nil, 0, o.process.emit(o.out, r)
	}
	return nil, 0, o.out.Rows(r)
}

// results computes what the functions make of accumulators.
func (o *contents) results(cells []cell, r *result.Rows) (f *udf.Failure, at int, err error) {
	for i := range o.fns {
		fn := &o.fns[i]
		if f, err := fn.gather(cells); err != nil || f != nil {
			return f, opOf(f), err
		}
		vals := &r.Values[i]
		err := fn.Agg.Result(&fn.accs, vals)
		if err == nil {
			err = finite(fn, vals)
		}
		if err != nil {
			if !errors.As(err, &f) {
				return nil, 0, fmt.Errorf("aggregate %s: %w", fn.Name, err)
			}
			return f, f.Op, nil
		}
		vals.N = len(cells)
	}
	return nil, 0, nil
}

// describe fills in what row i says of its pane, beside the values. Called per row, once
// for each in their order: the key is appended.
func (o *contents) describe(r *result.Rows, i int, c *cell) {
	key, revision := c.key(), c.table.Fired(c.slot)
	blob, err := stream.DecodeKey(key, r.Key.Cols, r.Key.Blob)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	r.Key.Blob = blob
	r.EncodedKey[i], r.Window[i], r.Revision[i], r.Before[i] = key, c.window, revision, o.before
	switch f := c.firing; {
	case f != nil:
		r.Kind[i], r.SinceLast[i], r.Replaces[i], r.Before[i] = f.kind(), f.since, f.replaces(), f.before
	case c.window == stream.Global:
		r.Kind[i] = result.NoKind
	case revision > 0:
		r.Kind[i] = result.Update
	default:
		r.Kind[i] = result.OnTime
	}
}

func opOf(f *udf.Failure) int {
	if f == nil {
		return -1
	}
	return f.Op
}

// gather copies the accumulators of the cells into fn.accs; those of varying size are
// merged to one each first, or made fresh where a cell has none because all its
// records were null.
func (fn *function) gather(cells []cell) (*udf.Failure, error) {
	if fn.info.Width > 0 {
		fn.gatherFixed(cells)
		return nil, nil
	}
	if f, err := fn.merge(cells, true); err != nil || f != nil {
		return f, err
	}
	fn.accs.Reset(0)
	for _, c := range cells {
		p := c.table.Parts[fn.part][c.slot]
		if len(p) == 0 {
			fn.other.Reset(0)
			if err := fn.Agg.Create(&fn.other, 1); err != nil {
				var f *udf.Failure
				if errors.As(err, &f) {
					return f, nil
				}
				return nil, err
			}
			fn.accs.Append(fn.other.At(0))
			continue
		}
		fn.accs.Append(p[0])
	}
	return nil, nil
}

// finite refuses results that are not numbers: none leaves the engine.
func finite(fn *function, vals *stream.Columns) error {
	for c := range vals.Cols {
		if i := notFinite(&vals.Cols[c]); i >= 0 {
			return &udf.Failure{Op: i, Message: fmt.Sprintf("result %s.%s is %v, which is not a number that can be written", fn.Name, fn.info.Outputs[c].Name, vals.Cols[c].Floats[i])}
		}
	}
	return nil
}

// notFinite returns the first row that holds what is no number, or -1.
func notFinite(c *stream.Column) int {
	return slices.IndexFunc(c.Floats, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
