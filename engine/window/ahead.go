package window

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// A call into a plug-in costs as much as hundreds of its operations. What a trigger answers
// to an operation follows from that operation and its state alone, so it can be asked ahead
// of time about all records of a batch, or all timers of an advance, in one call (E4). The
// operator then goes on record by record, and finds the answers there. What has come
// otherwise than it looked, since a timer came between two records of a window, is not what
// was asked: from there on the answers for that window are void, and it is asked about the
// rest of the batch again, in a next round (E5). If a call fails, the operations come one
// by one, and the one to blame is found. So looking ahead can save calls, and nothing else.

const (
	// maxRounds bounds how often the rest of a batch is looked at: where a timer comes
	// between any two records of a window, looking ahead costs more than it saves.
	maxRounds = 4
	// maxAhead bounds the operations of a look ahead: overlapping windows have many.
	maxAhead = 1 << 16
)

// foresight is the answers that are there, by key and window.
type foresight struct {
	keys   map[string][]windowAhead
	rounds int // looks at the current batch
	failed bool

	windows []stream.Window // working memory
	ops     udf.TriggerOps
	owners  []owner   // by slot
	due     []dueCall // timers
}

type windowAhead struct {
	window  stream.Window
	answers []trigger.Answer
}

// owner is the window that a state belongs to.
type owner struct {
	key    string
	window stream.Window
}

type dueCall struct {
	pane *pane
	time stream.Time
}

// start forgets what was asked about another batch.
func (f *foresight) start() {
	clear(f.keys)
	f.rounds, f.failed = 0, false
}

func (f *foresight) find(key []byte, w stream.Window) *windowAhead {
	list := f.keys[string(key)]
	for i := range list {
		if list[i].window == w {
			return &list[i]
		}
	}
	return nil
}

// answers are those that are there for a pane.
func (f *foresight) answers(p *pane) []trigger.Answer {
	if a := f.find(p.owner.key, p.window); a != nil {
		return a.answers
	}
	return nil
}

// keep leaves a pane the answers that it has not used.
func (f *foresight) keep(p *pane, answers []trigger.Answer) {
	if a := f.find(p.owner.key, p.window); a != nil {
		a.answers = answers
	}
}

func (f *foresight) put(o owner, answers []trigger.Answer) {
	if at := f.find([]byte(o.key), o.window); at != nil {
		at.answers = answers
		return
	}
	if f.keys == nil {
		f.keys = map[string][]windowAhead{}
	}
	f.keys[o.key] = append(f.keys[o.key], windowAhead{o.window, answers})
}

// begin begins to collect operations.
func (f *foresight) begin() {
	f.ops.Ops, f.owners = f.ops.Ops[:0], f.owners[:0]
	f.ops.States.Reset()
}

// add adds an operation on the window whose state is in a slot.
func (f *foresight) add(slot uint32, op udf.PaneOp) {
	f.ops.Ops, f.ops.States.Slot = append(f.ops.Ops, op), append(f.ops.States.Slot, slot)
}

// ask asks about what was collected, and puts the answers in place.
func (o *General) ask() error {
	f := &o.user.foresight
	answers, err := trigger.Ask(o.cfg.Trigger, &f.ops)
	if err != nil {
		f.failed = true
		if fail := (*udf.Failure)(nil); errors.As(err, &fail) {
			return nil // somebody is to blame, and will be found
		}
		return err
	}
	lists := make([][]trigger.Answer, len(f.owners))
	for i, a := range answers {
		slot := f.ops.States.Slot[i]
		lists[slot] = append(lists[slot], a)
	}
	for slot, list := range lists {
		f.put(f.owners[slot], list)
	}
	return nil
}

// lookAhead asks about the records of a batch from row i on, unless that has been done for
// row i and its windows. Sessions are not looked at: which there will be is not known.
func (o *General) lookAhead(k *keyState, b *stream.Batch, i int) error {
	f := &o.user.foresight
	if f.failed || f.rounds == maxRounds || i == b.N-1 || o.guard.barsTrigger(k.hash) != nil || o.cfg.Assigner.Merging() || !o.misses(k, b, i) {
		return nil
	}
	f.rounds++
	f.begin()
	slots := map[owner]uint32{}
	wm := o.wm
	for row := i; row < b.N && len(f.ops.Ops) < maxAhead; row++ {
		wm = max(wm, b.WM[row])
		if !trigger.Shown(o.cfg.Trigger, b, row) {
			continue
		}
		var err error
		if f.windows, err = o.windowsOf(f.windows[:0], b, row); err != nil {
			break // the row says so when its turn comes
		}
		key := string(b.Key[row].Bytes(b.Blob))
		for _, w := range f.windows {
			if o.cfg.Assigner.EventTime() && w.Cleanup(o.cfg.Lateness) <= wm {
				continue
			}
			of := owner{key, w}
			slot, seen := slots[of]
			if !seen {
				slot = o.slot(of)
				slots[of] = slot
			}
			if slot != noSlot {
				f.add(slot, udf.PaneOp{What: udf.OnElement, Ending: o.target == stream.MaxTime, Window: w, Watermark: wm, Now: o.now, Time: b.Time[row], Row: uint32(row)})
			}
		}
	}
	f.ops.Records = udf.Timed{Columns: &b.Columns, Time: b.Time}
	err := o.ask()
	f.ops.Records = udf.Timed{} // borrowed
	return err
}

