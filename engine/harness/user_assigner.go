package harness

import (
	"errors"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
	"tidemark/spec"
)

// UserAssigner makes user code in place of a scenario's windows; instead is what the engine
// would take. A nil result leaves that in its place. It may have one input, the record's own
// session gap in ms.
type UserAssigner func(w *spec.Window, instead window.Assigner) (udf.Assigner, error)

// assignsInUserCode is a built-in assigner as user code.
type assignsInUserCode struct{ window.Assigner }

// AssignInUserCode is the UserAssigner that runs every built-in assigner of event time as
// user code, but for those that put a record into more windows than user code may.
func AssignInUserCode(w *spec.Window, instead window.Assigner) (udf.Assigner, error) {
	if !CanAssign(w, instead) {
		return nil, nil
	}
	return assignsInUserCode{instead}, nil
}

// CanAssign reports whether user code may do what a built-in assigner does.
func CanAssign(w *spec.Window, instead window.Assigner) bool {
	return instead.EventTime() && (w.Type != "sliding" || w.SizeMS/w.SlideMS < udf.MaxWindows)
}

// userAssigner puts user code in place of a step's assigner.
func userAssigner(w *spec.Window, s *window.Spec, user UserAssigner) error {
	fn, err := user(w, s.Assigner)
	if fn != nil {
		s.Assigner = window.NewUserAssigner(fn, []int{gapCol}[:len(fn.Info().Inputs)])
		s.GapCol = -1
	}
	return err
}

func (a assignsInUserCode) Info() udf.AssignerInfo {
	return udf.AssignerInfo{Inputs: []udf.Input{{Name: "gap_ms", Kind: stream.Int64, Nullable: true}}, Merges: a.Merging()}
}

func (assignsInUserCode) Close() error { return nil }

// Assign implements udf.Assigner.
func (a assignsInUserCode) Assign(rows *udf.Rows, out *udf.Assigned) error {
	for i, row := range rows.Sel {
		windows, err := a.Assigner.Assign(nil, rows.Batch.Time[row], 0, stream.Time(rows.Batch.Cols[rows.Cols[0]].Ints[row]))
		if err != nil {
			return &udf.Failure{Op: i, Message: err.Error()}
		}
		for _, w := range windows {
			out.Windows, out.Of = append(out.Windows, w), append(out.Of, uint32(i))
		}
	}
	return nil
}

// refusedGap reports whether user code refused a record as a built-in session does, or as
// the plug-in own_gap says it.
func refusedGap(err error) bool {
	f, ok := errors.AsType[*udf.Failure](err)
	return ok && (f.Message == window.ErrGap.Error() || f.Message == "gap_ms must be at least 1")
}
