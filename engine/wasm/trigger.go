package wasm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tidemark/abi"
	"tidemark/abi/guest"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// trigger is a guest's trigger (SPEC section 3, frames of tm_trigger).
type trigger struct {
	worker
	info  udf.TriggerInfo
	keeps bool // states of windows

	// Working memory: the operations of a frame, with the states and records that they are
	// of, each once.
	ops     []abi.PaneOp
	states  slotCut
	rows    selection
	records records
	none    stream.Columns // where no operation has a record
	bytes   int            // of the frame, without its answer
}

var _ udf.Trigger = (*trigger)(nil)

// Info implements udf.Trigger.
func (t *trigger) Info() udf.TriggerInfo { return t.info }

func (t *trigger) bind(d *abi.Trigger, with *job.Trigger, kinds []stream.Kind) (err error) {
	if d == nil {
		return fault.Userf("it is no trigger")
	}
	t.info = udf.TriggerInfo{Name: t.name, MayPurge: d.MayPurge, Merges: d.Merges}
	if t.info.Inputs, t.records.layout, err = bindColumns(d.Inputs, kinds); err != nil {
		return err
	}
	t.keeps = d.Schema > 0
	t.none.Cols = make([]stream.Column, len(kinds))
	for i, k := range kinds {
		t.none.Cols[i].Kind = k
	}
	t.records.times.Cols = make([]stream.Column, 1)
	t.params, err = newParams(d.Params, with.Args)
	return err
}

// Decide implements udf.Trigger. Operations go in as many frames as their size asks for,
// one after the other: states that one frame answers are in the next.
func (t *trigger) Decide(in *udf.TriggerOps, out *udf.Decisions) error {
	return t.each(&itemCall{
		fn: guest.Trigger, n: len(in.Ops), number: plain, item: "the record with the window's state", answers: "what the trigger answers",
		fill:  func(base, n, arena int) (int, int) { return t.fill(in, base, n, arena), t.bytes },
		frame: func(_ int, arena []byte) frame { return t.frame(arena) },
		take: func(base, n int, answer []byte) (int, error) {
			return eachEntry(n, answer, func(item int, what uint32, body []byte) error { return t.decided(in, out, base+item, what, body) })
		},
	})
}

// decided takes one entry of the answer for operation op of the call.
func (t *trigger) decided(in *udf.TriggerOps, out *udf.Decisions, op int, what uint32, body []byte) error {
	if what == abi.KeyState && t.keeps {
		return put(&in.States, op, body)
	}
	if what == abi.KeyState {
		return errors.New("a state is answered, which the manifest does not have")
	}
	if len(body) != 8 {
		return fmt.Errorf("an entry of kind %#x has %d bytes, it must have 8", what, len(body))
	}
	word := binary.LittleEndian.Uint64(body)
	switch what {
	case abi.Verdict:
		if word > uint64(udf.VerdictFire|udf.VerdictPurge) {
			return fmt.Errorf("verdict %d does not exist", word)
		}
		out.Verdict[op] = uint8(word)
	case abi.SetEventTimer, abi.SetProcessingTimer, abi.DeleteEventTimer, abi.DeleteProcessingTimer:
		out.Timers = append(out.Timers, udf.TimerChange{Op: uint32(op), Time: stream.Time(word),
			Delete:         what == abi.DeleteEventTimer || what == abi.DeleteProcessingTimer,
			ProcessingTime: what == abi.SetProcessingTimer || what == abi.DeleteProcessingTimer})
	default:
		return fmt.Errorf("an entry is of kind %#x, which this trigger does not answer", what)
	}
	return nil
}

// fill cuts out operations from base on, n or as many as leave half of the arena to the
// answer, and at least one. It returns their number.
func (t *trigger) fill(in *udf.TriggerOps, base, n, arena int) int {
	for {
		if t.cut(in, base, base+n); n == 1 || t.bytes <= arena/2 {
			return n
		}
		n /= 2
	}
}

// cut cuts out the operations from lo to hi.
func (t *trigger) cut(in *udf.TriggerOps, lo, hi int) {
	table := in.Records.Columns
	t.records.cols = in.Records.Cols
	if table == nil { // no operation is on a record
		table, t.records.cols = &t.none, upTo(len(t.records.layout))
	}
	t.ops = t.ops[:0]
	t.states.reset(len(in.States.Data))
	t.states.table.Reset(0)
	t.rows.reset(table.N)
	for i := lo; i < hi; i++ {
		op := &in.Ops[i]
		o := abi.PaneOp{What: uint32(op.What), Start: int64(op.Window.Start), End: int64(op.Window.End),
			Watermark: int64(op.Watermark), Now: int64(op.Now), Time: int64(op.Time), Slot: t.states.slot(&in.States, i)}
		switch op.What {
		case udf.OnElement:
			o.Row, _ = t.rows.take(op.Row)
		case udf.OnMerge:
			n, first := t.states.take(op.From)
			if first {
				t.states.table.Append(in.States.Data[op.From])
			}
			o.From = n
		}
		if op.Ending {
			o.Flags = abi.Ending
		}
		t.ops = append(t.ops, o)
	}
	t.records.take(table, in.Records.Time, append(t.records.sel[:0], t.rows.taken...))
	t.bytes = abi.HeaderBytes + abi.BlockBytes + len(t.ops)*abi.PaneOpBytes + accsBytes(&t.states.table, 0, t.states.table.N()) + t.records.bytes()
}

// frame writes the operations of the cut.
func (t *trigger) frame(arena []byte) frame {
	f := newFrame(arena, 0)
	f.h.Rows = uint32(len(t.ops))
	block, at := f.place(abi.BlockBytes)
	f.h.Block = at
	b := abi.Block{NumKeys: uint32(t.states.table.N())}
	var ops []byte
	ops, b.Items = f.place(len(t.ops) * abi.PaneOpBytes)
	for i := range t.ops {
		t.ops[i].Put(ops[i*abi.PaneOpBytes:])
	}
	b.Keys = f.accs(&t.states.table, 0, t.states.table.N())
	b.Lists[0] = t.records.put(&f)
	f.finish(math.MaxInt)
	b.Put(block)
	return f
}
