package window

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/engine/stream"
	"tidemark/engine/trigger"
	"tidemark/engine/udf"
)

// userTrigger is what the general operator has where user code decides when panes fire.
// That may fail, so each call is made on copies, and its timers are set when it has
// succeeded. A record that the trigger refuses is refused as by any function: it leaves no
// trace. A timer cannot be refused, since the window is there: the default trigger of the
// window (S64) takes over for that pane.
type userTrigger struct {
	standard trigger.Trigger
	turn     uint64 // counts advances of a clock
	foresight

	// The call in work.
	own    trigger.Own
	words  []int64
	olds   [][]int64
	timers []timerChange
}

type timerChange struct {
	domain trigger.Domain
	time   stream.Time
	set    bool
}

// SetTimer and DeleteTimer note what a call wants (trigger.Timers).
func (u *userTrigger) SetTimer(d trigger.Domain, t stream.Time) {
	u.timers = append(u.timers, timerChange{d, t, true})
}

func (u *userTrigger) DeleteTimer(d trigger.Domain, t stream.Time) {
	u.timers = append(u.timers, timerChange{d, t, false})
}

// ownPane is what a pane has of a user's trigger.
type ownPane struct {
	state     []byte
	defaulted bool // the trigger has failed here, and the default one decides

	// Timer calls of the current advance at no later time than one before.
	turn    uint64
	last    [2]stream.Time
	repeats int
}

const (
	// maxPaneTimers bounds the timers of a pane that a user's trigger sets: built-in ones
	// have up to three, and each is searched for in a list.
	maxPaneTimers = 1000
	// maxRepeats bounds how often a pane's timers may come due again and again within one
	// advance without getting later: they would do so for ever.
	maxRepeats = 1000
)

// newUserTrigger returns nil where only built-in triggers decide.
func newUserTrigger(cfg *GeneralConfig) *userTrigger {
	if trigger.User(cfg.Trigger) == nil {
		return nil
	}
	u := &userTrigger{standard: trigger.NewProcessingTime(), words: make([]int64, cfg.Trigger.Words())}
	if cfg.Assigner.EventTime() {
		u.standard = trigger.NewEventTime()
	} else if _, all := cfg.Assigner.(global); all {
		u.standard = trigger.NewNever()
	}
	return u
}

// asks reports whether user code decides for the pane.
func (u *userTrigger) asks(p *pane) bool { return u != nil && !p.defaulted() }

func (p *pane) defaulted() bool { return p.own != nil && p.own.defaulted }

// ownState is the pane's state of a user's trigger.
func (p *pane) ownState() []byte {
	if p.own == nil {
		return nil
	}
	return p.own.state
}

func (p *pane) ensureOwn() *ownPane {
	if p.own == nil {
		p.own = &ownPane{}
	}
	return p.own
}

// trigger returns the trigger that decides for a pane.
func (o *General) trigger(p *pane) trigger.Trigger {
	if p.defaulted() {
		return o.user.standard
	}
	return o.cfg.Trigger
}

// stage begins a call on copies of what the pane has.
func (o *General) stage(p *pane) *trigger.Context {
	u := o.user
	copy(u.words, p.state)
	u.own = trigger.Own{State: p.ownState(), Olds: u.own.Olds[:0], Ahead: u.answers(p)}
	u.olds, u.timers = u.olds[:0], u.timers[:0]
	c := p.context()
	c.State, c.Timers, c.Own = u.words, u, &u.own
	return c
}

// outcome tells what became of the staged call: it may have failed, as a failure of user
// code or otherwise, or ask for too much.
func (o *General) outcome(p *pane) (*udf.Failure, error) {
	u := o.user
	var f *udf.Failure
	switch {
	case errors.As(u.own.Err, &f):
		return f, nil
	case u.own.Err != nil:
		return nil, u.own.Err
	case len(p.timers[0])+len(p.timers[1])+len(u.timers) > maxPaneTimers:
		return o.wrong("has set more than %d timers of one window", maxPaneTimers), nil
	}
	return nil, nil
}

// wrong makes a failure of what the trigger has done.
func (o *General) wrong(format string, args ...any) *udf.Failure {
	return &udf.Failure{Op: -1, Fresh: true, Module: trigger.User(o.cfg.Trigger).Info().Name, Message: "the trigger " + fmt.Sprintf(format, args...)}
}

