package engine

import (
	"context"
	"errors"
	"fmt"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/engine/window"
)

// userCode makes the plug-ins that the windows of a step follow, over columns of these
// kinds.
type userCode struct {
	trigger  func(t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error)
	assigner func(w *job.Window, kinds []stream.Kind) (udf.Assigner, error)
}

// userCode makes those of a run.
func (j *Job) userCode(ctx context.Context) userCode {
	return userCode{
		trigger: func(t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error) {
			fn, err := j.opts.Plugins.Trigger(ctx, j.plugin(t.Plugin), t, kinds)
			if err != nil {
				return nil, fmt.Errorf("trigger: %w", err)
			}
			return fn, nil
		},
		assigner: func(w *job.Window, kinds []stream.Kind) (udf.Assigner, error) {
			fn, err := j.opts.Plugins.Assigner(ctx, j.plugin(w.Plugin), w, kinds)
			if err != nil {
				return nil, fmt.Errorf("window: %w", err)
			}
			return fn, nil
		},
	}
}

// userTrigger binds a plug-in to the fields of the records.
func userTrigger(st *stepSpec, t *job.Trigger, user userCode) (trigger.Trigger, error) {
	cols, kinds := st.bound(t.Columns)
	fn, err := user.trigger(t, kinds)
	if err != nil {
		return nil, err
	}
	return trigger.NewUser(fn, cols), nil
}

// userAssigner does the same for the window assigner of a step.
func userAssigner(st *stepSpec, user userCode) (window.Assigner, error) {
	cols, kinds := st.bound(st.Window.Columns)
	fn, err := user.assigner(st.Window, kinds)
	if err != nil {
		return nil, err
	}
	return window.NewUserAssigner(fn, cols), nil
}

// bound finds the fields of the records that stand for inputs.
func (st *stepSpec) bound(columns []job.Column) (cols []int, kinds []stream.Kind) {
	for _, c := range columns {
		n := column(st.fields, c.Field)
		cols, kinds = append(cols, n), append(kinds, st.fields[n].Kind)
	}
	return cols, kinds
}

// closeUserCode closes the plug-ins that the windows of a step follow which no operator
// owns.
func closeUserCode(s *window.Spec) error {
	var errs []error
	if fn := trigger.User(s.Trigger); fn != nil {
		errs = append(errs, fn.Close())
	}
	if fn := window.UserAssigner(s.Assigner); fn != nil {
		errs = append(errs, fn.Close())
	}
	return errors.Join(errs...)
}

// declaredCode is user code of which only the description is known.
var declaredCode = userCode{declaredTrigger, declaredAssigner}

func declaredAssigner(w *job.Window, _ []stream.Kind) (udf.Assigner, error) {
	return assignerInfo{info: udf.AssignerInfo{Merges: w.Merges}}, nil
}

type assignerInfo struct {
	udf.Assigner
	info udf.AssignerInfo
}

func (a assignerInfo) Info() udf.AssignerInfo { return a.info }

func declaredTrigger(t *job.Trigger, _ []stream.Kind) (udf.Trigger, error) {
	return triggerInfo{info: udf.TriggerInfo{MayPurge: t.MayPurge, Merges: t.Merges}}, nil
}

type triggerInfo struct {
	udf.Trigger
	info udf.TriggerInfo
}

func (t triggerInfo) Info() udf.TriggerInfo { return t.info }
