package naive

import (
	"cmp"
	"slices"

	"tidemark/spec"
)

// An operator is one window operator, co-group or window join (sections E to K, M).
// It keeps all records of all windows in lists, and all timers in two more.
type operator struct {
	job      *spec.Job
	assigner assigner
	trigger  *spec.Trigger
	evictor  *spec.Evictor // nil: none
	valve    *valve
	out      *outcome // of the current step

	wm, now     int64
	panes       []*pane
	eventTimers []timer
	clockTimers []timer
	keyFires    map[spec.Value]int64 // S92

	arrivals   int
	moment     moment
	lastFiring map[spec.Value]firing // of function context
	clockMoves bool                  // within setClock
	firedNow   bool                  // a timer of the present millisecond has fired (S121)
}

// A pane is one window of one key in flight: from its first element to its cleanup,
// whether or not a purge emptied it (S50).
type pane struct {
	key      spec.Value
	span     spec.Span
	contents []element // in order of arrival
	trigger  trigger
	fires    int64 // S91
}

// An element is a record in a window.
type element struct {
	record  *spec.Record
	input   int
	arrival int
}

// A moment is a step, and the time of the timer that fires in it. What happens within
// one has no order.
type moment struct {
	step int
	at   int64
}

// A firing is a window at a moment.
type firing struct {
	moment moment
	span   spec.Span
}

func newOperator(j *spec.Job) (machine, string) {
	a, refused := newAssigner(j.Window)
	if refused != "" {
		return nil, refused
	}
	op := &operator{
		job: j, assigner: a, trigger: j.Trigger, evictor: j.Evictor, valve: newValve(j.InputCount()),
		wm: minTime, now: j.StartProcessingTime,
		keyFires: map[spec.Value]int64{}, lastFiring: map[spec.Value]firing{},
	}
	if j.AllowedLatenessMS < 0 { // S40
		return nil, spec.ErrInvalidConfig
	}
	switch w := j.Window; {
	case op.trigger != nil:
	case w.Type == "count_tumbling": // S81
		op.trigger = &spec.Trigger{Type: "purging", Inner: &spec.Trigger{Type: "count", N: w.Size}}
	case w.Type == "count_sliding": // S82
		op.trigger = &spec.Trigger{Type: "count", N: w.Slide}
		op.evictor = &spec.Evictor{Type: "count", N: w.Size}
	case a.global(): // S64
		op.trigger = &spec.Trigger{Type: "never"}
	case a.eventTime():
		op.trigger = &spec.Trigger{Type: "event_time"}
	default:
		op.trigger = &spec.Trigger{Type: "processing_time"}
	}
	if a.merges() && !canMerge(op.trigger) { // S65
		return nil, spec.ErrTriggerCannotMerge
	}
	if a.merges() && j.Function == "context" { // S91
		return nil, spec.ErrWindowState
	}
	return op, ""
}

func (op *operator) step(st *spec.Step, out *outcome) string {
	op.out = out
	op.moment = moment{step: op.moment.step + 1}
	raised := 0
	combined := combineStep(op.valve, op.job.InputCount(), st, sink{
		watermark: func(w int64) {
			raised++
			op.advance(w)
			out.watermark(w) // S69: after the rows it causes
		},
		status: out.status,
	})
	if raised > 1 && st.Input == nil {
		out.doubt("the order in which inputs take one watermark shows")
	}
	failed := ""
	switch {
	case combined:
	case st.Record != nil:
		input := 0
		if st.Input != nil {
			input = *st.Input
		}
		failed = op.record(element{record: st.Record, input: input, arrival: op.arrivals})
		op.arrivals++
	case st.ProcessingTime != nil:
		op.setClock(*st.ProcessingTime)
	case st.Probe:
		out.state(op.state())
	}
	op.checkTimers()
	return failed
}

// key is the key of the windows of a record (S98).
func (op *operator) key(r *spec.Record) spec.Value {
	if !op.job.IsKeyed() || r.Key == "" {
		return spec.Null
	}
	return r.Key
}

func (op *operator) record(e element) string {
	if op.firedNow {
		op.out.doubt("S121: a record in the millisecond of a firing")
	}
	spans, failed := op.assigner.assign(e.record, op.now)
	if failed != "" {
		return failed
	}
	accepted := false
	for _, span := range spans {
		p := op.paneFor(op.key(e.record), span)
		if p == nil {
			continue // S41
		}
		accepted = true
		p.contents = append(p.contents, e)
		s := scope{op, p}
		op.act(p, p.trigger.element(s, e.record))
		s.addCleanup() // S44
	}
	if late := op.assigner.eventTime() && satAdd(timestamp(e.record), op.job.AllowedLatenessMS) <= op.wm; !accepted && late { // S42
		op.reportLate(e.record)
	}
	return ""
}

func (op *operator) reportLate(r *spec.Record) {
	if !op.job.LateOutput || op.job.Kind != spec.KindWindow { // S115: no late output of joins
		op.out.dropped()
		return
	}
	if !op.job.IsKeyed() && r.Key != "" && r.Key != spec.Null {
		op.out.doubt("S97, S98: the key of a late record of windows over all keys")
	}
	op.out.late(spec.Late{Key: r.Key, Value: r.Value, TS: timestamp(r)}) // S97
}

