package window

import (
	"errors"
	"fmt"

	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// WholeFunction is a function of all records of a pane, with its name in the result.
type WholeFunction struct {
	Name string
	Fn   udf.Whole
	Cols []int // columns of the input batches that it reads
}

// fireTable emits the rows of a table function, in pieces, since there may be more of
// them than memory holds. A firing without rows is one all the same.
func (o *General) fireTable(of *firing) error {
	r, c := &o.emitter.rows, of.cell()
	if f := o.guard.barsFiring(of.pane.owner.hash); f != nil {
		return o.refusePane(c, f)
	}
	n, err := o.cfg.Table.Fire(of.records())
	if f, err := failure(err); f != nil {
		return o.refusePane(c, f)
	} else if err != nil {
		return fmt.Errorf("table function: %w", err)
	}
	for done := uint64(0); done < n; done += uint64(r.N) {
		r.Reset(o.emitter.key, o.emitter.values)
		if err := o.cfg.Table.Next(&r.Values[0]); err != nil {
			return fmt.Errorf("table function: %w", err)
		}
		r.Extend(r.Values[0].N)
		for i := range r.N {
			o.describe(r, i, &c)
			r.Ordinal, r.Of = append(r.Ordinal, done+uint64(i)), append(r.Of, n)
		}
		if err := o.out.Rows(r); err != nil {
			return err
		}
	}
	o.table.Fire(of.pane.slot)
	of.done()
	return nil
}

// records is what functions of all records see of a firing.
func (f *firing) records() udf.Records {
	return udf.Records{Key: f.pane.owner.key, Window: f.window, Watermark: f.wm, Now: f.now, List: f.list}
}

func (o *General) evict(p *pane, after bool) error {
	if v := o.cfg.Evictor; v != nil && v.After == after {
		gone, err := v.evict(p.elements)
		if err != nil {
			return err
		}
		o.setElements(p, p.elements.keep(gone))
	}
	return nil
}

// listResults runs all functions over the lists of firings, one list after the other.
func (o *General) listResults(cells []cell, r *result.Rows) (f *udf.Failure, at int, err error) {
	for at, c := range cells {
		var b *stream.Batch
		var sel []uint32
		if len(o.fns) > 0 {
			b, sel = c.firing.list.rows(0)
		}
		for i := range o.fns {
			fn := &o.fns[i]
			if f, err := failure(fn.once(b, sel, &r.Values[i])); f != nil || err != nil {
				return f, at, wrapFunction("aggregate", fn.Name, err)
			}
			r.Values[i].N = at + 1
		}
		in := c.firing.records()
		for i, w := range o.cfg.Whole {
			out := &r.Values[len(o.fns)+i]
			in.Cols = w.Cols
			if f, err := failure(w.Fn.Result(in, out)); f != nil || err != nil {
				return f, at, wrapFunction("function", w.Name, err)
			}
			out.N = at + 1
		}
	}
	for i := range o.fns {
		fn := &o.fns[i]
		if err := finite(fn, &r.Values[i]); err != nil {
			f, err := failure(err)
			return f, opOf(f), err
		}
	}
	return nil, 0, nil
}

// failure tells a failure of user code from other errors.
func failure(err error) (*udf.Failure, error) {
	if f, ok := errors.AsType[*udf.Failure](err); ok {
		return f, nil
	}
	return nil, err
}

func wrapFunction(sort, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", sort, name, err)
}

// once folds records into a fresh accumulator and appends its result.
func (fn *function) once(b *stream.Batch, sel []uint32, out *stream.Columns) error {
	s := segment{batch: b, rows: sel, group: make([]uint32, len(sel)), cells: make([]cell, 1)}
	fn.selectRows(&s)
	if fn.info.Width > 0 || len(fn.rows.Sel) == 0 {
		if err := fn.Agg.Create(&fn.accs, 1); err != nil {
			return err
		}
	} else {
		fn.accs.Reset(0)
	}
	if len(fn.rows.Sel) > 0 {
		if err := fn.Agg.Add(&fn.accs, &fn.rows); err != nil {
			return err
		}
	}
	return fn.Agg.Result(&fn.accs, out)
}
