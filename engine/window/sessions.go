package window

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/internal/fault"
)

// SessionsConfig is what a step of session windows is made of.
type SessionsConfig struct {
	Gap         stream.Time // in ms; 0: each record has its own
	GapCol      int         // the column of that; -1: none
	Lateness    stream.Time
	Key         []stream.Field
	DropNullKey bool
	Functions   []Function
	Process     *Process // nil: none; it looks at no records
	SetAside    bool     // see GeneralConfig
	Guard       *Guard   // nil: no plug-in is ever disabled
	Fine        bool     // see GeneralConfig: here it is what user code is shown
	Groups      int      // number of key groups, max_parallelism
}

// Sessions runs event-time session windows with the event-time trigger (S36, S37, S45–S54)
// for the key groups of one subtask, and, without lateness, with a purging one, which is
// the same there.
//
// Where sessions lie is known at once, record by record; what they hold is computed for a
// segment. So a session that fires, or ends, waits with its contents for the end of the
// segment: it stops before the next record that a waiting session takes, and before a
// merge of sessions that the segment has records of.
//
//	sessions_fire.go      sessions that wait: firings, and what becomes of the state
//	sessions_merge.go     sessions that become one
//	sessions_trial.go     records that may be refused
//	sessions_snapshot.go  state to bytes and back
//	calendar.go           when a session is to be looked at
//
// All state lies in tables without pointers. One goroutine uses it, as Operator says.
type Sessions struct {
	contents
	cfg    SessionsConfig
	assign session

	// keys numbers the keys. Of each, newest is its session in flight that begins last.
	keys   *state.Cells
	newest []uint32
	live   int // keys with sessions in flight

	cells     *state.Cells // what sessions hold
	intervals []interval   // where they lie, by slot of cells
	calendar  calendar     // when they are to be looked at: never behind the next thing to do (M2)
	// replaces lists, for sessions that grew or merged after they had fired, the windows
	// that their next result takes the place of (M4).
	replaces map[uint32][]stream.Window

	waiting []departure
	// base counts the cells of all segments before this one.
	base uint64

	changes []change // with SetAside, what the rows of the segment have changed of intervals

	ids []uint32 // of the keys of the batch in work
	due []uint32 // scratch of advance
}

// interval is a session in flight, or one that waits to leave.
type interval struct {
	window       stream.Window
	mark         uint64 // its number among the cells of all segments: at least base if it has rows in this one
	key          uint32 // in Sessions.keys
	older, newer uint32 // its neighbours among the sessions of the key, which do not touch
	waits        bool   // a departure of it waits
	ended        bool   // it has fired as the window that it is now
}

const noSession = math.MaxUint32

// NewSessions makes an operator with empty state at watermark MIN (S7).
func NewSessions(cfg SessionsConfig, out Output) (*Sessions, error) {
	switch {
	case cfg.Gap < 0:
		return nil, fault.Userf("gap must not be negative, is %d ms", cfg.Gap)
	case cfg.Lateness < 0:
		return nil, ErrLateness
	case cfg.Process.lists():
		return nil, fault.Userf("the process function looks at records, and these sessions keep none")
	case cfg.Process != nil && cfg.Process.Fn.Info().WindowState: // S91
		return nil, ErrWindowState
	}
	o := &Sessions{cfg: cfg, assign: session{gap: cfg.Gap}, keys: state.NewCells(0, 0), calendar: newCalendar(), base: 1, replaces: map[uint32][]stream.Window{}}
	o.attach(cfg.Process, cfg.Key, cfg.Fine, cfg.Guard, cfg.Groups)
	if err := o.init(cfg.Functions, cfg.Key, out); err != nil {
		return nil, err
	}
	o.cells = state.NewCells(o.width, o.varying)
	return o, nil
}

// Panes counts sessions with contents.
func (o *Sessions) Panes() int64 {
	n := int64(0)
	o.each(func(slot uint32) {
		if o.cells.Rows(int(slot)) > 0 {
			n++
		}
	})
	return n
}