// paneFor returns the window in flight that a record of key goes to, after merging, or
// nil if that window is late.
func (op *operator) paneFor(key spec.Value, span spec.Span) *pane {
	if !op.assigner.merges() {
		if op.isLate(span) {
			return nil
		}
		if p := op.find(key, span); p != nil {
			return p
		}
		return op.open(key, span)
	}
	merged, parts := span, []*pane(nil)
	for _, p := range op.panes {
		if p.key == key && touch(p.span, span) { // S45
			merged, parts = cover(merged, p.span), append(parts, p)
		}
	}
	if len(parts) == 1 && parts[0].span == merged { // S48: pure re-use; S52
		return parts[0]
	}
	if op.isLate(merged) { // S46
		return nil
	}
	for _, part := range parts {
		op.close(part)
	}
	p := op.open(key, merged)
	if len(parts) == 0 {
		return p
	}
	var olds []trigger
	for _, part := range parts {
		olds = append(olds, part.trigger)
		p.contents = append(p.contents, part.contents...) // S47
	}
	slices.SortFunc(p.contents, func(a, b element) int { return cmp.Compare(a.arrival, b.arrival) }) // S48 [D]
	p.trigger.merge(scope{op, p}, olds)                                                              // S48: before clear
	for _, part := range parts {
		part.trigger.clear(scope{op, part})
		scope{op, part}.deleteCleanup()
	}
	return p
}

func (op *operator) open(key spec.Value, span spec.Span) *pane {
	p := &pane{key: key, span: span, trigger: newTrigger(op.trigger)}
	op.panes = append(op.panes, p)
	return p
}

// close takes a window out of flight.
func (op *operator) close(p *pane) {
	op.panes = slices.DeleteFunc(op.panes, func(x *pane) bool { return x == p })
}

func (op *operator) find(key spec.Value, span spec.Span) *pane {
	for _, p := range op.panes {
		if p.key == key && p.span == span {
			return p
		}
	}
	return nil
}

// maxTimestamp is M of S38.
func maxTimestamp(s spec.Span) int64 {
	if s.None {
		return maxTime
	}
	return s.End - 1
}

// cleanup is S40.
func (op *operator) cleanup(s spec.Span) int64 {
	if op.assigner.eventTime() {
		return satAdd(maxTimestamp(s), op.job.AllowedLatenessMS)
	}
	return maxTimestamp(s)
}

// isLate is S41.
func (op *operator) isLate(s spec.Span) bool {
	return op.assigner.eventTime() && op.cleanup(s) <= op.wm
}

// act does what a trigger says: fire before purge (S53).
func (op *operator) act(p *pane, v verdict) {
	if v.fire {
		op.fire(p)
	}
	if v.purge {
		p.contents = nil
	}
}

func (op *operator) fire(p *pane) {
	if len(p.contents) == 0 { // S70
		return
	}
	contents := p.contents
	if op.evictor != nil && !op.evictor.After { // S84, S89
		contents = op.evict(contents)
	}
	for _, v := range op.results(p, contents) {
		op.out.row(spec.Result{Key: p.key, Window: p.span, Value: v, TS: maxTimestamp(p.span)}) // S96
	}
	if op.evictor != nil && op.evictor.After {
		contents = op.evict(contents)
	}
	p.contents = contents // S84: survivors are written back
}

// advance moves the watermark and fires what it passes (S67 to S69).
func (op *operator) advance(w int64) {
	op.wm = w
	for {
		t, due := takeEarliest(&op.eventTimers, w)
		if !due {
			return
		}
		op.moment = moment{step: op.moment.step, at: t.at}
		p := op.find(t.key, t.span)
		if p == nil { // S49
			continue
		}
		op.act(p, p.trigger.event(scope{op, p}, t.at))
		if op.assigner.eventTime() && t.at == op.cleanup(p.span) {
			op.remove(p)
		}
	}
}

// setClock moves processing time and fires what it reaches (S121).
func (op *operator) setClock(now int64) {
	if now > op.now {
		op.firedNow = false
	}
	op.now = max(op.now, now)
	op.clockMoves = true
	defer func() { op.clockMoves = false }()
	for {
		t, due := takeEarliest(&op.clockTimers, op.now)
		if !due {
			return
		}
		op.moment = moment{step: op.moment.step, at: t.at}
		p := op.find(t.key, t.span)
		if p == nil {
			continue
		}
		op.firedNow = op.firedNow || t.at == op.now
		op.act(p, p.trigger.clock(scope{op, p}, t.at))
		if !op.assigner.eventTime() && t.at == op.cleanup(p.span) { // S40, S120
			op.remove(p)
		}
	}
}

// remove is the cleanup of S44.
func (op *operator) remove(p *pane) {
	op.close(p)
	p.trigger.clear(scope{op, p})
}

// state lists windows with contents; of sessions all in flight (S50).
func (op *operator) state() spec.State {
	s := spec.State{Panes: []spec.Pane{}}
	for _, p := range op.panes {
		if len(p.contents) > 0 || op.assigner.merges() {
			s.Panes = append(s.Panes, spec.Pane{Key: p.key, Window: p.span})
		}
	}
	slices.SortFunc(s.Panes, func(a, b spec.Pane) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), bySpan(a.Window, b.Window))
	})
	return s
}
