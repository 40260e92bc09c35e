package state

import (
	"iter"
	"slices"

	"tidemark/engine/stream"
)

// Cut is an operator as it was at one moment. To take one is quick; to read it is the work,
// done once, in any goroutine, while the operator goes on. Release comes last, whether it was
// read or not: until then the operator may keep what it changes as it was. Others may be taken
// in between; each is of its own moment.
type Cut struct {
	Task []byte // what belongs to no key: clocks and counters
	// Groups gives what belongs to keys, in order of key groups; those without state are left
	// out. Each is borrowed until the next one is asked for. An error is the last that it
	// gives: state on disk could not be read. Then there is no cut, and the operator's next
	// call that needs the disk ends the job.
	Groups iter.Seq2[GroupCut, error]
	// Apart reads the same, with what is on disk apart; nil: nothing is, or not so that it can
	// be. One of the two is read.
	Apart *Apart
	// Release lets go of what was frozen; nil: nothing was.
	Release func() error
}

// Apart is a cut of which a part is on disk. A checkpoint takes over what it has of that from
// an earlier one, and adds what has changed.
type Apart struct {
	// Groups gives each key group with what is in memory of it, in their order, lent as
	// Cut.Groups does.
	Groups iter.Seq2[GroupApart, error]
	Disk   *JournalCut
	Form   RunForm
}

// GroupApart is what is in memory of a key group.
type GroupApart struct {
	GroupCut
	None bool // nothing is, and State says so
}

// GroupCut is the state of one key group.
type GroupCut struct {
	Group int
	Floor stream.Time // the watermark that its task stood at
	State []byte
	// Runs is what was on disk, in a cut that comes from a checkpoint which has it apart: run 0
	// and changes (MergeRuns). The rest is in State.
	Runs [][]byte
}

// Close releases the cut.
func (c *Cut) Close() error {
	if c.Release == nil {
		return nil
	}
	return c.Release()
}

// Pieces is a cut that was read: pieces that a checkpoint stores, and that come back to one
// operator or to several.
type Pieces struct {
	Task   []byte
	Groups []GroupCut
}

// Read reads a cut whole, and releases it.
func (c Cut) Read() (p Pieces, err error) {
	defer func() {
		if e := c.Close(); err == nil {
			err = e
		}
	}()
	p.Task = c.Task
	for g, err := range c.Groups {
		if err != nil {
			return Pieces{}, err
		}
		g.State = slices.Clone(g.State)
		p.Groups = append(p.Groups, g)
	}
	return p, nil
}

// Cut is the cut that was read, to be read again.
func (p Pieces) Cut() Cut {
	return Cut{Task: p.Task, Groups: func(yield func(GroupCut, error) bool) {
		for _, g := range p.Groups {
			if !yield(g, nil) {
				return
			}
		}
	}}
}

// AsItWas is the restore of one operator from a cut of its own, in which everything is as it
// was.
func (p Pieces) AsItWas() Restore {
	return Restore{Tasks: [][]byte{p.Task}, Exact: true, Counts: true, Groups: p.Groups}
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
	// Stored are further ones, read as they are asked for, once, so that not all of the state
	// is in memory; nil: there are none. After an error there are no more.
	Stored iter.Seq2[GroupCut, error]
	// Schemas says which of the functions have kept their state in an older layout.
	Schemas Schemas
}

// Each gives all key groups, one by one, once.
func (r *Restore) Each() iter.Seq2[GroupCut, error] {
	return func(yield func(GroupCut, error) bool) {
		for _, g := range r.Groups {
			if !yield(g, nil) {
				return
			}
		}
		if r.Stored != nil {
			r.Stored(yield)
		}
	}
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
