package abi

// Assigner describes the window assigner of a module.
type Assigner struct {
	Inputs []Column // of records, beside their times
	Params []Param
	// Merges: windows of a key that overlap or touch become one, and a record is in one at
	// most.
	Merges bool
}

func (r *manifestReader) assigner(path string, n node) *Assigner {
	a := &Assigner{}
	r.need(path, r.object(path, n, map[string]func(string, node){
		"inputs": func(path string, n node) { a.Inputs = r.columns(path, n, true) },
		"params": func(path string, n node) { a.Params = r.params(path, n) },
		"merges": r.flag(&a.Merges),
	}), "inputs")
	return a
}
