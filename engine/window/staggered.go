package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tidemark/engine/result"
	"tidemark/engine/state"
	"tidemark/engine/stream"
)

// staggered is the operator of a subtask whose key groups may stand at different times. A
// subtask that takes groups over from several others stands where the one stood that is
// furthest behind; a group whose task stood further ahead has its time as a floor (S105):
// until the watermark has passed it, it stays in an operator of its own, which stands at
// the floor and takes the records of its groups. There a record is late, or fires at once,
// by the floor, and what was past due waits for the next step of its time (S67), as it
// would have in the task that it comes from. When the watermark reaches the floor all stand
// at the same time, and the state moves over: so no operator knows of floors, and each has
// all of its state at one time.
//
//	            50        floor 70    floor 90
//	watermark ──┴────>
//	            part      ahead[0]    ahead[1]
//
// In an ordered replay no record comes for a group that is ahead: it has had all of those
// that stand before its floor.
type staggered struct {
	part
	open   func(Output) (part, error) // another one of the same functions
	out    Output
	groups []*ahead // by key group, where it stands ahead; nil: none does
	ahead  []*ahead // by floor
}

// ahead is key groups that stand at a floor.
type ahead struct {
	part
	floor stream.Time
}

func newStaggered(out Output, open func(Output) (part, error)) (Operator, error) {
	p, err := open(out)
	if err != nil {
		return nil, err
	}
	return &staggered{part: p, open: open, out: out}, nil
}

// Process takes a batch, as that of Aligned does.
func (s *staggered) Process(b *stream.Batch) error {
	if len(s.ahead) == 0 {
		return s.part.Process(b)
	}
	lo := 0
	for len(s.ahead) > 0 {
		at, floor := lo, s.ahead[0].floor
		for at < b.N && b.WM[at] < floor {
			at++
		}
		if at == b.N && b.Trailing < floor {
			break
		}
		if err := s.deal(b, lo, at, floor); err != nil {
			return err
		}
		if err := s.reach(); err != nil {
			return err
		}
		lo = at
	}
	return s.deal(b, lo, b.N, b.Trailing)
}

