package abi

// Trigger describes the trigger of a module.
type Trigger struct {
	Inputs   []Column // of records, beside their times
	Params   []Param
	Schema   uint32 // version of the layout of a pane's state, from 1; 0: it keeps none
	Upgrades []Upgrade
	// MayPurge: it purges windows that are open. Merges: states of two panes can become one.
	MayPurge, Merges bool
}

func (r *manifestReader) trigger(path string, n node) *Trigger {
	t := &Trigger{}
	r.need(path, r.object(path, n, map[string]func(string, node){
		"inputs":    func(path string, n node) { t.Inputs = r.columns(path, n, true) },
		"params":    func(path string, n node) { t.Params = r.params(path, n) },
		"state":     r.schema(&t.Schema, &t.Upgrades),
		"may_purge": r.flag(&t.MayPurge),
		"merges":    r.flag(&t.Merges),
	}), "inputs")
	return t
}
