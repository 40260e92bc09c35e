package naive

import "tidemark/spec"

// zones are places with days of 23, 24 and 25 hours, odd offsets and missing
// midnights, each with a time near a change of its clocks.
var zones = []struct {
	name string
	near int64
}{
	{"UTC", 0},
	{"America/Los_Angeles", 1615716000000},
	{"America/Los_Angeles", 1636272000000},
	{"America/Sao_Paulo", 1541300400000},
	{"Asia/Kathmandu", 1700000000000},
	{"Europe/Berlin", 1711846800000},
	{"Australia/Lord_Howe", 1712415600000},
}

// hour is the unit in which scenarios of days move.
const hour = 3_600_000

// buildWindows makes window operators, co-groups and window joins.
func buildWindows(r *random, s *spec.Scenario) {
	w := &walk{r: r, job: &s.Job, unit: 1, event: edges{r: r}, clock: edges{r: r}, mayEnd: true}
	w.start = pick(r, int64(0), 0, 0, -40, 1000, -1000, 1_600_000_000_000)
	w.window()
	w.chooseTrigger()
	w.rest()
	if r.chance(2) {
		breakJob(r, &s.Job)
	}
	a, refused := newAssigner(s.Job.Window)
	if refused != "" {
		return
	}
	w.assigner = a
	w.inputs = newChannels(r, newValve(s.Job.InputCount()), s.Job.InputCount())
	w.walk()
	s.Steps = w.steps
}

// window chooses the windows.
func (w *walk) window() {
	r := w.r
	size := r.between(1, 12)
	slide := r.between(1, 8)
	win := &spec.Window{Type: pickWeighted(r, []weighted[string]{
		{26, "tumbling"}, {26, "sliding"}, {24, "session"}, {8, "dynamic_session"}, {4, "day"}, {9, "global"}, {4, "count_tumbling"}, {9, "count_sliding"},
	})}
	switch win.Type {
	case "tumbling":
		win.SizeMS = size
		if r.chance(30) {
			win.OffsetMS = r.between(-size+1, size-1)
		}
	case "sliding":
		win.SizeMS, win.SlideMS = size+r.between(0, 4), slide
		if r.chance(30) {
			win.OffsetMS = r.between(-slide+1, slide-1)
		}
	case "session":
		win.GapMS = r.between(1, 10)
	case "day":
		z := pick(r, zones...)
		win.TZ, w.start, w.unit = z.name, z.near-40*hour, hour
	case "count_tumbling":
		win.Size = r.between(1, 4)
	case "count_sliding":
		win.Size, win.Slide = r.between(1, 7), r.between(1, 5)
	}
	switch win.Type {
	case "tumbling", "sliding", "session", "dynamic_session":
		if r.chance(20) {
			win.Time = "processing"
		}
	}
	w.job.Window = win
}

// byCount reports whether windows end by the number of their records.
func (w *walk) byCount() bool {
	return w.job.Window.Type == "count_tumbling" || w.job.Window.Type == "count_sliding"
}

// chooseTrigger chooses a trigger that the rules define on the windows.
func (w *walk) chooseTrigger() {
	r := w.r
	count := func() *spec.Trigger { return &spec.Trigger{Type: "count", N: r.between(1, 4)} }
	onEvent := func() *spec.Trigger { return &spec.Trigger{Type: "event_time"} }
	every := func(domain string) *spec.Trigger {
		return &spec.Trigger{Type: "continuous_" + domain + "_time", IntervalMS: r.between(1, 6) * w.unit}
	}
	timeout := func(inner *spec.Trigger) *spec.Trigger {
		t := &spec.Trigger{Type: "processing_timeout", Inner: inner, TimeoutMS: r.between(2, 9), ResetOnRecord: r.chance(50)}
		if r.chance(40) {
			t.ClearOnTimeout = ptr(false)
		}
		return t
	}
	round := func() *spec.Trigger {
		t := &spec.Trigger{Type: "count_or_timeout", N: r.between(1, 5), AfterMS: r.between(1, 9), Domain: pick(r, "event", "processing"), Purge: r.chance(40)}
		if t.Domain == "event" {
			t.AfterMS *= w.unit
		}
		return t
	}
	change := func() *spec.Trigger {
		return &spec.Trigger{Type: "delta", Threshold: r.between(0, 5), Abs: r.chance(50)}
	}

	merges := w.job.Window.Type == "session" || w.job.Window.Type == "dynamic_session"
	var choices []weighted[func() *spec.Trigger]
	add := func(weight int, choice func() *spec.Trigger) {
		choices = append(choices, weighted[func() *spec.Trigger]{weight, choice})
	}
	byDefault := func() *spec.Trigger { return nil }
	switch {
	case w.byCount():
		return
	case w.job.Window.Type == "global":
		add(1, byDefault)
		add(4, count)
		add(3, change)
		add(3, func() *spec.Trigger { return every("event") })
		add(2, func() *spec.Trigger { return every("processing") })
		add(3, func() *spec.Trigger { return timeout(&spec.Trigger{Type: "count", N: r.between(2, 6)}) })
		add(3, func() *spec.Trigger { return &spec.Trigger{Type: "end_of_stream"} })
		add(4, round)
	case w.job.Window.Time == "processing":
		add(6, byDefault)
		add(2, func() *spec.Trigger { return &spec.Trigger{Type: "processing_time"} })
		add(4, func() *spec.Trigger { return every("processing") })
		add(2, count)
		add(1, onEvent)
		if !merges {
			add(2, change)
			add(2, func() *spec.Trigger { return timeout(&spec.Trigger{Type: "count", N: r.between(2, 6)}) })
		}
	default:
		if w.job.Window.Type == "sliding" { // panes that share slices
			add(5, byDefault)
		} else {
			add(12, byDefault)
		}
		add(2, onEvent)
		add(7, func() *spec.Trigger { return every("event") })
		add(4, count)
		add(5, round)
		add(2, func() *spec.Trigger { return &spec.Trigger{Type: "processing_time"} })
		add(2, func() *spec.Trigger { return every("processing") })
		if !merges {
			add(2, change)
			add(2, func() *spec.Trigger { return timeout(&spec.Trigger{Type: "count", N: r.between(2, 6)}) })
			add(3, func() *spec.Trigger { return timeout(onEvent()) })
			add(2, func() *spec.Trigger { return &spec.Trigger{Type: "end_of_stream"} })
			add(1, func() *spec.Trigger { return &spec.Trigger{Type: "never"} })
		}
	}
	t := pickWeighted(r, choices)()
	if t != nil && r.chance(30) || t == nil && w.job.Window.Type != "global" && r.chance(20) {
		if t == nil {
			t = &spec.Trigger{Type: "event_time"}
			if w.job.Window.Time == "processing" {
				t.Type = "processing_time"
			}
		}
		t = &spec.Trigger{Type: "purging", Inner: t}
	}
	w.job.Trigger = t
	w.usesClock = w.job.Window.Time == "processing" || clockTrigger(t)
	if w.usesClock && w.job.Window.Time != "processing" && w.unit == 1 {
		// Windows end in what the clock calls the far future, except where the clock
		// itself must reach the end of one.
		w.start = 100_000
		if innermost(t).Type == "processing_time" {
			w.start = 0
		}
	}
	if in := innermost(t); w.job.Window.Type == "global" && in != nil && (in.Type == "continuous_event_time" || in.Type == "count_or_timeout") {
		w.mayEnd = false // S58, and S54 against S125
	}
}

