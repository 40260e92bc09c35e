// Package agg holds the built-in aggregates: implementations of the same contract
// (udf.Aggregate) that plug-ins implement, without any right of their own.
//
// Nulls never arrive here: the engine leaves out records in which a bound column
// is null, so sum, min, max and mean of nothing are null and a count is 0. Sums of
// integers are exact and refuse a record that leaves int64; no function gives NaN
// or an infinity. docs/functions.md describes them for users.
package agg

import (
	"slices"

	"tidemark/engine/job"
	"tidemark/engine/stream"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// Function describes a built-in for checking a job.
type Function struct {
	Name string
	// Inputs names the columns; every kind of Kinds will do.
	Inputs []Input
	// Params are the arguments that it takes. All that are not required have a default.
	Params []job.Param
	make   func(kinds []stream.Kind, args []job.Arg) udf.Aggregate
}

// Input is a column that a built-in reads.
type Input struct {
	Name  string
	Kinds []stream.Kind
}

var (
	numbers = []stream.Kind{stream.Int64, stream.Float64}
	ordered = []stream.Kind{stream.Int64, stream.Float64, stream.Timestamp}
	scalars = []stream.Kind{stream.Int64, stream.Float64, stream.Bool, stream.String, stream.Timestamp}
)

// functions is the one list of built-ins, by name.
var functions = []Function{
	{"approx_distinct", of(scalars), nil, plain(newApproxDistinct)},
	{"count", nil, nil, func([]stream.Kind, []job.Arg) udf.Aggregate { return count{} }},
	{"distinct", of(scalars), nil, plain(newDistinct)},
	{"first", of(scalars), nil, plain(func(k stream.Kind) udf.Aggregate { return newEdge(k, false) })},
	{"last", of(scalars), nil, plain(func(k stream.Kind) udf.Aggregate { return newEdge(k, true) })},
	{"list", of(scalars), nil, plain(newList)},
	{"max", of(ordered), nil, plain(func(k stream.Kind) udf.Aggregate { return newExtreme(k, 1) })},
	{"mean", of(numbers), nil, plain(newMean)},
	{"min", of(ordered), nil, plain(func(k stream.Kind) udf.Aggregate { return newExtreme(k, -1) })},
	{"quantiles", of(numbers), quantilesParams, func(k []stream.Kind, args []job.Arg) udf.Aggregate {
		return newQuantiles(k[0], args[0].List, args[1].Float)
	}},
	{"sorted_list", of(scalars), nil, plain(newSortedList)},
	{"sum", of(numbers), nil, plain(newSum)},
	{"top_k", of(scalars), topKParams, func(k []stream.Kind, args []job.Arg) udf.Aggregate {
		return newTopK(k[0], int(args[0].Int))
	}},
}

// of is the input of a function of one column.
func of(kinds []stream.Kind) []Input { return []Input{{"value", kinds}} }

// plain makes a function of one column without arguments.
func plain(make func(stream.Kind) udf.Aggregate) func([]stream.Kind, []job.Arg) udf.Aggregate {
	return func(kinds []stream.Kind, _ []job.Arg) udf.Aggregate { return make(kinds[0]) }
}

// Lookup finds a built-in by name.
func Lookup(name string) (Function, bool) {
	i := slices.IndexFunc(functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return functions[i], true
}

// Names lists the built-ins in order.
func Names() []string {
	names := make([]string, len(functions))
	for i, f := range functions {
		names[i] = f.Name
	}
	return names
}

// New makes a built-in for columns of these kinds, one for each input. Arguments that
// are left out have their defaults. Errors are of class fault.ErrUser: a job is checked
// against the same descriptions, so there they mean that it was checked by another
// version.
func New(name string, kinds []stream.Kind, args ...job.Arg) (udf.Aggregate, error) {
	f, ok := Lookup(name)
	if !ok {
		return nil, fault.Userf("no built-in aggregate %q", name)
	}
	if len(kinds) != len(f.Inputs) {
		return nil, fault.Userf("%s reads %d columns, got %d", name, len(f.Inputs), len(kinds))
	}
	for i, k := range kinds {
		if !slices.Contains(f.Inputs[i].Kinds, k) {
			return nil, fault.Userf("%s: column %s cannot be %s", name, f.Inputs[i].Name, k)
		}
	}
	bound, err := bind(&f, args)
	if err != nil {
		return nil, err
	}
	return f.make(kinds, bound), nil
}

// bind puts arguments into the order of a function's parameters, checked and with
// defaults.
func bind(f *Function, args []job.Arg) ([]job.Arg, error) {
	bound := make([]job.Arg, len(f.Params))
	for i, p := range f.Params {
		bound[i] = p.Default
	}
	for _, a := range args {
		i := slices.IndexFunc(f.Params, func(p job.Param) bool { return p.Name == a.Name })
		if i < 0 {
			return nil, fault.Userf("%s takes no argument %s", f.Name, a.Name)
		}
		p := f.Params[i]
		if a.Kind != p.Kind || (a.List != nil) != p.List {
			return nil, fault.Userf("%s: argument %s is of another type", f.Name, a.Name)
		}
		vals := a.List
		switch {
		case p.List && len(vals) == 0:
			return nil, fault.Userf("%s: argument %s is empty", f.Name, a.Name)
		case p.List:
		case p.Kind == stream.Int64:
			vals = []float64{float64(a.Int)}
		case p.Kind == stream.Float64:
			vals = []float64{a.Float}
		}
		for _, v := range vals {
			if !(p.Min <= v && v <= p.Max) {
				return nil, fault.Userf("%s: argument %s must be between %v and %v, is %v", f.Name, a.Name, p.Min, p.Max, v)
			}
		}
		bound[i] = a
	}
	return bound, nil
}

func input(k stream.Kind) []udf.Input { return []udf.Input{{Name: "value", Kind: k}} }

func output(name string, k stream.Kind) []stream.Field {
	return []stream.Field{{Name: name, Kind: k}}
}
