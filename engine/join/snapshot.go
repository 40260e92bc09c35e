package join

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// A cut is everything that makes a restore a no-op (S105). It has one piece for the task
// and one for each key group, so that groups can be dealt to other subtasks. Stored: never
// change; another layout is another version.
//
//	task    header, watermark, pairs made and refused,
//	        for each side: the counters of its ledger
//	group   header
//	        keys: how many; for each, in order: the key, and for each side its records:
//	              how many; for each: time, whether it was paired, split, place
//	        for each side: a table of its records, in the order of the keys
//	        failures of the plug-in, as package breaker writes them
//	header  kind and version, one byte each
//
// When records go follows from their times.

// layout is the kind of an interval join's pieces, and their version. Those of windowed
// steps have lower kinds.
var layout = [2]byte{16, 1}

func (l *Ledger) fields() []*int64 {
	return []*int64{&l.Filtered, &l.Late, &l.Counted, &l.Open, &l.Fired, &l.Unfired, &l.Behind}
}

// standing is where a task stands in time, and what it has counted.
type standing struct {
	wm             stream.Time
	pairs, refused int64
	ledger         [2]Ledger
}

// fields are the counters.
func (s *standing) fields() []*int64 {
	all := []*int64{&s.pairs, &s.refused}
	for side := range s.ledger {
		all = append(all, s.ledger[side].fields()...)
	}
	return all
}

// Freeze takes a cut between two batches. It is quick; see change for what it costs behind
// it. If an earlier cut has been neither read nor released, it is written first, which takes
// the longer.
func (j *Interval) Freeze() state.Cut {
	j.cut.finish()
	w := state.Writer{Buf: slices.Clone(layout[:])}
	s := standing{j.wm, j.pairs, j.refused, j.ledger}
	w.I64(int64(s.wm))
	for _, f := range s.fields() {
		w.I64(*f)
	}
	j.epoch++
	c, floors, failures := j.newCut(), j.floors, j.cfg.Breaker.Freeze()
	j.cut = c
	return state.Cut{Task: w.Buf, Groups: func(yield func(state.GroupCut, error) bool) {
		c.finish()
		var w state.Writer
		for g := range c.written {
			w.Buf = append(w.Buf[:0], layout[:]...)
			keys := c.group(g, &w)
			failed := failures(g, &w)
			if err := w.Err(); err != nil {
				yield(state.GroupCut{}, err)
				return
			}
			if !failed && keys == 0 {
				continue
			}
			floor := s.wm
			if f, ok := floors[g]; ok {
				floor = max(floor, f)
			}
			if !yield(state.GroupCut{Group: g, Floor: floor, State: w.Buf}, nil) {
				return
			}
		}
	}, Release: c.close}
}

var (
	errOrder  = fault.As(fault.ErrCorrupt, errors.New("snapshot has records of a join that are not in order of time"))
	errCount  = fault.As(fault.ErrCorrupt, errors.New("snapshot has records of a join and their columns in different numbers"))
	errGroup  = fault.As(fault.ErrCorrupt, errors.New("snapshot has a key twice, or one that is not of its key group, or a group that the step does not have"))
	errFloor  = fault.As(fault.ErrCorrupt, errors.New("snapshot has a key group that stands behind its task"))
	errLayout = fault.As(fault.ErrUser, errors.New("the state was written by another kind of step: restore it with the job that wrote it, or drop the state of the step"))
)

func readHeader(r *state.Reader) {
	if got := [2]byte{r.U8(), r.U8()}; got != layout && !r.Failed() {
		r.Fail(errLayout)
	}
}

