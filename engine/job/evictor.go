package job

import (
	"tidemark/engine/stream"
)

// stepEvictor reads
//
//	{count: 10}, {keep: 5s}, {delta: {field: v, threshold: 3, abs: true}}
//
// and beside the kind: after.
func (r *reader) stepEvictor(s *stepSpec, o *object, in []*shape) {
	e := &Evictor{Kind: o.one("must be {count: 10}, {keep: 5s} or {delta: {field: v, threshold: 3}}", EvictCount, "keep", EvictDelta)}
	switch e.Kind {
	case EvictCount:
		e.N, _ = scalar(o, EvictCount, positive(maxWindowRecords))
	case "keep":
		e.Kind = EvictTime
		e.Keep, _ = scalar(o, "keep", duration(durationRule{}))
	case EvictDelta:
		if c := o.child(EvictDelta); c.n != nil {
			e.Field, e.Threshold, e.Abs = r.delta(s, c, in)
		}
	}
	e.After, _ = scalar(o, "after", boolean)
	o.close()
	if e.Kind != "" {
		s.Evictor = e
	}
}

// delta reads what a trigger or an evictor compares: a field, and how much it changes.
func (r *reader) delta(s *stepSpec, o *object, in []*shape) (field string, threshold float64, abs bool) {
	o.need("field", "name the field that is compared")
	o.need("threshold", "say how much it may change")
	if s.Join != nil {
		r.report(o.at, "%s compares one field of all records, and the two sides of a join have fields of their own", o.path)
		o.get("field")
	} else {
		field = r.number(o, "field", in[0], stream.Int64, stream.Float64)
	}
	v, n := scalar(o, "threshold", argument(Param{Kind: stream.Float64}))
	threshold = v.Float
	abs, _ = scalar(o, "abs", boolean)
	if n != nil && abs && threshold < 0 {
		r.report(n.at, "%s must not be below 0 with abs: true, is %s", o.sub("threshold"), quote(n.shown))
	}
	o.close()
	return field, threshold, abs
}
