package window

import (
	"errors"
	"slices"

	"tidemark/engine/state"
	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
	"tidemark/internal/fault"
)

// GeneralConfig is what a step is made of that needs the general operator.
type GeneralConfig struct {
	Assigner Assigner
	Trigger  trigger.Trigger
	Lateness stream.Time
	Evictor  *Evictor // contents are lists

	Key         []stream.Field
	DropNullKey bool
	Groups      int // number of key groups, max_parallelism
	// Functions fold records into accumulators, or, where contents are lists, are run
	// over the list at each firing.
	Functions []Function
	// Whole are functions of the list, and make contents lists; see udf.Whole.
	Whole []WholeFunction

	GapCol   int // column of a record's own session gap in ms; -1: none
	ValueCol int // column that a delta trigger compares; -1: none
	// Process is shown every firing in place of its row; nil: none. If it looks at records,
	// contents are lists.
	Process *Process
	// SetAside: a record that user code refuses is set aside and the step goes on. Then
	// each record is tried on copies before anything sees it, since a refused one must
	// leave no trace in sessions, triggers and timers (E8). Otherwise a refusal ends the
	// job, and what it leaves behind is gone with it.
	SetAside bool
	// Guard, with SetAside, disables plug-ins that keep failing; nil: none is.
	Guard *Guard
	// Fine advances the watermark from timer to timer instead of at once, as if every
	// millisecond had been announced: in an ordered replay a subtask sees only the
	// watermarks before its own rows, and what a firing looks like must not depend on how
	// rows were dealt out (T6).
	Fine bool
	// Join: the step reads two inputs, which the Input of a batch tells apart (S115).
	// Contents are lists.
	Join bool
	// Spill is where keys go that there is no room for in memory; nil: all stay there.
	Spill *Spill
	// Table makes the rows of a firing; nil: Functions and Whole make one. With it there
	// are no others, and contents are lists.
	Table udf.Table
}

// General runs any assigner, trigger, evictor and function, one record at a time: the
// rules of the specification as they stand. Adding to accumulators is still done for
// many records at once, since nobody looks at them before something fires.
type General struct {
	contents
	agenda agenda
	cfg    GeneralConfig
	was    stream.Time // the watermark before the last advance
	target stream.Time // where that goes
	keys   map[string]*keyState
	// timers by domain. They are one queue for the subtask, so that firings leave in
	// order of time; a pane knows its own.
	timers   [2]timerQueue
	live     [2]int // timers that are set; the queues hold deleted ones too
	table    *state.Cells
	shared   *shared       // nil: each pane has accumulators of its own, in table
	user     *userTrigger  // nil: the trigger is a built-in one
	assigner *userAssigner // nil: the assigner is a built-in one
	listed   int64         // bytes of all lists
	cold     *coldKeys     // nil: all keys are in memory
	cuts     uint64        // that were taken
	open     []*keyCut     // those that may be open, the newest one last
	openDone uint64        // keyCut.done of the newest one; 0: none is
	// lazy: sessions with the event-time trigger have one timer, at some time that is not
	// behind the next thing to do; when it comes too early it moves on (M2). Nobody can
	// tell, since a timer that is not the window's end means nothing to that trigger.
	lazy bool

	// spare are panes that are gone. The queues may still name them: entries from another
	// life are passed over.
	spare []*pane

	context  trigger.Context // scratch
	windows  []stream.Window
	accepted []*pane
	at       int // the record's next window is before it in the list of its key's panes
}

// Errors of a step that cannot be run, of class fault.ErrUser.
var (
	// ErrWindowState: per-window state in windows that merge (S91).
	ErrWindowState = fault.As(fault.ErrUser, errors.New("session windows merge, so a function cannot keep state for each of them"))
	// ErrCannotMerge: sessions with a trigger whose state has no merge (S65).
	ErrCannotMerge = fault.As(fault.ErrUser, errors.New("session windows need a trigger whose state can be merged"))
	// ErrLateness: a negative allowed lateness (S40).
	ErrLateness = fault.As(fault.ErrUser, errors.New("allowed lateness must not be negative"))
)

func (c *GeneralConfig) check() error {
	switch {
	case c.Assigner.Merging() && !c.Trigger.Mergeable():
		return ErrCannotMerge
	case c.Lateness < 0:
		return ErrLateness
	case c.Assigner.Merging() && c.Process != nil && c.Process.Fn.Info().WindowState: // S91
		return ErrWindowState
	}
	return nil
}

