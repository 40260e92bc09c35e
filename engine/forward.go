package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"tidemark/engine/exchange"
	"tidemark/engine/result"
	"tidemark/engine/stream"
)

// forward sends the result rows of one subtask on to the steps that read them: as
// records whose time is the end of their window, less a millisecond (S96), or that of
// their pair (S111).
//
// In an ordered replay rows are held until the watermark has passed the one that they
// stand at, and leave in order of (watermark, end of the window, key, revision): an order
// that several subtasks share, so that the reader's rows are a function of the data
// alone. Otherwise they leave as they come.
type forward struct {
	edges   []*edge
	pool    *exchange.Pool
	kinds   []stream.Kind
	source  stream.SourceID
	split   stream.SplitID
	ordered bool

	held     *stream.Batch // rows that have not left
	revision []uint32      // of each
	told     stream.Time   // watermark that the last row stands at, or that was sent
	drained  bool          // the end of time is none of the input
	idle     bool          // the status that was sent last
	order    []int
	place    []byte // scratch
}

func newForward(source stream.SourceID, split stream.SplitID, kinds []stream.Kind, ordered bool) *forward {
	f := &forward{pool: &exchange.Pool{}, kinds: kinds, source: source, split: split, ordered: ordered, told: stream.MinTime}
	f.clear()
	return f
}

func (f *forward) clear() {
	f.held = new(stream.Batch)
	f.held.Reset(f.kinds)
	f.held.Source = f.source
	f.revision = nil
}

// rows takes result rows; line appends the text of row i, which a late or failed output
// of the reader shows as the record.
func (f *forward) rows(r *result.Rows, line func(dst []byte, i int) []byte) {
	b := f.held
	for i := range r.N {
		f.told = max(f.told, r.Before[i])
		c := 0
		put := func(from *stream.Columns) {
			for n := range from.Cols {
				b.AppendCell(c, from, n, i)
				c++
			}
		}
		put(&r.Key)
		for v := range r.Values {
			put(&r.Values[v])
		}
		t, end := r.Window[i].MaxTimestamp(), r.Window[i].End
		if p := r.Pairs; p != nil {
			t, end = p.Time[i], p.Time[i]
		} else {
			b.Cols[c].AppendInt(int64(r.Window[i].Start))
			b.Cols[c+1].AppendInt(int64(end))
		}
		b.Time = append(b.Time, t)
		b.WM = append(b.WM, f.told)
		b.High = append(b.High, max(t, f.told.Add(1)))
		b.Split = append(b.Split, f.split)
		f.place = appendPlace(f.place[:0], r, i)
		b.Pos = append(b.Pos, placeNumber(f.place, r, i))
		at := len(b.Blob)
		b.Blob = line(b.Blob, i)
		b.Raw = append(b.Raw, stream.Str{Off: uint32(at), Len: uint32(len(b.Blob) - at)})
		at = len(b.Blob)
		b.Blob = stream.AppendTie(b.Blob, end, f.place)
		b.Tie = append(b.Tie, stream.Str{Off: uint32(at), Len: uint32(len(b.Blob) - at)})
		b.N++
		f.revision = append(f.revision, r.Revision[i])
	}
}

// appendPlace appends what tells a row from the others of its step that end at one time,
// revisions apart, the same in every run and however the step is cut into subtasks.
func appendPlace(dst []byte, r *result.Rows, i int) []byte {
	ordinal := uint64(0)
	if len(r.Ordinal) > 0 {
		ordinal = r.Ordinal[i]
	}
	dst = binary.BigEndian.AppendUint64(dst, ordinal)
	if p := r.Pairs; p != nil {
		for _, at := range [2]result.Place{p.Left[i], p.Right[i]} {
			dst = binary.BigEndian.AppendUint32(dst, uint32(at.Split))
			dst = binary.BigEndian.AppendUint64(dst, uint64(at.Pos))
		}
		return dst
	}
	return append(dst, r.EncodedKey[i]...)
}

// placeNumber is the place of a row in its step, as the line is that of a record in its
// file: what names the row, as a number that no other row has but by a freak of 63 bits.
func placeNumber(place []byte, r *result.Rows, i int) int64 {
	place = binary.BigEndian.AppendUint64(place, uint64(r.Window[i].Start))
	place = binary.BigEndian.AppendUint64(place, uint64(r.Window[i].End))
	place = binary.BigEndian.AppendUint32(place, r.Revision[i])
	return int64(stream.KeyHash(place) >> 1)
}

// flush sends what may leave now that the step has come to a trailing watermark, with
// that and a change of status behind or before it.
func (f *forward) flush(ctx context.Context, trailing stream.Time, status stream.Status) error {
	if status == stream.BecameActive { // before time and rows (S69)
		if err := f.tell(ctx, status); err != nil {
			return err
		}
	}
	f.told = max(f.told, trailing)
	out := f.ready(trailing)
	out.Trailing, out.Next = f.told, f.split
	if trailing == stream.MaxTime {
		out.Next, out.Drained = stream.LastSplit, f.drained
	}
	if err := sendAll(ctx, f.edges, f.pool, out); err != nil {
		return err
	}
	if status == stream.BecameIdle { // behind them
		return f.tell(ctx, status)
	}
	return nil
}

// announce says again, to readers that may be others, how far the task has come.
func (f *forward) announce(ctx context.Context) error {
	status := stream.Same
	if f.idle {
		status = stream.BecameIdle
	}
	return f.flush(ctx, f.told, status)
}

// tell sends a change of status, which stands alone between batches.
func (f *forward) tell(ctx context.Context, status stream.Status) error {
	f.idle = status == stream.BecameIdle
	b := f.pool.Get(f.held)
	b.Trailing, b.Next, b.Status = f.told, f.split, status
	return sendAll(ctx, f.edges, f.pool, b)
}

// ready takes the rows that may leave: all of them by arrival; in an ordered replay
// those that stand before the trailing watermark, since others may follow at it.
func (f *forward) ready(trailing stream.Time) *stream.Batch {
	b := f.held
	out := f.pool.Get(b)
	if b.N == 0 {
		return out
	}
	if !f.ordered {
		f.clear()
		return b
	}
	f.order = f.order[:0]
	for i := range b.N {
		f.order = append(f.order, i)
	}
	slices.SortStableFunc(f.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.WM[i], b.WM[j]), bytes.Compare(b.Tie[i].Bytes(b.Blob), b.Tie[j].Bytes(b.Blob)), cmp.Compare(f.revision[i], f.revision[j]))
	})
	revisions := f.revision
	f.clear()
	for _, i := range f.order {
		if b.WM[i] < trailing || trailing == stream.MaxTime {
			out.AppendRow(b, i)
		} else {
			f.held.AppendRow(b, i)
			f.revision = append(f.revision, revisions[i])
		}
	}
	return out
}

func (f *forward) close() error {
	var errs []error
	for _, e := range f.edges {
		errs = append(errs, e.close())
	}
	return errors.Join(errs...)
}