// deal gives rows of a batch to the operators that have their key groups, and then the
// watermark to that of the task.
func (s *staggered) deal(b *stream.Batch, lo, hi int, trailing stream.Time) error {
	rows := map[part]*stream.Batch{s.part: rowsOf(b)}
	for i := lo; i < hi; i++ {
		p := s.part
		if a := s.groups[s.content().groupOf(b.Hash[i])]; a != nil {
			p = a.part
		}
		if rows[p] == nil {
			rows[p] = rowsOf(b)
		}
		rows[p].AppendRow(b, i)
	}
	own := rows[s.part]
	own.Trailing = trailing
	if err := s.part.Process(own); err != nil {
		return err
	}
	for _, a := range s.ahead {
		if rows[a.part] == nil {
			continue
		}
		if err := a.Process(rows[a.part]); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf makes a batch for some of the rows of another one.
func rowsOf(b *stream.Batch) *stream.Batch {
	kinds := make([]stream.Kind, len(b.Cols))
	for n := range kinds {
		kinds[n] = b.Cols[n].Kind
	}
	to := new(stream.Batch)
	to.Reset(kinds)
	to.Source, to.Input, to.Partial = b.Source, b.Input, b.Partial
	return to
}

// reach takes in the groups of the lowest floor, which the watermark has reached.
func (s *staggered) reach() error {
	a := s.ahead[0]
	cut, err := a.Freeze().Read()
	if err != nil {
		return err
	}
	for _, g := range cut.Groups {
		if s.groups[g.Group] != a {
			continue // failures of plug-ins in others, which all know of
		}
		if err := readGroup(s.part, g); err != nil {
			return fmt.Errorf("the state of a key group that stood ahead: %w", err)
		}
	}
	finish(s.part)
	o, other := s.content(), a.content()
	o.now, o.arrivals = max(o.now, other.now), max(o.arrivals, other.arrivals)
	o.ledger.add(&other.ledger)
	for g, of := range s.groups {
		if of == a {
			s.groups[g] = nil
		}
	}
	s.ahead = s.ahead[1:]
	return nil
}

// all calls f for every operator.
func (s *staggered) all(f func(part)) {
	f(s.part)
	for _, a := range s.ahead {
		f(a.part)
	}
}

// Clock implements Operator.
func (s *staggered) Clock(now stream.Time) (err error) {
	s.all(func(p part) {
		if err == nil {
			err = p.Clock(now)
		}
	})
	return err
}

// Stamp implements Operator.
func (s *staggered) Stamp(now stream.Time) { s.all(func(p part) { p.Stamp(now) }) }

// Ledger implements Operator.
func (s *staggered) Ledger() (l Ledger) {
	s.all(func(p part) { l.add(&p.content().ledger) })
	return l
}

// Panes implements Operator.
func (s *staggered) Panes() (n int64) {
	s.all(func(p part) { n += p.Panes() })
	return n
}

// Each implements Operator.
func (s *staggered) Each(f func(key []byte, w stream.Window)) { s.all(func(p part) { p.Each(f) }) }

// Bytes implements Operator.
func (s *staggered) Bytes() (n int64) {
	s.all(func(p part) { n += p.Bytes() })
	return n
}

// Spilled implements Operator.
func (s *staggered) Spilled() (all SpilledState) {
	s.all(func(p part) { all = all.Plus(p.Spilled()) })
	return all
}

// Weigh implements Operator.
func (s *staggered) Weigh(f Weigher) { s.all(func(p part) { p.Weigh(f) }) }

// Freeze implements Operator.
func (s *staggered) Freeze() state.Cut {
	if len(s.ahead) == 0 {
		return s.part.Freeze()
	}
	var stands standing
	var cuts []state.Cut
	s.all(func(p part) {
		own := p.content().standing()
		if len(cuts) == 0 {
			stands = own
		} else {
			stands.join(&own) // the task stands behind the others
		}
		cuts = append(cuts, p.Freeze())
	})
	owner := make([]int, s.content().groups) // by group: number in cuts
	for n, a := range s.ahead {
		for g, of := range s.groups {
			if of == a {
				owner[g] = n + 1
			}
		}
	}
	// What is on disk does not stand apart: key groups move from one operator to another.
	return state.Cut{Task: writeTask(s.part, stands), Groups: func(yield func(state.GroupCut, error) bool) {
		var all []state.GroupCut
		for n, cut := range cuts {
			for g, err := range cut.Groups {
				if err != nil {
					yield(g, err)
					return
				}
				if owner[g.Group] == n {
					g.State = slices.Clone(g.State)
					all = append(all, g)
				}
			}
		}
		slices.SortFunc(all, func(a, b state.GroupCut) int { return cmp.Compare(a.Group, b.Group) })
		for _, g := range all {
			if !yield(g, nil) {
				return
			}
		}
	}, Release: func() (err error) {
		for _, cut := range cuts {
			err = errors.Join(err, cut.Close())
		}
		return err
	}}
}

// Restore implements Operator.
func (s *staggered) Restore(r state.Restore) error {
	r, err := renew(s.part, r)
	if err != nil {
		return err
	}
	stands, err := readTasks(s.part, r)
	if err != nil {
		return err
	}
	start(s.part, stands)
	for g, err := range r.Each() {
		if err != nil {
			return err
		}
		p := s.part
		switch {
		case g.Floor < stands.wm:
			return fmt.Errorf("state of key group %d: %w: it stands at %d, and the task at %d", g.Group, errFloor, g.Floor, stands.wm)
		case g.Floor > stands.wm:
			if p, err = s.at(g, stands); err != nil {
				return err
			}
		}
		if err := readGroup(p, g); err != nil {
			return err
		}
	}
	s.all(finish)
	return nil
}

// at returns the operator at the floor of a key group.
func (s *staggered) at(g state.GroupCut, stands standing) (part, error) {
	n, there := slices.BinarySearchFunc(s.ahead, g.Floor, func(a *ahead, floor stream.Time) int { return cmp.Compare(a.floor, floor) })
	if !there {
		p, err := s.open(before{s.out, s.part})
		if err != nil {
			return nil, err
		}
		start(p, standing{wm: g.Floor, now: stands.now, arrivals: stands.arrivals})
		s.ahead = slices.Insert(s.ahead, n, &ahead{p, g.Floor})
	}
	a := s.ahead[n]
	if s.groups == nil {
		s.groups = make([]*ahead, s.content().groups)
	}
	if g.Group >= 0 && g.Group < len(s.groups) {
		s.groups[g.Group] = a
	}
	return a.part, nil
}

// before is the Output of groups that stand ahead: whoever reads their rows must not take
// the floor for the task's watermark.
type before struct {
	Output
	task part
}

func (o before) Rows(r *result.Rows) error {
	wm := o.task.Watermark()
	for i := range r.Before {
		r.Before[i] = min(r.Before[i], wm)
	}
	return o.Output.Rows(r)
}
