package engine

import (
	"fmt"

	"tidemark/engine/job"
	"tidemark/engine/state"
	"tidemark/engine/udf"
	"tidemark/engine/window"
	"tidemark/internal/fault"
)

// described is what the checkpoint says of an operator; nothing if it says nothing.
func (r *restored) described(id, kind string) (job.Operator, error) {
	meta := &r.from.Meta
	for i := range meta.Operators {
		if o := &meta.Operators[i]; o.ID == id && o.Kind == kind {
			d, err := job.ParseOperator(o.ID, o.Kind, o.Description)
			if err != nil {
				return d, fault.Corruptf("checkpoint %d: %w", meta.ID, err)
			}
			return d, nil
		}
	}
	return job.Operator{}, nil
}

// schemas says which plug-ins of a step kept their state in another layout than now.
func (j *Job) schemas(st *job.Step) (s state.Schemas, err error) {
	if j.restored == nil {
		return s, nil
	}
	was, err := j.restored.described(st.ID, job.StepOperator)
	if err != nil {
		return s, err
	}
	for i := range st.Aggregates {
		a := &st.Aggregates[i]
		if n := j.former(&was, job.AggregateState(i), a.Plugin); n > 0 {
			if s.Aggregates == nil {
				s.Aggregates = map[string]uint32{}
			}
			s.Aggregates[a.Name] = n
		}
	}
	if st.Process != nil {
		s.Process = j.former(&was, job.ProcessState, st.Process.Plugin)
	}
	for t := st.Trigger; t != nil; t = t.Inner {
		if t.Kind == job.TriggerPlugin {
			s.Trigger = j.former(&was, job.TriggerState, t.Plugin)
		}
	}
	return s, nil
}

// former is the schema that a plug-in had, 0 if it is the one that it has.
func (j *Job) former(was *job.Operator, part, plugin string) uint32 {
	n := was.Schema(part)
	if plugin == "" || n == j.plugin(plugin).Schema {
		return 0
	}
	return n
}

// renew converts what a plug-in of a source kept of a split, if that was in another
// layout.
func (u *userTime) renew(was uint32) error {
	if was == 0 || len(u.own) == 0 {
		return nil
	}
	up, ok := u.fn.(udf.Upgrader)
	if ok {
		_, ok = up.Former(was)
	}
	if !ok {
		return fault.Userf("watermark: its state has schema %d, and the module does not convert from that: go on with the old module, or say --drop-state for the source", was)
	}
	states, err := up.Upgrade(udf.KeptOfSplit, was, [][]byte{u.own})
	if err != nil {
		return fmt.Errorf("watermark: %w", err)
	}
	u.own = states[0]
	return nil
}

// renewFlying converts the sums among the rows under way, which all tasks of the step share.
func (s *savedStep) renewFlying(op operator, schemas state.Schemas) error {
	for i := range s.flying {
		if w, ok := op.(window.Operator); ok && !s.renewed {
			if err := window.RenewPartials(w, schemas, s.flying[i].Rows); err != nil {
				return err
			}
		}
	}
	s.renewed = true
	return nil
}
