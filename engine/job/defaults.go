package job

import "time"

// Default is a row of the table of defaults: the only place where a default is
// written down. docs/defaults.md shows the same table.
type Default struct {
	Key   string // path in the job file; * stands for a name
	When  string // "bounded" or "followed": only for such inputs; else empty
	Value string // as it would stand in the job file
	Why   string
}

// Inputs that end by themselves and inputs that are waited on have some defaults
// of their own.
const (
	bounded  = "bounded"
	followed = "followed"
)

var defaults = [...]Default{
	{"parallelism", "", "1", "one task reads and one computes; a step without a key always runs as one. With more, those that read have decoders beside them"},
	{"max_parallelism", "", "128", "the number of key groups, the units in which state moves; a job keeps it for life"},
	{"settings.batch.rows", "", "1024", "enough to make a call into a plug-in cheap, small enough for the cache"},
	{"settings.batch.linger", followed, "20ms", "how long a record of a quiet input waits for company"},
	{"settings.queue", "", "8", "batches between two tasks; more would only hide which one is slow"},
	{"settings.probe", "", "200ms", "how often idleness and periodic watermarks are looked at"},
	{"settings.bad_budget.count", "", "1000", "a job fails when a source's bad records exceed the larger of count and share"},
	{"settings.bad_budget.share", "", "0.01", "of the records read; quarantined records do not count"},
	{"settings.state_budget", "", "1GiB", "what a job may hold of windows and keys: some ten million with small accumulators; the process takes up to twice as much"},
	{"settings.state.backend", "", "memory", "the faster one, as long as state fits there"},
	{"settings.state.memory", "", "256MiB", "what `backend: disk` keeps in memory of it"},
	{"settings.checkpoint", "", "off", "`run` starts anew, as most commands do, unless the job says `{}` or more; on a host jobs have them unless they say `off`"},
	{"settings.checkpoint.interval", "", "10s", "what has to be read again after a failure, at most"},
	{"settings.checkpoint.timeout", "", "10m", "as in Flink; one that takes longer has failed"},
	{"settings.checkpoint.min_pause", "", "0s", "the interval is pause enough where checkpoints are quick"},
	{"settings.checkpoint.retain", "", "3", "should the newest ones be damaged, the one before is taken"},
	{"settings.checkpoint.tolerate", "", "10", "failures in a row: a full disk is given that many intervals, and then told by a failed job"},
	{"settings.restart.attempts", "", "10", "some five minutes with these waits; what has not passed by then wants somebody to look at it"},
	{"settings.restart.initial", "", "1s", "most of what passes has passed by then"},
	{"settings.restart.max", "", "1m", "as in Flink; nobody waits for longer when it is over"},
	{"settings.restart.factor", "", "2", "what is not over soon is not asked about often"},
	{"settings.restart.reset_after", "", "10m", "a job that has run for so long is well again, and starts counting anew"},
	{"sources.*.file.follow", "", "false", "the input ends at the end of the files"},
	{"sources.*.format.max_record", "", "1MiB", "a longer record is bad: most likely its line end is missing"},
	{"sources.*.format.json.max_depth", "", "64", "levels of nesting; a deeper record is bad"},
	{"sources.*.format.csv.header", "", "true", "the first line names the columns; without it they are c1, c2, …"},
	{"sources.*.format.csv.delimiter", "", ",", "RFC 4180"},
	{"sources.*.time.max_future", "", "5m", "one bad clock may not move time: a record further ahead of its arrival is quarantined"},
	{"sources.*.time.max_jump", "", "off", "a jump within history looks like an honest gap"},
	{"sources.*.time.plausible", "", "true", "first values that only make sense in another unit are an error"},
	{"sources.*.watermark.emit", bounded, "record", "the watermark steps after each record, so that rows are a function of the data alone"},
	{"sources.*.watermark.emit", followed, "200ms", "as in Flink"},
	{"sources.*.watermark.idle_timeout", followed, "30s", "a split that sends nothing does not hold back the others for longer"},
	{"sources.*.watermark.when_all_idle", followed, "hold", "with no split active nothing is known of event time, so it stands still"},
	{"sources.*.watermark.for_all", "", "false", "a marker speaks for its own split"},
	{"sources.*.watermark.align.update", "", "1s", "as in Flink"},
	{"steps.*.from.join.kind", "", "window", "every pair of a window"},
	{"steps.*.from.join.between.lower_exclusive", "", "false", "a distance of exactly lower is near enough"},
	{"steps.*.from.join.between.upper_exclusive", "", "false", "and so is one of exactly upper"},
	{"steps.*.window.tumbling.offset", "", "0s", "windows begin at 1970-01-01T00:00:00Z and multiples of their size from there"},
	{"steps.*.window.sliding.offset", "", "0s", "likewise, with multiples of the slide"},
	{"steps.*.window.time", "", "event", "results then do not depend on when a job runs"},
	{"steps.*.window.allowed_lateness", "", "0s", "a record whose window has fired is late, and goes to the late output"},
	{"steps.*.trigger.continuous.time", "", "event", "as for windows"},
	{"steps.*.trigger.delta.abs", "", "false", "only a rise fires"},
	{"steps.*.trigger.count_or_timeout.time", "", "event", "as for windows"},
	{"steps.*.trigger.count_or_timeout.purge", "", "false", "each firing gives the whole window"},
	{"steps.*.trigger.processing_timeout.reset", "", "false", "as in Flink: the first record starts the time"},
	{"steps.*.trigger.processing_timeout.clear", "", "true", "as in Flink: the trigger inside begins anew"},
	{"steps.*.evictor.delta.abs", "", "false", "as for the trigger"},
	{"steps.*.evictor.after", "", "false", "records go before the functions see the window"},
	{"steps.*.process.state_ttl", "", "off", "as in Flink: what a function keeps of a key stays until it removes it"},
	{"steps.*.null_key", "", "keep", "records without a key form a group of their own, as in SQL"},
	{"steps.*.on_error", "", "fail", "a record that a function refuses ends the job, rather than leaving results without it"},
	{"sinks.*.only_final", "", "false", "updates of a window follow as further rows"},
	{"sinks.*.time_format", "", "rfc3339", "UTC with milliseconds"},
}

