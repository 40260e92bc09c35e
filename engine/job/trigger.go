package job

import (
	"fmt"
	"math"
	"slices"
)

// Triggers without a setting are written as a word, the others as {kind: settings}.
var (
	plainTriggers = []string{TriggerEventTime, TriggerProcessingTime, TriggerEndOfStream, TriggerNever}
	setTriggers   = []string{TriggerCount, TriggerContinuous, TriggerDelta, TriggerCountOrTimeout, TriggerPurging, TriggerProcessingTimeout, TriggerPlugin}
)

// stepTrigger reads the trigger of a step:
//
//	event_time, processing_time, end_of_stream
//	{count: 10}
//	{continuous: 10s}, {continuous: {every: 10s, time: processing}}
//	{delta: {field: v, threshold: 3, abs: true}}
//	{count_or_timeout: {n: 1000, after: 5s, time: event, purge: true}}
//	{purging: <trigger>}
//	{processing_timeout: {trigger: <trigger>, after: 5s, reset: true, clear: false}}
//	{plugin: NAME, columns: {value: amount}, args: {…}}
func (r *reader) stepTrigger(s *stepSpec, o *object, n *node, in []*shape) {
	if s.Window != nil && s.Window.Kind == Count {
		r.report(n.key, "%s has no effect: a count window fires by its records", o.sub("trigger"))
		return
	}
	s.Trigger = r.readTrigger(s, n, o.sub("trigger"), in, nil)
}

// readTrigger reads a trigger that stands under the wrappers around. It returns nil for
// one that it reported.
func (r *reader) readTrigger(s *stepSpec, n *node, path string, in []*shape, around []string) *Trigger {
	if dropped(n) {
		return nil
	}
	if n.kind != mappingNode {
		if n.kind == scalarNode && slices.Contains(setTriggers, n.text) {
			r.report(n.at, "%s: %s has settings: %s", path, quote(n.shown), triggerExamples[n.text])
			return nil
		}
		kind, ok := read(r, n, path, choice(plainTriggers...))
		if !ok {
			return nil
		}
		t := &Trigger{Kind: kind}
		return r.fits(s, n.at, path, t, around)
	}
	o := r.object(n, path, "steps.*.trigger", n.key)
	kind := ""
	for _, word := range plainTriggers {
		if v := n.find(word); v != nil {
			r.report(v.key, "%s: %s has no settings; write it alone: %s", path, word, word)
			return nil
		}
	}
	if kind = o.one("must be "+either(plainTriggers)+", or hold one of "+either(setTriggers), setTriggers...); kind == "" || dropped(n.find(kind)) {
		o.get("columns")
		o.get("args")
		o.close()
		return nil
	}
	before := len(r.problems)
	t := &Trigger{Kind: kind}
	known := true
	switch kind {
	case TriggerCount:
		t.N = r.records(o, TriggerCount)
	case TriggerContinuous:
		every, _, c := short(o, kind, "every", "say how often it fires, such as 10s", duration(durationRule{}))
		t.Every = every
		t.Time, _ = scalar(c, "time", choice(EventTime, ProcessingTime))
		c.close()
	case TriggerDelta:
		if c := o.child(kind); c.n != nil {
			t.Field, t.Threshold, t.Abs = r.delta(s, c, in)
		}
	case TriggerCountOrTimeout:
		if c := o.child(kind); c.n != nil {
			c.need("n", "say how many records fire it")
			c.need("after", "say how long after the first record it fires, such as 5s")
			t.N = r.records(c, "n")
			t.After, _ = scalar(c, "after", duration(durationRule{}))
			t.Time, _ = scalar(c, "time", choice(EventTime, ProcessingTime))
			t.Purge, _ = scalar(c, "purge", boolean)
			c.close()
		}
	case TriggerPlugin:
		known = r.triggerPlugin(s, o, t, in)
	case TriggerPurging:
		t.Inner = r.readTrigger(s, o.get(kind), o.sub(kind), in, append(around, kind))
	case TriggerProcessingTimeout:
		if c := o.child(kind); c.n != nil {
			c.need("trigger", "say which trigger it stands around; never for none")
			c.need("after", "say how long after a record it fires, such as 5s")
			if inner := c.get("trigger"); inner != nil {
				t.Inner = r.readTrigger(s, inner, c.sub("trigger"), in, append(around, kind))
			}
			t.After, _ = scalar(c, "after", duration(durationRule{}))
			t.Reset, _ = scalar(c, "reset", boolean)
			t.Clear, _ = scalar(c, "clear", boolean)
			c.close()
		}
	}
	for _, key := range []string{"columns", "args"} {
		if kind != TriggerPlugin {
			o.without(key, "it is for plug-ins")
		}
	}
	o.close()
	wraps := kind == TriggerPurging || kind == TriggerProcessingTimeout
	if len(r.problems) > before || !known || wraps && t.Inner == nil {
		return nil
	}
	return r.fits(s, n.find(kind).key, path, t, around)
}

// records reads a number of records.
func (r *reader) records(o *object, key string) int64 {
	n, _ := scalar(o, key, positive(math.MaxInt64))
	return int64(n)
}

var triggerExamples = map[string]string{
	TriggerCount:             "{count: 10}",
	TriggerContinuous:        "{continuous: 10s}",
	TriggerDelta:             "{delta: {field: v, threshold: 3}}",
	TriggerCountOrTimeout:    "{count_or_timeout: {n: 1000, after: 5s}}",
	TriggerPurging:           "{purging: event_time}",
	TriggerPlugin:            "{plugin: late_or_full}",
	TriggerProcessingTimeout: "{processing_timeout: {trigger: event_time, after: 5s}}",
}