// NewGeneral makes an operator with empty state at watermark MIN (S7).
func NewGeneral(cfg GeneralConfig, out Output) (*General, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	o := &General{cfg: cfg, keys: map[string]*keyState{}}
	o.lists = cfg.Evictor != nil || cfg.Table != nil || len(cfg.Whole) > 0 || cfg.Join || cfg.Process.lists()
	o.agenda.first, o.agenda.stage = 1, 1 // a pane that has not acted has 0
	o.lazy = cfg.Assigner.Merging() && cfg.Assigner.EventTime() && trigger.IsEventTime(cfg.Trigger)
	o.user = newUserTrigger(&o.cfg)
	o.assigner, _ = cfg.Assigner.(*userAssigner)
	o.attach(cfg.Process, cfg.Key, cfg.Fine, cfg.Guard, cfg.Groups)
	if err := o.init(cfg.Functions, cfg.Key, out); err != nil {
		return nil, err
	}
	if o.lists {
		o.compute = o.listResults
	}
	if cfg.Table != nil {
		o.emitter.values = append(o.emitter.values, cfg.Table.Outputs())
	}
	for _, w := range cfg.Whole {
		o.emitter.values = append(o.emitter.values, w.Fn.Outputs())
	}
	o.table = state.NewCells(o.width, o.varying)
	if o.cold = newColdKeys(o, cfg.Spill); o.cold != nil {
		o.process.spill(cfg.Spill, o.cold.held, o.groups)
	}
	return o, nil
}

// Panes counts (key, window) pairs with contents.
func (o *General) Panes() int64 {
	n := o.cold.filled()
	for _, k := range o.keys {
		for _, p := range k.panes {
			if p.filled() {
				n++
			}
		}
	}
	return n
}

// Each calls f for every pane with contents; for sessions for those in flight, with or
// without (S50).
func (o *General) Each(f func(key []byte, w stream.Window)) {
	for _, k := range o.keys {
		for _, p := range k.panes {
			if o.cfg.Assigner.Merging() || p.filled() {
				f(k.key, p.window)
			}
		}
	}
	o.eachCold(func(k *keyState, p *pane) {
		if o.cfg.Assigner.Merging() || p.filled() {
			f(k.key, p.window)
		}
	})
}

// Close closes the functions.
func (o *General) Close() error {
	err := o.contents.Close()
	if o.cfg.Table != nil {
		err = errors.Join(err, o.cfg.Table.Close())
	}
	if fn := trigger.User(o.cfg.Trigger); fn != nil {
		err = errors.Join(err, fn.Close())
	}
	if fn := UserAssigner(o.cfg.Assigner); fn != nil {
		err = errors.Join(err, fn.Close())
	}
	return err
}

// Process takes a batch, as that of Aligned does.
func (o *General) Process(b *stream.Batch) error {
	if o.user != nil {
		o.user.start()
	}
	if o.assigner != nil {
		if err := o.assigner.start(b, func(row int) bool {
			return !o.dropped(b.Key[row].Bytes(b.Blob)) && o.guard.barsRecord(b.Hash[row]) == nil
		}); err != nil {
			return err
		}
	}
	if err := o.run(b, o); err != nil {
		return err
	}
	return o.cold.shrink()
}

// Clock sets processing time and fires the timers that it has reached: between two
// batches, never inside one (T5).
func (o *General) Clock(now stream.Time) error {
	o.Stamp(now)
	if err := o.expire(trigger.ProcessingTime, now); err != nil {
		return err
	}
	if err := o.flush(); err != nil {
		return err
	}
	return o.cold.shrink()
}

// advance sets the watermark, which rises, and then fires what is due (S69).
func (o *General) advance(w stream.Time) error {
	o.was, o.target = o.wm, w
	if !o.cfg.Fine {
		o.wm = w
	}
	err := o.expire(trigger.EventTime, w)
	o.wm = w
	return err
}

