package job

import (
	"fmt"
	"slices"
	"time"

	"tidemark/engine/stream"
)

const (
	// maxOverlap bounds the windows that hold one record (S32).
	maxOverlap = 10_000_000
	// cheapOverlap is how many callbacks a record may cost without a word (L7): with more
	// a step is a hundred times slower than one with few, and nobody would know why.
	cheapOverlap = 256
	// maxWindowRecords bounds a count window: it holds one of its records in memory each.
	maxWindowRecords = 1 << 30
)

// window reads
//
//	{tumbling: 10s}, {tumbling: {size: 1d, offset: 6h}}
//	{sliding: {size: 1h, slide: 1s, offset: 0s}}
//	{session: 30m}, {session: {gap_field: gap_ms}}
//	{day: Asia/Shanghai}
//	{count: 100}, {count: {size: 100, slide: 10}}
//	{global: {}}
//	{plugin: own_gap, columns: {gap_ms: patience}, args: {…}}
//
// and beside the kind, where they have a meaning, allowed_lateness and time.
func (r *reader) window(s *stepSpec, o *object, in []*shape) {
	const kinds = "must name a kind of window: tumbling, sliding, session, day, count, global or plugin, such as {tumbling: 10s}"
	kind := o.one(kinds, Tumbling, Sliding, Session, Day, Count, Global, PluginWindow)
	if dropped(o.n.find(kind)) {
		kind = ""
	}
	w := &Window{Kind: kind, Time: EventTime}
	switch kind {
	case Tumbling:
		r.tumbling(w, o)
	case Sliding:
		r.sliding(w, o)
	case Session:
		r.session(w, o, in)
	case Day:
		var c *object
		w.Zone, _, c = short(o, Day, "zone", "say a zone such as Asia/Shanghai", timeZone)
		c.close()
	case Count:
		r.counted(w, o)
	case Global:
		c := o.child(Global)
		if c.n != nil {
			r.note(c.path, "{}", c.at)
		}
		c.close()
	case PluginWindow:
		r.windowPlugin(s, w, o, in)
	}
	for _, key := range []string{"columns", "args"} {
		switch kind {
		case PluginWindow:
		case "":
			o.get(key)
		default:
			o.without(key, "it is for plug-ins")
		}
	}
	switch kind {
	case "":
		o.get("time")
		o.get("allowed_lateness")
		o.close()
		return
	case Tumbling, Sliding, Session:
		w.Time, _ = scalar(o, "time", choice(EventTime, ProcessingTime))
	case PluginWindow:
		o.without("time", "windows of a plug-in are windows of event time")
	case Day:
		o.without("time", "calendar days are days of event time")
	case Count:
		o.without("time", "a count window ends by its records")
	case Global:
		o.without("time", "a global window has no end")
	}
	switch {
	case kind == Count, kind == Global:
		o.without("allowed_lateness", "nothing is late for a window without an end in time")
	case w.Time == ProcessingTime:
		o.without("allowed_lateness", "nothing is late for a window that ends by the clock")
	default:
		s.AllowedLateness, _ = scalar(o, "allowed_lateness", duration(durationRule{zero: true}))
	}
	o.close()
	s.Window = w
}

func (r *reader) tumbling(w *Window, o *object) {
	size, n, c := short(o, Tumbling, "size", "say how long a window is, such as 10s", duration(durationRule{}))
	w.Size = size
	r.offset(w, c, "size", size, n)
	c.close()
}

func (r *reader) sliding(w *Window, o *object) {
	c := o.child(Sliding)
	if c.n == nil {
		return
	}
	c.need("size", "say how long a window is, such as 1h")
	c.need("slide", "say how often a window begins, such as 1m")
	var sn, ln *node
	w.Size, sn = scalar(c, "size", duration(durationRule{}))
	w.Slide, ln = scalar(c, "slide", duration(durationRule{}))
	r.offset(w, c, "slide", w.Slide, ln)
	c.close()
	if sn != nil && ln != nil && w.Size/w.Slide > maxOverlap {
		r.report(sn.at, "%s must be at most %d times the slide, which is %s, is %s: each record would be in as many windows",
			c.sub("size"), maxOverlap, quote(ln.shown), quote(sn.shown))
	}
}

// offset reads where the grid of windows begins, which has only so many places.
func (r *reader) offset(w *Window, c *object, what string, step time.Duration, stepNode *node) {
	offset, n := scalar(c, "offset", duration(durationRule{zero: true, negative: true}))
	w.Offset = offset
	if stepNode != nil && n != nil && offset.Abs() >= step {
		r.report(n.at, "%s must be less than the %s, which is %s, is %s", c.sub("offset"), what, quote(stepNode.shown), quote(n.shown))
	}
}

func (r *reader) session(w *Window, o *object, in []*shape) {
	if n := o.n.find(Session); n.kind != mappingNode {
		w.Gap, _ = scalar(o, Session, duration(durationRule{}))
		return
	}
	c := o.child(Session)
	switch c.one("must have a gap such as 30m, or a gap_field: the field that holds each record's own, in ms", "gap", "gap_field") {
	case "gap":
		w.Gap, _ = scalar(c, "gap", duration(durationRule{}))
	case "gap_field":
		for i, from := range in { // of a join, both sides
			noted := r.effective
			w.GapField = r.number(c, "gap_field", from, stream.Int64)
			if i > 0 {
				r.effective = noted
			}
		}
	}
	c.close()
}

func (r *reader) counted(w *Window, o *object) {
	size, _, c := short(o, Count, "size", "say how many records a window holds", positive(maxWindowRecords))
	w.Records = size
	w.Every, _ = scalar(c, "slide", positive(maxWindowRecords))
	c.close()
}

// cost asks for consent to a step that deals with each record very often (L7).
func (r *reader) cost(s *stepSpec, o *object) {
	if s.Window.Kind == Sliding && s.Window.Slide <= 0 { // reported
		return
	}
	if s.Overlap() <= cheapOverlap || s.Shares() {
		o.without("accept_cost", fmt.Sprintf("no record costs more than %d callbacks", cheapOverlap))
		return
	}
	why := "the trigger is called for each record in each of its"
	orderly := slices.IndexFunc(s.Aggregates, func(a Aggregate) bool { return !a.AnyOrder })
	switch {
	case s.Evictor != nil:
		why = "the evictor needs each record in each of its"
	case s.Join != nil:
		why = "the join needs each record in each of its"
	case s.keepsRecords():
		why = "the process function looks at records, so each one is kept in all of its"
	case orderly >= 0 && s.fires().Kind == TriggerEventTime:
		why = s.Aggregates[orderly].Name + " depends on the order of records, so each one is added to all of its"
	}
	if s.AcceptCost = o.only("accept_cost"); !s.AcceptCost {
		r.report(s.windowAt, "%s: %s %d windows; make the slide longer, or say accept_cost: true in the step", o.sub("window"), why, s.Overlap())
	}
}
