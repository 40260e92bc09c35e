// Package spec is the written semantics as data: scenarios of jobs, what happens to
// them step by step, and what must come out. It reads scenarios and compares results
// with them; it runs nothing and knows no engine. README.md describes the schema,
// semantics.md the rules that the scenarios cite.
package spec

// A Scenario is one job, the steps it goes through and what each step must produce.
type Scenario struct {
	ID     string   `json:"id"`
	Area   string   `json:"area"`
	Rule   []string `json:"rule"`   // rules of semantics.md, such as "S45"
	Source string   `json:"source"` // where the case comes from
	Note   string   `json:"note,omitempty"`
	Job    Job      `json:"job"`
	Steps  []Step   `json:"steps"`
	Expect []Entry  `json:"expect"` // ascending by step
}

// Kinds of jobs.
const (
	KindWindow         = "window"
	KindCoGroup        = "cogroup"
	KindWindowJoin     = "window_join"
	KindIntervalJoin   = "interval_join"
	KindGenerator      = "generator"
	KindCombiner       = "combiner"
	KindAlignment      = "alignment"
	KindSplitAlignment = "split_alignment"
	KindAssign         = "assign"
	KindMerge          = "merge"
)

// A Job is what a scenario runs. Kind decides which of the fields count; the methods
// know the defaults of those that may be absent.
type Job struct {
	Kind string `json:"kind,omitempty"` // Read fills in KindWindow

	// Windows, co-groups and window joins.
	Window              *Window  `json:"window,omitempty"`
	Trigger             *Trigger `json:"trigger,omitempty"` // nil: the default of the windows (S64)
	Evictor             *Evictor `json:"evictor,omitempty"`
	Function            string   `json:"function,omitempty"` // of kind window alone
	AllowedLatenessMS   int64    `json:"allowed_lateness_ms,omitempty"`
	Keyed               *bool    `json:"keyed,omitempty"` // nil: true
	CheckEvents         bool     `json:"check_events,omitempty"`
	StartProcessingTime int64    `json:"start_processing_time,omitempty"`

	// Interval joins. Input 0 is the left side.
	LowerMS        int64 `json:"lower_ms,omitempty"`
	UpperMS        int64 `json:"upper_ms,omitempty"`
	LowerInclusive *bool `json:"lower_inclusive,omitempty"` // nil: true
	UpperInclusive *bool `json:"upper_inclusive,omitempty"` // nil: true

	LateOutput bool `json:"late_output,omitempty"` // false: late records are counted, or vanish in an interval join
	Inputs     int  `json:"inputs,omitempty"`      // 0: see InputCount

	// Watermarks and the alignment of sources.
	Generator *Generator       `json:"generator,omitempty"`
	Combiner  string           `json:"combiner,omitempty"` // valve or min
	Groups    map[string]Group `json:"groups,omitempty"`
	Splits    []string         `json:"splits,omitempty"`
}

// IsKeyed reports whether records with different keys have different windows.
func (j *Job) IsKeyed() bool { return j.Keyed == nil || *j.Keyed }

// InputCount is the number of inputs: two for joins, else one unless the job says.
func (j *Job) InputCount() int {
	switch {
	case j.Inputs > 0:
		return j.Inputs
	case j.Kind == KindCoGroup, j.Kind == KindWindowJoin, j.Kind == KindIntervalJoin:
		return 2
	}
	return 1
}

// Bounds returns the bounds of an interval join with exclusive ones moved by one
// millisecond, so that both are inclusive (S110).
func (j *Job) Bounds() (lower, upper int64) {
	lower, upper = j.LowerMS, j.UpperMS
	if j.LowerInclusive != nil && !*j.LowerInclusive {
		lower++
	}
	if j.UpperInclusive != nil && !*j.UpperInclusive {
		upper--
	}
	return lower, upper
}

