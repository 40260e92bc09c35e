package job

import (
	"slices"

	"tidemark/engine/stream"
)

// Apply is the function that makes the rows of the pairs of a join.
type Apply struct {
	Plugin      string
	Left, Right []Column // in the order of the function's inputs: fields of either record
	Args        []Arg
	Outputs     []stream.Field
}

// apply reads
//
//	apply: {plugin: match, left: {sum: amount}, right: {paid: amount}, args: {…}}
//
// of a join of pairs.
func (r *reader) apply(s *stepSpec, o *object, left, right *shape) {
	c := o.child("apply")
	if c.n == nil {
		return
	}
	c.need("plugin", "name a plug-in that is a pair function")
	a := &Apply{}
	var info FunctionInfo
	known := false
	var n *node
	if a.Plugin, n = scalar(c, "plugin", text); n != nil {
		info, known = r.pluginAs(PairKind, n, c.sub("plugin"))
	}
	var inputs PairInfo
	if known {
		inputs = *info.Pair
	}
	what := "plug-in " + a.Plugin
	before := len(r.problems)
	a.Left, _ = r.columns(c, "left", what, "name a field of the record", inputs.Left, known, left)
	a.Right, _ = r.columns(c, "right", what, "name a field of the record", inputs.Right, known, right)
	a.Args = r.args(c, what, info, known)
	a.Outputs = info.Outputs
	c.close()
	if known && len(r.problems) == before {
		s.Apply = a
	}
}

// applied is the shape of the rows of a join with a function, whose key is known.
func (r *reader) applied(s *stepSpec, joined *shape) *shape {
	out := &shape{what: joined.what, whole: joined.whole && s.Apply != nil}
	out.fields = slices.Clone(joined.fields[:min(len(s.Key), len(joined.fields))])
	if s.Apply != nil {
		out.fields = append(out.fields, s.Apply.Outputs...)
	}
	return out
}
