// Package agg holds the built-in aggregates: implementations of the same contract
// (udf.Aggregate) that plug-ins implement, without any right of their own.
//
// Nulls never arrive here: the engine leaves out records in which a bound column
// is null, so sum, min, max and mean of nothing are null and a count is 0. Sums of
// integers are exact and refuse a record that leaves int64; no function gives NaN
// or an infinity.
package agg

import (
	"fmt"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/udf"
)

// Function describes a built-in for checking a job.
type Function struct {
	Name string
	// Inputs names the columns; every kind of Kinds will do.
	Inputs []Input
	make   func(kinds []stream.Kind) udf.Aggregate
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
	{"count", nil, func([]stream.Kind) udf.Aggregate { return count{} }},
	{"distinct", []Input{{"value", scalars}}, func(k []stream.Kind) udf.Aggregate { return newDistinct(k[0]) }},
	{"max", []Input{{"value", ordered}}, func(k []stream.Kind) udf.Aggregate { return newExtreme(k[0], 1) }},
	{"mean", []Input{{"value", numbers}}, func(k []stream.Kind) udf.Aggregate { return newMean(k[0]) }},
	{"min", []Input{{"value", ordered}}, func(k []stream.Kind) udf.Aggregate { return newExtreme(k[0], -1) }},
	{"sum", []Input{{"value", numbers}}, func(k []stream.Kind) udf.Aggregate { return newSum(k[0]) }},
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

// New makes a built-in for columns of these kinds, one for each input.
func New(name string, kinds []stream.Kind) (udf.Aggregate, error) {
	f, ok := Lookup(name)
	if !ok {
		return nil, fmt.Errorf("no built-in aggregate %q", name)
	}
	if len(kinds) != len(f.Inputs) {
		return nil, fmt.Errorf("%s reads %d columns, got %d", name, len(f.Inputs), len(kinds))
	}
	for i, k := range kinds {
		if !slices.Contains(f.Inputs[i].Kinds, k) {
			return nil, fmt.Errorf("%s: column %s cannot be %s", name, f.Inputs[i].Name, k)
		}
	}
	return f.make(kinds), nil
}

func input(k stream.Kind) []udf.Input { return []udf.Input{{Name: "value", Kind: k}} }

func output(name string, k stream.Kind) []stream.Field {
	return []stream.Field{{Name: name, Kind: k}}
}
