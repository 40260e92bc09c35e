package window

import (
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// What senders add up has accumulators too: in their own pieces, and in rows under way.

// Renew rewrites the pieces of a cut of a Local whose functions kept their accumulators in
// older layouts, before they go to Restore.
func (l *Local) Renew(s state.Schemas, senders [][]byte, splits []SplitCut) ([][]byte, []SplitCut, error) {
	if len(s.Aggregates) == 0 {
		return senders, splits, nil
	}
	n, err := newRenewal(&l.contents, form{layout: localLayout}, &s)
	if err != nil {
		return nil, nil, err
	}
	outSenders, outSplits := make([][]byte, len(senders)), make([]SplitCut, len(splits))
	for i, src := range senders {
		if outSenders[i], err = n.piece(src, func(*walk, byte) {}); err != nil {
			return nil, nil, fmt.Errorf("state of sender %d: %w", i, err)
		}
	}
	for i, split := range splits {
		outSplits[i] = split
		outSplits[i].State, err = n.piece(split.State, func(w *walk, _ byte) {
			w.times(func() {
				w.I64()
				w.times(w.keyed)
			})
		})
		if err != nil {
			return nil, nil, fmt.Errorf("state of split %d: %w", split.Split, err)
		}
	}
	return outSenders, outSplits, nil
}

// RenewPartials rewrites the sums in a batch that was on its way to an operator.
func RenewPartials(o Operator, s state.Schemas, b *stream.Batch) error {
	if !b.Partial || len(s.Aggregates) == 0 {
		return nil
	}
	n, err := renewalOf(o.(part), &state.Schemas{Aggregates: s.Aggregates})
	if err != nil {
		return err
	}
	for i := range b.N {
		w := n.walk(b.Raw[i].Bytes(b.Blob))
		w.cell()
		cell, err := w.finish()
		if err != nil {
			return fmt.Errorf("rows under way: %w", err)
		}
		b.Raw[i] = stream.Str{Off: uint32(len(b.Blob)), Len: uint32(len(cell))}
		b.Blob = append(b.Blob, cell...)
	}
	return nil
}
