package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tidemark/engine/decode"
	"tidemark/engine/result"
	"tidemark/engine/stream"
)

// ahead is the part of a split that is read and not yet passed on, where a crew decodes.
// The source task owns it.
type ahead struct {
	crew   *crew
	flying []*chunk    // in the hands of the crew, in order
	now    *chunk      // whose batches are passed on
	next   int         // of them
	line   int64       // lines before it
	mark   decode.Mark // what was passed on ends there

	// The reader's side.
	offset  int64 // of the next chunk in its file
	within  bool  // it begins within a record that was too long
	ended   bool  // there is no further one
	waiting bool  // nothing was there when the reader was asked last
	failed  error // the reader: comes out behind what was read before
}

// readAhead has a crew decode a split of which nothing has been read, since it was opened or
// since a restore.
func (s *split) readAhead(c *crew) {
	if s.over() {
		return
	}
	s.ahead = &ahead{crew: c, mark: s.mark, offset: s.mark.Offset, within: s.mark.Within, line: max(s.mark.Line-1, 0)}
	c.splits++
}

// fillAhead is fill for a split whose chunks a crew decodes: it returns the next batch.
// With nothing there now, that is empty; err is io.EOF after the last one.
func (s *split) fillAhead(ctx context.Context, rows int, now stream.Time, bad func(*result.Bad) error) (*stream.Batch, error) {
	a := s.ahead
	pool := a.crew.task.pool
	for {
		if a.now == nil {
			if err := s.turnTo(ctx, rows); err != nil {
				return nil, err
			}
		}
		switch {
		case a.now != nil:
		case a.failed != nil:
			return nil, s.failed(a.failed)
		case !a.ended:
			return pool.Get(nil), nil
		case !s.judged:
			if err := s.plausible(now); err != nil {
				return nil, err
			}
			fallthrough
		default:
			return pool.Get(nil), io.EOF
		}
		d := &a.now.batches[a.next]
		b := d.batch
		a.next++
		over := a.next == len(a.now.batches)
		a.mark = d.behind
		a.mark.Line += a.line
		err := s.pass(d, a.line, over && a.now.last, now, bad)
		if over {
			a.line += a.now.lines
			a.crew.put(a.now)
			a.now = nil
		}
		s.drained = over && a.waiting && len(a.flying) == 0
		if err != nil {
			return nil, err
		}
		if b.N > 0 {
			return b, nil
		}
		pool.Put(b) // all that was decoded was bad
	}
}

// turnTo makes the next chunk, if there is one, the one whose batches are passed on, and
// lets the crew have those behind it. Where none has been read ahead, as at the start, or
// of an input that brings little at a time, the task decodes it itself.
func (s *split) turnTo(ctx context.Context, rows int) error {
	a := s.ahead
	a.waiting = false
	var ch *chunk
	own := len(a.flying) == 0
	if own {
		ch = s.cut(rows)
	} else {
		ch = a.flying[0]
		a.flying = append(a.flying[:0], a.flying[1:]...)
	}
	if ch == nil {
		s.drained = a.waiting
		return nil
	}
	for !a.waiting && a.crew.room(len(a.flying)) {
		more := s.cut(rows)
		if more == nil {
			break
		}
		a.crew.give(more)
		a.flying = append(a.flying, more)
	}
	var err error
	if own {
		err = ch.decode(a.crew.task, s.decoder.(decode.Lines))
	} else {
		err = a.crew.take(ctx, ch)
	}
	if err != nil {
		return s.failed(err)
	}
	if ch.offset == 0 {
		a.line, s.bytes = 0, 0
	}
	a.now, a.next = ch, 0
	return nil
}

// cut reads the next chunk; nil: there is none now, or none any more.
func (s *split) cut(rows int) *chunk {
	a := s.ahead
	if a.ended || a.failed != nil {
		return nil
	}
	b := a.crew.task.pool.Get(nil)
	b.Reset(s.source.kinds)
	b.Source = s.source.id
	b.Blob = append(b.Blob, s.rest...)
	// Room for some records more than expected: a second batch of few rows costs as much as
	// one of many.
	for want := s.want(rows - rows/16); ; {
		waiting, err := s.more(b, want)
		if err != nil {
			a.failed = err
			a.crew.task.pool.Put(b)
			return nil
		}
		a.waiting = waiting
		final := s.ended || s.restart
		n, open := decode.Cut(b.Blob, a.within, final, s.source.Format.MaxRecord)
		switch {
		case n > 0:
			s.rest = append(s.rest[:0], b.Blob[n:]...)
			b.Blob = b.Blob[:n]
			ch := a.crew.chunk()
			ch.offset, ch.within, ch.final, ch.last, ch.bytes, ch.raw, ch.size = a.offset, a.within, final, s.ended, b, b.Blob, n
			a.offset, a.within = a.offset+int64(n), open
			if final {
				s.finish()
			}
			return ch
		case final:
			s.finish()
			if !a.ended {
				continue // with another file
			}
			fallthrough
		case waiting:
			s.rest = append(s.rest[:0], b.Blob...)
			a.crew.task.pool.Put(b)
			return nil
		default: // a record longer than what was read
			want = len(b.Blob) + max(len(b.Blob), minRead)
		}
	}
}

// finish notes that a file has been read to its end: the split's, or that before another
// one, whose bytes come next.
func (s *split) finish() {
	a := s.ahead
	a.offset, a.within, s.restart = 0, false, false
	if s.ended {
		a.ended = true
		a.crew.splits--
	}
}

func (s *split) failed(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
}
