package engine

import (
	"tidemark/engine/agg"
	"tidemark/engine/job"
	"tidemark/engine/source"
)

// newSource is the list of built-in sources.
func newSource(s *job.Source, o Options) (source.Source, error) {
	return source.NewFile(*s.File, o.Env, o.Stdin)
}

// Builtin describes a built-in aggregate for the check of a job (job.Resolver).
func Builtin(name string) (info job.FunctionInfo, ok bool, names []string) {
	f, ok := agg.Lookup(name)
	for _, in := range f.Inputs {
		info.Inputs = append(info.Inputs, job.Input{Name: in.Name, Kinds: in.Kinds})
	}
	info.Params = f.Params
	return info, ok, agg.Names()
}
