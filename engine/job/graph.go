package job

import (
	"slices"
	"time"

	"tidemark/engine/stream"
)

// Graph is a job as the engine runs it: checked, with every default filled in and
// every reference resolved. It is plain data and immutable after Load. Operator ids
// are the names of sources, steps and sinks: they name state in checkpoints, so
// renaming one is a change of the job.
type Graph struct {
	Name           string
	Parallelism    int
	MaxParallelism int // number of key groups
	Settings       Settings

	Sources []Source
	Steps   []Step // in topological order: a step stands behind all that it reads
	Sinks   []Sink // the explicit ones, then the default late, failed and bad ones

	Plugins []Plugin // in order of the job file

	// Effective lists every setting with its value and where it came from: in the
	// order of the documentation, and things with names in that of the job file.
	// Values are as they stand in the file: a variable is shown by its name, since
	// what it holds may be a secret.
	Effective []Setting
}

// Settings are the job-wide knobs of the table of defaults.
type Settings struct {
	BatchRows   int           // rows of a batch, at most
	Linger      time.Duration // a batch of a followed input leaves after this at the latest
	QueueDepth  int           // batches that wait between two tasks, at most
	Probe       time.Duration // how often idleness and periodic watermarks are looked at
	BadBudget   BadBudget
	StateBudget int64       // bytes of state that all tasks may hold together (K8)
	OrderReplay bool        // T6: rows are a function of the data alone; all inputs are bounded, none goes by the clock
	Checkpoint  *Checkpoint // nil: none are taken
	Restart     Restart     // zero without checkpoints
	State       State
}

// BadBudget: the job fails when a source's bad records exceed the larger of Count
// and Share of the records read.
type BadBudget struct {
	Count int64
	Share float64
}

// Setting is one effective setting.
type Setting struct {
	Key    string // dotted path in the job file: sources.orders.watermark.out_of_orderness
	Value  string // as it would be written in YAML
	Origin string // "default", "job.yaml:14" or "--set"
}

// Plugin is a declared module.
type Plugin struct {
	Name   string // as the job calls it
	File   string // absolute path; empty on a host, where Ref counts
	Ref    string // name@version or sha256:…
	Digest string // SHA-256 of the module in hex, filled in by the resolver
	Schema uint32 // version of the layout of what it keeps, as its manifest says; 0: it keeps nothing
	// Upgrades are the older schemas from which the module converts what it kept.
	Upgrades []uint32
}

// Source is one source with its decoding and its event time.
type Source struct {
	ID        string
	File      *FileSource // exactly one kind of source is set
	Format    Format
	Schema    []Field // in the order of the job file; only these are read
	Time      TimeSpec
	Watermark Watermark
}

// Bounded reports whether the source ends by itself.
func (s *Source) Bounded() bool { return s.File != nil && !s.File.Follow }

// FileSource reads files; each file is a split.
type FileSource struct {
	Path   string // absolute; a pattern if Glob is set; "-" is standard input
	Glob   bool   // Path is a pattern as of path/filepath.Match: one split a file
	Base   string // absolute directory that the names of splits are relative to
	Follow bool   // wait for more at the end of the file instead of ending
}

// Format says how bytes become records.
type Format struct {
	Kind      string // "json" (one object a line) or "csv"
	Header    bool   // csv: the first line names the columns
	Delimiter byte   // csv
	// MaxRecord is the longest record in bytes; a longer one is bad.
	MaxRecord int
	MaxDepth  int // json: nesting
}

// Field is a column of the schema: a value in the record, by path.
type Field struct {
	Name string   // as the job uses it; nested: "user.id"
	Path []string // JSON: names from the outside in; CSV: one name
	Kind stream.Kind
}

// TimeSpec says where event time is in a record and in what unit.
type TimeSpec struct {
	Path    []string
	Unit    string // s, ms, us, ns, rfc3339 or layout
	Layout  string // Go layout, when Unit is "layout"
	Zone    string // IANA name, for layouts without an offset
	Arrival []string
	// MaxFuture bounds how far ahead of its arrival a record may be; 0 is off.
	MaxFuture time.Duration
	// MaxJump bounds how far a record may be ahead of the highest time of its split;
	// 0 is off.
	MaxJump time.Duration
	// Plausible: the first values must make sense in the declared unit.
	Plausible bool
}

// Watermark strategies.
const (
	BoundedWatermark    = "bounded"   // out_of_orderness
	AscendingWatermark  = "ascending" // times only rise; regressions are counted
	MarkerWatermark     = "marker"    // some records say how far time is
	DelayWatermark      = "delay"     // each record says how late its source may be
	PluginWatermark     = "plugin"    // a plug-in says how far time is
	IngestionWatermark  = "ingestion" // time is when a record is read
	NoWatermark         = "none"      // no event time: processing-time and global windows only
	HoldWhenAllIdle     = "hold"      // S16
	AdvanceWhenAllIdle  = "advance"   // S16a
	DefaultAlignUpdates = time.Second // S22
)

