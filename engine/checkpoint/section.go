package checkpoint

import (
	"cmp"

	"tidemark/engine/stream"
)

// Section is one piece of a checkpoint. Operator, Kind and Number name it: no two
// sections of a checkpoint have all three in common.
type Section struct {
	Operator string // id of a source, step or sink; "" for the job. At most MaxName bytes
	Kind     string // one of the constants below, or another. At most MaxName bytes
	Number   uint32 // of the task, split or key group; RunNumber
	Version  uint16 // of Body's layout
	Body     []byte // at most MaxSection bytes
}

// Kinds of section. Stored; never change.
const (
	KindJob    = "job"    // of the whole job
	KindSource = "source" // of a source's task
	KindSplit  = "split"  // of one split: its position, decoder, watermark
	KindFiles  = "files"  // of a source's task: files that have been read to their end
	KindTask   = "task"   // of a keyed task: clocks and counters
	KindGroup  = "group"  // of a key group
	KindDisk   = "disk"   // of a key group, a run of what is on disk of it: RunNumber
	KindFlight = "flight" // rows under way to a task
	KindSink   = "sink"   // what a sink needs to commit
)

// RunNumber is the number of a section of KindDisk: run 0 of a key group, or a later one.
func RunNumber(group, run int) uint32 { return uint32(run)<<groupBits | uint32(group) }

// RunOf is what RunNumber was made of.
func RunOf(number uint32) (group, run int) {
	return int(number & (1<<groupBits - 1)), int(number >> groupBits)
}

// groupBits are enough for the number of a key group: max_parallelism is at most 32,768.
const groupBits = 16

// Limits of a checkpoint's parts.
const (
	// MaxSection is the size of a section's body: it is read in one piece.
	MaxSection = 1 << 30
	// MaxName is the length of an operator's id and of a kind.
	MaxName = 1 << 10
	// maxDataFile is how large a data file grows before the next one is begun: few files,
	// and each below what object stores take in one upload. A larger section has a file
	// of its own.
	maxDataFile = 256 << 20
	// maxEntry is the size of an entry of the log: an index of a million sections.
	maxEntry = 64 << 20
)

// Kind is why a checkpoint was taken. Stored; never change.
type Kind string

const (
	Periodic  Kind = "periodic"  // by the interval
	Savepoint Kind = "savepoint" // asked for; kept until somebody deletes it
	Stop      Kind = "stop"      // the job stops here and can go on
	Final     Kind = "final"     // the job has read everything
)

// Meta says what a checkpoint is.
type Meta struct {
	// ID is unique and increasing among the attempts of a job; there are gaps where
	// attempts failed. Begin sets it.
	ID uint64
	// Generation is the claim under which it was written: a higher one is a later start
	// of the job. Begin sets it.
	Generation uint64
	Kind       Kind
	Job        string // name
	Plan       string // digest: the same digest is the same job
	// Taken and FirstStart are processing time: of the cut, and of the job's first start.
	Taken, FirstStart stream.Time
	MaxParallelism    int
	Operators         []OperatorInfo
	Plugins           []PluginInfo
	Summary           []KeyValue // what people are shown of it, in this order
}

// OperatorInfo is what a checkpoint says of an operator that has state in it.
type OperatorInfo struct {
	ID, Kind    string
	Parallelism int
	Description string
}

// PluginInfo is a plug-in that state in the checkpoint was made with.
type PluginInfo struct {
	Name, Digest string
	Schema       uint32 // version of its accumulators and states
}

// KeyValue is a line of a summary.
type KeyValue struct{ Key, Value string }

// Ref is where a section is. Writer.Reuse takes it into a later checkpoint of the same
// log without its bytes.
type Ref struct {
	Operator string
	Kind     string
	Number   uint32
	Version  uint16

	file     *dataFile
	offset   int64  // of the frame in the file
	length   int64  // of the frame
	checksum uint64 // of the frame, as it stands there
}

// Size is the number of bytes that the section takes in its file.
func (r Ref) Size() int64 { return r.length }

// FileSize is the number of bytes of that file.
func (r Ref) FileSize() int64 { return r.file.size }

// File is the name of the data file.
func (r Ref) File() string { return r.file.name }

// compare is the order of an index: by operator, kind and number.
func (r Ref) compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Operator, o.Operator), cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Number, o.Number))
}

// dataFile is a data file as a manifest names it.
type dataFile struct {
	name string
	size int64
}