// A Window tells which windows a record belongs to.
type Window struct {
	// Type is tumbling, sliding, session, dynamic_session, day, global,
	// count_tumbling or count_sliding.
	Type     string `json:"type"`
	Time     string `json:"time,omitempty"` // event (default) or processing
	SizeMS   int64  `json:"size_ms,omitempty"`
	SlideMS  int64  `json:"slide_ms,omitempty"`
	OffsetMS int64  `json:"offset_ms,omitempty"`
	GapMS    int64  `json:"gap_ms,omitempty"`
	TZ       string `json:"tz,omitempty"`    // IANA name
	Size     int64  `json:"size,omitempty"`  // records
	Slide    int64  `json:"slide,omitempty"` // records
}

// A Trigger tells when a window fires. Type says which fields count.
type Trigger struct {
	// Type is event_time, processing_time, continuous_event_time,
	// continuous_processing_time, count, delta, purging, processing_timeout,
	// count_or_timeout, never or end_of_stream.
	Type           string   `json:"type"`
	IntervalMS     int64    `json:"interval_ms,omitempty"`
	N              int64    `json:"n,omitempty"`
	Threshold      int64    `json:"threshold,omitempty"`
	Abs            bool     `json:"abs,omitempty"`
	Inner          *Trigger `json:"inner,omitempty"`
	TimeoutMS      int64    `json:"timeout_ms,omitempty"`
	ResetOnRecord  bool     `json:"reset_on_record,omitempty"`
	ClearOnTimeout *bool    `json:"clear_on_timeout,omitempty"` // nil: true
	AfterMS        int64    `json:"after_ms,omitempty"`
	Domain         string   `json:"domain,omitempty"` // event or processing
	Purge          bool     `json:"purge,omitempty"`
}

// ClearsOnTimeout reports whether a timeout also clears the inner trigger (S62).
func (t *Trigger) ClearsOnTimeout() bool { return t.ClearOnTimeout == nil || *t.ClearOnTimeout }

// An Evictor drops records of a window around a firing.
type Evictor struct {
	Type      string `json:"type"` // count, time or delta
	N         int64  `json:"n,omitempty"`
	KeepMS    int64  `json:"keep_ms,omitempty"`
	Threshold int64  `json:"threshold,omitempty"`
	Abs       bool   `json:"abs,omitempty"`
	After     bool   `json:"after,omitempty"` // after the function, not before it
}

// A Generator makes watermarks from the timestamps of records.
type Generator struct {
	Type          string `json:"type"` // bounded, ascending or punctuated
	BoundMS       int64  `json:"bound_ms,omitempty"`
	IdleTimeoutMS *int64 `json:"idle_timeout_ms,omitempty"` // nil: never idle
}

// A Group is a set of readers that are held together in event time.
type Group struct {
	MaxDriftMS int64 `json:"max_drift_ms"`
}

// A Step is one thing that happens to a job. One field says what; Input and Split may
// stand beside it.
type Step struct {
	Record            *Record `json:"record,omitempty"`
	Watermark         *int64  `json:"watermark,omitempty"`
	Idle              *bool   `json:"idle,omitempty"`
	ProcessingTime    *int64  `json:"processing_time,omitempty"`
	Periodic          *int64  `json:"periodic,omitempty"`
	EndOfInput        bool    `json:"end_of_input,omitempty"`
	CheckpointRestore bool    `json:"checkpoint_restore,omitempty"`
	Probe             bool    `json:"probe,omitempty"`
	Report            *Report `json:"report,omitempty"`
	Announce          bool    `json:"announce,omitempty"`
	SplitFinished     string  `json:"split_finished,omitempty"` // name of the split
	MaxDesired        *int64  `json:"max_desired,omitempty"`
	Merge             []Span  `json:"merge,omitzero"`

	Input *int   `json:"input,omitempty"` // nil: input 0 for a record, every input for the rest
	Split string `json:"split,omitempty"` // of a watermark
}

// A Record is one datum on its way into a job.
type Record struct {
	TS    *int64 `json:"ts"` // event time in ms; nil: none (S2)
	Key   Value  `json:"key,omitzero"`
	Value Value  `json:"value,omitzero"`
	GapMS *int64 `json:"gap_ms,omitempty"` // for dynamic_session
}

// A Report is what a reader tells the coordinator of its alignment group.
type Report struct {
	Group     string `json:"group"`
	Reader    string `json:"reader"`
	Watermark *int64 `json:"watermark,omitempty"`
	Idle      bool   `json:"idle,omitempty"`
}
