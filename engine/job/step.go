package job

import (
	"tidemark/engine/stream"
)

// stepSpec is a step of the job file.
type stepSpec struct {
	Step
	at     place // its name
	o      *object
	join   *object // from.join
	inputs []*node // what it reads, where it is named; with Step.From
	read   bool    // a sink or a step reads its results
	notes  []Setting

	out *shape // its results; nil: not known

	aggregates []aggregateSpec
	process    *object

	trigger, evictor, windowAt place
}

// declare begins to read a step: what it reads, which tells in which order steps can be
// checked.
func (r *reader) declare(e entry) *stepSpec {
	s := &stepSpec{at: e.value.key}
	s.ID = e.key
	if dropped(e.value) {
		s.read = true
		return s
	}
	o := r.object(e.value, "steps."+e.key, "steps.*", e.value.key)
	s.o = o
	r.noting(s, func() { r.origin(s, o) })
	return s
}

// noting lists what f reads with the step, so that settings stand in the order of the
// job file, whatever the order in which steps are checked.
func (r *reader) noting(s *stepSpec, f func()) {
	outer := r.effective
	r.effective = s.notes
	f()
	s.notes, r.effective = r.effective, outer
}

// step reads the rest of
//
//	per_merchant:
//	  from: orders
//	  filter: amount > 0.0
//	  derive: {net: amount * 0.9}
//	  project: [merchant, net]
//	  key: [merchant]
//	  window: {tumbling: 10s, allowed_lateness: 30s}
//	  aggregates: {orders: {function: count}}
//
// All that it reads has been read.
func (r *reader) step(s *stepSpec) {
	o := s.o
	if o == nil {
		return
	}
	o.known = []string{"from", "filter", "derive", "map", "project", "key", "window", "trigger", "evictor", "aggregates", "process", "apply", "on_error", "null_key", "hot_keys", "parallelism", "accept_cost"}
	has := func(key string) bool { return o.n.find(key) != nil }
	computes := has("filter") || has("derive") || has("map") || has("project")
	switch {
	case s.Join != nil:
		r.joining(s, o)
	case !has("window") && !has("aggregates") && !has("process") && (computes || len(s.From) > 1):
		r.stateless(s, o)
	default:
		r.windowed(s, o)
	}
	if s.Join == nil {
		o.without("apply", "it makes rows of the pairs of a join, and the step joins nothing")
	}
	r.errors(s, o)
	o.close()
}

// stateless reads a step that passes records on, one by one.
func (r *reader) stateless(s *stepSpec, o *object) {
	in := r.united(s)
	switch {
	case o.n.find("map") == nil:
		s.out = r.compute(s, o, in)
	case o.n.find("project") == nil:
		s.out = r.mapping(s, o, in)
	default:
		s.out = r.project(s, o, r.mapping(s, o, in))
	}
	const why = "the step has neither a window nor aggregates, so it passes records on one by one"
	for _, key := range []string{"key", "null_key", "hot_keys", "trigger", "evictor", "accept_cost"} {
		o.without(key, why)
	}
	o.without("parallelism", "a step without a window runs in the tasks of what it reads")
	s.Parallelism, s.NullKey = 1, keepNull
}

// windowed reads a step that computes something of the records of each window.
func (r *reader) windowed(s *stepSpec, o *object) {
	in := r.compute(s, o, r.united(s))
	if n := o.n.find("map"); n != nil {
		r.report(n.key, "%s stands beside a window; put it into a step of its own, which this one reads", o.sub("map"))
		in = r.mapping(s, o, in)
	}
	r.key(s, o, in)
	o.need("window", "say a window such as {tumbling: 10s}")
	known := r.grouping(s, o, in)
	if o.n.find("process") == nil {
		o.need("aggregates", "say what is computed, such as {orders: {function: count}}")
	}
	aggs := o.child("aggregates")
	entries := aggs.names("field of value", maxAggregates)
	if aggs.n != nil && len(entries) == 0 {
		r.report(aggs.at, "%s is empty; say what is computed, such as {orders: {function: count}}", aggs.path)
	}
	for _, e := range entries {
		a := r.aggregate(e, aggs, in)
		s.aggregates = append(s.aggregates, a)
		s.Aggregates = append(s.Aggregates, a.Aggregate)
	}
	s.out = r.firing(s, in)
	if o.n.find("process") != nil {
		info, known := r.process(s, o, s.out, in)
		if known && len(info.Process.Lists) == 0 && aggs.n == nil {
			o.need("aggregates", "the process function does not look at records, so it needs what aggregates make of them, such as {orders: {function: count}}")
		}
		s.out = r.processed(s, s.out)
	}
	s.uses(in)
	s.out.what, s.out.fix = "the results of step "+s.ID, ""
	r.bounds(s)
	if known && s.out.whole {
		r.cost(s, o)
	}
}

// results begins the shape of a step with its key.
func (r *reader) results(s *stepSpec, in *shape) *shape {
	out := &shape{what: "the results of step " + s.ID, whole: true}
	for _, name := range s.Key {
		f := in.find(name)
		if f == nil {
			out.whole = false
			continue
		}
		out.fields = append(out.fields, *f)
	}
	return out
}

