package job

import "tidemark/engine/stream"

// Map is the function that makes none, one or several records of each record of a step.
type Map struct {
	Plugin  string
	Columns []Column // in the order of the function's inputs
	Args    []Arg
	Outputs []stream.Field
}

// mapping reads
//
//	map: {plugin: parse, columns: {text: message}, args: {…}}
//
// and returns the records that come of it: their fields, and those that the function makes.
func (r *reader) mapping(s *stepSpec, o *object, in *shape) *shape {
	for _, key := range []string{"filter", "derive"} {
		if n := o.n.find(key); n != nil {
			r.report(n.key, "%s stands beside map; put it into a step of its own, before this one or behind it", o.sub(key))
			o.get(key)
		}
	}
	c := o.child("map")
	if c.n == nil {
		return nil
	}
	c.need("plugin", "name a plug-in that is a function of single records")
	m := &Map{}
	var info FunctionInfo
	known := false
	var n *node
	if m.Plugin, n = scalar(c, "plugin", text); n != nil {
		info, known = r.pluginAs(MapKind, n, c.sub("plugin"))
	}
	what := "plug-in " + m.Plugin
	before := len(r.problems)
	m.Columns, _ = r.columns(c, "columns", what, "name a field of the record", info.Inputs, known, in)
	m.Args = r.args(c, what, info, known)
	m.Outputs = info.Outputs
	c.close()
	out := &shape{what: "the records of step " + s.ID, whole: in != nil && in.whole && known}
	if in != nil {
		out.fields = append(out.fields, in.fields...)
	}
	for _, f := range m.Outputs {
		out.add(f)
	}
	if len(out.fields) > maxFields {
		r.report(c.at, "%s makes records of %d fields, at most %d are taken", c.path, len(out.fields), maxFields)
	}
	if known && len(r.problems) == before {
		s.Map = m
	}
	return out
}