// Restore has a new join go on from cuts; an error is of class fault.ErrCorrupt, or
// fault.ErrUser where they were written by a step of another kind.
func (j *Interval) Restore(r state.Restore) error {
	if len(r.Tasks) == 0 || r.Exact && len(r.Tasks) != 1 {
		panic(fmt.Sprintf("BUG: a restore from %d tasks, exact %v", len(r.Tasks), r.Exact))
	}
	var all standing
	for i, task := range r.Tasks {
		in, s := state.NewReader(task), standing{}
		readHeader(in)
		s.wm = stream.Time(in.I64())
		for _, f := range s.fields() {
			*f = in.I64()
		}
		if err := in.Err(); err != nil {
			return fmt.Errorf("state of subtask %d: %w", i, err)
		}
		if i == 0 || s.wm < all.wm {
			all.wm = s.wm
		}
		more := s.fields()
		for n, f := range all.fields() {
			*f += *more[n]
		}
	}
	j.wm = all.wm
	if r.Exact || r.Counts {
		j.pairs, j.refused, j.ledger = all.pairs, all.refused, all.ledger
	}
	defer func() { j.table = stream.Columns{} }() // groups are large
	for g, err := range r.Each() {
		if err != nil {
			return err
		}
		if err = j.readGroup(g); err == nil {
			err = j.cold.restored()
		}
		if err != nil {
			return fmt.Errorf("state of key group %d: %w", g.Group, err)
		}
	}
	return nil
}

func (j *Interval) readGroup(g state.GroupCut) error {
	switch {
	case g.Group < 0 || g.Group >= max(j.cfg.Groups, 1):
		return errGroup
	case g.Floor < j.wm:
		return errFloor
	case g.Floor > j.wm:
		j.setFloor(g.Group, g.Floor)
	}
	r := state.NewReader(g.State)
	readHeader(r)
	var keys []*keyState
	for range r.Len() {
		key := r.Lent()
		if r.Failed() {
			break
		}
		if j.keys[string(key)] != nil || j.groupOf(stream.KeyHash(key)) != g.Group {
			r.Fail(errGroup)
			break
		}
		k := j.newKey(key, g.Floor)
		keys = append(keys, k)
		j.readLists(r, k)
	}
	j.readTables(r)
	j.cfg.Breaker.RestorePart(r, g.Group)
	if err := r.Err(); err != nil {
		return err
	}
	for _, k := range keys {
		j.cold.touch(k)
		j.findNulls(k)
	}
	return nil
}

var errFull = fault.Quotaf("the join keeps more records than one subtask can: raise the parallelism")

// readLists reads the records of a key, whose columns follow later.
func (j *Interval) readLists(r *state.Reader, k *keyState) {
	for s := range k.sides {
		j.readBuffer(r, &k.sides[s])
	}
}

// readTables reads the columns of records that have been read.
func (j *Interval) readTables(r *state.Reader) {
	c := &j.table
	for s, st := range j.stores {
		c.Reset(j.kinds[s])
		if r.Columns(c); r.Failed() || st.N+c.N != len(st.time) {
			r.Fail(errCount)
			return
		}
		if !st.fits(c) {
			r.Fail(errFull)
			return
		}
		st.appendColumns(c)
	}
}

// findNulls marks the records of a key that are part of no pair.
func (j *Interval) findNulls(k *keyState) {
	for s := range k.sides {
		list := k.sides[s].list()
		for i := range list {
			list[i].null = j.stores[s].null(list[i].row, j.notNull[s])
		}
	}
}

// readBuffer reads those of a side.
func (j *Interval) readBuffer(r *state.Reader, b *buffer) {
	st := j.stores[b.side]
	for range r.Len() {
		e := entry{time: stream.Time(r.I64()), row: uint32(len(st.time)), paired: r.Bool()}
		split, pos := stream.SplitID(r.U32()), r.I64()
		if n := len(b.entries); n > 0 && e.time < b.entries[n-1].time {
			r.Fail(errOrder)
		}
		if r.Failed() {
			return
		}
		st.time, st.split, st.pos = append(st.time, e.time), append(st.split, split), append(st.pos, pos)
		b.entries = append(b.entries, e)
	}
	j.queue.set(b, j.retain[b.side])
}