// bounds ends the shape of a step with the bounds of the window.
func (r *reader) bounds(s *stepSpec) {
	if s.Window == nil {
		return
	}
	for _, name := range []string{windowStart, windowEnd} {
		s.out.fields = append(s.out.fields, stream.Field{Name: name, Kind: stream.Timestamp})
	}
}

// compute reads filter, derive and project, and returns the records that come of them.
func (r *reader) compute(s *stepSpec, o *object, in *shape) *shape {
	if n := o.get("filter"); n != nil {
		s.Filter, _ = r.expression(n, o.sub("filter"), in, stream.Bool)
	}
	out := in
	d := o.child("derive")
	if d.n != nil && len(d.n.entries) == 0 {
		r.report(d.at, "%s is empty; say {name: expression}, or leave it out", d.path)
	}
	entries := d.names("derived field", maxFields)
	if len(entries) > 0 && in != nil {
		copied := *in
		copied.fields = append([]stream.Field(nil), in.fields...)
		out = &copied
	}
	for _, e := range entries {
		src, kind := r.expression(e.value, d.sub(e.key), in, 0)
		s.Derive = append(s.Derive, Derived{Name: e.key, Expr: src})
		if out == nil {
			continue
		}
		out.whole = out.whole && kind != 0
		out.add(stream.Field{Name: e.key, Kind: kind})
	}
	if out != nil && len(out.fields) > maxFields {
		r.report(d.at, "%s makes %d fields, at most %d are taken", d.path, len(out.fields), maxFields)
	}
	if o.n.find("project") == nil {
		o.get("project")
		return out
	}
	return r.project(s, o, out)
}

// project reads the fields that are kept.
func (r *reader) project(s *stepSpec, o *object, in *shape) *shape {
	path := o.sub("project")
	out := &shape{what: "the fields that " + path + " keeps", fix: "; add it there", whole: in != nil && in.whole}
	items := o.textList("project", maxFields)
	for _, item := range items {
		s.Project = append(s.Project, item.text)
		if f := r.field(item.at, path, item, in); f != nil {
			out.fields = append(out.fields, *f)
		} else {
			out.whole = false
		}
	}
	n := o.n.find("project")
	if n.kind == sequenceNode && len(n.items) == 0 {
		r.report(n.at, "%s is empty; name the fields to keep, or leave it out to keep all", path)
	}
	if len(items) == 0 {
		return nil
	}
	for _, d := range s.Derive {
		if out.find(d.Name) == nil && out.whole {
			r.report(o.n.find("derive").find(d.Name).key, "%s has no effect: %s does not keep it", o.sub("derive."+d.Name), path)
		}
	}
	return out
}

// key reads the fields that group records, and how many tasks share the groups.
func (r *reader) key(s *stepSpec, o *object, in *shape) {
	n := o.n.find("key")
	for _, item := range o.textList("key", maxKeyFields) {
		if r.scalarField(item.at, o.sub("key"), item, in) != nil {
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
		o.without("hot_keys", "the step has no key; those that send to it add up all records where they can")
		return
	case n.kind == sequenceNode && len(n.items) == 0:
		r.report(n.at, "%s is empty; leave it out to compute over all keys", o.sub("key"))
	}
	r.tasks(s, o)
	s.HotKeys, _ = scalar(o, "hot_keys", integer(1, maxHotKeys))
}

// tasks reads what a step with a key has: a number of tasks, and a way with nulls.
func (r *reader) tasks(s *stepSpec, o *object) {
	if o.n.find("parallelism") == nil {
		o.get("parallelism")
		s.Parallelism = r.g.Parallelism
		r.note(o.sub("parallelism"), r.parallelism.shown, r.parallelism.at)
	} else {
		s.Parallelism, _ = scalar(o, "parallelism", integer(1, int64(r.g.MaxParallelism)))
	}
	s.NullKey, _ = scalar(o, "null_key", choice(keepNull, Drop))
}

// grouping reads window, trigger and evictor, and returns whether they are known.
func (r *reader) grouping(s *stepSpec, o *object, in ...*shape) bool {
	if w := o.child("window"); w.n != nil {
		s.windowAt = w.at
		r.window(s, w, in)
	}
	if n := o.get("trigger"); n != nil {
		s.trigger = n.key
		r.stepTrigger(s, o, n, in)
	}
	if n := o.get("evictor"); n != nil {
		s.evictor = n.key
		if e := o.child("evictor"); e.n != nil {
			r.stepEvictor(s, e, in)
		}
	}
	broken := s.Window == nil || o.n.find("trigger") != nil && s.Trigger == nil
	if !broken {
		r.lintGrouping(s)
	}
	return !broken
}

// errors reads what happens to a record that a function or an expression refuses.
func (r *reader) errors(s *stepSpec, o *object) {
	has := func(key string) bool { return o.n.find(key) != nil }
	passes := s.Join == nil && !has("process") && !has("window") && !has("aggregates") && !has("filter") && !has("derive") && !has("map") && (has("project") || len(s.From) > 1)
	pairs := s.Join != nil && !has("process") && !has("apply") && (s.Window == nil || s.Window.GapField == "" && s.Window.Plugin == "")
	if passes || pairs {
		o.without("on_error", "the step computes nothing that a record could fail in")
		s.OnError = failStep
		return
	}
	r.onError(s, o)
}
