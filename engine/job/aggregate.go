package job

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/engine/stream"
)

// aggregateSpec is a field of a step's value.
type aggregateSpec struct {
	Aggregate
	// outputs are the columns of its result; nil if something about it was reported, or
	// it is not known what it reads.
	outputs []stream.Field
}

// aggregate reads
//
//	amount: {function: sum, columns: {value: amount}, args: {…}}
func (r *reader) aggregate(e entry, parent *object, from *shape) (a aggregateSpec) {
	a.Name = e.key
	path := parent.sub(e.key)
	if e.value.kind == scalarNode && !dropped(e.value) {
		r.report(e.value.at, "%s must be a mapping; write {function: %s}", path, e.value.describe())
		return a
	}
	o := r.object(e.value, path, "steps.*.aggregates.*", e.value.key)
	if o.n == nil {
		return a
	}
	fn, pn := o.get("function"), o.get("plugin")
	var info FunctionInfo
	known := false
	switch {
	case fn != nil && pn != nil:
		r.report(pn.key, "%s names a function and a plugin; leave one out", path)
		r.markUsed(pn)
	case fn == nil && pn == nil:
		r.report(o.at, "%s.function is missing; name a built-in function, or a plugin", path)
	case fn != nil:
		if name, ok := read(r, fn, o.sub("function"), text); ok {
			a.Function = name
			var names []string
			if info, known, names = r.o.Resolver.Builtin(name); !known {
				r.report(fn.at, "%s: there is no function %s%s", o.sub("function"), quote(fn.shown), r.plugHint(name, names, fn))
			}
		}
	default:
		if name, ok := read(r, pn, o.sub("plugin"), text); ok {
			a.Plugin = name
			info, known = r.pluginAs(AggregateKind, pn, o.sub("plugin"))
		}
	}
	what := "function " + a.Function
	if a.Plugin != "" {
		what = "plug-in " + a.Plugin
	}
	before := len(r.problems)
	var kinds []stream.Kind
	a.Columns, kinds = r.columns(o, "columns", what, "name a field of the record", info.Inputs, known, from)
	a.Args = r.args(o, what, info, known)
	o.close()
	switch {
	case !known || len(r.problems) > before || len(kinds) != len(info.Inputs):
	case a.Plugin != "":
		a.outputs, a.AnyOrder, a.Fixed = info.Outputs, info.OrderInsensitive, info.Fixed
	default:
		bound, err := r.o.Resolver.Bind(a.Function, kinds, a.Args)
		if err != nil {
			r.report(fn.at, "%s: %v", path, err)
		}
		a.outputs, a.AnyOrder, a.Fixed = bound.Outputs, bound.OrderInsensitive, bound.Fixed
	}
	return a
}

// plugHint helps with a function that does not exist; plug-ins are named elsewhere.
func (r *reader) plugHint(name string, names []string, n *node) string {
	for _, p := range r.plugins {
		if p.Name == name {
			p.used = true
			return fmt.Sprintf("; it is a plug-in: say {plugin: %s}", quote(n.shown))
		}
	}
	if n.filled {
		return ""
	}
	return hint(name, names)
}

func (r *reader) markUsed(n *node) *pluginSpec {
	for _, p := range r.plugins {
		if p.Name == n.text {
			p.used = true
			return p
		}
	}
	return nil
}

// fields are those that an aggregate has in the results of its step.
func (a *aggregateSpec) fields() []stream.Field {
	fields := slices.Clone(a.outputs)
	for i := range fields {
		if len(fields) > 1 {
			fields[i].Name = a.Name + "." + fields[i].Name
		} else {
			fields[i].Name = a.Name
		}
	}
	return fields
}

// columns binds a function's inputs to fields of from, in the order of the inputs, as the
// mapping under a key says. kinds are those of the fields, as far as all are known; fix
// says what to name for one that is missing.
func (r *reader) columns(o *object, key, what, fix string, inputs []Input, known bool, from *shape) (out []Column, kinds []stream.Kind) {
	n := o.get(key)
	if !known || dropped(n) {
		return nil, nil
	}
	path := o.sub(key)
	switch {
	case len(inputs) == 0 && n != nil:
		r.report(n.key, "%s has no effect: %s reads no column", path, what)
		return nil, nil
	case len(inputs) > 0 && n == nil:
		pairs := make([]string, len(inputs))
		for i, in := range inputs {
			pairs[i] = in.Name + ": a field"
		}
		r.report(o.at, "%s is missing; %s reads {%s}", path, what, strings.Join(pairs, ", "))
		return nil, nil
	case n == nil:
		return nil, nil
	}
	c := r.object(n, path, join(o.pattern, key), n.key)
	if c.n == nil {
		return nil, nil
	}
	for _, in := range inputs {
		c.need(in.Name, fmt.Sprintf("%s reads it; %s", what, fix))
		name, fn := scalar(c, in.Name, text)
		if fn == nil {
			continue
		}
		f := r.field(fn.at, c.sub(in.Name), fn, from)
		if f == nil {
			continue
		}
		switch {
		case f.Kind == 0: // reported
		case f.Kind == stream.JSON:
			r.noList(fn, c.sub(in.Name), from)
		case len(in.Kinds) > 0 && !slices.Contains(in.Kinds, f.Kind):
			takes := make([]string, len(in.Kinds))
			for i, k := range in.Kinds {
				takes[i] = k.String()
			}
			r.report(fn.at, "%s: %s takes %s, and %s is %s in %s",
				c.sub(in.Name), what, either(takes), quote(fn.shown), f.Kind, from.what)
		default:
			kinds = append(kinds, f.Kind)
		}
		out = append(out, Column{Input: in.Name, Field: name})
	}
	c.close()
	return out, kinds
}

