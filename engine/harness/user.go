package harness

import (
	"encoding/binary"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/engine/window"
	"tidemark/spec"
)

// UserTrigger makes user code in place of a scenario's trigger, which is nil for the one
// that its window has without being asked; instead is what the engine would take. A nil
// result leaves that in its place. It may have an input, the record's value.
type UserTrigger func(t *spec.Trigger, instead trigger.Trigger) (udf.Trigger, error)

// inUserCode is a built-in trigger as user code: its words are the bytes of a state.
type inUserCode struct{ trigger.Trigger }

// InUserCode is the UserTrigger that runs every built-in trigger as user code.
func InUserCode(_ *spec.Trigger, instead trigger.Trigger) (udf.Trigger, error) {
	return inUserCode{instead}, nil
}

// userTrigger puts user code in place of a step's trigger.
func userTrigger(j *spec.Job, s *window.Spec, user UserTrigger) error {
	fn, err := user(j.Trigger, s.Trigger)
	if fn != nil {
		s.Trigger = trigger.NewUser(fn, []int{valueCol}[:len(fn.Info().Inputs)])
	}
	return err
}

func (u inUserCode) Info() udf.TriggerInfo {
	return udf.TriggerInfo{Inputs: []udf.Input{{Name: "value", Kind: stream.Int64, Nullable: true}}, MayPurge: u.MayPurge(), Merges: u.Mergeable()}
}

func (inUserCode) Close() error { return nil }

// Decide implements udf.Trigger.
func (u inUserCode) Decide(in *udf.TriggerOps, out *udf.Decisions) error {
	for i := range in.Ops {
		op := &in.Ops[i]
		c := &trigger.Context{Window: op.Window, Watermark: op.Watermark, Now: op.Now, Ending: op.Ending,
			State: u.words(in.States.Get(i)), Timers: changes{uint32(i), out}}
		v := trigger.Continue
		switch op.What {
		case udf.OnElement:
			value := float64(in.Records.Columns.Cols[in.Records.Cols[0]].Ints[op.Row])
			v = u.Element(c, trigger.Element{Time: op.Time, Value: value})
		case udf.OnEventTimer:
			v = u.Timer(c, trigger.EventTime, op.Time)
		case udf.OnProcessingTimer:
			v = u.Timer(c, trigger.ProcessingTime, op.Time)
		case udf.OnMerge:
			u.Merge(c, [][]int64{u.words(in.States.Data[op.From])})
		case udf.OnClear:
			u.Clear(c)
		}
		out.Verdict[i] = uint8(v)
		var state []byte
		for _, w := range c.State {
			state = binary.LittleEndian.AppendUint64(state, uint64(w))
		}
		in.States.Set(i, state)
	}
	return nil
}

func (u inUserCode) words(state []byte) []int64 {
	words := make([]int64, u.Words())
	for i := range words {
		if len(state) > 0 {
			words[i] = int64(binary.LittleEndian.Uint64(state[8*i:]))
		}
	}
	return words
}

// changes writes down timers of an operation.
type changes struct {
	op  uint32
	out *udf.Decisions
}

func (c changes) SetTimer(d trigger.Domain, t stream.Time) { c.add(d, t, false) }

func (c changes) DeleteTimer(d trigger.Domain, t stream.Time) { c.add(d, t, true) }

func (c changes) add(d trigger.Domain, t stream.Time, gone bool) {
	c.out.Timers = append(c.out.Timers, udf.TimerChange{Op: c.op, Delete: gone, ProcessingTime: d == trigger.ProcessingTime, Time: t})
}
