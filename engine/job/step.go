package job

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/engine/stream"
)

// stepSpec is a step of the job file.
type stepSpec struct {
	Step
	at   place // its name
	from *node // from, if it names something
	read bool  // a sink reads its results
}

// step reads
//
//	per_merchant:
//	  from: orders
//	  key: [merchant]
//	  window: {tumbling: 10s, allowed_lateness: 30s}
//	  aggregates: {orders: {function: count}}
func (r *reader) step(e entry) *stepSpec {
	s := &stepSpec{at: e.value.key}
	s.ID = e.key
	if dropped(e.value) {
		s.read = true
		return s
	}
	o := r.object(e.value, "steps."+e.key, "steps.*", e.value.key)
	o.need("from", "say which source it reads")
	src := r.input(s, o)
	r.key(s, o, src)
	o.need("window", "say a window such as {tumbling: 10s}")
	if w := o.child("window"); w.n != nil {
		r.window(s, w)
	}
	o.need("aggregates", "say what is computed, such as {orders: {function: count}}")
	aggs := o.child("aggregates")
	entries := aggs.names("field of value", maxAggregates)
	if aggs.n != nil && len(entries) == 0 {
		r.report(aggs.at, "%s is empty; say what is computed, such as {orders: {function: count}}", aggs.path)
	}
	for _, a := range entries {
		s.Aggregates = append(s.Aggregates, r.aggregate(a, aggs, src))
	}
	s.OnError, _ = scalar(o, "on_error", choice(failStep, DeadLetter))
	o.close()
	return s
}

// input finds what a step reads. It returns nil if that is not a source, and then
// something was reported.
func (r *reader) input(s *stepSpec, o *object) *sourceSpec {
	n := o.get("from")
	if n == nil || dropped(n) {
		return nil
	}
	path := o.sub("from")
	if n.kind != scalarNode {
		r.report(n.at, "%s must be the name of one source, is %s", path, n.describe())
		return nil
	}
	name, ok := read(r, n, path, text)
	if !ok {
		return nil
	}
	s.From, s.from = []string{name}, n
	for _, src := range r.sources {
		if src.ID == name {
			src.used = true
			return src
		}
	}
	return nil // reported by lint, which knows all steps
}

func (r *reader) key(s *stepSpec, o *object, src *sourceSpec) {
	n := o.n.find("key")
	for _, item := range o.textList("key", maxKeyFields) {
		if r.field(item.at, o.sub("key"), item, src) != nil {
			s.Key = append(s.Key, item.text)
		}
	}
	switch {
	case n == nil:
		s.Parallelism, s.NullKey = 1, keepNull
		if pn := o.n.find("parallelism"); pn != nil && pn.text != "1" {
			o.without("parallelism", "without a key all records form one group, which one task computes")
		} else {
			o.get("parallelism")
			r.note(o.sub("parallelism"), "1", place{})
		}
		o.without("null_key", "the step has no key")
		return
	case n.kind == sequenceNode && len(n.items) == 0:
		r.report(n.at, "%s is empty; leave it out to compute over all keys", o.sub("key"))
	}
	if o.n.find("parallelism") == nil {
		o.get("parallelism")
		s.Parallelism = r.g.Parallelism
		r.note(o.sub("parallelism"), r.parallelism.shown, r.parallelism.at)
	} else {
		s.Parallelism, _ = scalar(o, "parallelism", integer(1, int64(r.g.MaxParallelism)))
	}
	s.NullKey, _ = scalar(o, "null_key", choice(keepNull, Drop))
}

// field finds a field of a step's input, or reports that there is none. It returns
// nil without a report where the input itself was reported.
func (r *reader) field(at place, path string, n *node, src *sourceSpec) *Field {
	if src == nil {
		return nil
	}
	var names []string
	for i := range src.Schema {
		if src.Schema[i].Name == n.text {
			return &src.Schema[i]
		}
		names = append(names, src.Schema[i].Name)
	}
	if !src.whole {
		return nil
	}
	fix := hint(n.text, names)
	if n.filled { // what a variable holds may be a secret, and so may what is close to it
		fix = ""
	}
	if closest(n.text, names) == "" {
		fix = "; add it there with its type" + fix
	}
	r.report(at, "%s: %s is not in the schema of source %s%s", path, quote(n.shown), src.ID, fix)
	return nil
}

