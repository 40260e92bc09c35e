package job

import (
	"fmt"
	"slices"
	"time"

	"tidemark/engine/stream"
)

// Process is the function that is shown each firing of a step; its rows take the place of
// the one that the firing would give.
type Process struct {
	Plugin  string
	Columns []Column // in the order of the function's inputs: fields of the key and results of aggregates
	// Lists are fields of the records, as FunctionInfo.Process.Lists.
	Lists   [][]Column
	Args    []Arg
	TTL     time.Duration // state_ttl; 0: off
	Outputs []stream.Field
	Side    []SideOutput
}

// SideOutput is a further output of a process function: the port STEP.NAME.
type SideOutput struct {
	Name    string
	Outputs []stream.Field
}

// ListNames are what manifests and job files call the lists of a process function.
func ListNames(lists int) []string {
	if lists == 2 {
		return []string{"left", "right"}
	}
	return []string{"records"}[:lists]
}

// process reads
//
//	process: {plugin: alerts, columns: {count: n, user: user}, args: {…}, state_ttl: 1d}
//
// of a step whose firings have these fields, and whose records, or those of either side,
// have the fields of records. It returns the object, and whether the function is known.
func (r *reader) process(s *stepSpec, o *object, firing *shape, records ...*shape) (info FunctionInfo, known bool) {
	c := o.child("process")
	s.process = c
	if c.n == nil {
		return info, false
	}
	c.need("plugin", "name a plug-in that is a process function")
	p := &Process{}
	var n *node
	if p.Plugin, n = scalar(c, "plugin", text); n != nil {
		info, known = r.pluginAs(ProcessKind, n, c.sub("plugin"))
	}
	what := "plug-in " + p.Plugin
	lists := 0
	if known {
		lists = len(info.Process.Lists)
		p.Outputs, p.Side = info.Outputs, info.Process.Side
	}
	before := len(r.problems)
	p.Columns, _ = r.columns(c, "columns", what, "name a field of the key or a result of an aggregate", info.Inputs, known, firing)
	fits := r.processLists(s, c, what, lists, known)
	for i, key := range ListNames(lists) {
		var from *shape
		if fits {
			from = records[i]
		}
		cols, _ := r.columns(c, key, what, "name a field of the record", info.Process.Lists[i], known && fits, from)
		p.Lists = append(p.Lists, cols)
	}
	p.Args = r.args(c, what, info, known)
	r.processState(s, c, p, what, info, known)
	c.close()
	if known && len(r.problems) == before {
		s.Process = p
	}
	return info, known
}

// processLists checks that the records which the function looks at are those of the step.
func (r *reader) processLists(s *stepSpec, c *object, what string, lists int, known bool) bool {
	for _, key := range []string{"records", "left", "right"} {
		switch taken := slices.Contains(ListNames(lists), key); {
		case taken:
		case known:
			c.without(key, what+" does not look at such records")
		default:
			c.get(key)
		}
	}
	pairs := s.Join != nil
	switch {
	case !known:
		return false
	case pairs && lists != 2:
		r.report(c.at, "%s: %s does not look at the two sides of a cogroup; it is for a step that reads the results of this one", c.path, what)
	case !pairs && lists == 2:
		r.report(c.at, "%s: %s looks at the two sides of a cogroup; it is for from: {join: {…, kind: cogroup}}", c.path, what)
	default:
		return true
	}
	return false
}

// processState reads how long state is kept, and checks that there can be some.
func (r *reader) processState(s *stepSpec, c *object, p *Process, what string, info FunctionInfo, known bool) {
	switch {
	case !known:
		c.get("state_ttl")
	case !info.Process.KeyState:
		c.without("state_ttl", what+" keeps no state of keys")
	default:
		p.TTL, _ = scalar(c, "state_ttl", duration(durationRule{off: true}))
	}
	if known && info.Process.WindowState && s.Window != nil && s.Window.Merging() {
		r.report(c.at, "%s: %s keeps state of each window, and windows that merge, such as sessions, have none (S91); take windows that do not merge, or a function with state of keys", c.path, what)
	}
}

// firing is the shape of what a step's firings give to a process function: its key and its
// aggregates.
func (r *reader) firing(s *stepSpec, in *shape) *shape {
	out := r.results(s, in)
	out.what, out.fix = "the key and the aggregates of step "+s.ID, "; add it there"
	for _, a := range s.aggregates {
		out.whole = out.whole && a.outputs != nil
		out.fields = append(out.fields, a.fields()...)
	}
	return out
}

// processed is the shape of the rows of a step with a process function.
func (r *reader) processed(s *stepSpec, key *shape) *shape {
	out := &shape{what: "the results of step " + s.ID, whole: key.whole && s.Process != nil}
	out.fields = slices.Clone(key.fields[:min(len(s.Key), len(key.fields))])
	if s.Process != nil {
		out.fields = append(out.fields, s.Process.Outputs...)
	}
	return out
}

// side returns a side output of a step by its name, or nil.
func (s *Step) side(name string) *SideOutput {
	if s.Process == nil {
		return nil
	}
	for i := range s.Process.Side {
		if s.Process.Side[i].Name == name {
			return &s.Process.Side[i]
		}
	}
	return nil
}

// pluginOf finds a declared plug-in by its name, or reports that there is none.
func (r *reader) pluginOf(n *node, path string) (info FunctionInfo, known bool) {
	if p := r.markUsed(n); p != nil {
		return p.info, p.found
	}
	var names []string
	for _, p := range r.plugins {
		names = append(names, p.Name)
	}
	fix := hint(n.text, names)
	if len(names) == 0 {
		fix = fmt.Sprintf("; declare it: plugins: {%s: {file: %s.wasm}}", quote(n.shown), quote(n.shown))
	}
	r.report(n.at, "%s: there is no plug-in %s%s", path, quote(n.shown), fix)
	return info, false
}

// lintProcess: state that expires by event time needs some.
func (r *reader) lintProcess() {
	for _, s := range r.steps {
		if s.Process == nil || s.Process.TTL == 0 {
			continue
		}
		if src := r.upstream(s, func(src *sourceSpec) bool { return src.Watermark.Kind == NoWatermark }); src != nil {
			r.report(s.process.n.find("state_ttl").key, "%s: source %s has watermark: none, so event time never moves and nothing expires; give the source a watermark, or leave it out",
				s.process.sub("state_ttl"), src.ID)
		}
	}
}
