package job

import (
	"fmt"
	"slices"

	"tidemark/engine/stream"
)

// watermark reads how a source tells how far event time is:
//
//	{out_of_orderness: 5s}
//	{ascending: true}
//	{marker: 'kind == "wm"', for_all: true}
//	{delay_field: lag_ms}
//	{plugin: heartbeats, columns: {kind: type}, args: {…}}
//	none
//
// and beside the kind: emit, idle_timeout, when_all_idle, align.
func (r *reader) watermark(s *sourceSpec, o *object) {
	w := &s.Watermark
	w.WhenAllIdle = HoldWhenAllIdle
	n := o.get("watermark")
	none := n != nil && n.kind == scalarNode && n.text == NoWatermark
	if w.Kind == IngestionWatermark {
		if none {
			r.report(n.at, "%s has no effect: with time: {ingestion: true} event time is the clock", o.sub("watermark"))
			return
		}
		r.ingestion(s, o.child("watermark"))
		return
	}
	o.need("watermark", "say how far records may be out of order: {out_of_orderness: 5s}")
	if n == nil {
		return
	}
	if none {
		w.Kind, _ = read(r, n, o.sub("watermark"), choice(NoWatermark))
		return
	}
	c := o.child("watermark")
	if c.n == nil {
		return
	}
	kinds := []string{"out_of_orderness", "ascending", "marker", "delay_field", "plugin"}
	if !slices.ContainsFunc(kinds, func(key string) bool { return c.n.find(key) != nil }) {
		c.need(kinds[0], "say how far behind the latest a record may be, such as 5s; 0s where time never goes back")
	}
	switch kind := c.one("", kinds...); kind {
	case "out_of_orderness":
		w.Kind = BoundedWatermark
		w.OutOfOrderness, _ = scalar(c, kind, duration(durationRule{zero: true}))
	case "ascending":
		w.Kind = AscendingWatermark
		c.only(kind)
	case "marker":
		w.Kind = MarkerWatermark
		w.Marker, _ = r.expression(c.get(kind), c.sub(kind), s.shape(), stream.Bool)
		w.MarkerForAll, _ = scalar(c, "for_all", boolean)
	case "delay_field":
		w.Kind = DelayWatermark
		if name := r.number(c, kind, s.shape(), stream.Int64); name != "" {
			w.DelayField, _ = s.fieldPath(name)
		}
	case "plugin":
		w.Kind = PluginWatermark
		var info FunctionInfo
		known := false
		var at *node
		if w.Plugin, at = scalar(c, kind, text); at != nil {
			info, known = r.pluginAs(GeneratorKind, at, c.sub(kind))
		}
		what := "plug-in " + w.Plugin
		w.Columns, _ = r.columns(c, "columns", what, "name a field of the schema", info.Inputs, known, s.shape())
		w.Args = r.args(c, what, info, known)
	}
	if w.Kind != MarkerWatermark {
		c.without("for_all", "it is for markers")
	}
	for _, key := range []string{"columns", "args"} {
		switch {
		case w.Kind == PluginWatermark:
		case c.n.find("plugin") != nil: // beside another kind, which was reported
			c.get(key)
		default:
			c.without(key, "it is for plug-ins")
		}
	}
	r.idleness(s, c)
	if w.Kind == MarkerWatermark {
		c.without("emit", "a marker moves time when it is read")
		w.Emit = Emit{Record: true}
	} else {
		r.emission(s, c)
	}
	r.align(s, c)
	c.close()
}

// ingestion reads what is left to say where the clock gives the time.
func (r *reader) ingestion(s *sourceSpec, o *object) {
	const why = "with time: {ingestion: true} event time is the clock"
	for _, key := range []string{"out_of_orderness", "ascending", "marker", "for_all", "delay_field", "plugin", "columns", "args", "idle_timeout", "when_all_idle", "align"} {
		o.without(key, why)
	}
	r.emission(s, o)
	o.close()
}

