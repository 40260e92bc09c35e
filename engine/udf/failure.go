package udf

import "fmt"

// Failure says that user code refused its input or broke down. Built-in functions
// use it too, for example for a sum that leaves int64.
type Failure struct {
	// Op is the place in the call that failed: an index into Rows.Sel for Add, the
	// number of the accumulator for Merge and Result, of the pair for Pair.Call; -1 when
	// it is not known.
	Op int
	// Trap: the instance is gone and was replaced by a fresh one. A record is
	// condemned only by a call that carried it alone, since what a trapped call
	// did before is not known (abi.md, point 8).
	Trap bool
	// Fresh: the instance had done nothing before it trapped, so that trying the same
	// call once more would tell nothing new.
	Fresh bool
	// Disabled: the plug-in was not called, because the step has disabled it.
	Disabled bool
	// Module names the plug-in; empty for built-in functions.
	Module string
	// Aggregate is what the job calls the function, where it has a name there; the engine
	// fills it in.
	Aggregate string
	Message   string
}

func (f *Failure) Error() string {
	what := "refused"
	if f.Trap {
		what = "trapped"
	}
	if f.Disabled {
		what = "not called"
	}
	who := "function"
	if f.Module != "" {
		who = "plug-in " + f.Module
	}
	if f.Aggregate != "" {
		who = "aggregate " + f.Aggregate + ": " + who
	}
	return fmt.Sprintf("%s %s: %s", who, what, f.Message)
}

var _ error = (*Failure)(nil)