// commit writes the staged call, which has succeeded, to its pane.
func (o *General) commit(p *pane) {
	u := o.user
	u.keep(p, u.own.Ahead)
	copy(p.state, u.words)
	if len(u.own.State) > 0 || p.own != nil {
		p.ensureOwn().state = u.own.State
	}
	for _, t := range u.timers {
		switch {
		case !t.set:
			p.DeleteTimer(t.domain, t.time)
		case t.domain == trigger.ProcessingTime || o.reachable(p, t.time):
			p.SetTimer(t.domain, t.time)
		}
	}
}

// reachable reports whether a timer of event time is set: when time goes to its end, those
// that the trigger sets on the way could go on for ever (S58), so that none is behind the
// window's cleanup, and in a global window, which has none, there is its end only.
func (o *General) reachable(p *pane, t stream.Time) bool {
	if o.target != stream.MaxTime || t == p.window.MaxTimestamp() {
		return true
	}
	return p.window != stream.Global && t <= p.window.Cleanup(o.cfg.Lateness)
}

// onElement asks the trigger about a record. A failure has changed nothing.
func (o *General) onElement(p *pane, e trigger.Element) (v trigger.Verdict, f *udf.Failure, err error) {
	if !o.user.asks(p) {
		return o.trigger(p).Element(p.context(), e), nil, nil
	}
	v = o.cfg.Trigger.Element(o.stage(p), e)
	if f, err = o.outcome(p); f == nil && err == nil {
		o.commit(p)
	}
	return v, f, err
}

// onTimer asks the trigger about a timer, or the default one from now on.
func (o *General) onTimer(p *pane, d trigger.Domain, t stream.Time) (trigger.Verdict, error) {
	if !o.user.asks(p) {
		return o.trigger(p).Timer(p.context(), d, t), nil
	}
	f := o.guard.barsTrigger(p.owner.hash)
	if f == nil {
		f = o.repeats(p, d, t)
	}
	v := trigger.Continue
	if f == nil {
		v = o.cfg.Trigger.Timer(o.stage(p), d, t)
		var err error
		if f, err = o.outcome(p); err != nil {
			return v, err
		}
	}
	if f == nil {
		o.commit(p)
		return v, nil
	}
	if err := o.refuse(p, f); err != nil {
		return v, err
	}
	return o.takeOver(p, d, t), nil
}

// refuse tells that the trigger of a pane has failed, behind what has fired before.
func (o *General) refuse(p *pane, f *udf.Failure) error {
	if err := o.flush(); err != nil {
		return err
	}
	return o.out.RefusedPane(p.owner.key, p.window, f)
}

// repeats fails a trigger whose timers come due over and over in one advance.
func (o *General) repeats(p *pane, d trigger.Domain, t stream.Time) *udf.Failure {
	w := p.ensureOwn()
	if w.turn != o.user.turn {
		w.turn, w.repeats, w.last = o.user.turn, 0, [2]stream.Time{stream.MinTime, stream.MinTime}
	}
	if t > w.last[d] {
		w.last[d] = t
		return nil
	}
	if w.repeats++; w.repeats > maxRepeats {
		return o.wrong("sets timers that are due at once, more than %d times in a row", maxRepeats)
	}
	return nil
}

// takeOver puts the default trigger in charge of a pane at a timer. If the window's end
// has been reached, it fires now, since nobody else will.
func (o *General) takeOver(p *pane, d trigger.Domain, t stream.Time) trigger.Verdict {
	o.makeDefault(p)
	end := p.window.MaxTimestamp()
	domain, clock := trigger.ProcessingTime, o.now
	if o.cfg.Assigner.EventTime() {
		domain, clock = trigger.EventTime, o.wm
	}
	if d == domain {
		clock = t
	}
	switch _, all := o.cfg.Assigner.(global); {
	case all:
		return trigger.Continue
	case end <= clock:
		return trigger.Fire
	}
	p.SetTimer(domain, end)
	return trigger.Continue
}

// makeDefault drops what a pane has of the user's trigger: its timers, but for the cleanup,
// and its state.
func (o *General) makeDefault(p *pane) {
	clear(p.state)
	o.user.keep(p, nil)
	*p.ensureOwn() = ownPane{defaulted: true}
	o.dropTimers(p)
}

func (o *General) dropTimers(p *pane) {
	cd, ct := p.cleanup()
	for d := range p.timers {
		for _, t := range slices.Clone(p.timers[d]) {
			if trigger.Domain(d) != cd || t != ct {
				p.DeleteTimer(trigger.Domain(d), t)
			}
		}
	}
}

