package engine

import (
	"fmt"
	"slices"
	"sync/atomic"

	"tidemark/engine/exchange"
	"tidemark/engine/expr"
	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// feed is what a step can read: an operator with its tasks, and the stateless steps that
// stand between it and the reader. These have no tasks of their own: they run at the end
// of the sender's.
type feed struct {
	id     string // of the operator that is read
	number stream.SourceID
	fields []stream.Field
	tasks  []sender
	chain  []*statelessSpec
}

// sender is a task whose batches others read.
type sender interface {
	addEdge(*edge)
	store() *exchange.Pool
	cpu() *turn
}

// statelessSpec is the stateless part of a step: all there is of it, or what comes before
// its window.
type statelessSpec struct {
	step   *job.Step
	config expr.Config
	info   udf.StatelessInfo
	alone  bool   // the step has no window
	reader string // whose edges count, where several read through the step

	// Counts of all edges together: what became of records, and how many came of them.
	filtered, failed, passed, made atomic.Int64
	disabled                       board
}

// newStateless compiles the stateless part of a step; nil if it has none.
func newStateless(st *job.Step, fields []stream.Field, alone bool) (*statelessSpec, error) {
	if st.Map != nil {
		info, _ := mapInfo(st, fields)
		return &statelessSpec{step: st, alone: alone, config: expr.Config{Schema: fields}, info: info}, nil
	}
	if st.Filter == "" && len(st.Derive) == 0 && len(st.Project) == 0 && !alone {
		return nil, nil
	}
	s := &statelessSpec{step: st, alone: alone, config: expr.Config{Schema: fields, Filter: st.Filter}}
	for _, d := range st.Derive {
		s.config.Derive = append(s.config.Derive, expr.Derived{Name: d.Name, Expr: d.Expr})
	}
	for _, p := range st.Project {
		s.config.Project = append(s.config.Project, expr.Projected{Name: p, From: p})
	}
	fn, err := expr.New(s.config)
	if err != nil {
		return nil, fmt.Errorf("step %s: %w", st.ID, err)
	}
	s.info = fn.Info()
	return s, nil
}

// through returns the feed behind a stateless part.
func (f *feed) through(s *statelessSpec) *feed {
	if s == nil {
		return f
	}
	g := *f
	g.fields, g.chain = s.info.Fields(), append(slices.Clone(f.chain), s)
	return &g
}

// feedOf returns what an operator gives to those that read it.
func (j *Job) feedOf(id string) *feed {
	f := j.feedsByID[id]
	if f == nil {
		panic("BUG: nothing to read by the name " + id)
	}
	return f
}

// column returns the number of a field. The job was checked: it is there.
func column(fields []stream.Field, name string) int {
	n := slices.IndexFunc(fields, func(f stream.Field) bool { return f.Name == name })
	if n < 0 {
		panic("BUG: no field " + name)
	}
	return n
}
