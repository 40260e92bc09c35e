package job

import (
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
	OrderReplay bool // T6: rows are a function of the data alone; all inputs are bounded
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

// Watermark is the generator's setting, per split.
type Watermark struct {
	OutOfOrderness time.Duration
	IdleTimeout    time.Duration // 0: never idle (bounded sources)
	Emit           Emit
}

// Emit says when a generator's watermark steps (T4). Exactly one is set.
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

// Step is an operator with keyed state.
type Step struct {
	ID              string
	From            []string // ids of sources or steps
	Key             []string // fields of the input; empty: over all keys
	Window          Window
	AllowedLateness time.Duration
	Aggregates      []Aggregate
	OnError         string // "fail" or "dead_letter"
	NullKey         string // "keep" or "drop"
	Parallelism     int
}

// Window is an assigner with its parameters.
type Window struct {
	Kind   string // "tumbling"
	Size   time.Duration
	Offset time.Duration
}

// Aggregate is one field of a result's value.
type Aggregate struct {
	Name     string
	Function string   // built-in; empty when Plugin is set
	Plugin   string   // name of a declared plug-in
	Columns  []Column // in the order of the function's inputs
	Args     []Arg
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
// "" (results), "late" and "failed".
type Port struct{ Operator, Name string }

func (p Port) String() string {
	if p.Name == "" {
		return p.Operator
	}
	return p.Operator + "." + p.Name
}
