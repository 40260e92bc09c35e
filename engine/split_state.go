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
//	since layout 2: what is kept of files before the one that is read (see behind); number of
//	that in its file system (8; see source.Numbered)
//
// save writes it.
func (s *split) save(w *state.Writer, now stream.Time) {
	w.U32(uint32(s.id))
	w.Bytes([]byte(s.name))
	w.Bool(s.over())
	w.Bytes(s.beginning())
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
	old := s.behind()
	w.Len(len(old))
	for _, b := range old {
		w.Bytes(b)
	}
	w.U64(s.number())
}

// number is that of the file that is being read; 0: unknown, or nothing is.
func (s *split) number() uint64 {
	r := s.reader
	if c, ok := r.(*carried); ok {
		r = c.Reader
	}
	if n, ok := r.(source.Numbered); ok {
		return n.Number()
	}
	return 0
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

// over reports whether nothing of the split is left to be sent.
func (s *split) over() bool { return s.done || s.out.Last() == stream.MaxTime }

// load takes what save has written, after the split's number and name, and goes on reading
// there. The split is new.
func (s *split) load(ctx context.Context, saved *savedSplit, from *source.Split, now stream.Time) error {
	r := saved.rest
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
	var old [][]byte
	number := uint64(0)
	if saved.layout >= 2 {
		for range r.Len() {
			old = append(old, r.Bytes())
		}
		number = r.U64()
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
	}
	if ended {
		s.done, s.mark = true, m
		return nil
	}
	offset := m.Offset
	if len(old) > 0 {
		offset = 0 // the position is in a file before
	}
	there, err := s.find(ctx, from, source.Trace{Number: number, Head: s.head, Offset: offset})
	if errors.Is(err, fault.ErrUser) {
		err = fmt.Errorf("%w. Put the file back as it was into its directory, or give up the place with --drop-state %s and --from: then what is there is read from its beginning", err, s.source.ID)
	}
	if err != nil {
		return fmt.Errorf("source %s: split %s: %w", s.source.ID, s.name, err)
	}
	s.head = s.head[:min(int64(len(s.head)), offset)]
	return s.reopen(ctx, there, offset, m, old)
}

// find finds the file of a split again; from is what has its name now, nil if nothing has.
func (s *split) find(ctx context.Context, from *source.Split, was source.Trace) (source.Split, error) {
	f, ok := s.source.reads.(source.Finder)
	switch {
	case ok && !s.source.Bounded():
		return f.Find(ctx, s.name, was)
	case from == nil:
		return source.Split{}, fault.Userf("the file is not there any more, and %d bytes of it had been read", was.Offset)
	}
	was.Head = was.Head[:min(int64(len(was.Head)), was.Offset)]
	return *from, s.sameFile(ctx, *from, was.Head)
}

var errSplitState = fault.As(fault.ErrCorrupt, errors.New("snapshot has a countdown of a split that is never idle"))

// reopen goes on reading a file at an offset, behind what was kept of others, in which the
// position is then.
func (s *split) reopen(ctx context.Context, from source.Split, offset int64, m decode.Mark, old [][]byte) error {
	var err error
	if s.reader, err = s.source.reads.Open(ctx, from, offset); err != nil {
		return fmt.Errorf("source %s: %w", s.source.ID, err)
	}
	if len(old) > 0 {
		s.reader = &carried{s.reader, old}
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
func (s *split) sameFile(ctx context.Context, from source.Split, was []byte) error {
	if len(was) == 0 {
		return nil
	}
	r, err := s.source.reads.Open(ctx, from, 0)
	if err != nil {
		return err
	}
	head := make([]byte, len(was))
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
	if !bytes.Equal(head[:n], was) {
		return fault.Userf("the file does not begin as it did when it was read: it is another one now")
	}
	return nil
}