// Watermark is the generator's setting, per split.
type Watermark struct {
	Kind           string
	OutOfOrderness time.Duration
	Marker         string   // marker: expression that holds for a marker
	MarkerForAll   bool     // marker: a marker speaks for all splits of the source
	DelayField     []string // delay: path of an int64 field of the schema, in ms
	Plugin         string   // plugin: its name; Columns and Args are bound to it
	Columns        []Column
	Args           []Arg
	IdleTimeout    time.Duration // 0: never idle (bounded sources)
	WhenAllIdle    string
	Emit           Emit
	Align          *Align // nil: the source is in no group
}

// Align puts a source into a group whose members stay near each other in event time.
type Align struct {
	Group    string
	MaxDrift time.Duration
	Update   time.Duration
}

// Emit says when a generator's watermark steps (T4). Exactly one is set, but for
// NoWatermark.
type Emit struct {
	Record bool          // after each record
	Every  int           // after every n records
	Period time.Duration // at probes
}

// Words of the job file that the engine tests for.
const (
	JSON       = "json"        // Format.Kind: one object a line
	CSV        = "csv"         // Format.Kind
	DeadLetter = "dead_letter" // Step.OnError: set failing records aside and go on
	Drop       = "drop"        // Step.NullKey: records with a null in the key are filtered
	TimeMillis = "ms"          // Sink.TimeFormat: times as integers
)

// Step is an operator: stateless, windowed, or a join.
type Step struct {
	ID string
	// From has the sources and steps that are read. Several are a union: they give the
	// step the same fields, in any order of arrival. For a join it is left, right.
	From []string
	Join *Join // nil: no join

	// Filter, Derive and Project are stateless and come first, in this order. A step with
	// nothing else has no window and passes records on.
	Filter  string    // expression that must hold; empty: all records
	Derive  []Derived // new fields, or new values of old ones
	Map     *Map      // in place of Filter and Derive: what a plug-in makes of each record
	Project []string  // the fields that are kept, in order; empty: all

	Key             []string       // fields of the input; empty: over all keys
	Reads           []stream.Field // of a step with state: the fields of the input that it uses, by name
	Window          *Window        // nil: a stateless step or an interval join
	Trigger         *Trigger       // nil: the default of the window (S64)
	Evictor         *Evictor       // nil: none
	AllowedLateness time.Duration
	Aggregates      []Aggregate
	Process         *Process // nil: each firing gives one row of the aggregates' results
	// Apply makes the rows of the pairs of a join: then Join.Left and Join.Right are the
	// fields that it reads, in order of its inputs. Nil: a row is both records.
	Apply       *Apply
	OnError     string   // "fail" or "dead_letter"
	Disable     *Disable // with dead_letter: turns off plug-ins that keep failing; nil: none
	NullKey     string   // "keep" or "drop"
	HotKeys     int      // keys of a slice that those that send to the step add up; 0: none
	Parallelism int      // 1 for a stateless step, which runs in the tasks of what it reads
	AcceptCost  bool     // the owner knows that the step calls its trigger very often (L7)
}

// Windowed reports whether the step has windows.
func (s *Step) Windowed() bool { return s.Window != nil }

// Shares reports whether the windows of the step overlap and share their parts, so that
// a record is added once and not once for each of its windows (P2).
func (s *Step) Shares() bool {
	w := s.Window
	if w == nil || w.Kind != Sliding || w.Time != EventTime || s.Join != nil || s.Evictor != nil {
		return false
	}
	t := s.fires()
	if t.Kind == TriggerPurging && s.AllowedLateness == 0 { // it never meets a live window
		t = t.Inner
	}
	return t.Kind == TriggerEventTime && !s.keepsRecords() && !slices.ContainsFunc(s.Aggregates, func(a Aggregate) bool { return !a.AnyOrder })
}

// keepsRecords reports whether a process function looks at the records of the windows.
func (s *Step) keepsRecords() bool { return s.Process != nil && len(s.Process.Lists) > 0 }

// Overlap returns how many windows of the step hold a record, at most.
func (s *Step) Overlap() int64 {
	w := s.Window
	if w == nil || w.Kind != Sliding {
		return 1
	}
	return int64((w.Size-1)/w.Slide) + 1
}

// Derived is a field computed from others.
type Derived struct{ Name, Expr string }

// Join kinds.
const (
	WindowJoin   = "window"   // every pair of a window (S117)
	CoGroupJoin  = "cogroup"  // both lists of a window (S116)
	IntervalJoin = "interval" // pairs that are close in time (S110)
)