// args checks the parameters of a function and fills in its defaults. A parameter
// with neither value nor default is left out.
func (r *reader) args(o *object, what string, info FunctionInfo, known bool) []Arg {
	n := o.get("args")
	if !known || dropped(n) {
		return nil
	}
	path := o.sub("args")
	if n != nil && len(info.Params) == 0 {
		r.report(n.key, "%s has no effect: %s takes no arguments", path, what)
		return nil
	}
	at := o.at
	if n != nil {
		at = n.key
	}
	c := r.object(n, path, join(o.pattern, "args"), at)
	var out []Arg
	for _, p := range info.Params {
		if c.n.find(p.Name) == nil {
			c.get(p.Name)
			switch {
			case p.Required:
				r.report(at, "%s is missing; %s needs it, of type %s", c.sub(p.Name), what, p.Kind)
			case p.Default.Kind != 0:
				d := p.Default
				d.Name = p.Name
				out = append(out, d)
				r.note(c.sub(p.Name), d.String(), place{})
			}
			continue
		}
		if p.List {
			if list := r.numbers(c, p); list != nil {
				out = append(out, Arg{Name: p.Name, Kind: p.Kind, List: list})
			}
			continue
		}
		if a, an := scalar(c, p.Name, argument(p)); an != nil {
			a.Name = p.Name
			out = append(out, a)
		}
	}
	c.close()
	return out
}

// numbers reads an argument that is a list of different numbers. It returns nil for a
// list that it reported.
func (r *reader) numbers(o *object, p Param) []float64 {
	n, path := o.get(p.Name), o.sub(p.Name)
	switch {
	case dropped(n):
		return nil
	case n.kind != sequenceNode:
		r.report(n.at, "%s must be a list of numbers, is %s", path, n.describe())
		return nil
	case len(n.items) == 0 || len(n.items) > maxList:
		r.report(n.at, "%s must have 1 to %d numbers, has %d", path, maxList, len(n.items))
		return nil
	}
	p.List = false
	var list []float64
	var shown []string
	for _, item := range n.items {
		if dropped(item) {
			continue
		}
		if item.kind != scalarNode {
			r.report(item.at, "%s must be a list of numbers, and holds %s", path, item.describe())
			continue
		}
		a, wrong := argument(p)(item)
		switch {
		case wrong != "":
			r.report(item.at, "an entry of %s %s", path, wrong)
		case slices.Contains(list, a.Float):
			r.report(item.at, "%s names %s twice", path, quote(item.shown))
		default:
			list = append(list, a.Float)
			shown = append(shown, item.shown)
		}
	}
	if len(list) < len(n.items) {
		return nil
	}
	r.note(path, "["+strings.Join(shown, ", ")+"]", n.at)
	return list
}

func argument(p Param) func(*node) (Arg, string) {
	return func(n *node) (Arg, string) {
		a := Arg{Kind: p.Kind}
		var wrong string
		switch p.Kind {
		case stream.Int64:
			var v int
			lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
			if p.Min != 0 || p.Max != 0 {
				lo, hi = int64(p.Min), int64(p.Max)
			}
			v, wrong = integer(lo, hi)(n)
			a.Int = int64(v)
		case stream.Float64:
			v, err := strconv.ParseFloat(n.text, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || n.tag == "!!str" && !n.filled {
				wrong = "must be a number, is " + n.describe()
			} else if (p.Min != 0 || p.Max != 0) && (v < p.Min || v > p.Max) {
				wrong = fmt.Sprintf("must be between %v and %v, is %s", p.Min, p.Max, quote(n.shown))
			}
			a.Float = v
		case stream.Bool:
			a.Bool, wrong = boolean(n)
		case stream.String:
			if n.tag == "!!str" || n.filled { // empty text is an argument like others
				a.Str = n.text
			} else {
				a.Str, wrong = text(n)
			}
		default:
			wrong = fmt.Sprintf("is of type %s, which job files cannot write", p.Kind)
		}
		return a, wrong
	}
}

// String returns the value as a job file would write it.
func (a Arg) String() string {
	if a.List != nil {
		texts := make([]string, len(a.List))
		for i, v := range a.List {
			texts[i] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	switch a.Kind {
	case stream.Int64:
		return strconv.FormatInt(a.Int, 10)
	case stream.Float64:
		return strconv.FormatFloat(a.Float, 'g', -1, 64)
	case stream.Bool:
		return strconv.FormatBool(a.Bool)
	}
	return strconv.Quote(a.Str)
}
