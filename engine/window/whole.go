package window

import (
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

// fireList evicts, runs the functions over the list, evicts again, and emits (S84,
// S88). What was evicted is gone for good, also if the functions then fail.
func (o *General) fireList(p *pane) error {
	if err := o.evict(p, false); err != nil {
		return err
	}
	r := &o.emitter.rows
	r.Reset(o.emitter.key, o.emitter.values)
	if f, err := o.results(p, r); err != nil {
		return err
	} else if f != nil {
		return o.out.RefusedPane(p.owner.key, p.window, f)
	}
	blob, err := stream.DecodeKey(p.owner.key, r.Key.Cols, r.Key.Blob)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	r.Key.Blob, r.N, r.Before = blob, 1, o.before
	o.describe(r, p.cell())
	o.table.Fire(p.slot)
	if err := o.out.Rows(r); err != nil {
		return err
	}
	return o.evict(p, true)
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

// results runs all functions over the list of a pane. After a failure user state is
// what it was.
func (o *General) results(p *pane, r *result.Rows) (*udf.Failure, error) {
	key, own := p.owner.user, p.user
	f, err := o.runAll(p, r)
	if f != nil || err != nil {
		p.owner.user, p.user = key, own
	}
	return f, err
}

func (o *General) runAll(p *pane, r *result.Rows) (*udf.Failure, error) {
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
	in := udf.Records{Key: p.owner.key, Window: p.window, Watermark: o.wm, Now: o.now, List: p.elements, KeyState: &p.owner.user, WindowState: &p.user}
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