func (r *reader) idleness(s *sourceSpec, o *object) {
	w := &s.Watermark
	if s.Bounded() {
		const why = "the input is bounded: it ends instead of falling idle"
		o.without("idle_timeout", why)
		o.without("when_all_idle", why)
		return
	}
	w.IdleTimeout, _ = scalar(o, "idle_timeout", duration(durationRule{off: true}))
	if n := o.n.find("idle_timeout"); n != nil && n.text == "off" {
		o.without("when_all_idle", "with idle_timeout: off no split falls idle")
		return
	}
	var n *node
	w.WhenAllIdle, n = scalar(o, "when_all_idle", choice(HoldWhenAllIdle, AdvanceWhenAllIdle))
	if w.WhenAllIdle == AdvanceWhenAllIdle && w.Kind != BoundedWatermark && w.Kind != AscendingWatermark {
		r.report(n.at, "%s: time goes on up to the clock less the bound, so advance needs out_of_orderness or ascending (S16a)", o.sub("when_all_idle"))
	}
}

func (r *reader) emission(s *sourceSpec, o *object) {
	w := &s.Watermark
	if n := o.n.find("emit"); n != nil && n.kind == mappingNode {
		e := o.child("emit")
		e.need("every", "say {every: 100}, or record, or a duration such as 200ms")
		w.Emit.Every, _ = scalar(e, "every", integer(1, maxEmitEvery))
		e.close()
	} else {
		w.Emit, s.emit = scalar(o, "emit", emission)
	}
}

func emission(n *node) (Emit, string) {
	if n.text == "record" {
		return Emit{Record: true}, ""
	}
	d, wrong := duration(durationRule{})(n)
	if wrong != "" {
		return Emit{}, fmt.Sprintf("must be record, a duration such as 200ms, or {every: 100}, is %s", n.describe())
	}
	return Emit{Period: d}, ""
}

// align reads the group of a source (S22).
func (r *reader) align(s *sourceSpec, o *object) {
	n := o.get("align")
	if n == nil {
		return
	}
	c := o.child("align")
	if c.n == nil {
		return
	}
	s.align = n
	a := &Align{}
	c.need("group", "name the sources that stay near each other in event time: the same word in each")
	c.need("max_drift", "say how far one may be ahead of the slowest, such as 1m")
	var gn *node
	if a.Group, gn = scalar(c, "group", text); gn != nil {
		r.checkName(gn.at, "group", a.Group)
	}
	a.MaxDrift, _ = scalar(c, "max_drift", duration(durationRule{zero: true}))
	a.Update, _ = scalar(c, "update", duration(durationRule{}))
	c.close()
	s.Watermark.Align = a
}

// lintAlign: members of a group agree, and there is something to align.
func (r *reader) lintAlign() {
	followed := false
	for _, s := range r.sources {
		followed = followed || !s.Bounded()
	}
	first := map[string]*sourceSpec{}
	members := map[string]int{}
	for _, s := range r.sources {
		a := s.Watermark.Align
		if a == nil || a.Group == "" {
			continue
		}
		path := "sources." + s.ID + ".watermark.align"
		if !followed {
			r.report(s.align.key, "%s has no effect: all inputs are bounded, and an ordered replay reads them side by side anyway", path)
			continue
		}
		members[a.Group]++
		switch f := first[a.Group]; {
		case f == nil:
			first[a.Group] = s
		case f.Watermark.Align.MaxDrift != a.MaxDrift:
			r.report(s.align.key, "%s.max_drift is %s, and %s in source %s; a group has one", path, FormatDuration(a.MaxDrift),
				FormatDuration(f.Watermark.Align.MaxDrift), f.ID)
		case f.Watermark.Align.Update != a.Update:
			r.report(s.align.key, "%s.update is %s, and %s in source %s; a group has one", path, FormatDuration(a.Update),
				FormatDuration(f.Watermark.Align.Update), f.ID)
		}
	}
	for _, s := range r.sources {
		if a := s.Watermark.Align; a != nil && followed && members[a.Group] == 1 && !s.File.Glob {
			r.report(s.align.key, "sources.%s.watermark.align has no effect: nothing else is in group %s, and the source is one file", s.ID, a.Group)
		}
	}
}
