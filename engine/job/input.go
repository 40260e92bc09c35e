package job

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/engine/stream"
)

// maxUnion bounds the inputs of a union: each is a channel of its own into every task.
const maxUnion = 16

// origin reads what a step reads, without looking at it: that may be a step further down.
//
//	from: orders
//	from: {union: [orders, returns]}
//	from: {join: {left: orders, right: returns, …}}
func (r *reader) origin(s *stepSpec, o *object) {
	o.need("from", "say which source or step it reads")
	n := o.get("from")
	if n == nil || dropped(n) {
		return
	}
	if n.kind != mappingNode {
		if n.kind == sequenceNode {
			r.report(n.at, "%s must be the name of one source or step; for several say {union: […]}", o.sub("from"))
		} else if _, ok := read(r, n, o.sub("from"), text); ok {
			s.reads(n)
		}
		return
	}
	c := o.child("from")
	switch union, pair := n.find("union"), n.find("join"); {
	case union != nil && pair != nil:
		r.report(pair.key, "%s has both union and join; leave one out", c.path)
		c.known = append(c.known, "union", "join")
	case union == nil && pair == nil:
		r.report(n.key, "%s must be a name, {union: [a, b]} or {join: {left: a, right: b}}", c.path)
		c.known = append(c.known, "union", "join")
	case union != nil:
		s.reads(c.textList("union", maxUnion)...)
		if union.kind == sequenceNode && len(union.items) < 2 {
			r.report(union.at, "%s needs two inputs or more; for one say from: and its name", c.sub("union"))
		}
	default:
		r.sides(s, c.child("join"))
	}
	c.close()
}

// sides reads left and right of a join; the rest of it is read by join.
func (r *reader) sides(s *stepSpec, o *object) {
	s.Join, s.join = &Join{}, o
	if o.n == nil {
		return
	}
	o.need("left", "name the source or step whose records come first in a pair")
	o.need("right", "name the source or step whose records come second in a pair")
	left, ln := scalar(o, "left", text)
	right, rn := scalar(o, "right", text)
	switch {
	case ln == nil || rn == nil:
	case left == right:
		r.report(rn.at, "%s is the left input too; a join needs two different inputs", o.sub("right"))
	default:
		s.reads(ln, rn)
	}
}

// reads notes what a step reads by the places that name it.
func (s *stepSpec) reads(names ...*node) {
	for _, n := range names {
		s.From = append(s.From, n.text)
		s.inputs = append(s.inputs, n)
	}
}

// claim marks what the steps read as read, and reports names that do not exist.
func (r *reader) claim() {
	var names []string
	for _, s := range r.sources {
		names = append(names, s.ID)
	}
	sources := slices.Clone(names)
	for _, s := range r.steps {
		names = append(names, s.ID)
	}
	for _, s := range r.steps {
		path := "steps." + s.ID + ".from"
		for i, n := range s.inputs {
			from := s.From[i]
			if src := r.sourceOf(from); src != nil {
				src.used = true
				continue
			}
			if up := r.stepOf(from); up != nil {
				up.read = true
				if way := r.cycle(s, from); way != nil && len(sources) > 0 {
					r.report(n.at, "%s: the steps form a cycle: %s; begin at a source: %s", path, strings.Join(way, " → "), either(sources))
				}
				continue
			}
			others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == s.ID })
			fix := hint(from, others)
			operator, port, ok := strings.Cut(from, ".")
			switch {
			case n.filled:
				fix = ""
			case ok && (r.sourceOf(operator) != nil || r.stepOf(operator) != nil):
				fix = fmt.Sprintf("; the output %s is written by sinks only", port)
			}
			r.report(n.at, "%s: there is no source or step %s%s", path, quote(n.shown), fix)
		}
	}
}

// cycle returns a way from s over its input next back to s, or nil.
func (r *reader) cycle(s *stepSpec, next string) []string {
	seen := map[*stepSpec]bool{}
	var way func(id string) []string
	way = func(id string) []string {
		cur := r.stepOf(id)
		switch {
		case cur == nil || r.sourceOf(id) != nil || cur != s && seen[cur]:
			return nil
		case cur == s:
			return []string{id}
		}
		seen[cur] = true
		for _, from := range cur.From {
			if rest := way(from); rest != nil {
				return append([]string{id}, rest...)
			}
		}
		return nil
	}
	if rest := way(next); rest != nil {
		return append([]string{s.ID}, rest...)
	}
	return nil
}

func (r *reader) sourceOf(id string) *sourceSpec {
	for _, s := range r.sources {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func (r *reader) stepOf(id string) *stepSpec {
	for _, s := range r.steps {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// ordered returns the steps so that each stands behind all that it reads. In a cycle,
// which was reported, some step has to come first.
func (r *reader) ordered() []*stepSpec {
	var out []*stepSpec
	seen := map[*stepSpec]bool{}
	var visit func(s *stepSpec)
	visit = func(s *stepSpec) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, from := range s.From {
			if up := r.stepOf(from); up != nil && r.sourceOf(from) == nil {
				visit(up)
			}
		}
		out = append(out, s)
	}
	for _, s := range r.steps {
		visit(s)
	}
	return out
}

// input returns the shape of a step's n-th input, or nil where it is not known.
func (r *reader) input(s *stepSpec, n int) *shape {
	if n >= len(s.From) {
		return nil
	}
	if src := r.sourceOf(s.From[n]); src != nil {
		return src.shape()
	}
	up := r.stepOf(s.From[n])
	if up == nil || up.out == nil {
		return nil
	}
	if name := up.out.twice(); name != "" {
		r.report(s.inputs[n].at, "%s: two fields of step %s are called %s, so a step cannot read it; give the aggregate or the key another name",
			"steps."+s.ID+".from", up.ID, name)
		return nil
	}
	return up.out
}

// united returns the shape of the records of a step with one input or a union. Records
// of a union go on as they are, so the inputs must have the same fields.
func (r *reader) united(s *stepSpec) *shape {
	first := r.input(s, 0)
	for i := 1; i < len(s.From); i++ {
		other := r.input(s, i)
		if first == nil || other == nil || !first.whole || !other.whole {
			continue
		}
		if wrong := difference(s.From[0], s.From[i], first.fields, other.fields); wrong != "" {
			r.report(s.inputs[i].at, "steps.%s.from.union: %s; the inputs of a union have the same fields in the same order", s.ID, wrong)
		}
	}
	return first
}

// difference says where the fields of b differ from those of a first, or "".
func difference(a, b string, fa, fb []stream.Field) string {
	find := func(fields []stream.Field, name string) int {
		return slices.IndexFunc(fields, func(f stream.Field) bool { return f.Name == name })
	}
	for _, f := range fa {
		switch i := find(fb, f.Name); {
		case i < 0:
			return fmt.Sprintf("%s has no field %s, which %s has", b, f.Name, a)
		case fb[i].Kind != f.Kind:
			return fmt.Sprintf("%s is %s in %s and %s in %s", f.Name, fb[i].Kind, b, f.Kind, a)
		}
	}
	for _, f := range fb {
		if find(fa, f.Name) < 0 {
			return fmt.Sprintf("%s has the field %s, which %s does not have", b, f.Name, a)
		}
	}
	for i := range fa {
		if fa[i].Name != fb[i].Name {
			return fmt.Sprintf("%s has %s where %s has %s: put them into the same order", b, fb[i].Name, a, fa[i].Name)
		}
	}
	return ""
}
