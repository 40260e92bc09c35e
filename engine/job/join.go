package job

import (
	"slices"

	"tidemark/engine/stream"
)

// joining reads a step that pairs the records of two inputs:
//
//	from: {join: {left: orders, right: payments, kind: interval, between: {lower: -5s, upper: 10s}}}
//	key: [order]
//
// The two sides are read already.
func (r *reader) joining(s *stepSpec, o *object) {
	j, c := s.Join, s.join
	if c.n == nil {
		return
	}
	left, right := r.input(s, 0), r.input(s, 1)
	for _, key := range []string{"filter", "derive", "project"} {
		if n := o.get(key); n != nil {
			r.report(n.key, "%s does not go with a join, whose sides have fields of their own; write a step before or behind it", o.sub(key))
		}
	}
	o.without("aggregates", "a join gives the records that belong together; compute of its results in a step behind it")
	o.without("hot_keys", "a join needs the records themselves")
	kind, _ := scalar(c, "kind", choice(WindowJoin, CoGroupJoin, IntervalJoin))
	j.Kind = kind
	r.joinKey(s, o, c, left, right)
	applies := o.n.find("apply")
	if applies == nil {
		j.Left = r.joinFields(c, "left_fields", left)
		j.Right = r.joinFields(c, "right_fields", right)
	} else {
		const why = "apply says which fields are read, and gives others"
		c.without("left_fields", why)
		c.without("right_fields", why)
		if kind == CoGroupJoin {
			r.report(applies.key, "%s is for pairs; a cogroup gives two lists, and process: looks at them", o.sub("apply"))
		} else if kind != "" {
			r.apply(s, o, left, right)
		}
		if s.Apply != nil {
			j.Left, j.Right = fieldsOf(s.Apply.Left), fieldsOf(s.Apply.Right)
		}
	}
	switch kind {
	case "":
		c.get("between")
	case IntervalJoin:
		r.between(j, c)
		const why = "an interval join pairs records by their times, without a window"
		for _, key := range []string{"window", "trigger", "evictor", "accept_cost"} {
			o.without(key, why)
		}
	default:
		c.without("between", "it is for kind: interval; a window says itself which records belong together")
		o.need("window", "say which records belong together, such as {tumbling: 10s}; or kind: interval with between")
		if r.grouping(s, o, left, right) {
			r.cost(s, o)
		}
	}
	s.out = r.joined(s, left, right)
	if applies != nil && s.out != nil {
		s.out = r.applied(s, s.out)
		r.bounds(s)
	}
	switch n := o.n.find("process"); {
	case n == nil:
	case kind == CoGroupJoin:
		if s.out != nil {
			key := &shape{what: "the key of step " + s.ID, whole: s.out.whole, fields: s.out.fields[:min(len(s.Key), len(s.out.fields))]}
			r.process(s, o, key, left, right)
			s.out = r.processed(s, key)
			r.bounds(s)
		}
	case kind != "":
		r.report(n.key, "%s is for kind: cogroup, whose windows give two lists; of pairs say apply:, or compute in a step behind it", o.sub("process"))
	}
	s.uses(left, right)
	c.close()
}

func fieldsOf(columns []Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Field
	}
	return names
}

