package trigger

import (
	"errors"
	"fmt"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Own is what a context has for a user's trigger, which may stand inside others.
type Own struct {
	State []byte   // of the pane; nil: none. It is replaced, never changed
	Olds  [][]byte // Merge: the states of the panes that become this one, in order of their windows
	// Err is why the last call has no verdict; words and timers are then worth nothing.
	Err error
}

// user is a trigger that a user brought along. It has no words: its state is in Own.
// It shows the plug-in one operation at a time.
type user struct {
	fn   udf.Trigger
	info udf.TriggerInfo

	ops udf.TriggerOps // working memory
	out udf.Decisions
}

// NewUser makes a trigger of user code. cols are the columns of the records' table that it
// reads. The result is used by one goroutine.
func NewUser(fn udf.Trigger, cols []int) Trigger {
	return &user{fn: fn, info: fn.Info(), ops: udf.TriggerOps{Records: udf.Timed{Cols: cols}}}
}

// User returns the user code in t, which the caller closes; nil if there is none.
func User(t Trigger) udf.Trigger {
	switch t := t.(type) {
	case *user:
		return t.fn
	case purging:
		return User(t.Trigger)
	case timeout:
		return User(t.inner)
	}
	return nil
}

func (*user) Words() int        { return 0 }
func (u *user) Mergeable() bool { return u.info.Merges }
func (u *user) MayPurge() bool  { return u.info.MayPurge }

// Element shows the record, unless a column is null that must not be.
func (u *user) Element(c *Context, e Element) Verdict {
	u.ops.Records.Columns, u.ops.Records.Time = &e.Batch.Columns, e.Batch.Time
	for n, col := range u.ops.Records.Cols {
		if !u.info.Inputs[n].Nullable && e.Batch.Cols[col].Null(e.Row) {
			return Continue
		}
	}
	v := u.call(c, udf.PaneOp{What: udf.OnElement, Time: e.Time, Row: uint32(e.Row)}, nil)
	u.ops.Records.Columns, u.ops.Records.Time = nil, nil // borrowed
	return v
}

func (u *user) Timer(c *Context, d Domain, t stream.Time) Verdict {
	what := udf.OnEventTimer
	if d == ProcessingTime {
		what = udf.OnProcessingTimer
	}
	return u.call(c, udf.PaneOp{What: what, Time: t}, nil)
}

func (u *user) Clear(c *Context) { u.call(c, udf.PaneOp{What: udf.OnClear}, nil) }

func (u *user) Merge(c *Context, _ [][]int64) {
	for _, old := range c.Own.Olds {
		u.call(c, udf.PaneOp{What: udf.OnMerge, From: 1}, old)
	}
}

// call makes one call for an operation, unless one for the same pane has failed.
func (u *user) call(c *Context, op udf.PaneOp, from []byte) Verdict {
	if c.Own.Err != nil {
		return Continue
	}
	op.Window, op.Watermark, op.Now, op.Ending = c.Window, c.Watermark, c.Now, c.Ending
	err := u.decide(c, op, from)
	if f := (*udf.Failure)(nil); errors.As(err, &f) && f.Trap && !f.Fresh {
		err = u.decide(c, op, from) // the instance may have been worn out
	}
	v := Continue
	if err == nil {
		v, err = u.verdict(op.What)
	}
	if err != nil {
		c.Own.Err = err
		return Continue
	}
	c.Own.State = u.ops.States.Get(0)
	for _, t := range u.out.Timers {
		d := EventTime
		if t.ProcessingTime {
			d = ProcessingTime
		}
		if t.Delete {
			c.Timers.DeleteTimer(d, t.Time)
		} else {
			c.Timers.SetTimer(d, t.Time)
		}
	}
	return v
}

func (u *user) decide(c *Context, op udf.PaneOp, from []byte) error {
	u.ops.Ops = append(u.ops.Ops[:0], op)
	s := &u.ops.States
	s.Reset()
	s.Slot = append(s.Slot, s.Add(c.Own.State))
	if op.What == udf.OnMerge {
		s.Add(from)
	}
	u.out.Reset(1)
	return u.fn.Decide(&u.ops, &u.out)
}

// verdict is what was decided, if the operation and the declaration allow it.
func (u *user) verdict(what udf.TriggerOp) (Verdict, error) {
	v := Verdict(u.out.Verdict[0])
	switch {
	case v != Continue && (what == udf.OnMerge || what == udf.OnClear):
		return v, u.wrong("answers a verdict where there is nothing to decide: windows that merge, or go, do not fire")
	case v&Purge != 0 && !u.info.MayPurge:
		return v, u.wrong("purges a window, and its description says that it does not: declare may_purge")
	}
	return v, nil
}

func (u *user) wrong(message string) error {
	return &udf.Failure{Op: -1, Fresh: true, Module: u.info.Name, Message: fmt.Sprintf("the trigger %s", message)}
}