// noSlot is the slot of a window that is not asked about.
const noSlot = math.MaxUint32

// slot makes room for the state of a window, unless there are answers for it, or the
// default trigger has taken over.
func (o *General) slot(of owner) uint32 {
	f := &o.user.foresight
	if a := f.find([]byte(of.key), of.window); a != nil && len(a.answers) > 0 {
		return noSlot
	}
	var state []byte
	k, err := o.known([]byte(of.key))
	if err != nil {
		return noSlot // its record says so when its turn comes
	}
	if k != nil {
		if p := k.panes.get(of.window); p != nil {
			if p.defaulted() {
				return noSlot
			}
			state = p.ownState()
		}
	}
	f.owners = append(f.owners, of)
	return f.ops.States.Add(state)
}

// misses reports whether a window of the record has no answer for it.
func (o *General) misses(k *keyState, b *stream.Batch, i int) bool {
	if !trigger.Shown(o.cfg.Trigger, b, i) {
		return false
	}
	for _, w := range o.windows {
		if o.late(w) {
			continue
		}
		if p := k.panes.get(w); p != nil && p.defaulted() {
			continue
		}
		if a := o.user.foresight.find(k.key, w); a == nil || len(a.answers) == 0 {
			return true
		}
	}
	return false
}

// collect lists the timers at or before t, in the part of the heap that begins at a place.
func (f *foresight) collect(times bucketHeap, at int, d trigger.Domain, t stream.Time) {
	if at >= len(times) || times[at].t > t || len(f.due) > maxAhead {
		return
	}
	b := times[at]
	for _, x := range b.panes[b.next:] {
		if !x.gone && !x.defaulted() && x.set(d, b.t) {
			f.due = append(f.due, dueCall{x.pane, b.t})
		}
	}
	f.collect(times, 2*at+1, d, t)
	f.collect(times, 2*at+2, d, t)
}

// lookAtTimers asks about the timers of a domain that are due at t, and about the clearing
// that follows that of a cleanup.
func (o *General) lookAtTimers(d trigger.Domain, t stream.Time) error {
	f := &o.user.foresight
	if f.failed {
		return nil
	}
	if f.collect(o.timers[d].times, 0, d, t); len(f.due) < 2 || len(f.due) > maxAhead {
		f.due = f.due[:0]
		return nil
	}
	slices.SortStableFunc(f.due, func(a, b dueCall) int { return cmp.Compare(a.time, b.time) })
	f.begin()
	slots := map[*pane]uint32{}
	what := udf.OnEventTimer
	if d == trigger.ProcessingTime {
		what = udf.OnProcessingTimer
	}
	defer func() { clear(f.due); f.due = f.due[:0] }()
	before, cleared := map[dueCall]bool{}, map[*pane]bool{}
	for _, x := range f.due {
		p := x.pane
		if before[x] || cleared[p] { // its timer was deleted and set again; its state is gone
			continue
		}
		before[x] = true
		slot, taken := slots[p]
		if !taken {
			slot = f.ops.States.Add(p.ownState())
			slots[p] = slot
			of := owner{string(p.owner.key), p.window}
			f.owners = append(f.owners, of)
			f.keep(p, nil) // what was asked about records was without the timer
		}
		wm := o.wm
		if d == trigger.EventTime {
			wm = max(wm, x.time)
		}
		op := udf.PaneOp{What: what, Ending: o.target == stream.MaxTime, Window: p.window, Watermark: wm, Now: o.now, Time: x.time}
		f.add(slot, op)
		if cd, ct := p.cleanup(); cd == d && ct == x.time {
			cleared[p] = true
			op.What, op.Time = udf.OnClear, 0
			f.add(slot, op)
		}
	}
	return o.ask()
}
