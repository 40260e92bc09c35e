package window

import (
	"errors"
	"fmt"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// userAssigner is an assigner that a user brought along. A call into a plug-in costs as
// much as hundreds of records, and what it says of a record follows from that record, so it
// is asked about all records of a batch before the first of them is judged (E1).
type userAssigner struct {
	fn   udf.Assigner
	info udf.AssignerInfo

	// Of the current batch.
	sel     []uint32 // rows that are asked about
	rows    udf.Rows
	answer  udf.Assigned
	from    []uint32 // by row, and one more: where its windows begin in list
	list    []stream.Window
	refused map[int]*udf.Failure // by row
}

// NewUserAssigner makes an assigner of user code. cols are the columns of the batches that
// it reads. Only the general operator runs it.
func NewUserAssigner(fn udf.Assigner, cols []int) Assigner {
	return &userAssigner{fn: fn, info: fn.Info(), rows: udf.Rows{Cols: cols}, refused: map[int]*udf.Failure{}}
}

// UserAssigner returns the user code in a, which the caller closes; nil if there is none.
func UserAssigner(a Assigner) udf.Assigner {
	if u, ok := a.(*userAssigner); ok {
		return u.fn
	}
	return nil
}

// Assign is for assigners that look at times alone.
func (u *userAssigner) Assign([]stream.Window, stream.Time, stream.Time, stream.Time) ([]stream.Window, error) {
	panic("BUG: user code assigns the records of a batch together")
}

func (*userAssigner) EventTime() bool { return true }
func (u *userAssigner) Merging() bool { return u.info.Merges }

// start asks about the records of a batch, those that take part. Records that are refused
// are noted. Errors end the job.
func (u *userAssigner) start(b *stream.Batch, takesPart func(row int) bool) error {
	u.sel = u.sel[:0]
	for row := range b.N {
		if b.Time[row] != stream.MinTime && takesPart(row) {
			u.sel = append(u.sel, uint32(row))
		}
	}
	clear(u.refused)
	u.answer.Truncate(0)
	u.rows.Batch = b
	err := udf.Blame(0, len(u.sel), u.ask, func(item int, f *udf.Failure) { u.refused[int(u.sel[item])] = f })
	u.rows.Batch, u.rows.Sel = nil, nil // borrowed
	if err != nil {
		return err
	}
	u.judge(b.N)
	return nil
}

// ask makes one call; a failure leaves nothing behind.
func (u *userAssigner) ask(lo, hi int) (*udf.Failure, error) {
	n := len(u.answer.Windows)
	u.rows.Sel = u.sel[lo:hi]
	err := u.fn.Assign(&u.rows, &u.answer)
	if err == nil {
		for i := range u.answer.Of[n:] {
			u.answer.Of[n+i] += uint32(lo)
		}
		return nil, nil
	}
	u.answer.Truncate(n)
	var f *udf.Failure
	if errors.As(err, &f) {
		return f, nil
	}
	return nil, fmt.Errorf("assign windows: %w", err)
}

// judge lists the windows of each row, and refuses the rows whose windows break the rules.
func (u *userAssigner) judge(n int) {
	u.from, u.list = u.from[:0], u.list[:0]
	u.answer.Each(len(u.sel), func(item int, ws []stream.Window) {
		row := u.sel[item]
		for len(u.from) <= int(row) {
			u.from = append(u.from, uint32(len(u.list)))
		}
		ws, f := u.info.Judge(ws)
		if f != nil {
			u.refused[int(row)] = f
		}
		u.list = append(u.list, ws...)
	})
	for len(u.from) <= n {
		u.from = append(u.from, uint32(len(u.list)))
	}
}

// of returns the windows of a row of the current batch, which are borrowed until the next.
func (u *userAssigner) of(row int) []stream.Window { return u.list[u.from[row]:u.from[row+1]] }

// windowsOf appends the windows of a row to dst, the one that ends last first.
func (o *General) windowsOf(dst []stream.Window, b *stream.Batch, i int) ([]stream.Window, error) {
	ts := b.Time[i]
	if o.assigner != nil {
		if ts == stream.MinTime {
			return dst, ErrNoTimestamp
		}
		return append(dst, o.assigner.of(i)...), nil
	}
	gap := stream.Time(0)
	if o.cfg.GapCol >= 0 {
		gap = stream.Time(b.Cols[o.cfg.GapCol].Ints[i])
	}
	return o.cfg.Assigner.Assign(dst, ts, o.now, gap)
}

// refusal is why the assigner does not take a row, nil if it does.
func (o *General) refusal(b *stream.Batch, i int) *udf.Failure {
	if o.assigner == nil {
		return nil
	}
	if f := o.guard.barsRecord(b.Hash[i]); f != nil {
		return f
	}
	return o.assigner.refused[i]
}
