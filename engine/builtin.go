package engine

import (
	"errors"
	"fmt"

	"tidemark/engine/agg"
	"tidemark/engine/expr"
	"tidemark/engine/job"
	"tidemark/engine/source"
	"tidemark/engine/stream"
)

// newSource is the list of built-in sources.
func newSource(s *job.Source, o Options) (source.Source, error) {
	if o.fed != nil {
		return o.fed[s.ID], nil
	}
	return source.NewFile(*s.File, o.Env, o.Stdin)
}

// Builtins describes the engine's own functions and expressions for the check of a job:
// a job.Resolver but for plug-ins, which are the host's.
type Builtins struct{}

// Builtin describes a built-in aggregate.
func (Builtins) Builtin(name string) (info job.FunctionInfo, ok bool, names []string) {
	f, ok := agg.Lookup(name)
	for _, in := range f.Inputs {
		info.Inputs = append(info.Inputs, job.Input{Name: in.Name, Kinds: in.Kinds})
	}
	info.Params = f.Params
	return info, ok, agg.Names()
}

// Bind describes a built-in aggregate over its columns.
func (Builtins) Bind(name string, kinds []stream.Kind, args []job.Arg) (job.FunctionInfo, error) {
	f, err := agg.New(name, kinds, args...)
	if err != nil {
		return job.FunctionInfo{}, err
	}
	info := f.Info()
	return job.FunctionInfo{Outputs: info.Outputs, OrderInsensitive: info.OrderInsensitive, Fixed: info.Width > 0}, f.Close()
}

// Expr checks an expression and returns the kind of its value.
func (Builtins) Expr(src string, fields []stream.Field) (stream.Kind, error) {
	const column = "value"
	s, err := expr.New(expr.Config{Schema: fields, Derive: []expr.Derived{{Name: column, Expr: src}}, Project: []expr.Projected{{Name: column, From: column}}})
	var problems expr.Problems
	switch {
	case errors.As(err, &problems):
		// One expression gives one problem.
		switch p := problems[0]; {
		case p.Line == 0:
			return 0, errors.New(p.Message)
		case p.Line == 1:
			return 0, fmt.Errorf("column %d of the expression: %s", p.Column, p.Message)
		default:
			return 0, fmt.Errorf("line %d, column %d of the expression: %s", p.Line, p.Column, p.Message)
		}
	case err != nil:
		return 0, err
	}
	return s.Info().Outputs[0].Kind, s.Close()
}