// fits refuses a trigger that cannot do its work with the step's window, and returns
// the others.
func (r *reader) fits(s *stepSpec, at place, path string, t *Trigger, around []string) *Trigger {
	if s.Window == nil {
		return t
	}
	w := s.Window
	global, clock, merging := w.Kind == Global, w.Time == ProcessingTime, w.Merging()
	inside := func(kind string) bool { return slices.Contains(around, kind) }
	counts := t.Time == EventTime // what fires by event time
	wrong := ""
	switch t.Kind {
	case TriggerEventTime:
		switch {
		case clock:
			wrong = "event_time looks at the watermark, and the window ends by the clock; say processing_time, or leave it out"
		case global:
			wrong = "event_time fires at the end of a window, and a global one ends with the input only; say end_of_stream for that"
		}
	case TriggerProcessingTime:
		if global {
			wrong = "processing_time fires at the end of a window, and a global one has none; say {continuous: {every: 10s, time: processing}} or {count: 10}"
		}
	case TriggerEndOfStream:
		if !global {
			wrong = "end_of_stream is for global windows; this one ends before the input does, so leave the trigger out to fire then"
		}
	case TriggerNever:
		if !inside(TriggerProcessingTimeout) {
			wrong = "never lets nothing out; it has a use inside processing_timeout only"
		}
	case TriggerContinuous, TriggerCountOrTimeout:
		switch {
		case clock && counts:
			wrong = fmt.Sprintf("%s goes by event time, and the window ends by the clock; say time: processing in it", t.Kind)
		case t.Purge && inside(TriggerPurging):
			wrong = "purge has no effect inside purging, which empties the window anyway"
		}
	case TriggerPurging:
		if inside(TriggerPurging) {
			wrong = "purging has no effect inside purging"
		}
	case TriggerProcessingTimeout:
		if inside(TriggerProcessingTimeout) {
			wrong = "a processing_timeout inside another has no effect: the earlier of the two counts, so say that one"
		}
	}
	if wrong == "" && merging && t.Kind == TriggerPlugin && !t.Merges {
		wrong = fmt.Sprintf("plug-in %s does not say what becomes of it when two sessions become one (S65); give it a merge, or take windows that do not merge", t.Plugin)
	}
	if wrong == "" && merging && (t.Kind == TriggerDelta || t.Kind == TriggerProcessingTimeout) {
		wrong = fmt.Sprintf("%s cannot say what becomes of it when two sessions become one (S65); take event_time, continuous, count or count_or_timeout", t.Kind)
	}
	if wrong != "" {
		r.report(at, "%s: %s", path, wrong)
		return nil
	}
	return t
}

// fires returns the trigger of a step, or the default of its window (S64).
func (s *Step) fires() *Trigger {
	switch {
	case s.Trigger != nil:
		return s.Trigger
	case s.Window.Kind == Count:
		return &Trigger{Kind: TriggerPurging, Inner: &Trigger{Kind: TriggerCount}}
	case s.Window.Kind == Global:
		return &Trigger{Kind: TriggerNever}
	case s.Window.Time == ProcessingTime:
		return &Trigger{Kind: TriggerProcessingTime}
	}
	return &Trigger{Kind: TriggerEventTime}
}

// once reports whether a trigger fires at the end of a window and at no other time.
func (t *Trigger) once() bool {
	switch t.Kind {
	case TriggerEventTime, TriggerProcessingTime, TriggerEndOfStream:
		return true
	case TriggerPurging:
		return t.Inner.once()
	}
	return false
}

// purges reports whether each firing empties the window.
func (t *Trigger) purges() bool {
	return t.Kind == TriggerPurging || t.Kind == TriggerCountOrTimeout && t.Purge ||
		t.Kind == TriggerProcessingTimeout && t.Inner.purges()
}

// byEventTime returns the kind of trigger in t that can fire only as event time moves,
// or "".
func (t *Trigger) byEventTime() string {
	switch {
	case t.Kind == TriggerEventTime, t.Kind == TriggerContinuous && t.Time == EventTime, t.Kind == TriggerCountOrTimeout && t.Time == EventTime:
		return t.Kind
	case t.Inner != nil:
		return t.Inner.byEventTime()
	}
	return ""
}

// lintGrouping checks what holds between window, trigger and evictor.
func (r *reader) lintGrouping(s *stepSpec) {
	w, path := s.Window, "steps."+s.ID
	if w.Kind == Global && s.o.n.find("trigger") == nil {
		r.report(s.windowAt, "%s.trigger is missing; a global window never fires by itself: say end_of_stream, {count: 10}, {continuous: 10s} …", path)
	}
	if s.Evictor == nil {
		return
	}
	fires := s.fires()
	switch {
	case w.Kind == Count:
		r.report(s.evictor, "%s.evictor has no effect: a count window keeps the records of its size", path)
	case s.Evictor.After && fires.purges():
		r.report(s.evictor, "%s.evictor has no effect: the trigger empties the window when it has fired", path)
	case s.Evictor.After && fires.once() && s.AllowedLateness == 0:
		r.report(s.evictor, "%s.evictor has no effect: the window fires once, at its end, and is gone; leave out after: true to drop records before that", path)
	}
}
