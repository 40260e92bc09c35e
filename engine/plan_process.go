package engine

import (
	"context"
	"fmt"
	"slices"

	"tidemark/engine/job"
	"tidemark/engine/result"
	"tidemark/engine/stream"
	"tidemark/engine/window"
)

// sideSpec is a side output of a process function: what its rows look like.
type sideSpec struct {
	port    job.Port
	names   []string
	outputs [][]stream.Field
}

// sideOutput is the ways of a side output out of one subtask.
type sideOutput struct {
	sinks    []portSink
	encoders []*result.Encoder // one for each
}

// process gives a windowed step its process function, if it has one. names and outputs,
// those of the aggregates until here, become those of the function: each column of its
// rows is a field of the value.
func (j *Job) process(ctx context.Context, st *stepSpec, s *window.Spec) error {
	p := st.Process
	if p == nil {
		return nil
	}
	bound := &window.Process{TTL: ms(p.TTL)}
	var kinds []stream.Kind
	for _, c := range p.Columns {
		in, kind := st.firing(c.Field)
		bound.Inputs, kinds = append(bound.Inputs, in), append(kinds, kind)
	}
	var lists [][]stream.Kind
	for side, columns := range p.Lists {
		cols, ks := []int{}, []stream.Kind{}
		for _, c := range columns {
			col, kind := st.recordColumn(side, c.Field)
			cols, ks = append(cols, col), append(ks, kind)
		}
		bound.Lists, lists = append(bound.Lists, cols), append(lists, ks)
	}
	plugin := j.plugin(p.Plugin)
	fn, err := j.opts.Plugins.Process(ctx, plugin, p, kinds, lists)
	if err != nil {
		return fmt.Errorf("process function: %w", err)
	}
	bound.Fn, s.Process = fn, bound
	st.order = nil // the function's own rows leave as they are
	st.names, st.outputs = valueFields(p.Outputs)
	st.sides = nil
	for _, side := range p.Side {
		spec := sideSpec{port: job.Port{Operator: st.ID, Name: side.Name}}
		spec.names, spec.outputs = valueFields(side.Outputs)
		st.sides = append(st.sides, spec)
	}
	return nil
}

// firing finds a field of what a firing gives without a process function.
func (s *stepSpec) firing(name string) (window.ProcessInput, stream.Kind) {
	for i, f := range s.key {
		if f.Name == name {
			return window.ProcessInput{Value: -1, Col: i}, f.Kind
		}
	}
	for i, outs := range s.outputs {
		for n, o := range outs {
			field := s.names[i]
			if len(outs) > 1 {
				field += "." + o.Name
			}
			if field != name {
				continue
			}
			if s.order != nil {
				i = s.order[i]
			}
			return window.ProcessInput{Value: i, Col: n}, o.Kind
		}
	}
	panic("BUG: no field " + name + " of a firing: the job was checked")
}

// recordColumn finds a field of the records that the operator sees; side tells the inputs
// of a join.
func (s *stepSpec) recordColumn(side int, name string) (int, stream.Kind) {
	if s.join != nil {
		i := slices.IndexFunc(s.join.taken[side], func(f stream.Field) bool { return f.Name == name })
		return s.join.cols[side][i], s.join.taken[side][i].Kind
	}
	c := column(s.fields, name)
	return c, s.fields[c].Kind
}

// valueFields lays the columns of rows out as fields of their value, one each.
func valueFields(fields []stream.Field) (names []string, outputs [][]stream.Field) {
	for _, f := range fields {
		names, outputs = append(names, f.Name), append(outputs, []stream.Field{f})
	}
	return names, outputs
}

// spread makes tables of one column each of the columns of rows.
func spread(dst []stream.Columns, c *stream.Columns) []stream.Columns {
	dst = dst[:0]
	for i := range c.Cols {
		dst = append(dst, stream.Columns{N: c.N, Cols: c.Cols[i : i+1], Blob: c.Blob})
	}
	return dst
}

// openSides makes the ways of the side outputs out of a subtask.
func (t *keyedTask) openSides() {
	for _, s := range t.step.sides {
		out := sideOutput{sinks: t.job.portSinks(s.port)}
		for _, p := range out.sinks {
			out.encoders = append(out.encoders, result.NewEncoder(t.job.graph.Name, s.port.String(), t.step.key, s.names, s.outputs, p.format))
		}
		t.sides = append(t.sides, out)
	}
}

// side writes rows of a side output, counted from 1.
func (t *keyedTask) side(r *result.Rows) error {
	out := &t.sides[r.Side-1]
	encode(out.sinks, out.encoders, r)
	return t.overflow(out.sinks)
}
