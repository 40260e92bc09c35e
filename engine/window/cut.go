package window

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tidemark/engine/breaker"
	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// A cut of an operator is everything that makes a restore a no-op (S100, S105). It has one
// piece for the task and one for each key group (STATE.md draws them):
//
//	task    header, watermark, clock, arrivals, ledger
//	group   header, keys, [states of the process function], [failures of plug-ins]
//
// What a key has lies in the piece of its key group, so that groups can be dealt to other
// subtasks. What follows from it is left out, and made again: sums over slices, buckets of
// windows, alarms.
//
// freeze is quick, and leaves the work to who reads: tables are frozen (the task copies what
// it changes first), flat lists are copied. Of what lies in pointers, keys of the general
// operator, there is a list, and the task writes a key before it changes it (keyCut).

// layout names what a piece holds: the kind of the operator, and the version of how that
// writes its keys. Stored: a number is never used again.
type layout uint16

const (
	alignedLayout  layout = 1<<8 | 1
	slicesLayout   layout = 2<<8 | 1
	countsLayout   layout = 3<<8 | 1
	sessionsLayout layout = 4<<8 | 1
	generalLayout  layout = 5<<8 | 1
	sharedLayout   layout = 6<<8 | 1 // the general operator whose panes share slices
	localLayout    layout = 7<<8 | 1
)

// form says what the keys of a cut look like beside accumulators.
type form struct {
	layout layout
	flags  byte
	words  byte // of a pane's trigger
}

// Flags of a header. The first two may differ between a cut and the operator that takes it:
// they say what the piece has.
const (
	hasStates byte = 1 << iota
	hasFailures
	hasTrigger  // of a user, with a state of its own
	hasAssigner // of a user, whose windows overlap in any way
	hasLists    // records in place of accumulators
)

// headerSize is that of
//
//	kind, version, flags, words of trigger state (1 byte each),
//	width of fixed accumulators, number of varying ones (4 bytes each)
const headerSize = 12

func (o *contents) header(s form) (h [headerSize]byte) {
	h[0], h[1], h[2], h[3] = byte(s.layout>>8), byte(s.layout), s.flags, s.words
	if o.process != nil {
		h[2] |= hasStates
	}
	if o.guard != nil {
		h[2] |= hasFailures
	}
	binary.LittleEndian.PutUint32(h[4:], uint32(o.width))
	binary.LittleEndian.PutUint32(h[8:], uint32(o.varying))
	return h
}

// readHeader reads a header, which must be that of s but for states and failures.
func (o *contents) readHeader(r *state.Reader, s form) (flags byte) {
	want := o.header(s)
	var got [headerSize]byte
	for i := range got {
		got[i] = r.U8()
	}
	if r.Failed() {
		return 0
	}
	flags = got[2]
	got[2], want[2] = flags&^(hasStates|hasFailures), s.flags
	if [4]byte(got[:4]) == [4]byte(want[:4]) && [4]byte(got[8:]) == [4]byte(want[8:]) && got != want {
		was := binary.LittleEndian.Uint32(got[4:])
		r.Fail(fault.Userf("the accumulators of the step had %d bytes together, and have %d: a plug-in has changed their size and not their schema; go on with the old module, or drop the state of the step", was, o.width))
	} else if got != want {
		r.Fail(fault.Userf("the state was written by another kind of step (its header is %x, this one's %x): restore it with the job that wrote it, or drop the state of the step", got, want))
	}
	return flags
}

// standing is where a task stands in time, and what it has counted.
type standing struct {
	wm, now  stream.Time
	arrivals uint64
	ledger   Ledger
}

func (s *standing) write(w *state.Writer) {
	w.I64(int64(s.wm))
	w.I64(int64(s.now))
	w.U64(s.arrivals)
	for _, f := range s.ledger.fields() {
		w.I64(*f)
	}
}

func (s *standing) read(r *state.Reader) {
	s.wm, s.now, s.arrivals = stream.Time(r.I64()), stream.Time(r.I64()), r.U64()
	for _, f := range s.ledger.fields() {
		*f = r.I64()
	}
}

// join is where one task stands in place of two: event time is the lower one (S105). The
// clock is what either has seen, and later arrivals are behind all of both.
func (s *standing) join(t *standing) {
	s.wm, s.now, s.arrivals = min(s.wm, t.wm), max(s.now, t.now), max(s.arrivals, t.arrivals)
	s.ledger.add(&t.ledger)
}

func (l *Ledger) fields() []*int64 {
	return []*int64{&l.Filtered, &l.Failed, &l.Late, &l.NoWindow, &l.Counted, &l.Open, &l.Fired, &l.Unfired, &l.Behind, &l.LateAccepted, &l.Partials, &l.InPartials}
}

// add adds the counters of another ledger.
func (l *Ledger) add(m *Ledger) {
	more := m.fields()
	for i, f := range l.fields() {
		*f += *more[i]
	}
}

func (o *contents) standing() standing {
	return standing{wm: o.wm, now: o.now, arrivals: o.arrivals, ledger: o.ledger}
}

// part is what operators do for their cuts.
type part interface {
	Operator
	content() *contents
	form() form
	// freezeKeys is quick.
	freezeKeys() frozen
	// resume derives what follows from the watermark, which has just been set.
	resume()
	// readKeys reads the keys of a group into an operator at the watermark of their task.
	readKeys(r *state.Reader, group int)
}

// frozen is something of an operator as it was. open is called at most once, by anyone, and
// gives what writes it, one key group after the other; nil: there is nothing. close is called
// once, last, open or not; nil: nothing has to be let go.
type frozen struct {
	open  func() groupWriter
	close func() error
	disk  *frozenDisk // what open writes of what is on disk, to be written apart; nil: nothing
}