// expire calls the timers of a domain up to t in order of time, those included that
// the calls themselves set (S67, S68).
func (o *General) expire(d trigger.Domain, t stream.Time) error {
	if !o.timers[d].due(t) && !o.cold.isDue(d, t) {
		return nil
	}
	if o.shared != nil { // whose slices are read at once
		if err := o.flush(); err != nil {
			return err
		}
	}
	if o.user != nil {
		o.user.turn++
		if err := o.lookAtTimers(d, t); err != nil {
			return err
		}
	}
	for {
		p, at, ok := o.timers[d].take(d, o.cold.until(d, t))
		if !ok {
			if !o.cold.isDue(d, t) {
				return nil
			}
			if err := o.wake(d, t); err != nil {
				return err
			}
			continue
		}
		if o.before = o.wm; d == trigger.EventTime {
			o.wm = max(o.wm, at)
			o.before = max(o.was, at-1)
		}
		if err := o.timer(p, d, at); err != nil {
			return err
		}
	}
}

// timer calls the trigger for a timer of a pane, and cleans up if this is the time.
// Sessions that were merged away have no timers any more (S49).
func (o *General) timer(p *pane, d trigger.Domain, t stream.Time) error {
	if p.gone {
		return nil
	}
	if o.lazy && t < p.window.MaxTimestamp() { // the session has grown since (M2)
		p.SetTimer(d, p.window.MaxTimestamp())
		return nil
	}
	v, err := o.onTimer(p, d, t)
	if err != nil {
		return err
	}
	if err := o.carryOut(p, v); err != nil {
		return err
	}
	switch cd, ct := p.cleanup(); {
	case d == cd && t == ct:
		if err := o.clean(p); err != nil {
			return err
		}
	case o.lazy && ct != stream.MaxTime:
		p.SetTimer(cd, ct)
	}
	o.forget(p)
	return nil
}

// clock is the time that windows of the step end by.
func (o *General) clock() stream.Time {
	if o.cfg.Assigner.EventTime() {
		return o.wm
	}
	return o.now
}

// carryOut fires and purges as a verdict says, in this order (S53).
func (o *General) carryOut(p *pane, v trigger.Verdict) error {
	if v&trigger.Fire != 0 && p.filled() {
		if err := o.firePane(p); err != nil {
			return err
		}
	}
	if v&trigger.Purge != 0 {
		p.purged = p.purged || p.filled()
		o.empty(p)
	}
	return nil
}

// firePane fires a pane that has contents: at once, or when the agenda is carried out.
func (o *General) firePane(p *pane) error {
	switch s := &o.agenda; {
	case o.process.forgets() && p.owner.acted >= s.first: // the state that it finds may have expired by then
		if err := o.flush(); err != nil {
			return err
		}
	case s.acts(p):
		if err := o.cut(); err != nil {
			return err
		}
	}
	if o.cfg.Evictor != nil {
		return o.fireEvicted(p)
	}
	return o.firePlain(p)
}

func (o *General) firePlain(p *pane) error {
	if o.shared == nil && o.cfg.Table == nil {
		return o.wait(p)
	}
	f := o.firing(p)
	if o.shared != nil {
		return o.fireShared(&f)
	}
	return o.fireTable(&f)
}

// fireEvicted evicts, fires at once, and evicts again (S84, S88). What was evicted is gone
// for good, also if the functions then fail.
func (o *General) fireEvicted(p *pane) error {
	if err := o.evict(p, false); err != nil {
		return err
	}
	firings := o.table.Fired(p.slot)
	if err := o.firePlain(p); err != nil {
		return err
	}
	if err := o.flush(); err != nil {
		return err
	}
	if o.table.Fired(p.slot) == firings { // the result was refused
		return nil
	}
	return o.evict(p, true)
}

// empty drops the contents of a pane and nothing else.
func (o *General) empty(p *pane) {
	o.setElements(p, nil)
	p.full = false
	if p.slot >= 0 && !o.lists {
		o.purge(p)
	}
}

// clean removes a pane's state at its cleanup time (S44). A timer that the trigger
// leaves behind keeps the pane known, as an empty one.
func (o *General) clean(p *pane) error {
	if err := o.onClear(p); err != nil {
		return err
	}
	clear(p.state)
	o.setElements(p, nil)
	if p.full = false; !p.leaving {
		o.end(p)
	}
	if o.cfg.Assigner.Merging() {
		p.owner.retire(p)
		p.drop()
	}
	return nil
}

// leave settles the account of a pane and lets its contents go.
func (o *General) leave(p *pane) {
	o.settle(p)
	if p.slot >= 0 {
		o.table.Free(p.slot)
		p.slot = -1
	}
	if o.shared != nil && p.owner.slices != nil {
		o.shared.drop(p.owner.slices, o.shared.number(p.window))
	}
	p.ended, p.shown, p.purged, p.replaces = false, false, false, nil
	if o.process != nil {
		o.process.windows.drop(p.window, p.owner.key)
	}
	if p.leaving {
		p.leaving = false
		o.forget(p)
	}
}

