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

// fireRecords evicts, lets the functions see the list, evicts again, and emits (S84,
// S88). What was evicted is gone for good, also if the functions then fail.
func (o *General) fireRecords(p *pane) error {
	if err := o.evict(p, false); err != nil {
		return err
	}
	fire := o.fireList
	if o.cfg.Table != nil {
		fire = o.fireTable
	}
	if f, err := fire(p); err != nil {
		return err
	} else if f != nil {
		return o.out.RefusedPane(p.owner.key, p.window, f)
	}
	return o.evict(p, true)
}

// fireList emits one row of the results of all functions, or what the process function
// makes of it and of the list.
func (o *General) fireList(p *pane) (*udf.Failure, error) {
	r := &o.emitter.rows
	r.Reset(o.emitter.key, o.emitter.values)
	if f, err := o.results(p, r); f != nil || err != nil {
		return f, err
	}
	o.describeList(p, r, 1)
	if o.process == nil {
		o.table.Fire(p.slot)
		return nil, o.out.Rows(r)
	}
	list := p.elements
	if !o.cfg.Process.lists() {
		list = nil
	}
	f, err := retry(func() error {
		f, _, err := o.process.run(r, o.seen(), o.now, list)
		if f != nil {
			return f
		}
		return err
	})
	if f != nil || err != nil {
		return f, err
	}
	o.table.Fire(p.slot)
	return nil, o.process.emit(o.out, r)
}

// fireTable emits the rows of a table function, in pieces, since there may be more of
// them than memory holds. A firing without rows is one all the same.
func (o *General) fireTable(p *pane) (*udf.Failure, error) {
	n, err := o.cfg.Table.Fire(o.records(p))
	if err != nil {
		var f *udf.Failure
		if errors.As(err, &f) {
			return f, nil
		}
		return nil, fmt.Errorf("table function: %w", err)
	}
	r := &o.emitter.rows
	for done := uint64(0); done < n; done += uint64(r.N) {
		r.Reset(o.emitter.key, o.emitter.values)
		if err := o.cfg.Table.Next(&r.Values[0]); err != nil {
			return nil, fmt.Errorf("table function: %w", err)
		}
		o.describeList(p, r, r.Values[0].N)
		for i := range uint64(r.N) {
			r.Ordinal, r.Of = append(r.Ordinal, done+i), append(r.Of, n)
		}
		if err := o.out.Rows(r); err != nil {
			return nil, err
		}
	}
	o.table.Fire(p.slot)
	return nil, nil
}

// describeList sets what n rows of a pane say beside their values.
func (o *General) describeList(p *pane, r *result.Rows, n int) {
	r.N = n
	for range n {
		blob, err := stream.DecodeKey(p.owner.key, r.Key.Cols, r.Key.Blob)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		r.Key.Blob = blob
		o.describe(r, p.cell())
	}
}

// records is what functions of all records see of a pane.
func (o *General) records(p *pane) udf.Records {
	return udf.Records{Key: p.owner.key, Window: p.window, Watermark: o.wm, Now: o.now, List: p.elements}
}

func (o *General) evict(p *pane, after bool) error {
	if v := o.cfg.Evictor; v != nil && v.After == after {
		gone, err := v.evict(p.elements)
		if err != nil {
			return err
		}
		p.elements = p.elements.keep(gone)
	}
	return nil
}

// results runs all functions over the list of a pane.
func (o *General) results(p *pane, r *result.Rows) (*udf.Failure, error) {
	b, sel := p.elements.rows(0)
	for i := range o.fns {
		fn, out := &o.fns[i], &r.Values[i]
		f, err := retry(func() error { return fn.once(b, sel, out) })
		if err != nil {
			return nil, fmt.Errorf("aggregate %s: %w", fn.Name, err)
		}
		if f != nil {
			return f, nil
		}
		out.N = 1
	}
	in := o.records(p)
	for i, w := range o.cfg.Whole {
		out := &r.Values[len(o.fns)+i]
		in.Cols = w.Cols
		f, err := retry(func() error { return w.Fn.Result(in, out) })
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", w.Name, err)
		}
		if f != nil {
			return f, nil
		}
		out.N = 1
	}
	return nil, nil
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
	if err := fn.Agg.Result(&fn.accs, out); err != nil {
		return err
	}
	return finite(fn, out)
}