// clockTrigger reports whether processing time fires t.
func clockTrigger(t *spec.Trigger) bool {
	for ; t != nil; t = t.Inner {
		switch t.Type {
		case "processing_time", "continuous_processing_time", "processing_timeout":
			return true
		case "count_or_timeout":
			return t.Domain == "processing"
		}
	}
	return false
}

// innermost returns what purging triggers wrap.
func innermost(t *spec.Trigger) *spec.Trigger {
	for t != nil && t.Type == "purging" {
		t = t.Inner
	}
	return t
}

// rest chooses what remains of a job.
func (w *walk) rest() {
	r, j := w.r, w.job
	if r.chance(55) {
		j.AllowedLatenessMS = r.between(1, 12) * w.unit
		if r.chance(6) {
			j.AllowedLatenessMS = maxTime // S40: saturates
		}
	}
	if in := innermost(j.Trigger); in != nil && in.Type == "processing_timeout" && in.Inner.Type == "event_time" && j.AllowedLatenessMS == 0 {
		j.AllowedLatenessMS = 7 // else the timeout deletes the timer of the cleanup
	}
	if !w.byCount() && r.chance(18) {
		j.Evictor = &spec.Evictor{After: r.chance(40)}
		switch j.Evictor.Type = pick(r, "count", "time", "delta"); j.Evictor.Type {
		case "count":
			j.Evictor.N = r.between(1, 4)
		case "time":
			j.Evictor.KeepMS = r.between(0, 8) * w.unit
		case "delta":
			j.Evictor.Threshold, j.Evictor.Abs = r.between(0, 5), r.chance(50)
		}
	}
	if j.Kind == spec.KindWindow {
		functions := []string{"count", "sum", "sum", "min", "max", "avg", "list", "list", "sorted_list"}
		if !(j.Window.Type == "session" || j.Window.Type == "dynamic_session") {
			functions = append(functions, "context", "context")
		}
		if j.Window.Type == "sliding" && j.Trigger != nil && r.chance(50) {
			functions = functions[:6] // those that may share
		}
		j.Function = pick(r, functions...)
		j.LateOutput = r.chance(70)
		if r.chance(8) {
			j.Keyed, j.LateOutput = ptr(false), false
		}
		if r.chance(25) {
			j.Inputs = int(r.between(2, 3))
		}
	} else {
		j.Inputs = 2
	}
	j.CheckEvents = r.chance(25)
	if w.usesClock && r.chance(20) {
		j.StartProcessingTime = r.between(-20, 20)
	}
	w.now = j.StartProcessingTime
	w.keys = []string{"ax", "bo", "cy"}[:r.between(1, 3)]
}

// breakJob makes the configuration invalid.
func breakJob(r *random, j *spec.Job) {
	switch j.Window.Type {
	case "tumbling", "sliding":
		j.Window.SizeMS = r.between(-3, 0)
	case "session":
		if r.chance(50) {
			j.Window.GapMS = r.between(-3, 0)
		} else {
			j.Trigger = pick(r, &spec.Trigger{Type: "never"}, &spec.Trigger{Type: "purging", Inner: &spec.Trigger{Type: "delta", Threshold: 1}})
		}
	default:
		j.AllowedLatenessMS = -1
	}
}