// forget drops a pane and its key when nothing is left of them.
func (o *General) forget(p *pane) {
	k := p.owner
	if p.leaving || !p.gone && !p.empty() {
		return
	}
	k.panes.remove(p)
	if len(o.spare) < maxSparePanes {
		o.spare = append(o.spare, p)
	}
	o.forgetKey(k)
}

// maxSparePanes bounds the panes that are kept for new windows.
const maxSparePanes = 1024

// forgetKey drops a key of which nothing is left.
func (o *General) forgetKey(k *keyState) {
	if len(k.panes) == 0 && len(k.cohorts) == 0 {
		delete(o.keys, string(k.key))
		o.cold.unlink(k)
	}
}

// dropped reports whether records of a key take no part.
func (o *General) dropped(key []byte) bool {
	return o.cfg.DropNullKey && stream.KeyHasNull(key, o.cfg.Key)
}

// record judges one row and gives it to its windows.
func (o *General) record(b *stream.Batch, i int) error {
	if o.cfg.SetAside { // it is tried on copies of what is there
		if err := o.flush(); err != nil {
			return err
		}
	}
	ts, key := b.Time[i], b.Key[i].Bytes(b.Blob)
	if o.dropped(key) {
		o.ledger.Filtered++
		return nil
	}
	event := o.cfg.Assigner.EventTime()
	if event && ts <= o.wm && ts != stream.MinTime {
		o.ledger.Behind++
	}
	if f := o.refusal(b, i); f != nil {
		o.ledger.Failed++
		return o.out.Refused(b, i, stream.Global, f)
	}
	var err error
	if o.windows, err = o.windowsOf(o.windows[:0], b, i); err != nil {
		return fault.As(fault.ErrUser, err)
	}
	k, err := o.key(key, b.Hash[i])
	if err != nil {
		return err
	}
	if o.user != nil {
		if err := o.lookAhead(k, b, i); err != nil {
			return err
		}
	}
	if o.cfg.SetAside {
		f, w, err := o.trial(k, b, i)
		if f == nil && err == nil && o.user != nil {
			f, w, err = o.tryTrigger(k, b, i)
		}
		if err != nil {
			return err
		}
		if f != nil {
			o.forgetKey(k)
			o.ledger.Failed++
			return o.out.Refused(b, i, w, f)
		}
	}
	o.accepted = o.accepted[:0]
	o.at = len(k.panes)
	refused := stream.Global
	for _, w := range o.windows {
		p, err := o.pane(k, w, b, i)
		if err != nil {
			return err
		}
		if p == nil {
			if refused == stream.Global {
				refused = w
			}
			continue
		}
		o.accepted = append(o.accepted, p)
	}
	if len(o.accepted) == 0 {
		o.forgetKey(k)
		if o.refused == i {
			return nil
		}
		if event && ts.Add(o.cfg.Lateness) <= o.wm { // S42
			o.ledger.Late++
			return o.out.Late(b, i, refused, o.wm)
		}
		o.ledger.NoWindow++
		return nil
	}
	return o.take(b, i, k)
}

// pane returns the pane of a window that accepts the record, nil if it is late for it
// (S41); sessions are merged first and judged then (S46).
func (o *General) pane(k *keyState, w stream.Window, b *stream.Batch, i int) (*pane, error) {
	if o.cfg.Assigner.Merging() {
		return o.merge(k, w, b, i)
	}
	if o.late(w) {
		return nil, nil
	}
	if o.assigner != nil { // windows that end earlier may begin later
		o.at = len(k.panes)
	}
	if at := o.at - 1; at >= 0 && k.panes[at].id == w { // as a rule
		o.at = at
		return k.panes[at], nil
	}
	at, ok := k.panes.before(o.at, w)
	if o.at = at; !ok {
		k.panes = slices.Insert(k.panes, at, o.newPane(k, w))
	}
	return k.panes[at], nil
}

func (o *General) late(w stream.Window) bool {
	return o.cfg.Assigner.EventTime() && w.Cleanup(o.cfg.Lateness) <= o.wm
}