// Each calls f for every session in flight.
func (o *Sessions) Each(f func(key []byte, w stream.Window)) {
	o.each(func(slot uint32) {
		s := &o.intervals[slot]
		f(o.keys.Key(int(s.key)), s.window)
	})
}

func (o *Sessions) each(f func(slot uint32)) {
	for _, slot := range o.newest {
		for ; slot != noSession; slot = o.intervals[slot].older {
			f(slot)
		}
	}
}

// Process takes a batch, as that of Aligned does.
func (o *Sessions) Process(b *stream.Batch) error {
	o.compact()
	o.ids = o.ids[:0]
	// Keys are looked up in a loop of their own, in which the processor waits for the memory
	// of many at once (BenchmarkSessions).
	for i := range b.N {
		id, err := o.number(b.Hash[i], b.Key[i].Bytes(b.Blob))
		if err != nil {
			return err
		}
		o.ids = append(o.ids, id)
	}
	return o.run(b, o)
}

// number finds or makes the number of a key.
func (o *Sessions) number(hash uint64, key []byte) (uint32, error) {
	if o.keys.Full(len(key)) || o.cells.Len() >= maxSlots {
		return 0, fault.As(fault.ErrQuota, fmt.Errorf("the keys and sessions of one subtask exceed 4 Gi; raise parallelism"))
	}
	id := o.keys.Slot(hash, key, nil)
	if id == len(o.newest) {
		o.newest = append(o.newest, noSession)
	}
	return uint32(id), nil
}

// record judges one row and puts it into the segment (E1, E2). Called per record.
func (o *Sessions) record(b *stream.Batch, i int) error {
	ts := b.Time[i]
	if o.cfg.SetAside && len(o.waiting) > 0 { // what has fired does not wait for records that may be refused
		if err := o.flush(); err != nil {
			return err
		}
	}
	if o.cfg.DropNullKey && stream.KeyHasNull(b.Key[i].Bytes(b.Blob), o.cfg.Key) {
		o.ledger.Filtered++
		return nil
	}
	own, err := o.window(b, i)
	if err != nil {
		return fault.As(fault.ErrUser, err)
	}
	if ts <= o.wm {
		o.ledger.Behind++
	}
	id := o.ids[i]
	if o.wary() {
		return o.place(b, i, touch{}, own)
	}
	if slot := o.newest[id]; slot != noSession {
		// As a rule it comes to the newest session of its key, not before its start and not
		// behind the watermark: no other is touched, and nothing fires or waits.
		if s := &o.intervals[slot]; s.window.Start <= ts && ts <= s.window.End && s.window.MaxTimestamp() > o.wm {
			o.note(change{slot: slot, end: s.window.End})
			s.window.End = max(s.window.End, own.End)
			o.add(slot, i)
			return nil
		}
	}
	t := o.touching(id, own)
	if t.first == noSession && own.MaxTimestamp() > o.wm {
		slot := o.begin(id, &t)
		o.note(change{slot: slot, began: true})
		o.add(slot, i)
		return nil
	}
	return o.place(b, i, t, own)
}

// window is that of a row by itself.
func (o *Sessions) window(b *stream.Batch, i int) (stream.Window, error) {
	gap := o.cfg.Gap
	if gap == 0 && o.cfg.GapCol >= 0 {
		gap = stream.Time(b.Cols[o.cfg.GapCol].Ints[i])
	}
	return o.assign.window(b.Time[i], gap)
}

// add puts a row of the batch into the segment.
func (o *Sessions) add(slot uint32, row int) {
	s := &o.intervals[slot]
	if s.mark < o.base {
		s.mark = o.base + uint64(o.seg.open(cell{table: o.cells, slot: int(slot), window: s.window}))
	}
	o.seg.put(uint32(row), uint32(s.mark-o.base))
}