// groupWriter writes what a key group has, and reports whether that is anything. It is
// called for each group, in their order.
type groupWriter func(group int, w *state.Writer) bool

func (o *contents) content() *contents { return o }

// writeTask writes the piece of the task.
func writeTask(p part, s standing) []byte {
	var w state.Writer
	h := p.content().header(p.form())
	w.Buf = append(w.Buf, h[:]...)
	s.write(&w)
	return w.Buf
}

// freeze takes a cut.
func freeze(p part) state.Cut {
	o := p.content()
	s := o.standing()
	all := []frozen{p.freezeKeys(), o.process.freeze(o.groups), o.guard.freeze()}
	header := o.header(p.form())
	groups := func(open func(frozen) func() groupWriter, yield func(g state.GroupCut, some bool, err error) bool) {
		var pieces []groupWriter
		for _, f := range all {
			if open := open(f); open != nil {
				pieces = append(pieces, open())
			}
		}
		var w state.Writer
		for g := range o.groups {
			w.Buf = append(w.Buf[:0], header[:]...)
			some := false
			for _, write := range pieces {
				if write(g, &w) {
					some = true
				}
			}
			if !yield(state.GroupCut{Group: g, Floor: s.wm, State: w.Buf}, some, w.Err()) || w.Err() != nil {
				return
			}
		}
	}
	cut := state.Cut{Task: writeTask(p, s), Groups: func(yield func(state.GroupCut, error) bool) {
		groups(frozen.whole, func(g state.GroupCut, some bool, err error) bool {
			return err == nil && !some || yield(g, err)
		})
	}, Release: func() (err error) {
		for _, f := range all {
			if f.close != nil {
				err = errors.Join(err, f.close())
			}
		}
		return err
	}}
	if d := all[0].disk; d != nil {
		cut.Apart = d.apart(header, func(yield func(state.GroupApart, error) bool) {
			groups(frozen.inMemory, func(g state.GroupCut, some bool, err error) bool {
				return yield(state.GroupApart{GroupCut: g, None: !some}, err)
			})
		})
	}
	return cut
}

// readTasks reads the pieces of all tasks, and returns where one stands in their place.
func readTasks(p part, r state.Restore) (s standing, err error) {
	if len(r.Tasks) == 0 || r.Exact && len(r.Tasks) != 1 {
		panic(fmt.Sprintf("BUG: a restore from %d tasks, exact %v", len(r.Tasks), r.Exact))
	}
	for i, task := range r.Tasks {
		in, t := state.NewReader(task), standing{}
		p.content().readHeader(in, p.form())
		t.read(in)
		if err := in.Err(); err != nil {
			return s, fmt.Errorf("state of subtask %d: %w", i, err)
		}
		if i == 0 {
			s = t
		} else {
			s.join(&t)
		}
	}
	if !r.Exact && !r.Counts {
		s.ledger = Ledger{}
	}
	return s, nil
}

// start has a new operator stand where it is to go on.
func start(p part, s standing) {
	o := p.content()
	o.wm, o.now, o.arrivals, o.ledger = s.wm, s.now, s.arrivals, s.ledger
	p.resume()
}

// readGroup reads the piece of a key group.
func readGroup(p part, g state.GroupCut) error {
	o, r := p.content(), state.NewReader(g.State)
	if g.Group < 0 || g.Group >= o.groups {
		return fmt.Errorf("state of key group %d: %w", g.Group, errGroup)
	}
	flags := o.readHeader(r, p.form())
	p.readKeys(r, g.Group)
	if flags&hasStates != 0 {
		o.readStates(r, g.Group)
	}
	if flags&hasFailures != 0 {
		o.guard.read(r, g.Group)
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("state of key group %d: %w", g.Group, err)
	}
	return nil
}

var errGroup = fault.As(fault.ErrCorrupt, errors.New("snapshot has a key that is not of its key group, or a group that the step does not have"))

// readKey reads a key of a group, which is lent.
func (o *contents) readKey(r *state.Reader, group int) (key []byte, hash uint64) {
	key = r.Lent()
	hash = stream.KeyHash(key)
	if o.groupOf(hash) != group {
		r.Fail(errGroup)
	}
	return key, hash
}

// groupOf is the key group of a key with a hash.
func (o *contents) groupOf(hash uint64) int { return stream.KeyGroup(hash, o.groups) }

// read reads the failures of a key group; a step that disables no plug-in has no use for
// them.
func (g *Guard) read(r *state.Reader, group int) {
	b := breaker.New(breaker.Limit{})
	if g != nil {
		b = g.Breaker
	}
	b.RestorePart(r, group)
}

// freeze copies the failures of all key groups, of which there are few.
func (g *Guard) freeze() frozen {
	if g == nil {
		return frozen{}
	}
	failures := g.Breaker.Freeze()
	return frozen{open: func() groupWriter { return failures }}
}

// restore has a new operator go on from cuts all of whose key groups stand where their
// tasks do; see staggered for others.
func restore(p part, r state.Restore) error {
	r, err := renew(p, r)
	if err != nil {
		return err
	}
	s, err := readTasks(p, r)
	if err != nil {
		return err
	}
	start(p, s)
	for g, err := range r.Each() {
		if err != nil {
			return err
		}
		if g.Floor != s.wm {
			return fmt.Errorf("state of key group %d: %w: it stands at %d, and the task at %d", g.Group, errFloor, g.Floor, s.wm)
		}
		if err := readGroup(p, g); err != nil {
			return err
		}
	}
	finish(p)
	return nil
}

var errFloor = fault.As(fault.ErrCorrupt, errors.New("snapshot has a key group at a time that is not that of its task"))

// finish comes behind the last group that was read.
func finish(p part) {
	if q := p.content().process; q != nil {
		q.keys.tidy()
	}
}