// Values that only this package needs a name for; the others are in graph.go.
const (
	failStep    = "fail"
	keepNull    = "keep"
	timeRFC3339 = "rfc3339"
)

// Limits that no setting changes.
const (
	// memoryRows is how many late, failed and bad rows a job without file sinks
	// keeps: enough to see what is wrong.
	memoryRows = 100
	// maxNamed bounds sources, steps, sinks and plug-ins, each. Source ids have 16
	// bits; a job that people read has a handful.
	maxNamed = 64
	// maxFields bounds the columns of a schema, since each costs a scan per record.
	maxFields = 256
	// maxAggregates bounds the fields of a step's value: each is a call per batch.
	maxAggregates = 64
	maxKeyFields  = 16 // a key is copied for each result row
	maxPath       = 16 // names of a nested field
	// maxHotKeys bounds what a sender holds of one slice. A key that is not among so many has
	// too few records to matter.
	maxHotKeys = 1024
	// maxKeyGroups is what Flink allows too, so that a job can move there.
	maxKeyGroups  = 32768
	maxBatchRows  = 1 << 16
	maxQueue      = 1024
	maxLinger     = 10 * time.Second
	maxProbe      = time.Minute
	maxRecord     = 64 << 20 // a batch holds at least one record, and its blob 4 GiB
	maxJSONDepth  = 1000     // the decoder's stack
	maxEmitEvery  = 1 << 30
	maxBadRecords = 1 << 53
	// minStateBudget is less than any window needs; maxStateBudget keeps sums in an int64.
	minStateBudget = 4 << 10
	maxStateBudget = 1 << 50
	// minStateMemory is a few blocks of the disk's tables, below which each record would read.
	minStateMemory = 1 << 20
	// maxCheckpointTime: what is rarer than once a day is a savepoint.
	maxCheckpointTime = 24 * time.Hour
	maxRetain         = 1000 // each is listed at a start
	maxTolerate       = 1_000_000
	maxAttempts       = 1_000_000
	maxBackoff        = 24 * time.Hour
	maxFactor         = 100
)

// Defaults returns the table of defaults, in order of the job file.
func Defaults() []Default { return append([]Default(nil), defaults[:]...) }

// defaultOf finds the default of a setting for bounded or followed inputs.
func defaultOf(key, when string) (string, bool) {
	for i := range defaults {
		if d := &defaults[i]; d.Key == key && (d.When == "" || d.When == when) {
			return d.Value, true
		}
	}
	return "", false
}
