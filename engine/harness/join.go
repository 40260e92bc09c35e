package harness

import (
	"tidemark/engine/join"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/spec"
)

// intervalConfig turns a scenario's job into an interval join of the values.
func intervalConfig(j *spec.Job) join.IntervalConfig {
	value := []stream.Field{{Name: "value", Kind: stream.Int64}}
	return join.IntervalConfig{
		Lower: stream.Time(j.LowerMS), Upper: stream.Time(j.UpperMS),
		LowerInclusive: j.LowerInclusive == nil || *j.LowerInclusive,
		UpperInclusive: j.UpperInclusive == nil || *j.UpperInclusive,
		Key:            []stream.Field{{Name: "key", Kind: stream.String}},
		Pair:           join.NewIdentity(value, value), LeftCols: []int{valueCol}, RightCols: []int{valueCol},
	}
}

// pairTask is a task as the output of a join.
type pairTask struct{ *task }

// Pairs notes joined rows.
func (t pairTask) Pairs(rows *join.Rows) error {
	for i := range rows.N {
		t.stage.entry.Out = append(t.stage.entry.Out, spec.Result{
			Key:    spec.Value(rows.Key.Cols[0].Strs[i].Bytes(rows.Key.Blob)),
			Window: spec.Span{None: true},
			Value:  ints([]int64{rows.Values.Cols[0].Ints[i], rows.Values.Cols[1].Ints[i]}),
			TS:     int64(rows.Time[i]),
		})
	}
	return nil
}

// Late notes a late record, with its side.
func (t pairTask) Late(b *stream.Batch, i int, side uint8, _ stream.Time) error {
	if t.stage.job.LateOutput {
		input := int(side)
		l := lateRecord(b, i)
		l.Input = &input
		t.stage.entry.Late = append(t.stage.entry.Late, l)
	}
	return nil
}

func (t pairTask) Refused(_ *stream.Batch, _ int, _ *udf.Pairs, _ int, f *udf.Failure) error {
	return f
}

var _ join.Output = pairTask{}
