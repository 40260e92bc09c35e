package engine

import (
	"context"

	"tidemark/engine/stream"
)

// Drain has a running job end as if its input did: no more of it is read, what was read is
// worked on, and all windows fire. Those whose time had not come give rows of the kind
// incomplete. Any goroutine may call it; Run returns when that has been done. A source that
// is inside a call which does not return drains behind it.
func (j *Job) Drain() error {
	for _, t := range j.feeds {
		if !t.mail.Post(func() { t.drained = true }) {
			return errMail
		}
	}
	return nil
}

// drain ends a source that is read as records arrive: what has been read has been sent.
func (t *sourceTask) drain(ctx context.Context) error {
	for i, s := range t.splits {
		s.done = true
		s.out.End()
		t.advance(i, s, stream.MaxTime)
	}
	if t.wasIdle {
		if err := t.status(ctx, false, t.combined.Out()); err != nil {
			return err
		}
	}
	b := t.pool.Get(nil)
	b.Trailing, b.Drained = stream.MaxTime, true
	return t.send(ctx, b)
}