// Join pairs the records of two inputs that have the same key.
type Join struct {
	Kind string
	// LeftKey and RightKey are the fields of either side; equal in number and kinds. The
	// step's Key names them in the result.
	LeftKey, RightKey []string
	// Left and Right are the fields of either side that the result holds.
	Left, Right []string
	// Bounds of an interval join: how far right may lie from left; negative is before.
	Lower, Upper                   time.Duration
	LowerExclusive, UpperExclusive bool
}

// Window kinds.
const (
	Tumbling     = "tumbling"
	Sliding      = "sliding"
	Session      = "session"
	Day          = "day"
	Global       = "global"
	Count        = "count"
	PluginWindow = "plugin" // a plug-in says which windows a record is in
)

// Words for the two times.
const (
	EventTime      = "event"
	ProcessingTime = "processing"
)

// Window is an assigner with its parameters.
type Window struct {
	Kind     string
	Time     string        // EventTime or ProcessingTime
	Size     time.Duration // tumbling, sliding
	Slide    time.Duration // sliding
	Offset   time.Duration // tumbling, sliding
	Gap      time.Duration // session with a fixed gap
	GapField string        // session with the gap in each record, int64 ms
	Zone     string        // day: IANA name
	Records  int           // count: records of a window
	Every    int           // count, sliding: records between firings; 0: tumbling
	Plugin   string        // plugin: its name; Columns and Args are bound to it
	Columns  []Column
	Args     []Arg
	Merges   bool // plugin: its windows merge, as sessions do (S45)
}

// Trigger kinds.
const (
	TriggerEventTime         = "event_time"
	TriggerProcessingTime    = "processing_time"
	TriggerContinuous        = "continuous"
	TriggerCount             = "count"
	TriggerDelta             = "delta"
	TriggerPurging           = "purging"
	TriggerProcessingTimeout = "processing_timeout"
	TriggerCountOrTimeout    = "count_or_timeout"
	TriggerNever             = "never"
	TriggerEndOfStream       = "end_of_stream"
	TriggerPlugin            = "plugin"
)

// Trigger says when a window fires (section G of the specification).
type Trigger struct {
	Kind      string
	Time      string        // continuous, count_or_timeout
	Every     time.Duration // continuous
	N         int64         // count, count_or_timeout
	After     time.Duration // processing_timeout, count_or_timeout
	Field     string        // delta: int64 or float64
	Threshold float64       // delta
	Abs       bool          // delta
	Purge     bool          // count_or_timeout
	Reset     bool          // processing_timeout: start anew with every record
	Clear     bool          // processing_timeout: clear the inner trigger, default true
	Inner     *Trigger      // purging, processing_timeout
	Plugin    string        // plugin: its name; Columns and Args are bound to it
	Columns   []Column
	Args      []Arg
	MayPurge  bool // plugin: it empties windows that are open (P2)
	Merges    bool // plugin: it can be used with sessions (S65)
}

// Evictor kinds.
const (
	EvictCount = "count"
	EvictTime  = "time"
	EvictDelta = "delta"
)

// Evictor drops records of a window around a firing (section I).
type Evictor struct {
	Kind      string
	N         int           // count: the last n stay
	Keep      time.Duration // time: what is that much older than the newest goes
	Field     string        // delta
	Threshold float64       // delta
	Abs       bool          // delta
	After     bool          // behind the function
}

// Aggregate is one field of a result's value.
type Aggregate struct {
	Name     string
	Function string   // built-in; empty when Plugin is set
	Plugin   string   // name of a declared plug-in
	Columns  []Column // in the order of the function's inputs
	Args     []Arg
	AnyOrder bool // its result does not depend on the order of records (P2)
	Fixed    bool // its accumulators have a fixed size (L9)
}

// Column binds an input of a function to a field of the record.
type Column struct{ Input, Field string }

// Arg is a parameter of a function: a checked value of one of the types int64,
// float64, bool and string, or a list of float64.
type Arg struct {
	Name  string
	Kind  stream.Kind
	Int   int64
	Float float64
	Bool  bool
	Str   string
	List  []float64 // not nil: the value is this list
}

// Sink writes one port of an operator.
type Sink struct {
	ID       string
	From     Port
	Format   string // "json": one object a line
	File     string // absolute path; empty when Stdout or Memory is set
	Stdout   bool
	Memory   int  // keep the last n rows in memory: late and bad output of stdout-only jobs
	Default  bool // not in the job file
	OnlyLast bool // only_final: refuses a job that makes updates

	TimeFormat string // "rfc3339" or "ms"
}

// Port is an output of an operator. The ports of a source are "bad"; of a step
// "" (results), "late", "failed" and the names of its side outputs.
type Port struct{ Operator, Name string }

func (p Port) String() string {
	if p.Name == "" {
		return p.Operator
	}
	return p.Operator + "." + p.Name
}