func (r *reader) window(s *stepSpec, o *object) {
	s.Window = &Window{Kind: Tumbling, Time: EventTime}
	o.need("tumbling", "it is the kind of window there is: {tumbling: 10s} or {tumbling: {size: 1d, offset: 6h}}")
	n := o.n.find("tumbling")
	c := o.r.object(nil, o.sub("tumbling"), "steps.*.window.tumbling", o.at)
	var size *node
	switch {
	case n == nil, dropped(n):
		o.get("tumbling")
	case n.kind == mappingNode:
		c = o.child("tumbling")
		c.need("size", "say how long a window is, such as 10s")
		s.Window.Size, size = scalar(c, "size", duration(durationRule{}))
	default:
		s.Window.Size, size = scalar(o, "tumbling", duration(durationRule{}))
	}
	if n != nil && !dropped(n) {
		offset, on := scalar(c, "offset", duration(durationRule{zero: true, negative: true}))
		s.Window.Offset = offset
		if size != nil && on != nil && offset.Abs() >= s.Window.Size {
			r.report(on.at, "%s must be less than the size, which is %s, is %s", c.sub("offset"), quote(size.shown), quote(on.shown))
		}
		c.close()
	}
	s.AllowedLateness, _ = scalar(o, "allowed_lateness", duration(durationRule{zero: true}))
	o.close()
}

func (r *reader) aggregate(e entry, parent *object, src *sourceSpec) Aggregate {
	a := Aggregate{Name: e.key}
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
			if p := r.markUsed(pn); p != nil {
				info, known = p.info, p.found
			} else {
				var names []string
				for _, p := range r.plugins {
					names = append(names, p.Name)
				}
				fix := hint(name, names)
				if len(names) == 0 {
					fix = fmt.Sprintf("; declare it: plugins: {%s: {file: %s.wasm}}", quote(pn.shown), quote(pn.shown))
				}
				r.report(pn.at, "%s: there is no plug-in %s%s", o.sub("plugin"), quote(pn.shown), fix)
			}
		}
	}
	what := "function " + a.Function
	if a.Plugin != "" {
		what = "plug-in " + a.Plugin
	}
	a.Columns = r.columns(o, what, info, known, src)
	a.Args = r.args(o, what, info, known)
	o.close()
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

// columns binds a function's inputs to fields, in the order of its inputs.
func (r *reader) columns(o *object, what string, info FunctionInfo, known bool, src *sourceSpec) []Column {
	n := o.get("columns")
	if !known || dropped(n) {
		return nil
	}
	path := o.sub("columns")
	var inputs []string
	for _, in := range info.Inputs {
		inputs = append(inputs, in.Name)
	}
	switch {
	case len(inputs) == 0 && n != nil:
		r.report(n.key, "%s has no effect: %s reads no column", path, what)
		return nil
	case len(inputs) > 0 && n == nil:
		pairs := make([]string, len(inputs))
		for i, in := range inputs {
			pairs[i] = in + ": a field"
		}
		r.report(o.at, "%s is missing; %s reads {%s}", path, what, strings.Join(pairs, ", "))
		return nil
	case n == nil:
		return nil
	}
	c := r.object(n, path, "steps.*.aggregates.*.columns", n.key)
	if c.n == nil {
		return nil
	}
	var out []Column
	for _, in := range info.Inputs {
		c.need(in.Name, fmt.Sprintf("%s reads it; name a field of the record", what))
		name, fn := scalar(c, in.Name, text)
		if fn == nil {
			continue
		}
		f := r.field(fn.at, c.sub(in.Name), fn, src)
		if f == nil {
			continue
		}
		if f.Kind != 0 && len(in.Kinds) > 0 && !slices.Contains(in.Kinds, f.Kind) {
			kinds := make([]string, len(in.Kinds))
			for i, k := range in.Kinds {
				kinds[i] = k.String()
			}
			r.report(fn.at, "%s: %s takes %s, and %s is %s in the schema of source %s",
				c.sub(in.Name), what, either(kinds), quote(fn.shown), f.Kind, src.ID)
		}
		out = append(out, Column{Input: in.Name, Field: name})
	}
	c.close()
	return out
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
	c := r.object(n, path, "steps.*.aggregates.*.args", at)
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
