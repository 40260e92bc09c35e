package engine

import (
	"context"
	"fmt"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/engine/window"
)

// userTriggers makes the plug-in of a trigger over columns of these kinds.
type userTriggers func(t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error)

// userTriggers makes those of a run.
func (j *Job) userTriggers(ctx context.Context) userTriggers {
	return func(t *job.Trigger, kinds []stream.Kind) (udf.Trigger, error) {
		fn, err := j.opts.Plugins.Trigger(ctx, j.plugin(t.Plugin), t, kinds)
		if err != nil {
			return nil, fmt.Errorf("trigger: %w", err)
		}
		return fn, nil
	}
}

// userTrigger binds a plug-in to the fields of the records.
func userTrigger(st *stepSpec, t *job.Trigger, user userTriggers) (trigger.Trigger, error) {
	var cols []int
	var kinds []stream.Kind
	for _, c := range t.Columns {
		n := column(st.fields, c.Field)
		cols, kinds = append(cols, n), append(kinds, st.fields[n].Kind)
	}
	fn, err := user(t, kinds)
	if err != nil {
		return nil, err
	}
	return trigger.NewUser(fn, cols), nil
}

// closeTrigger closes the plug-in that fires the windows of a step which no operator owns.
func closeTrigger(s *window.Spec) error {
	if fn := trigger.User(s.Trigger); fn != nil {
		return fn.Close()
	}
	return nil
}

// declaredTrigger is a trigger of which only the description is known.
func declaredTrigger(t *job.Trigger, _ []stream.Kind) (udf.Trigger, error) {
	return triggerInfo{info: udf.TriggerInfo{MayPurge: t.MayPurge, Merges: t.Merges}}, nil
}

type triggerInfo struct {
	udf.Trigger
	info udf.TriggerInfo
}

func (t triggerInfo) Info() udf.TriggerInfo { return t.info }
