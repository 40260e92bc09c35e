package engine

import (
	"context"
	"errors"
	"fmt"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/watermark"
	"tidemark/internal/fault"
)

// userTime is the generator of a split whose watermarks a plug-in makes. The plug-in is
// the task's, and sees the records of a batch in one call; what it says behind each of
// them is taken as the records are stepped through, like that of any other generator.
type userTime struct {
	fn   udf.Generator
	rows udf.Timed

	own  []byte      // the plug-in's state of the split
	high stream.Time // the highest time that was stepped over
	wm   stream.Time
	said []stream.Time // behind the records that have not been stepped over
}

var _ watermark.Generator = (*userTime)(nil)

// newUserTime makes the generator of one split. cols are the columns that fn reads.
func newUserTime(fn udf.Generator, cols []int) *userTime {
	return &userTime{fn: fn, rows: udf.Timed{Cols: cols}, high: stream.MinTime, wm: stream.MinTime}
}

// look shows the plug-in the records of a batch, which are then stepped through.
func (u *userTime) look(b *stream.Batch) error {
	u.rows.Columns, u.rows.Time = &b.Columns, b.Time
	u.said = u.said[:0]
	for range b.N {
		u.said = append(u.said, stream.MinTime)
	}
	if b.N == 0 {
		return nil
	}
	return u.call(func() (own []byte, err error) { return u.fn.Records(&u.rows, u.own, u.said) })
}

// tick lets the plug-in look at the clock.
func (u *userTime) tick(now stream.Time) error {
	said := stream.MinTime
	err := u.call(func() (own []byte, err error) {
		said, own, err = u.fn.Tick(now, u.own)
		return own, err
	})
	if err == nil {
		u.say(said)
	}
	return err
}

// call keeps the state that f returns. An instance that broke down may have been worn out
// by what it did before, so it is tried once more, on a fresh one.
func (u *userTime) call(f func() ([]byte, error)) error {
	own, err := f()
	if fail := (*udf.Failure)(nil); errors.As(err, &fail) && fail.Trap && !fail.Fresh {
		own, err = f()
	}
	if err == nil {
		u.own = own
	}
	return err
}

// Record steps over a record that the plug-in was shown.
func (u *userTime) Record(r watermark.Record) {
	u.high = max(u.high, r.Time)
	said := u.said[0]
	u.said = u.said[1:]
	u.say(said)
}

// say takes what the plug-in says as far as it is believed: nobody has seen a time above
// the highest, and MAX is the end.
func (u *userTime) say(wm stream.Time) { u.wm = max(u.wm, min(wm, u.high)) }

// Current is the watermark as of now.
func (u *userTime) Current() stream.Time { return u.wm }

// Snapshot writes the state between two batches.
func (u *userTime) Snapshot(w *state.Writer) {
	w.Bytes(u.own)
	w.I64(int64(u.high))
	w.I64(int64(u.wm))
}

// Restore takes the state of a Snapshot.
func (u *userTime) Restore(r *state.Reader) {
	u.own, u.high, u.wm = r.Bytes(), stream.Time(r.I64()), stream.Time(r.I64())
}

// userTimeError says which record a plug-in of a source could not take. Without it there
// is no time for those that follow, so the job ends.
func (s *split) userTimeError(err error, b *stream.Batch) error {
	var f *udf.Failure
	if !errors.As(err, &f) {
		return fmt.Errorf("source %s: split %s: watermark: %w", s.source.ID, s.name, err)
	}
	class, where := fault.ErrUser, ""
	if f.Module != "" {
		class = fault.ErrGuest
	}
	if b != nil && f.Op >= 0 && f.Op < b.N {
		where = fmt.Sprintf("line %d: ", b.Pos[f.Op])
	}
	return fault.As(class, fmt.Errorf("source %s: split %s: %swatermark: %w", s.source.ID, s.name, where, f))
}

// userGenerator makes the plug-in that gives the splits of a source task their watermarks.
func (j *Job) userGenerator(ctx context.Context, spec *sourceSpec) (fn udf.Generator, cols []int, err error) {
	w := &spec.Watermark
	var kinds []stream.Kind
	for _, c := range w.Columns {
		n := column(spec.columns(), c.Field)
		cols, kinds = append(cols, n), append(kinds, spec.kinds[n])
	}
	if fn, err = j.opts.Plugins.Generator(ctx, j.plugin(w.Plugin), w, kinds); err != nil {
		return nil, nil, fmt.Errorf("source %s: watermark: %w", spec.ID, err)
	}
	return fn, cols, nil
}
