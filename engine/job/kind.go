package job

import "fmt"

// Kind is what a plug-in is, and so where it may stand in a job.
type Kind uint8

// The kinds. Built-in functions are aggregates.
const (
	AggregateKind Kind = iota
	ProcessKind
	PairKind
	MapKind
	GeneratorKind
	TriggerKind
	AssignerKind
)

// kindTexts says for people what a kind is and where its plug-ins stand; %s is the name of
// one.
var kindTexts = [...]struct{ what, where string }{
	AggregateKind: {"an aggregate", "in aggregates: {%s: {plugin: %[1]s, …}}"},
	ProcessKind:   {"a process function", "beside aggregates: process: {plugin: %s, …}"},
	PairKind:      {"a pair function", "beside from: {join: …}: apply: {plugin: %s, …}"},
	MapKind:       {"a function of single records", "in a step without a window: map: {plugin: %s, …}"},
	GeneratorKind: {"a watermark generator", "in a source: watermark: {plugin: %s, …}"},
	TriggerKind:   {"a trigger", "in a step with a window: trigger: {plugin: %s, …}"},
	AssignerKind:  {"a window assigner", "in a step: window: {plugin: %s, …}"},
}

// pluginAs finds the plug-in that n names, which must be of a kind, or reports that there is
// none, or that it stands elsewhere.
func (r *reader) pluginAs(kind Kind, n *node, path string) (info FunctionInfo, known bool) {
	if info, known = r.pluginOf(n, path); !known || info.Kind == kind {
		return info, known
	}
	k := kindTexts[info.Kind]
	name := quote(n.shown)
	r.report(n.at, "%s: plug-in %s is %s; it stands %s", path, name, k.what, fmt.Sprintf(k.where, name))
	return info, false
}
