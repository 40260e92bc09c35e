package job

import (
	"fmt"
	"slices"

	"tidemark/engine/stream"
)

// shape is what is known of the records that a step reads or makes: their fields with
// their kinds, in order.
type shape struct {
	what   string // for messages: "the schema of source orders"
	fix    string // what to do about a field that is not there, beside a likely name
	fields []stream.Field
	// whole: these are all fields. Otherwise something was reported that hides others,
	// and a field that is not here is no mistake.
	whole bool
}

// Fields of the results of a window, beside its key and its aggregates.
const (
	windowStart = "window_start"
	windowEnd   = "window_end"
)

// shape describes the records of a source.
func (s *sourceSpec) shape() *shape {
	out := &shape{what: "the schema of source " + s.ID, fix: "; add it there with its type", whole: s.whole}
	for i := range s.Schema {
		out.fields = append(out.fields, stream.Field{Name: s.Schema[i].Name, Kind: s.Schema[i].Kind})
	}
	return out
}

// find returns a field by name, or nil.
func (s *shape) find(name string) *stream.Field {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.fields, func(f stream.Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &s.fields[i]
}

func (s *shape) names() []string {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].Name
	}
	return names
}

// add appends a field, or gives one of its name another kind.
func (s *shape) add(f stream.Field) {
	if old := s.find(f.Name); old != nil {
		old.Kind = f.Kind
		return
	}
	s.fields = append(s.fields, f)
}

// twice returns the first name that two fields have, or "". Another step could not say
// which of the two it means.
func (s *shape) twice() string {
	for i, f := range s.fields {
		if slices.ContainsFunc(s.fields[:i], func(g stream.Field) bool { return g.Name == f.Name }) {
			return f.Name
		}
	}
	return ""
}

// field finds a field, or reports that there is none. It returns nil without a report
// where it cannot be known. A field of kind 0 was reported where it is declared.
func (r *reader) field(at place, path string, n *node, from *shape) *stream.Field {
	if f := from.find(n.text); f != nil || from == nil || !from.whole {
		return f
	}
	names := from.names()
	fix := hint(n.text, names)
	if n.filled { // what a variable holds may be a secret, and so may what is close to it
		fix = ""
	}
	if closest(n.text, names) == "" {
		fix = from.fix + fix
	}
	r.report(at, "%s: %s is not in %s%s", path, quote(n.shown), from.what, fix)
	return nil
}

// scalarField is field for a place that takes single values. It returns nil for a list.
func (r *reader) scalarField(at place, path string, n *node, from *shape) *stream.Field {
	f := r.field(at, path, n, from)
	if f != nil && f.Kind == stream.JSON {
		r.noList(n, path, from)
		return nil
	}
	return f
}

func (r *reader) noList(n *node, path string, from *shape) {
	r.report(n.at, "%s: %s is a list in %s, which can only be passed on", path, quote(n.shown), from.what)
}

// number reads the name of a field that holds numbers of one of these kinds.
func (r *reader) number(o *object, key string, from *shape, kinds ...stream.Kind) string {
	name, n := scalar(o, key, text)
	if n == nil {
		return ""
	}
	f := r.scalarField(n.at, o.sub(key), n, from)
	if f != nil && f.Kind != 0 && !slices.Contains(kinds, f.Kind) {
		takes := make([]string, len(kinds))
		for i, k := range kinds {
			takes[i] = k.String()
		}
		r.report(n.at, "%s must be of type %s, and %s is %s in %s", o.sub(key), either(takes), quote(n.shown), f.Kind, from.what)
	}
	return name
}

// expression checks an expression over the fields of from. kind is 0 if it was
// reported, or the fields are not all known.
func (r *reader) expression(n *node, path string, from *shape, want stream.Kind) (src string, kind stream.Kind) {
	src, ok := read(r, n, path, text)
	if !ok || from == nil || !from.whole {
		return src, 0
	}
	fields := slices.DeleteFunc(slices.Clone(from.fields), func(f stream.Field) bool { return f.Kind == stream.JSON })
	kind, err := r.o.Resolver.Expr(src, fields)
	switch {
	case err != nil && n.filled: // the message may show a part of what the variable holds
		r.report(n.at, "%s: the expression %s is not valid once its variables are filled in", path, quote(n.shown))
		return src, 0
	case err != nil:
		r.report(n.at, "%s: %v", path, err)
		return src, 0
	case want != 0 && kind != want:
		r.report(n.at, "%s must be %s, is %s: %s", path, kindWord(want), kind, quote(n.shown))
		return src, 0
	}
	return src, kind
}

func kindWord(k stream.Kind) string {
	if k == stream.Bool {
		return "true or false"
	}
	return fmt.Sprintf("of type %s", k)
}