// joinKey reads the fields that have to be equal: those of key on both sides, unless a
// side says others.
func (r *reader) joinKey(s *stepSpec, o, c *object, left, right *shape) {
	j := s.Join
	names := func(o *object, key string) (out []string) {
		for _, item := range o.textList(key, maxKeyFields) {
			out = append(out, item.text)
		}
		return out
	}
	side := func(key string, in *shape) []string {
		from, at := c, key
		if c.n.find(key) == nil {
			c.get(key)
			from, at = o, "key"
		}
		n := from.n.find(at)
		if n == nil || n.kind != sequenceNode {
			return nil
		}
		var out []string
		for _, item := range n.items {
			if !dropped(item) && item.kind == scalarNode && r.scalarField(item.at, from.sub(at), item, in) != nil {
				out = append(out, item.text)
			}
		}
		return out
	}
	before := len(r.problems)
	s.Key = names(o, "key")
	names(c, "left_key")
	names(c, "right_key")
	if len(r.problems) == before {
		j.LeftKey, j.RightKey = side("left_key", left), side("right_key", right)
	}
	r.tasks(s, o)
	key, lk, rk := o.n.find("key"), c.n.find("left_key"), c.n.find("right_key")
	switch {
	case len(r.problems) > before:
		return
	case key == nil && (lk == nil || rk == nil):
		r.report(o.at, "%s is missing; say which fields have to be equal", o.sub("key"))
		return
	case key == nil:
		s.Key = slices.Clone(j.LeftKey)
	}
	if left == nil || right == nil || !left.whole || !right.whole {
		return
	}
	at := c.at
	for _, n := range []*node{key, lk, rk} {
		if n != nil {
			at = n.at
		}
	}
	switch {
	case len(j.LeftKey) == 0:
		r.report(at, "%s is empty; say which fields have to be equal", o.sub("key"))
	case len(j.LeftKey) != len(j.RightKey) || len(s.Key) != len(j.LeftKey):
		r.report(at, "%s: the key has %d names, the left side %d fields and the right side %d; they stand for each other one by one",
			c.path, len(s.Key), len(j.LeftKey), len(j.RightKey))
	default:
		for i := range s.Key {
			l, rf := left.find(j.LeftKey[i]), right.find(j.RightKey[i])
			if l.Kind != rf.Kind {
				r.report(at, "%s: %s is %s in %s and %s is %s in %s; values of different types are never equal",
					c.path, l.Name, l.Kind, left.what, rf.Name, rf.Kind, right.what)
			}
		}
	}
}

// joinFields reads the fields of a side that the result holds: all, if it says none.
func (r *reader) joinFields(c *object, key string, in *shape) []string {
	n := c.n.find(key)
	if n == nil {
		c.get(key)
		if in == nil {
			return nil
		}
		return in.names()
	}
	var out []string
	for _, item := range c.textList(key, maxFields) {
		if r.field(item.at, c.sub(key), item, in) != nil {
			out = append(out, item.text)
		}
	}
	return out
}

// between reads how far apart the times of a pair may be.
func (r *reader) between(j *Join, c *object) {
	c.need("between", "say how far the right record may lie from the left one: {lower: -5s, upper: 10s}")
	b := c.child("between")
	if b.n == nil {
		return
	}
	b.need("lower", "say how far before (below 0) or behind the left record the right one may lie at least")
	b.need("upper", "say how far behind the left record the right one may lie at most")
	var ln, un *node
	j.Lower, ln = scalar(b, "lower", duration(durationRule{zero: true, negative: true}))
	j.Upper, un = scalar(b, "upper", duration(durationRule{zero: true, negative: true}))
	j.LowerExclusive, _ = scalar(b, "lower_exclusive", boolean)
	j.UpperExclusive, _ = scalar(b, "upper_exclusive", boolean)
	b.close()
	if ln != nil && un != nil && j.Lower > j.Upper {
		r.report(ln.at, "%s must not be above upper, which is %s, is %s (S110)", b.sub("lower"), quote(un.shown), quote(ln.shown))
	}
}

// joined is the shape of a join's results: its key, then what either side gives, and
// the bounds of the window.
func (r *reader) joined(s *stepSpec, left, right *shape) *shape {
	if left == nil || right == nil {
		return nil
	}
	out := &shape{what: "the results of step " + s.ID, whole: left.whole && right.whole && len(s.Join.LeftKey) == len(s.Key)}
	for i, name := range s.Key {
		if i < len(s.Join.LeftKey) {
			if f := left.find(s.Join.LeftKey[i]); f != nil {
				out.fields = append(out.fields, stream.Field{Name: name, Kind: f.Kind})
			}
		}
	}
	side := func(name string, fields []string, in *shape) {
		if s.Join.Kind == CoGroupJoin {
			out.fields = append(out.fields, stream.Field{Name: name, Kind: stream.JSON})
			return
		}
		for _, f := range fields {
			if f := in.find(f); f != nil {
				out.fields = append(out.fields, stream.Field{Name: name + "." + f.Name, Kind: f.Kind})
			}
		}
	}
	side("left", s.Join.Left, left)
	side("right", s.Join.Right, right)
	s.out = out
	r.bounds(s)
	return out
}