// place gives a row, whose own window touches the sessions of t, to the one that they
// become, unless that is late.
func (o *Sessions) place(b *stream.Batch, i int, t touch, own stream.Window) error {
	if o.cfg.SetAside { // it is tried on copies of what is there
		if err := o.flush(); err != nil {
			return err
		}
		t = o.touching(o.ids[i], own) // some rows may have been taken back
	}
	inside := t.one() && o.intervals[t.first].window == t.cover // nothing merges (S48)
	if !inside && t.cover.Cleanup(o.cfg.Lateness) <= o.wm {     // merged first, judged then (S46)
		if b.Time[i].Add(o.cfg.Lateness) <= o.wm { // S42
			o.ledger.Late++
			return o.out.Late(b, i, own, o.wm)
		}
		o.ledger.NoWindow++
		return nil
	}
	if o.cfg.SetAside {
		if f, err := o.trial(&t, b, i); err != nil {
			return err
		} else if f != nil {
			return o.setAside(b, i, t.cover, f)
		}
	}
	if err := o.makeWay(&t); err != nil {
		return err
	}
	slot := t.first
	switch {
	case inside:
	case slot == noSession:
		slot = o.begin(o.ids[i], &t)
	case t.one():
		o.grow(slot, t.cover)
	default:
		if f, err := o.merge(&t); err != nil {
			return err
		} else if f != nil {
			return o.setAside(b, i, t.cover, f)
		}
	}
	o.add(slot, i)
	if o.intervals[slot].window.MaxTimestamp() <= o.wm {
		// Late but within the allowed lateness: it fires with this record and before the next
		// one that it takes (S43, S47, S54).
		o.ledger.LateAccepted++
		o.before = o.wm
		if err := o.wait(slot, true, false); err != nil {
			return err
		}
	}
	if o.cfg.SetAside {
		return o.flush()
	}
	return nil
}

// touch is what a record's own window touches: sessions of its key in flight, from the
// one that begins first to the one that begins last, noSession where there is none.
type touch struct {
	first, last  uint32
	older, newer uint32        // the key's sessions before and behind them
	cover        stream.Window // they and the window together
}

// one reports whether exactly one session is touched.
func (t *touch) one() bool { return t.first == t.last && t.first != noSession }

// touching finds the sessions that a window overlaps or touches (S45). A key has one
// session in flight or two, as a rule, and records come to the newest: a record that
// comes behind n newer ones takes n steps more.
func (o *Sessions) touching(id uint32, w stream.Window) touch {
	t := touch{first: noSession, last: noSession, older: o.newest[id], newer: noSession, cover: w}
	for t.older != noSession {
		s := &o.intervals[t.older]
		if s.window.End < w.Start {
			break
		}
		if s.window.Start > w.End {
			t.newer = t.older
		} else {
			if t.last == noSession {
				t.last = t.older
			}
			t.first = t.older
			t.cover.Start, t.cover.End = min(t.cover.Start, s.window.Start), max(t.cover.End, s.window.End)
		}
		t.older = s.older
	}
	return t
}

// begin begins a session with a window that touches no other.
func (o *Sessions) begin(id uint32, t *touch) uint32 {
	slot := uint32(o.cells.Alloc(o.fresh))
	if int(slot) == len(o.intervals) {
		o.intervals = append(o.intervals, interval{})
	}
	o.intervals[slot] = interval{window: t.cover, key: id, older: t.older, newer: t.newer}
	if t.older == noSession && t.newer == noSession {
		o.live++
	}
	o.join(id, t.older, slot)
	o.join(id, slot, t.newer)
	o.wake(slot)
	return slot
}

// join makes two sessions of a key neighbours. Behind the last one is noSession.
func (o *Sessions) join(id, older, newer uint32) {
	if older != noSession {
		o.intervals[older].newer = newer
	}
	if newer != noSession {
		o.intervals[newer].older = older
	} else {
		o.newest[id] = older
	}
}