// onMerge lets the trigger take over, on p, the states of other panes. The panes that have
// gone into p are not told: their timers and states go with them, so that nobody could
// tell what clearing them did.
func (o *General) onMerge(p *pane, olds []*pane) (*udf.Failure, error) {
	if o.user == nil {
		var states [][]int64
		for _, q := range olds {
			states = append(states, q.state)
		}
		o.cfg.Trigger.Merge(p.context(), states)
		return nil, nil
	}
	if p.defaulted() || slices.ContainsFunc(olds, (*pane).defaulted) {
		o.makeDefault(p)
		o.user.standard.Merge(p.context(), nil)
		return nil, nil
	}
	o.stageMerge(o.stage(p), olds)
	f, err := o.outcome(p)
	if f == nil && err == nil {
		o.commit(p)
	}
	return f, err
}

// stageMerge goes on with a staged call.
func (o *General) stageMerge(c *trigger.Context, olds []*pane) {
	u := o.user
	for _, q := range olds {
		u.olds = append(u.olds, q.state)
		u.own.Olds = append(u.own.Olds, q.ownState())
	}
	o.cfg.Trigger.Merge(c, u.olds)
}

// onClear tells the trigger that the pane's state goes (S44). If that fails, its timers go
// too.
func (o *General) onClear(p *pane) error {
	if !o.user.asks(p) {
		o.trigger(p).Clear(p.context())
		p.own = nil
		return nil
	}
	if o.guard.barsTrigger(p.owner.hash) != nil { // nothing is lost with its state
		o.makeDefault(p)
		p.own = nil
		return nil
	}
	o.cfg.Trigger.Clear(o.stage(p))
	defer o.user.keep(p, nil) // with the state, what was asked about it is worth nothing
	f, err := o.outcome(p)
	switch {
	case err != nil:
		return err
	case f == nil:
		o.commit(p)
	default:
		o.dropTimers(p)
		err = o.refuse(p, f)
	}
	p.own = nil
	return err
}

// tryTrigger asks the trigger about a record in all of its windows, those merged first that
// it would bring together, and changes nothing.
func (o *General) tryTrigger(k *keyState, b *stream.Batch, i int) (*udf.Failure, stream.Window, error) {
	for _, w := range o.windows {
		p, olds := k.panes.get(w), []*pane(nil)
		if o.cfg.Assigner.Merging() {
			lo, hi, cover := o.touching(k, w)
			w = cover
			p, olds = mergeTarget(k.sessions[lo:hi], cover)
		}
		if o.late(w) {
			continue
		}
		if p == nil {
			p = &pane{op: o, owner: k, window: w, state: make([]int64, len(o.user.words))}
		}
		if p.defaulted() || slices.ContainsFunc(olds, (*pane).defaulted) {
			continue
		}
		if f := o.guard.barsTrigger(k.hash); f != nil {
			return f, w, nil
		}
		c := o.stage(p)
		o.stageMerge(c, olds)
		o.cfg.Trigger.Element(c, o.element(b, i))
		if f, err := o.outcome(p); f != nil || err != nil {
			return f, w, err
		}
	}
	return nil, stream.Window{}, nil
}

// mergeTarget returns the pane among those that a record brings together which already
// holds all others, nil for none, and the others.
func mergeTarget(touched []*pane, cover stream.Window) (p *pane, olds []*pane) {
	for _, q := range touched {
		if q.window == cover {
			p = q
		} else {
			olds = append(olds, q)
		}
	}
	return p, olds
}

// element is a record as the trigger sees it.
func (o *General) element(b *stream.Batch, i int) trigger.Element {
	e := trigger.Element{Time: b.Time[i]}
	if o.cfg.ValueCol >= 0 {
		e.Value = number(&b.Cols[o.cfg.ValueCol], i)
	}
	if o.user != nil {
		e.Batch, e.Row = b, i
	}
	return e
}

// refuseLate ends the job for a record that the trigger refuses: where records are set
// aside it had been tried, and had been taken.
func (o *General) refuseLate(b *stream.Batch, i int, w stream.Window, f *udf.Failure) error {
	o.ledger.Failed++
	if err := o.out.Refused(b, i, w, f); err != nil {
		return err
	}
	return fmt.Errorf("a trigger must answer the same to the same: %w", f)
}
