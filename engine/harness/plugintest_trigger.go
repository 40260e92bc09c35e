package harness

import (
	"go.yaml.in/yaml/v3"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// operationSpec is an operation that a trigger is shown: one of Record, Timer, ClockTimer,
// Merge and Clear, on the window of a key.
type operationSpec struct {
	Key        string     `yaml:"key"`
	Start      moment     `yaml:"start"`
	End        moment     `yaml:"end"`
	Watermark  *moment    `yaml:"watermark"` // if left out, there is none yet
	Now        *moment    `yaml:"now"`       // if left out, the time of the record or timer
	Record     yaml.Node  `yaml:"record"`
	Timer      *moment    `yaml:"timer"`
	ClockTimer *moment    `yaml:"clock_timer"`
	Merge      *mergeSpec `yaml:"merge"` // the window of the key that becomes a part of this one
	Clear      bool       `yaml:"clear"`
}

// mergeSpec is a window.
type mergeSpec struct {
	Start moment `yaml:"start"`
	End   moment `yaml:"end"`
}

// paneKey is a window of a key, which has a state.
type paneKey struct {
	key    string
	window stream.Window
}

// Trigger runs the test on a trigger: the operations are one call.
func (t *PluginTest) Trigger(fn udf.Trigger) ([]string, error) {
	if err := t.must("a trigger", "operations"); err != nil {
		return nil, err
	}
	info := fn.Info()
	var nodes []yaml.Node
	for i := range t.Operations {
		if o := &t.Operations[i]; !o.Record.IsZero() {
			nodes = append(nodes, o.Record)
		}
	}
	b, err := columnsOf(info.Inputs, nodes)
	if err != nil {
		return nil, err
	}
	in := &udf.TriggerOps{Records: udf.Timed{Columns: &b.Columns, Cols: shown(b, info.Inputs, 1).Cols, Time: b.Time}}
	slots := map[paneKey]uint32{}
	slot := func(key string, w stream.Window) uint32 {
		n, ok := slots[paneKey{key, w}]
		if !ok {
			n = in.States.Add(nil)
			slots[paneKey{key, w}] = n
		}
		return n
	}
	records := uint32(0)
	for i := range t.Operations {
		o := &t.Operations[i]
		op := udf.PaneOp{Window: stream.Window{Start: stream.Time(o.Start), End: stream.Time(o.End)}, Watermark: o.Watermark.or(stream.MinTime)}
		kinds := 0
		if !o.Record.IsZero() {
			kinds, op.What, op.Row, op.Time = kinds+1, udf.OnElement, records, b.Time[records]
			for c, in := range info.Inputs {
				if !in.Nullable && b.Cols[c].Null(int(records)) {
					return nil, fault.Userf("line %d: a record without %s is not shown to the trigger", o.Record.Line, in.Name)
				}
			}
			records++
		}
		if o.Timer != nil {
			kinds, op.What, op.Time = kinds+1, udf.OnEventTimer, stream.Time(*o.Timer)
		}
		if o.ClockTimer != nil {
			kinds, op.What, op.Time = kinds+1, udf.OnProcessingTimer, stream.Time(*o.ClockTimer)
		}
		if o.Merge != nil {
			kinds, op.What, op.From = kinds+1, udf.OnMerge, slot(o.Key, stream.Window{Start: stream.Time(o.Merge.Start), End: stream.Time(o.Merge.End)})
		}
		if o.Clear {
			kinds, op.What = kinds+1, udf.OnClear
		}
		if kinds != 1 {
			return nil, fault.Userf("operation %d must be one of record, timer, clock_timer, merge and clear", i+1)
		}
		op.Now = o.Now.or(op.Time)
		in.Ops, in.States.Slot = append(in.Ops, op), append(in.States.Slot, slot(o.Key, op.Window))
	}
	var out udf.Decisions
	out.Reset(len(in.Ops))
	err = fn.Decide(in, &out)
	return t.judged(decided(&out), err)
}

// decided is what a trigger answers to each operation, as values of JSON.
func decided(d *udf.Decisions) []any {
	got := make([]map[string]any, len(d.Verdict))
	all := make([]any, len(got))
	for i, v := range d.Verdict {
		got[i] = map[string]any{"verdict": []string{"continue", "fire", "purge", "fire_and_purge"}[v], "set": []any{}, "set_clock": []any{}, "delete": []any{}, "delete_clock": []any{}}
		all[i] = got[i]
	}
	for _, c := range d.Timers {
		name := "set"
		if c.Delete {
			name = "delete"
		}
		if c.ProcessingTime {
			name += "_clock"
		}
		got[c.Op][name] = append(got[c.Op][name].([]any), timeText(c.Time))
	}
	return all
}
