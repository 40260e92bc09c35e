package engine

import (
	"tidemark/engine/agg"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/engine/window"
)

// PlanOf says how a windowed step is going to be run: it asks the planner that the run
// asks, so that what validate shows is what happens. The step was checked.
func PlanOf(g *job.Graph, st *job.Step) window.Choice {
	spec := &stepSpec{Step: st}
	var name func(t *job.Trigger)
	name = func(t *job.Trigger) { // the fields that a shape reads; their kinds do not matter
		if t != nil {
			spec.fields = append(spec.fields, stream.Field{Name: t.Field})
			for _, c := range t.Columns {
				spec.fields = append(spec.fields, stream.Field{Name: c.Field})
			}
			name(t.Inner)
		}
	}
	name(st.Trigger)
	spec.fields = append(spec.fields, stream.Field{Name: st.Window.GapField})
	for _, c := range st.Window.Columns {
		spec.fields = append(spec.fields, stream.Field{Name: c.Field})
	}
	if st.Evictor != nil {
		spec.fields = append(spec.fields, stream.Field{Name: st.Evictor.Field})
	}
	s := window.Spec{Sources: fromSources(g, st), HotKeys: st.HotKeys}
	s.Key = make([]stream.Field, len(st.Key))
	s.Lateness = ms(st.AllowedLateness)
	if err := shape(spec, &s, declaredCode); err != nil {
		panic("BUG: the job was checked: " + err.Error())
	}
	if g.Settings.State.Backend == job.DiskState {
		s.Spill = &window.Spill{}
	}
	s.Join, s.SetAside = st.Join != nil, st.OnError == job.DeadLetter
	s.Guard = newGuard(st, g.MaxParallelism)
	for i := range st.Aggregates {
		a := &st.Aggregates[i]
		if _, whole := agg.Whole(a.Function); whole && s.Assigner.Merging() {
			s.Whole = append(s.Whole, window.WholeFunction{})
			continue
		}
		info := udf.Info{OrderInsensitive: a.AnyOrder}
		if a.Fixed {
			info.Width = 8 // how much does not matter
		}
		s.Functions = append(s.Functions, window.Function{Agg: declared{info: info}})
	}
	if p := st.Process; p != nil {
		s.Process = &window.Process{Fn: declaredProcess{lists: len(p.Lists)}}
	}
	return window.Plan(s)
}

// declared is an aggregate of which only the description is known.
type declared struct {
	udf.Aggregate
	info udf.Info
}

func (d declared) Info() udf.Info { return d.info }

// declaredProcess is a process function of which only the description is known.
type declaredProcess struct {
	udf.Process
	lists int
}

func (d declaredProcess) Info() udf.ProcessInfo {
	return udf.ProcessInfo{Lists: make([][]udf.Input, d.lists)}
}
