package job

import "tidemark/engine/stream"

// FunctionInfo is what a job needs to know of a function to be checked: what it reads,
// gives and takes. It comes from the list of built-ins or from a plug-in's manifest.
type FunctionInfo struct {
	Kind   Kind
	Inputs []Input
	Params []Param
	// Outputs, OrderInsensitive and Fixed are those of a plug-in; of a built-in they follow
	// from its columns: Resolver.Bind.
	Outputs          []stream.Field
	OrderInsensitive bool // the order of records makes no difference to the result
	Fixed            bool // an accumulator has a fixed size
	// Schema is the version of the layout of accumulators or other state; 0: there is none.
	Schema uint32
	// Upgrades are the older schemas from which it converts.
	Upgrades []uint32

	Process  *ProcessInfo  // of ProcessKind
	Pair     *PairInfo     // of PairKind
	Trigger  *TriggerInfo  // of TriggerKind
	Assigner *AssignerInfo // of AssignerKind
}

// AssignerInfo is what a window assigner does beside naming windows.
type AssignerInfo struct {
	Merges bool // windows of a key that touch become one
}

// TriggerInfo is what a trigger does beside firing.
type TriggerInfo struct {
	MayPurge bool // it empties windows that are open
	Merges   bool // it knows what becomes of it when two windows become one
}

// PairInfo is what a pair function reads of either record. It has no Inputs beside.
type PairInfo struct{ Left, Right []Input }

// ProcessInfo is what a process function has beside an aggregate. Its Inputs are columns
// with a row for each firing.
type ProcessInfo struct {
	// Lists are the columns that it reads of the records of a firing: none, one entry, or
	// two for the sides of a coGroup.
	Lists                 [][]Input
	Side                  []SideOutput
	KeyState, WindowState bool
}

// Input is a column that a function reads. Any kind of Kinds will do; empty means
// every kind.
type Input struct {
	Name  string
	Kinds []stream.Kind
}

// Param is an argument that a function takes.
type Param struct {
	Name     string
	Kind     stream.Kind
	List     bool // a list of Kind, which is Float64 then
	Required bool
	Default  Arg
	// Min and Max bound a number, or each number of a list; both 0: its type does.
	Min, Max float64
}

// maxList bounds the entries of an argument that is a list: each is a field of a result.
const maxList = 64

// Resolver finds functions while a job is loaded. Errors are shown at the place of
// the reference in the job file, so they say only what is wrong with the function.
type Resolver interface {
	// Builtin describes a built-in aggregate. ok is false for an unknown name, and
	// names then lists those that exist.
	Builtin(name string) (info FunctionInfo, ok bool, names []string)
	// Bind describes a built-in over columns of these kinds, one for each of its inputs,
	// and with these arguments: its outputs, and what order means to it. Both were checked
	// against Builtin's description.
	Bind(name string, kinds []stream.Kind, args []Arg) (FunctionInfo, error)
	// Plugin opens a module and describes its function; it fills in p.Digest. An error
	// of several lines is as many problems.
	Plugin(p *Plugin) (FunctionInfo, error)
	// Expr checks an expression over the fields of a record and returns the kind of its
	// value. The error says what is wrong and where in the expression.
	Expr(src string, fields []stream.Field) (stream.Kind, error)
}
