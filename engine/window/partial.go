package window

import (
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// The receiver's half of what senders add up: partials that a Local has made come among
// the records, each before the watermark at which the first window with its records fires.

// partials is an operator's part in a batch of partials.
type partials struct {
	stepper
	take func(b *stream.Batch, i int) error
}

const errLatePartial = "BUG: a partial came behind the end of a window that holds its records"

func (p partials) record(b *stream.Batch, i int) error { return p.take(b, i) }

// readPartial reads the partial in row i.
func (o *contents) readPartial(b *stream.Batch, i int) *state.Cells {
	p := state.NewCells(o.width, o.varying)
	r := state.NewReader(b.Raw[i].Bytes(b.Blob))
	r.Cell(p, p.Alloc(o.fresh))
	if err := r.Err(); err != nil {
		panic("BUG: a partial of a sender: " + err.Error())
	}
	return p
}

// join merges a partial into a cell. If a function refuses to, the records of the partial
// are set aside together, since none of them can be told from the others any more.
func (o *contents) join(c cell, b *stream.Batch, i int) error {
	p := o.readPartial(b, i)
	n := p.Rows(0)
	o.ledger.Partials++
	o.ledger.InPartials += int64(n)
	f, err := retry(func() error { return o.mergePartial(c, p) })
	if err != nil {
		return err
	}
	if f != nil {
		o.ledger.Failed += int64(n)
		f.Message = fmt.Sprintf("merge of %d records: %s", n, f.Message)
		return o.out.RefusedPane(b.Key[i].Bytes(b.Blob), c.window, f) // the cell of a slice does not know it
	}
	c.table.Touch(c.slot, n)
	o.ledger.Counted += int64(n)
	o.ledger.Open += int64(n)
	return nil
}

// mergePartial calls every function, and writes when all have succeeded. A cell without
// records takes the partial as it is.
func (o *contents) mergePartial(c cell, p *state.Cells) error {
	first := c.table.Rows(c.slot) == 0
	for i := range o.fns {
		fn := &o.fns[i]
		if fn.info.Width == 0 || first {
			continue
		}
		fn.accs.Reset(fn.info.Width)
		fn.other.Reset(fn.info.Width)
		fn.accs.Append(c.table.Acc(c.slot, fn.off, fn.info.Width))
		fn.other.Append(p.Acc(0, fn.off, fn.info.Width))
		if err := fn.Agg.Merge(&fn.accs, &fn.other); err != nil {
			return err
		}
	}
	for i := range o.fns {
		fn := &o.fns[i]
		switch {
		case fn.info.Width == 0:
			if err := fn.joinParts(c, p.Parts[fn.part][0]); err != nil {
				return err
			}
		case first:
			c.table.SetAcc(c.slot, fn.off, p.Acc(0, fn.off, fn.info.Width))
		default:
			c.table.SetAcc(c.slot, fn.off, fn.accs.At(0))
		}
	}
	return nil
}

// joinParts adds the parts of a partial to those of a cell, and merges them where it is
// due (K4). Where that fails they stay apart until the window fires and shows it.
func (fn *function) joinParts(c cell, parts [][]byte) error {
	for _, p := range parts {
		old := c.table.Parts[fn.part][c.slot]
		c.table.SetParts(fn.part, c.slot, append(old[:len(old):len(old)], p))
		if _, err := fn.merge([]cell{c}, false); err != nil {
			return err
		}
	}
	return nil
}
