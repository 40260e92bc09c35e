package state

import "tidemark/engine/stream"

// Cut is what an operator is made of at one moment, as bytes: pieces that a checkpoint
// stores, and that come back to one operator or to several.
type Cut struct {
	Task   []byte     // what belongs to no key: clocks and counters
	Groups []GroupCut // what belongs to keys, in order of key groups; those without state are left out
	// Err is why the cut is not complete: state on disk could not be read. Then there is no
	// cut, and the operator's next call that needs the disk ends the job.
	Err error
}

// GroupCut is the state of one key group.
type GroupCut struct {
	Group int
	Floor stream.Time // the watermark that its task stood at
	State []byte
}

// Restore is what an operator goes on from.
type Restore struct {
	// Tasks has the Task of the cut of every subtask that the step had, at least one.
	Tasks [][]byte
	// Exact: there is one of them, and it had the key groups of the new one. All is as it
	// was. Otherwise the new one stands at the lowest watermark of all Tasks, and key groups
	// whose task stood further ahead keep their time as a floor (S105).
	Exact bool
	// Counts: this subtask takes over the counters of all Tasks; the others start at 0, so
	// that the step counts each record once. With Exact it is as if it were set.
	Counts bool
	Groups []GroupCut // of this subtask, in any order
	// Schemas says which of the functions have kept their state in an older layout.
	Schemas Schemas
}

// Schemas are the versions of the layouts that functions had when a cut was taken, of those
// that have another one now.
type Schemas struct {
	Aggregates map[string]uint32 // by the names that the aggregates have now
	Process    uint32            // 0: as now
	Trigger    uint32            // 0: as now
}

// Old reports whether some function had another layout.
func (s *Schemas) Old() bool { return len(s.Aggregates) > 0 || s.Process > 0 || s.Trigger > 0 }
