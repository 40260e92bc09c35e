package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"tidemark/engine/decode"
	"tidemark/engine/source"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// headBytes is how much of a file's beginning is kept to know it again by: a restore must
// not go on in the middle of another one.
const headBytes = 1 << 10

// splitState is the part of a checkpoint that is one split (S105):
//
//	number (4), name, whether it has ended
//	the first bytes of the file; offset (8), line (8) of the first record that was not passed
//	on, whether it is within one that was too long, the record that names the columns
//	times that wait for a judgement (8 each), whether there was one
//	generator; last watermark and idle; whether there is a countdown, and that
//	lowest and highest time, watermark that the combiner knows (8 each)
//	records since the watermark stepped, read, passed on; place behind the last row (8 each)
//	whether rows were read and not sent, and these (see state.Writer.Batch)
//
// save writes it. The caller has seen to it that the split is not crossing.
func (s *split) save(w *state.Writer, now stream.Time) {
	w.U32(uint32(s.id))
	w.Bytes([]byte(s.name))
	w.Bool(s.over())
	w.Bytes(s.head)
	m := s.position()
	w.I64(m.Offset)
	w.I64(m.Line)
	w.Bool(m.Within)
	w.Bytes(m.First)
	w.Len(len(s.first))
	for _, t := range s.first {
		w.I64(int64(t))
	}
	w.Bool(s.judged)
	if s.gen == nil {
		s.bounded.Snapshot(w)
	} else {
		s.gen.Snapshot(w)
	}
	s.out.Snapshot(w)
	w.Bool(s.idle != nil)
	if s.idle != nil {
		s.idle.Snapshot(w, now)
	}
	for _, t := range []stream.Time{s.low, s.high, s.told} {
		w.I64(int64(t))
	}
	for _, n := range []int64{int64(s.since), s.read, s.rows, s.pos} {
		w.I64(n)
	}
	rows := s.batch != nil && s.at < s.batch.N
	w.Bool(rows)
	if rows {
		w.Batch(s.batch, s.at)
	}
}

// position is where the first record is that was not passed on.
func (s *split) position() decode.Mark {
	a := s.ahead
	switch {
	case a != nil:
	case s.decoder == nil: // it had ended before a restore
		return s.mark
	default:
		return s.decoder.Mark()
	}
	if a.now == nil && len(a.flying) == 0 && a.offset == 0 && !a.ended {
		return decode.Mark{Line: 1} // of a file of which nothing was read
	}
	return a.mark
}

// crossing reports whether the split has read on into another file, and not passed on all
// of the one before: that has no position any more, so a checkpoint waits for it.
func (s *split) crossing() bool {
	a := s.ahead
	if a == nil {
		return s.restart
	}
	if a.now == nil && len(a.flying) == 0 {
		return false
	}
	for i, ch := range a.flying {
		if ch.offset == 0 && (i > 0 || a.now != nil || s.bytes > 0) {
			return true
		}
	}
	return a.offset == 0 && !a.ended
}

// over reports whether nothing of the split is left to be sent.
func (s *split) over() bool { return s.done || s.out.Last() == stream.MaxTime }

// load takes what save has written, after the split's number and name, and goes on reading
// there. The split is new.
func (s *split) load(ctx context.Context, r *state.Reader, from *source.Split, now stream.Time) error {
	ended := r.Bool()
	s.head = r.Bytes()
	m := decode.Mark{Offset: r.I64(), Line: r.I64(), Within: r.Bool(), First: r.Bytes()}
	for range r.Len() {
		s.first = append(s.first, stream.Time(r.I64()))
	}
	s.judged = r.Bool()
	if s.gen == nil {
		s.bounded.Restore(r)
	} else {
		s.gen.Restore(r)
	}
	s.out.Restore(r)
	if r.Bool() {
		if s.idle == nil {
			r.Fail(errSplitState)
			return r.Err()
		}
		s.idle.Restore(r, now)
	}
	s.low, s.high, s.told = stream.Time(r.I64()), stream.Time(r.I64()), stream.Time(r.I64())
	s.since, s.read, s.rows, s.pos = int(r.I64()), r.I64(), r.I64(), r.I64()
	if r.Bool() {
		s.batch = new(stream.Batch)
		r.Batch(s.batch)
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
	}
	if ended {
		s.done, s.mark = true, m
		return nil
	}
	if from == nil {
		return fault.Userf("source %s: split %s: the file is not there any more, and %d bytes of it had been read; put it back, or start anew without the checkpoint", s.source.ID, s.name, m.Offset)
	}
	return s.reopen(ctx, *from, m)
}

var errSplitState = fault.As(fault.ErrCorrupt, errors.New("snapshot has a countdown of a split that is never idle"))

// reopen goes on reading at a place.
func (s *split) reopen(ctx context.Context, from source.Split, m decode.Mark) error {
	s.head = s.head[:min(int64(len(s.head)), m.Offset)]
	if err := s.sameFile(ctx, from); err != nil {
		return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
	}
	var err error
	if s.reader, err = s.source.reads.Open(ctx, from, m.Offset); err != nil {
		return fmt.Errorf("source %s: %w", s.source.ID, err)
	}
	if err := s.anew(); err != nil {
		return err
	}
	s.bytes, s.mark = m.Offset, m
	if err := s.decoder.Restore(m); err != nil {
		return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
	}
	return nil
}

// sameFile checks that a file begins as the one did that was read.
func (s *split) sameFile(ctx context.Context, from source.Split) error {
	if len(s.head) == 0 {
		return nil
	}
	r, err := s.source.reads.Open(ctx, from, 0)
	if err != nil {
		return err
	}
	head := make([]byte, len(s.head))
	n := 0
	for n < len(head) && err == nil {
		var got int
		got, err = r.Read(head[n:])
		n += got
	}
	if cerr := r.Close(); cerr != nil {
		return cerr
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, source.ErrWait) {
		return err
	}
	if !bytes.Equal(head[:n], s.head) {
		return fault.Userf("the file does not begin as it did when it was read: it is another one now; put the old one back, or start anew without the checkpoint")
	}
	return nil
}
