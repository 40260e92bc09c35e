package trigger

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Own is what a context has for a user's trigger, which may stand inside others.
type Own struct {
	State []byte   // of the pane; nil: none. It is replaced, never changed
	Olds  [][]byte // Merge: the states of the panes that become this one, in order of their windows
	// Ahead are answers to the operations that are expected next on the pane. A call takes
	// the first one if that is what it would ask; otherwise none of them is worth anything.
	Ahead []Answer
	// Err is why the last call has no verdict; words and timers are then worth nothing.
	Err error
}

// Answer is what user code has answered to an operation that has not happened yet.
type Answer struct {
	op      udf.PaneOp
	verdict uint8
	state   []byte // that it leaves
	timers  []udf.TimerChange
}

// Ask asks the user code in t about many operations in one call, in order. States of ops
// are those before; where several operations have a slot each finds what the one before
// has left.
func Ask(t Trigger, ops *udf.TriggerOps) ([]Answer, error) {
	u := userOf(t)
	ops.Records.Cols = u.ops.Records.Cols
	answers := make([]Answer, len(ops.Ops))
	state := slices.Clone(ops.States.Data) // by slot
	ops.States.Keep = true
	u.out.Reset(len(ops.Ops))
	if err := u.fn.Decide(ops, &u.out); err != nil {
		return nil, err
	}
	sets, timers := ops.States.Past, slices.Clone(u.out.Timers)
	for i := range answers {
		slot := ops.States.Slot[i]
		for ; len(sets) > 0 && sets[0].Item == i; sets = sets[1:] {
			state[slot] = sets[0].Data
		}
		n := 0
		for n < len(timers) && int(timers[n].Op) == i {
			n++
		}
		answers[i] = Answer{ops.Ops[i], u.out.Verdict[i], state[slot], timers[:n:n]}
		timers = timers[n:]
	}
	return answers, nil
}

// Shown reports whether the user code in t is shown a row: no column is null that must
// not be.
func Shown(t Trigger, b *stream.Batch, row int) bool { return userOf(t).shown(b, row) }

// user is a trigger that a user brought along. It has no words: its state is in Own.
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
	if u := userOf(t); u != nil {
		return u.fn
	}
	return nil
}

func userOf(t Trigger) *user {
	switch t := t.(type) {
	case *user:
		return t
	case purging:
		return userOf(t.Trigger)
	case timeout:
		return userOf(t.inner)
	}
	return nil
}

func (*user) Words() int        { return 0 }
func (u *user) Mergeable() bool { return u.info.Merges }
func (u *user) MayPurge() bool  { return u.info.MayPurge }

// Element shows the record, unless a column is null that must not be.
func (u *user) Element(c *Context, e Element) Verdict {
	if !u.shown(e.Batch, e.Row) {
		return Continue
	}
	u.ops.Records.Columns, u.ops.Records.Time = &e.Batch.Columns, e.Batch.Time
	v := u.call(c, udf.PaneOp{What: udf.OnElement, Time: e.Time, Row: uint32(e.Row)}, nil)
	u.ops.Records.Columns, u.ops.Records.Time = nil, nil // borrowed
	return v
}

func (u *user) shown(b *stream.Batch, row int) bool {
	for n, col := range u.ops.Records.Cols {
		if !u.info.Inputs[n].Nullable && b.Cols[col].Null(row) {
			return false
		}
	}
	return true
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

// call answers an operation, from what was asked ahead or by a call for it alone, unless
// one for the same pane has failed.
func (u *user) call(c *Context, op udf.PaneOp, from []byte) Verdict {
	if c.Own.Err != nil {
		return Continue
	}
	op.Window, op.Watermark, op.Now, op.Ending = c.Window, c.Watermark, c.Now, c.Ending
	if ahead := c.Own.Ahead; len(ahead) > 0 && ahead[0].op == op {
		c.Own.Ahead = ahead[1:]
		return u.take(c, &ahead[0])
	}
	c.Own.Ahead = nil
	err := u.decide(c, op, from)
	if f := (*udf.Failure)(nil); errors.As(err, &f) && f.Trap && !f.Fresh {
		err = u.decide(c, op, from) // the instance may have been worn out
	}
	if err != nil {
		c.Own.Err = err
		return Continue
	}
	return u.take(c, &Answer{op, u.out.Verdict[0], u.ops.States.Get(0), u.out.Timers})
}

// take does what an answer says.
func (u *user) take(c *Context, a *Answer) Verdict {
	v, err := u.verdict(a)
	if err != nil {
		c.Own.Err = err
		return Continue
	}
	c.Own.State = a.state
	for _, t := range a.timers {
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
func (u *user) verdict(a *Answer) (Verdict, error) {
	v := Verdict(a.verdict)
	switch {
	case v != Continue && (a.op.What == udf.OnMerge || a.op.What == udf.OnClear):
		return v, u.wrong("answers a verdict where there is nothing to decide: windows that merge, or go, do not fire")
	case v&Purge != 0 && !u.info.MayPurge:
		return v, u.wrong("purges a window, and its description says that it does not: declare may_purge")
	}
	return v, nil
}

func (u *user) wrong(message string) error {
	return &udf.Failure{Op: -1, Fresh: true, Module: u.info.Name, Message: fmt.Sprintf("the trigger %s", message)}
}