// retire takes a session out of flight (S49).
func (o *Sessions) retire(slot uint32) {
	s := &o.intervals[slot]
	o.join(s.key, s.older, s.newer)
	o.calendar.unset(slot)
	if o.newest[s.key] == noSession {
		o.live--
	}
}

// grow makes a session larger (S46): it has not fired as the window that it is now.
func (o *Sessions) grow(slot uint32, w stream.Window) {
	s := &o.intervals[slot]
	if s.ended {
		o.replaces[slot] = append(o.replaces[slot], s.window)
	}
	s.window, s.ended = w, false
	o.wake(slot)
}

// wake has a session looked at no later than at the next thing that happens to it: its
// end, or else the end of its lateness (S44).
func (o *Sessions) wake(slot uint32) {
	w := o.intervals[slot].window
	if end := w.MaxTimestamp(); end > o.wm {
		o.calendar.set(slot, end)
	} else {
		o.calendar.set(slot, w.Cleanup(o.cfg.Lateness))
	}
}

// advance moves event time to w, which is above the current watermark: sessions fire in
// order of their ends, and the state of those past their lateness goes (S44, S68, S69).
func (o *Sessions) advance(w stream.Time) error {
	if o.cfg.SetAside && o.calendar.due <= w { // what is refused may change who fires
		if err := o.flush(); err != nil {
			return err
		}
	}
	was := o.wm
	o.wm = w
	for o.calendar.due <= w {
		t, slots := o.calendar.take(w)
		if slots == nil {
			break
		}
		o.before = max(was, t-1)
		for _, slot := range o.dueOf(t, slots) {
			if err := o.expire(slot, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// dueOf returns the sessions, of those whose alarms were at t, to which something happens,
// in order of their windows' ends and starts and of their keys. Others have grown, and
// are looked at later (M2).
func (o *Sessions) dueOf(t stream.Time, slots []uint32) []uint32 {
	due := o.due[:0]
	for _, slot := range slots {
		w := o.intervals[slot].window
		end, cleanup := w.MaxTimestamp(), w.Cleanup(o.cfg.Lateness)
		switch {
		case end > t:
			o.calendar.set(slot, end)
		case end < t && cleanup > t: // it has grown, and fired as what it is now
			o.calendar.set(slot, cleanup)
		default:
			due = append(due, slot)
		}
	}
	if len(due) > 1 {
		slices.SortFunc(due, func(a, b uint32) int {
			s, u := &o.intervals[a], &o.intervals[b]
			return cmp.Or(compareEnds(s.window, u.window), bytes.Compare(o.keys.Key(int(s.key)), o.keys.Key(int(u.key))))
		})
	}
	o.due = due
	return due
}

// expire lets a session fire at its end, or go, or both.
func (o *Sessions) expire(slot uint32, t stream.Time) error {
	w := o.intervals[slot].window
	cleanup := w.Cleanup(o.cfg.Lateness)
	if cleanup == t {
		o.retire(slot)
	} else {
		o.calendar.set(slot, cleanup)
	}
	return o.wait(slot, w.MaxTimestamp() == t, cleanup == t)
}

// compact forgets keys without sessions once they are as many as the others: the table
// of keys has no deletion. Nothing waits.
func (o *Sessions) compact() {
	if dead := len(o.newest) - o.live; dead <= spareKeys || dead <= o.live {
		return
	}
	old, newest := o.keys, o.newest
	o.keys, o.newest = state.NewCells(0, 0), make([]uint32, 0, 2*o.live)
	for id, slot := range newest {
		if slot == noSession {
			continue
		}
		key := old.Key(id)
		to := uint32(o.keys.Slot(stream.KeyHash(key), key, nil))
		o.newest = append(o.newest, slot)
		for ; slot != noSession; slot = o.intervals[slot].older {
			o.intervals[slot].key = to
		}
	}
}

var _ Operator = (*Sessions)(nil)