func (o *General) newPane(k *keyState, w stream.Window) *pane {
	p := &pane{}
	if n := len(o.spare); n > 0 {
		p, o.spare = o.spare[n-1], o.spare[:n-1]
	}
	*p = pane{op: o, owner: k, window: w, id: w, slot: -1, life: p.life + 1}
	if n := o.cfg.Trigger.Words(); n <= len(p.words) {
		p.state = p.words[:n]
	} else {
		p.state = make([]int64, n)
	}
	for d := range p.timers {
		p.timers[d] = p.times[d][:0]
	}
	return p
}

// allocPane makes the cell of a pane: its accumulators, if it has any, and how many
// records it has taken and how often it has fired.
func (o *General) allocPane() int {
	if o.shared != nil {
		return o.table.Alloc(nil)
	}
	return o.table.Alloc(o.fresh)
}

// take adds the record to its panes, and then lets the trigger see it, pane by pane.
func (o *General) take(b *stream.Batch, i int, k *keyState) error {
	if !o.lists && slices.ContainsFunc(o.accepted, o.agenda.acts) {
		if err := o.cut(); err != nil {
			return err
		}
	}
	o.arrivals++
	if o.shared != nil {
		slot, err := o.shared.place(k, b.Time[i])
		if err != nil {
			return err
		}
		o.seg.add(uint32(i), cell{table: o.shared.cells, slot: int(slot), window: o.accepted[0].window, pane: o.accepted[0]})
	}
	for _, p := range o.accepted {
		if p.slot < 0 {
			p.slot = o.allocPane()
		}
		switch {
		case o.shared != nil:
			o.table.Touch(p.slot, 1)
			continue
		case !o.lists:
			o.seg.add(uint32(i), p.cell())
			p.full = true
			continue
		}
		if p.elements == nil {
			p.elements = &elements{}
		}
		side := uint8(0)
		if o.cfg.Join {
			side = b.Input
		}
		o.listed -= p.elements.size
		p.elements.add(side, b, i, o.arrivals)
		o.listed += p.elements.size
	}
	if o.lists {
		o.ledger.Counted++
		o.ledger.Open++
	}
	o.account(k)
	e := o.element(b, i)
	o.before = o.wm
	lateAccepted := false
	// Windows that fire at once do so in order of their ends, as those of slices do (L6):
	// a process function's state of the key shows it.
	for _, p := range slices.Backward(o.accepted) {
		lateAccepted = lateAccepted || o.cfg.Assigner.EventTime() && p.window.MaxTimestamp() <= o.wm
		v := trigger.Continue
		if m := p.window.MaxTimestamp(); !o.lazy || m <= o.wm || !p.awakeBy(m) {
			var f *udf.Failure
			var err error
			if v, f, err = o.onElement(p, e); err != nil {
				return err
			} else if f != nil {
				return o.refuseLate(b, i, p.window, f)
			}
		}
		if v != trigger.Continue {
			if o.shared != nil {
				if err := o.flush(); err != nil {
					return err
				}
				if o.refused == i {
					return nil
				}
			}
			if err := o.carryOut(p, v); err != nil {
				return err
			}
		}
		if d, t := p.cleanup(); t != stream.MaxTime && !(o.lazy && p.awakeBy(t)) { // S44
			p.SetTimer(d, t)
		}
	}
	if lateAccepted {
		o.ledger.LateAccepted++
	}
	return nil
}

// account notes which windows hold the record, so that it is classed once.
func (o *General) account(k *keyState) {
	if len(o.accepted) == 1 && !o.overlapping() {
		o.accepted[0].records++
		return
	}
	if o.assigner != nil {
		k.holdings.add(o.accepted)
		return
	}
	k.cohorts.add(o.accepted[len(o.accepted)-1].window.Start, o.accepted[0].window.Start)
}

func (o *General) overlapping() bool {
	g, ok := o.cfg.Assigner.(*grid)
	return ok && g.slide < g.size
}

// settle closes the account of the records whose last window goes.
func (o *General) settle(p *pane) {
	class := func(n int64, fired bool) {
		o.ledger.Open -= n
		if fired {
			o.ledger.Fired += n
		} else {
			o.ledger.Unfired += n
		}
	}
	fired := p.slot >= 0 && o.table.Fired(p.slot) > 0
	class(p.records, fired)
	p.records = 0
	p.owner.cohorts.settle(p.window.Start, fired, class)
	p.owner.holdings.settle(p, fired, class)
}

var _ Operator = (*General)(nil)
